"""The Cauchy distribution around `loc`, of half width `scale`.

A table of contents: names load on first use.
"""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"numerics.scipy.stats.cauchy": "cdf isf logcdf logpdf logsf pdf ppf sf"})
