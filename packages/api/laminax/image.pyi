# Written by tools/stubs.py.
"""Resizing of images. A table of contents: names load on first use."""

from collections.abc import Sequence
from laminax._array import Array
from laminax._src.numerics.image import ResizeMethod as _ResizeMethod
from laminax.typing import ArrayLike
from typing import Any
from laminax._src.numerics.image import ResizeMethod as ResizeMethod

__all__: list[str]

def resize(image: ArrayLike, shape: Sequence[int], method: str | _ResizeMethod, antialias: bool = True, precision: Any = ...) -> Array:
    """An image at another size."""
def scale_and_translate(
    image: ArrayLike,
    shape: Sequence[int],
    spatial_dims: Sequence[int],
    scale: ArrayLike,
    translation: Any,
    method: str | _ResizeMethod,
    antialias: bool = True,
    precision: Any = ...,
) -> Array:
    """An image scaled and shifted along some axes: what is at x goes to x * scale + translation."""
