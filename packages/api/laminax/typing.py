"""Types for annotations: what counts as an array, and as a dtype, in the functions of laminax."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Union, runtime_checkable

import numpy as np

if TYPE_CHECKING:
    from laminax._array import Array
else:
    from laminax_runtime import Array

__all__ = ["ArrayLike", "DTypeLike"]

ArrayLike = Union[Array, np.ndarray, np.bool_, np.number, bool, int, float, complex]
"""What functions take for an array: arrays, NumPy arrays and scalars, and Python's numbers; no lists and tuples.

NumPy's classes are without type parameters: checkers at run time, such as beartype, take those of `ndarray[Any, Any]` for a dtype.
"""


@runtime_checkable
class _HasDType(Protocol):
    """A value with an attribute `dtype`."""

    @property
    def dtype(self) -> np.dtype[Any]: ...


DTypeLike = Union[str, type[Any], np.dtype, _HasDType]
"""What functions take for a dtype: its name, a scalar type, a NumPy dtype, or something that has a dtype."""
