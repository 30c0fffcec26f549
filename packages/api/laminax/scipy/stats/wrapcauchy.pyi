# Written by tools/stubs.py.
"""The wrapped Cauchy distribution of angles from 0 to 2 pi, of concentration c between 0 and 1."""

from laminax._array import Array
from laminax.typing import ArrayLike

__all__: list[str]

def logpdf(x: ArrayLike, c: ArrayLike) -> Array:
    """Logarithm of the density of the wrapped Cauchy distribution, elementwise."""
def pdf(x: ArrayLike, c: ArrayLike) -> Array:
    """Density of the wrapped Cauchy distribution, elementwise."""
