"""Derivatives and batching of conversions to and from extended dtypes: tangents are converted to the dtypes that these say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from laminax_ir.ops.elementwise import in_exact_dtype
from laminax_ir.ops.extended_dtypes import converted, from_edtype_p, to_edtype_p
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval
from laminax_transforms.base.registry import batching_rule, jvp_rule, transpose_rule
from laminax_transforms.base.zeros import ZERO
from laminax_transforms.batching.batch_axes import move_axis

if TYPE_CHECKING:
    from laminax_ir.types.extended_dtypes import ExtendedDType


@jvp_rule(to_edtype_p, symbolic_zeros=True)
def _to_edtype_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, edtype: ExtendedDType) -> tuple[Any, Any]:
    result = to_edtype_p.bind(*primals, edtype=edtype)
    return result, _tangent(tangents[0], result)


@jvp_rule(from_edtype_p, symbolic_zeros=True)
def _from_edtype_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, dtype: np.dtype) -> tuple[Any, Any]:
    result = from_edtype_p.bind(*primals, dtype=dtype)
    return result, _tangent(tangents[0], result)


def _tangent(t: Any, result: Any) -> Any:
    """The tangent of what was converted, as one of the result."""
    aval = get_aval(result).to_tangent_aval()
    if t is ZERO or aval.dtype == dtypes.float0:
        return ZERO
    given = get_aval(t)
    is_extended = dtypes.is_extended(given.dtype) or dtypes.is_extended(aval.dtype)
    t = converted(t, given.dtype, aval.dtype) if is_extended else in_exact_dtype(t, aval.dtype)
    if get_aval(t).shape != aval.shape:
        raise NotImplementedError(f"the derivative of a conversion of {given.str_short()} to {get_aval(result).str_short()} is not "
                                  f"defined: tangents would be {aval.str_short()}, which has one number for each element, and each "
                                  "element is stored as an array. Give the conversion a rule with custom_vjp.")
    return t


@transpose_rule(to_edtype_p)
def _to_edtype_transpose(ct: Any, x: Any, *, edtype: ExtendedDType) -> list[Any]:
    return [from_edtype_p.bind(ct, dtype=x.dtype)]


@transpose_rule(from_edtype_p)
def _from_edtype_transpose(ct: Any, x: Any, *, dtype: np.dtype) -> list[Any]:
    return [to_edtype_p.bind(ct, edtype=x.dtype)]


@batching_rule(to_edtype_p)
def _to_edtype_batch(operands: Sequence[Any], batch_axes: Sequence[int], *, edtype: ExtendedDType) -> tuple[Any, Any]:
    (x,), (axis,) = operands, batch_axes
    if axis >= get_aval(x).ndim - len(edtype.physical_shape):  # behind or among the axes of an element
        x, axis = move_axis(x, axis, 0), 0
    return to_edtype_p.bind(x, edtype=edtype), axis


@batching_rule(from_edtype_p)
def _from_edtype_batch(operands: Sequence[Any], batch_axes: Sequence[int], *, dtype: np.dtype) -> tuple[Any, Any]:
    return from_edtype_p.bind(*operands, dtype=dtype), batch_axes[0]
