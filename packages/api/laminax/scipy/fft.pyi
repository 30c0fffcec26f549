# Written by tools/stubs.py.
"""Cosine transforms, as in `scipy.fft`. A table of contents: names load on first use."""

from collections.abc import Sequence
from laminax._array import Array
from laminax.typing import ArrayLike

__all__: list[str]

def dct(x: ArrayLike, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Discrete cosine transform of type 2 along an axis."""
def dctn(x: ArrayLike, type: int = 2, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None) -> Array:
    """Discrete cosine transform of type 2 along several axes; see `dct`."""
def idct(x: ArrayLike, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Inverse of `dct`: the inverse of the transform of type 2 along an axis."""
def idctn(x: ArrayLike, type: int = 2, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None) -> Array:
    """Inverse of `dctn`: the inverse of the transform of type 2 along several axes."""
