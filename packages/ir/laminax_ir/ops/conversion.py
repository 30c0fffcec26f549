"""The primitives that make dtypes of others: of the family `elementwise`, apart from it because scalars beside arrays need them too."""

from __future__ import annotations

from typing import Any

import numpy as np

from laminax_ir.ops.dtype_kinds import COMPLEX_OF
from laminax_ir.ops.elementwise_avals import binary_primitive
from laminax_ir.programs.primitive import Primitive, Trait, shape_rule
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.errors import DTypeError, ShapeError

convert_element_type_p = Primitive("convert_element_type", family="elementwise", traits=(Trait.ELEMENTWISE, Trait.EXACT_MOVE))
bitcast_convert_type_p = Primitive("bitcast_convert_type", family="elementwise", traits=(Trait.EXACT_MOVE,))
complex_p = binary_primitive("complex", (np.float32, np.float64), lambda dtype: COMPLEX_OF[dtype])


@shape_rule(convert_element_type_p)
def _convert_shape(x: ShapedArray, *, new_dtype: np.dtype, weak_type: bool, sharding: Any = None) -> ShapedArray:
    if x.dtype is not new_dtype and (dtypes.is_extended(x.dtype) or dtypes.is_extended(new_dtype)) and x.dtype != new_dtype:
        raise ValueError(f"Cannot convert_element_type from {dtypes.dtype_name(x.dtype)} to {dtypes.dtype_name(new_dtype)}, got "
                         f"{x.str_short()}. Random keys cannot be converted: use random.key_data and random.wrap_key_data. For other "
                         "extended dtypes there is lax.convert_element_type.")
    if x._named:
        return x.update(dtype=new_dtype, weak_type=weak_type)
    return ShapedArray(x.shape, new_dtype, weak_type)


@shape_rule(bitcast_convert_type_p)
def _bitcast_shape(x: ShapedArray, *, new_dtype: np.dtype) -> ShapedArray:
    old_bits, new_bits = dtypes.bit_width(x.dtype), dtypes.bit_width(new_dtype)
    if dtypes.is_extended(x.dtype):
        raise DTypeError(f"bitcast_convert_type: random keys have no bits of their own, got {x.str_short()}; use random.key_data")
    if x.dtype != new_dtype and any(dtype == np.dtype(bool) or dtypes.issubdtype(dtype, dtypes.complexfloating)
                                    for dtype in (x.dtype, new_dtype)):
        raise DTypeError("bitcast_convert_type: bool and complex dtypes can be bitcast to themselves only, got "
                         f"{x.str_short()} and the new dtype {dtypes.dtype_name(new_dtype)}. The view method of arrays "
                         "reinterprets them")
    if old_bits == new_bits:
        return ShapedArray(x.shape, new_dtype, named_shape=x.named_shape)
    if old_bits > new_bits:
        return ShapedArray((*x.shape, old_bits // new_bits), new_dtype, named_shape=x.named_shape)
    if not x.shape or x.shape[-1] != new_bits // old_bits:
        raise ShapeError(f"bitcast_convert_type: to go from {old_bits} to {new_bits} bits the last axis must have size "
                         f"{new_bits // old_bits}, got {x.str_short()}")
    return ShapedArray(x.shape[:-1], new_dtype, named_shape=x.named_shape)
