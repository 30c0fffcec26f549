"""The right-skewed Gumbel distribution, of maxima, around `loc` and stretched by `scale`.

A table of contents: names load on first use.
"""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"numerics.scipy.stats.gumbel_r": "cdf logcdf logpdf logsf pdf ppf sf"})
