"""Sizes of axes as values of the program: `dim_as_value` of one (see `symbolic_values`), `shape_as_value` of all."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.stacking import stack
from laminax_ir.symbolic.symbolic_dims import SymbolicDim
from laminax_ir.symbolic.symbolic_values import dim_as_value, dim_as_value_p
from laminax_ir.types.dtypes import scalar_dtype

__all__ = ["dim_as_value", "dim_as_value_p", "shape_as_value"]


def shape_as_value(shape: Sequence[Any]) -> Any:
    """A shape as an array of its sizes.

    Args:
      shape: a sequence of n ints, or expressions in symbolic dimensions.

    Returns:
      A NumPy array of shape [n] and dtype int32; with symbolic dimensions, a value of the program, of int64 where there are 64-bit types.

    Raises:
      TypeError: for symbolic dimensions outside of programs.

    Example:
      >>> shape_as_value((2, 3))
      array([2, 3], dtype=int32)
    """
    if not any(type(size) is SymbolicDim for size in shape):
        return np.asarray(shape, np.int32)
    sizes = [dim_as_value(size) if type(size) is SymbolicDim else size for size in shape]
    dtype = scalar_dtype(int)
    return stack([op.convert_element_type(size, dtype) for size in sizes])
