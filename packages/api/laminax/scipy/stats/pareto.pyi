# Written by tools/stubs.py.
"""The Pareto distribution of exponent b, from loc + scale on."""

from laminax._array import Array
from laminax.typing import ArrayLike

__all__: list[str]

def cdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Distribution function of the Pareto distribution, elementwise."""
def logcdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Logarithm of the distribution function of the Pareto distribution, elementwise."""
def logpdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Logarithm of the density of the Pareto distribution, elementwise."""
def logsf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Logarithm of the survival function, 1 - cdf of the Pareto distribution, elementwise."""
def pdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Density of the Pareto distribution, elementwise."""
def ppf(q: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Quantile function, the inverse of the distribution function of the Pareto distribution, elementwise."""
def sf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Survival function, 1 - cdf of the Pareto distribution, elementwise."""
