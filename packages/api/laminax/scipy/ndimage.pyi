# Written by tools/stubs.py.
"""Interpolation in arrays, as in `scipy.ndimage`. A table of contents: names load on first use."""

from collections.abc import Sequence
from laminax._array import Array
from laminax.typing import ArrayLike
from typing import Any

__all__: list[str]

def map_coordinates(input: ArrayLike, coordinates: Sequence[Any], order: int, mode: str = 'constant', cval: ArrayLike = 0.0) -> Array:
    """The values of an array at points between its elements."""
