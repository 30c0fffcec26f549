# Written by tools/stubs.py.
"""Integrals of samples, as in `scipy.integrate`. A table of contents: names load on first use."""

from laminax._array import Array
from laminax.typing import ArrayLike

__all__: list[str]

def trapezoid(y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: int = -1) -> Array:
    """Integral along an axis by the trapezoidal rule."""
