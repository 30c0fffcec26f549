"""The primitives that make dtypes of others: of the family `elementwise`, apart from it because scalars beside arrays need them too."""

from __future__ import annotations

from typing import Any

import numpy as np

from laminax_ir.ops.dtype_kinds import COMPLEX_OF
from laminax_ir.ops.elementwise_avals import binary_primitive
from laminax_ir.programs.primitive import Primitive, Trait, shape_rule
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray

convert_element_type_p = Primitive("convert_element_type", family="elementwise", traits=(Trait.ELEMENTWISE, Trait.EXACT_MOVE))
bitcast_convert_type_p = Primitive("bitcast_convert_type", family="elementwise", traits=(Trait.EXACT_MOVE,))
complex_p = binary_primitive("complex", (np.float32, np.float64), lambda dtype: COMPLEX_OF[dtype])


@shape_rule(convert_element_type_p)
def _convert_shape(x: ShapedArray, *, new_dtype: np.dtype, weak_type: bool, sharding: Any = None) -> ShapedArray:
    if x.dtype is not new_dtype and (dtypes.is_extended(x.dtype) or dtypes.is_extended(new_dtype)) and x.dtype != new_dtype:
        raise ValueError(f"Cannot convert_element_type from {dtypes.dtype_name(x.dtype)} to {dtypes.dtype_name(new_dtype)}: random keys "
                         f"cannot be converted, got {x.str_short()}. Use random.key_data and random.wrap_key_data.")
    if x._named:
        return x.update(dtype=new_dtype, weak_type=weak_type)
    return ShapedArray(x.shape, new_dtype, weak_type)
