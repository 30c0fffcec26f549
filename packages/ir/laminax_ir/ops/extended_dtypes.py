"""Conversions between arrays of extended dtypes and the ordinary arrays that store them."""

from __future__ import annotations

from typing import Any

import numpy as np

from laminax_ir.key_arrays.extended_arrays import from_edtype_p, to_edtype_p
from laminax_ir.types import dtypes
from laminax_ir.types.extended_dtypes import ExtendedDType, is_conversion_allowed


def converted(operand: Any, old: Any, new: Any) -> Any:
    """An array converted from one dtype to another, of which one at least is extended.

    Raises:
      ValueError: if both are, or the rules of the dtype, or the shape of the array, do not allow it.
    """
    if old == new:
        return operand
    if isinstance(old, ExtendedDType) and isinstance(new, ExtendedDType):
        names = [dtypes.dtype_name(dtype) for dtype in (old, old.physical_dtype, new.physical_dtype, new)]
        raise ValueError(f"convert_element_type: cannot directly convert between extended dtypes, from {old} to {new}. Convert to and from "
                         f"the dtypes that store them: {' -> '.join(names)}.")
    if not is_conversion_allowed(old, new):
        are_keys = any(isinstance(dtype, dtypes.KeyDType) for dtype in (old, new))
        advice = ("random keys cannot be converted. Use random.key_data and random.wrap_key_data." if are_keys else
                  "the rules of the extended dtype do not allow it.")
        raise ValueError(f"Cannot convert_element_type from {dtypes.dtype_name(old)} to {dtypes.dtype_name(new)}: {advice}")
    if isinstance(new, ExtendedDType):
        return to_edtype_p.bind(operand, edtype=new)
    return from_edtype_p.bind(operand, dtype=np.dtype(new))
