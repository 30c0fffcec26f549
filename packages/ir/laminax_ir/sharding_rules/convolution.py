"""Convolutions: the batch, spatial and output feature axes may be split; the input features and the kernel's other axes may not."""

from __future__ import annotations

from typing import Any

from laminax_ir.ops import convolution as op
from laminax_ir.programs.result_types import sharding_rules
from laminax_ir.sharding_rules.agreement import entries_of, listed, refuse
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.type_shardings import parts_of


@sharding_rules(op.conv_general_dilated_p)
def _conv(out: ShapedArray, lhs: ShapedArray, rhs: ShapedArray, *, dimension_numbers: Any, feature_group_count: int,
          batch_group_count: int, **_params: Any) -> tuple:
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    left, right = entries_of(lhs), entries_of(rhs)
    has_groups = feature_group_count != 1 or batch_group_count != 1
    if left[lhs_spec[1]] is not None or any(right[axis] is not None for axis in rhs_spec[1:]) or has_groups and any(right):
        refuse("conv_general_dilated: the input features of lhs, of rhs all but the output features, "
               f"and these where there are groups must not be sharded; got {listed((lhs, rhs))}. "
               "Use reshard on the operands, or give out_sharding.")
    entries = [None] * out.ndim
    if batch_group_count == 1:
        entries[out_spec[0]] = left[lhs_spec[0]]
    if not has_groups:
        entries[out_spec[1]] = right[rhs_spec[0]]
    for axis, out_axis in zip(lhs_spec[2:], out_spec[2:]):
        if left[axis] is not None and lhs._split is not None:
            if out.shape[out_axis] % parts_of(left[axis], lhs._split.mesh):
                refuse(f"conv_general_dilated: the spatial axis {axis} of {lhs.str_short()} is sharded, and {out.shape[out_axis]}, "
                       "its size in the result, not divisible by as many parts. Use reshard on it.")
                continue
            entries[out_axis] = left[axis]
    return tuple(entries)
