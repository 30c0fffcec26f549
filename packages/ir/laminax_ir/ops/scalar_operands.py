"""Python scalars beside arrays, whose dtype they take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.ops.conversion import bitcast_convert_type_p, complex_p, convert_element_type_p
from laminax_ir.symbolic.symbolic_dims import SymbolicDim
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval
from laminax_ir.types.errors import DTypeError

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array

PYTHON_SCALARS = frozenset((bool, int, float, complex))


def typed(*operands: Any) -> Any:
    """Gives Python scalars the dtype of the array beside them; leaves them when all are scalars."""
    dtype = next((get_aval(x).dtype for x in operands if type(x) not in PYTHON_SCALARS), None)
    if dtype is None:
        return operands
    return tuple(scalar_like(x, dtype) if type(x) in PYTHON_SCALARS else x for x in operands)


def scalar_like(value: Any, dtype: Any) -> Any:
    """A Python scalar as a constant of the dtype: itself when that is its default dtype, a NumPy scalar otherwise.

    An int outside the range of a narrow dtype wraps around, as it would if it were an int32 first.

    Raises:
      DTypeError: if the dtype cannot hold the scalar's kind, such as 0.5 beside an int32 array.
      OverflowError: if an int fits neither the dtype nor the default integer dtype.
    """
    kind = type(value)
    if kind is int and not -2147483648 <= value <= 2147483647 or kind is int and dtype.kind == "u":
        return _wide_int_like(value, dtype)
    try:
        if dtypes.scalar_dtype(kind) is dtype:
            return value
    except KeyError:
        if kind is SymbolicDim:  # known where the program runs
            return convert_element_type_p.bind(value.__jax_array__(), new_dtype=dtype, weak_type=False)
        raise
    if kind is complex and not dtypes.issubdtype(dtype, dtypes.complexfloating):
        raise DTypeError(f"the complex scalar {value} cannot be used beside an array of dtype {dtypes.dtype_name(dtype)}; "
                         "convert the array first")
    if kind is float and not dtypes.issubdtype(dtype, dtypes.inexact):
        raise DTypeError(f"the float scalar {value} cannot be used beside an array of dtype {dtypes.dtype_name(dtype)}; "
                         "convert the array first, or use the operator, which promotes")
    return constant_of(np.asarray(value).astype(dtype))


def constant_of(value: np.ndarray) -> Any:
    """An array of no axes as a constant of its dtype: a NumPy scalar, or the result of operations where that would lose half its bits."""
    if not dtypes.is_kept_wide(value.dtype):
        return value[()]
    if dtypes.issubdtype(value.dtype, dtypes.complexfloating):
        return complex_p.bind(constant_of(value.real), constant_of(value.imag))
    return bitcast_convert_type_p.bind(value[None].view(np.uint32), new_dtype=value.dtype)


def _wide_int_like(value: int, dtype: np.dtype) -> Array:
    if not dtypes.issubdtype(dtype, dtypes.integer):
        return constant_of(np.asarray(float(value)).astype(dtype))
    for fitting in (dtype, dtypes.scalar_dtype(int)):
        info = dtypes.iinfo(fitting)
        if int(info.min) <= value <= int(info.max):
            return constant_of(np.asarray(value, object).astype(fitting).astype(dtype))
    raise OverflowError(f"the integer {value} does not fit {dtypes.dtype_name(dtype)}, the dtype of the array beside it. "
                        "Use a wider dtype; 64-bit ones need enable_x64.")
