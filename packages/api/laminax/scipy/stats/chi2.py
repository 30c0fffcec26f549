"""The chi-squared distribution of `df` degrees of freedom, from `loc` on, stretched by `scale`.

A table of contents: names load on first use.
"""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"numerics.scipy.stats.chi2": "cdf logcdf logpdf logsf pdf sf"})
