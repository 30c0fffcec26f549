# Written by tools/stubs.py.
"""The normal distribution cut off at a and b standard deviations from `loc`; `scale` is the standard deviation before."""

from laminax._array import Array
from laminax.typing import ArrayLike

__all__: list[str]

def cdf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Distribution function of the truncated normal distribution, elementwise."""
def logcdf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Logarithm of the distribution function of the truncated normal distribution, elementwise."""
def logpdf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Logarithm of the density of the truncated normal distribution, elementwise."""
def logsf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Logarithm of the survival function, 1 - cdf of the truncated normal distribution, elementwise."""
def pdf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Density of the truncated normal distribution, elementwise."""
def sf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Survival function, 1 - cdf of the truncated normal distribution, elementwise."""
