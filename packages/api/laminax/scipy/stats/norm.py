"""The normal distribution of mean `loc` and standard deviation `scale`.

A table of contents: names load on first use.
"""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"numerics.scipy.stats.norm": "cdf isf logcdf logpdf logsf pdf ppf sf"})
