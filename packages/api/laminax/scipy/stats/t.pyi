# Written by tools/stubs.py.
"""Student's t distribution of `df` degrees of freedom, around `loc` and stretched by `scale`."""

from laminax._array import Array
from laminax.typing import ArrayLike

__all__: list[str]

def logpdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Logarithm of the density of Student's t distribution, elementwise."""
def pdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Density of Student's t distribution, elementwise."""
