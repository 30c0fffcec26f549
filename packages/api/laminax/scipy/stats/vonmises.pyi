# Written by tools/stubs.py.
"""The von Mises distribution of angles, around 0, of concentration kappa."""

from laminax._array import Array
from laminax.typing import ArrayLike

__all__: list[str]

def logpdf(x: ArrayLike, kappa: ArrayLike) -> Array:
    """Logarithm of the density of the von Mises distribution, elementwise."""
def pdf(x: ArrayLike, kappa: ArrayLike) -> Array:
    """Density of the von Mises distribution, elementwise."""
