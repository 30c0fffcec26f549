# Written by tools/stubs.py.
"""The logistic distribution around `loc`, stretched by `scale`."""

from laminax._array import Array
from laminax.typing import ArrayLike

__all__: list[str]

def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Distribution function of the logistic distribution, elementwise."""
def isf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Inverse of the survival function of the logistic distribution, elementwise."""
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Logarithm of the density of the logistic distribution, elementwise."""
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Density of the logistic distribution, elementwise."""
def ppf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Quantile function, the inverse of the distribution function of the logistic distribution, elementwise."""
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Survival function, 1 - cdf of the logistic distribution, elementwise."""
