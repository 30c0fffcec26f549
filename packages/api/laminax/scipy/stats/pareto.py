"""The Pareto distribution of exponent b, from loc + scale on.

A table of contents: names load on first use.
"""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"numerics.scipy.stats.pareto": "cdf logcdf logpdf logsf pdf ppf sf"})
