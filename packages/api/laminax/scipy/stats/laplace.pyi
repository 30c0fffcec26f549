# Written by tools/stubs.py.
"""The Laplace distribution around `loc`, of mean distance `scale`."""

from laminax._array import Array
from laminax.typing import ArrayLike

__all__: list[str]

def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Distribution function of the Laplace distribution, elementwise."""
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Logarithm of the density of the Laplace distribution, elementwise."""
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Density of the Laplace distribution, elementwise."""
