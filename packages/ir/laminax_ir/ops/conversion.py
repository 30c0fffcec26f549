"""The primitive that converts dtypes: one of the family `elementwise`, apart from it because Python scalars beside arrays need it too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from laminax_ir.programs.primitive import Primitive, Trait, shape_rule
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray

if TYPE_CHECKING:
    import numpy as np

convert_element_type_p = Primitive("convert_element_type", family="elementwise", traits=(Trait.ELEMENTWISE,))


@shape_rule(convert_element_type_p)
def _convert_shape(x: ShapedArray, *, new_dtype: np.dtype, weak_type: bool, sharding: Any = None) -> ShapedArray:
    if x.dtype is not new_dtype and (dtypes.is_extended(x.dtype) or dtypes.is_extended(new_dtype)) and x.dtype != new_dtype:
        raise ValueError(f"Cannot convert_element_type from {dtypes.dtype_name(x.dtype)} to {dtypes.dtype_name(new_dtype)}: random keys "
                         f"cannot be converted, got {x.str_short()}. Use random.key_data and random.wrap_key_data.")
    if x._named:
        return x.update(dtype=new_dtype, weak_type=weak_type)
    return ShapedArray(x.shape, new_dtype, weak_type)
