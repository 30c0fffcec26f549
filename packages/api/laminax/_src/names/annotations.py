"""Types for annotations, by the names that JAX's private `typing` gives them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, Union, runtime_checkable

import numpy as np

from laminax_ir.types.dtypes import ExtendedDType
from laminax_runtime import Array

from laminax.typing import ArrayLike, DTypeLike

__all__ = ["Array", "ArrayLike", "DType", "DTypeLike", "DimSize", "DuckTypedArray", "ExtendedDType", "Shape", "StaticScalar",
           "SupportsDType", "SupportsNdim", "SupportsShape", "SupportsSize"]

DType = np.dtype
DimSize = Union[int, Any]
"""The size of an axis: a number, or an expression in symbolic dimensions."""
Shape = Sequence[DimSize]
StaticScalar = Union[np.bool_, np.number, bool, int, float, complex]


@runtime_checkable
class SupportsDType(Protocol):
    """A value that has a dtype."""

    @property
    def dtype(self) -> DType: ...


@runtime_checkable
class SupportsShape(Protocol):
    """A value that has a shape."""

    @property
    def shape(self) -> tuple[int, ...]: ...


@runtime_checkable
class SupportsNdim(Protocol):
    """A value that has a rank."""

    @property
    def ndim(self) -> int: ...


@runtime_checkable
class SupportsSize(Protocol):
    """A value that has a number of elements."""

    @property
    def size(self) -> int: ...


@runtime_checkable
class DuckTypedArray(SupportsDType, SupportsShape, Protocol):
    """A value that has a dtype and a shape, as `ShapeDtypeStruct` does."""
