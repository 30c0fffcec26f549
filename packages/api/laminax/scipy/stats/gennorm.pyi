# Written by tools/stubs.py.
"""The generalised normal distribution, of density proportional to exp(-|x|**beta)."""

from laminax._array import Array
from laminax.typing import ArrayLike

__all__: list[str]

def cdf(x: ArrayLike, beta: ArrayLike) -> Array:
    """Distribution function of the generalised normal distribution, elementwise."""
def logpdf(x: ArrayLike, beta: ArrayLike) -> Array:
    """Logarithm of the density of the generalised normal distribution, elementwise."""
def pdf(x: ArrayLike, beta: ArrayLike) -> Array:
    """Density of the generalised normal distribution, elementwise."""
