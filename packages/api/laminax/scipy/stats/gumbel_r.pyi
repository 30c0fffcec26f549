# Written by tools/stubs.py.
"""The right-skewed Gumbel distribution, of maxima, around `loc` and stretched by `scale`."""

from laminax._array import Array
from laminax.typing import ArrayLike

__all__: list[str]

def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Distribution function of the right-skewed Gumbel distribution, elementwise."""
def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Logarithm of the distribution function of the right-skewed Gumbel distribution, elementwise."""
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Logarithm of the density of the right-skewed Gumbel distribution, elementwise."""
def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Logarithm of the survival function, 1 - cdf of the right-skewed Gumbel distribution, elementwise."""
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Density of the right-skewed Gumbel distribution, elementwise."""
def ppf(p: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Quantile function, the inverse of the distribution function of the right-skewed Gumbel distribution, elementwise."""
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Survival function, 1 - cdf of the right-skewed Gumbel distribution, elementwise."""
