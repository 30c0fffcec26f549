"""Where the references of kernels are said to lie, and the types of references that kernels ask for.

An interpreted kernel has one memory; the spaces are kept for what they tell the reader, and refused where they are no memory.
"""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from laminax_ir.options.records import Record
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.canonical_dtypes import canonicalize_dtype
from laminax_ir.types.ref_types import AbstractRef


class MemoryRef(Record):
    """The type of a reference in some memory, as scratch memory is asked for.

    Args:
      inner_aval: the type of the array in the reference.
      memory_space: the memory, or None.
    """
    inner_aval: ShapedArray
    memory_space: Any

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the axes."""
        return self.inner_aval.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the elements."""
        return self.inner_aval.dtype

    def get_array_aval(self) -> ShapedArray:
        """The type of the array in the reference."""
        return self.inner_aval

    def get_ref_aval(self) -> AbstractRef:
        """The type of the reference."""
        return AbstractRef(self.inner_aval)


class Space(enum.Enum):
    """A memory: `VMEM((8, 128), "float32")` is the type of a reference in it."""

    def __call__(self, shape: Any, dtype: Any) -> MemoryRef:
        return MemoryRef(ShapedArray(tuple(shape), canonicalize_dtype(dtype)), self)

    def __str__(self) -> str:
        return str(self.value)


class MemorySpace(Space):
    """Memories that every platform has."""
    ANY = "any"
    DEFAULT = "default"
    ERROR = "error"
    INDEX = "index"
    KEY = "key"
