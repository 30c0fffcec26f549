"""The beta distribution on [loc, loc + scale], of positive parameters a and b.

A table of contents: names load on first use.
"""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"numerics.scipy.stats.beta": "cdf logcdf logpdf logsf pdf sf"})
