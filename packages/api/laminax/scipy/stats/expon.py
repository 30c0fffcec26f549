"""The exponential distribution from `loc` on, of mean `scale`.

A table of contents: names load on first use.
"""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"numerics.scipy.stats.expon": "cdf logcdf logpdf logsf pdf ppf sf"})
