"""The normal distribution cut off at a and b standard deviations from `loc`; `scale` is the standard deviation before.

A table of contents: names load on first use.
"""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"numerics.scipy.stats.truncnorm": "cdf logcdf logpdf logsf pdf sf"})
