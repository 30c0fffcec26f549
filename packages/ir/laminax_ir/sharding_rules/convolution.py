"""Convolutions: the batch may be split, and the features of the result; what is summed over must be whole."""

from __future__ import annotations

from laminax_ir.explicit_axes import sharding_rules
from laminax_ir.ops import convolution as op
from laminax_ir.sharding_rules.agreement import entries_of, listed, refuse


@sharding_rules(op.conv_general_dilated_p)
def _conv(out, lhs, rhs, *, dimension_numbers, feature_group_count, batch_group_count, **_params):
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    left, right = entries_of(lhs), entries_of(rhs)
    has_groups = feature_group_count != 1 or batch_group_count != 1
    if any(left[axis] is not None for axis in lhs_spec[1:]) or any(right[axis] is not None for axis in rhs_spec[1:]) or has_groups and any(right):
        refuse("conv_general_dilated: only the batch axis of lhs and the axis of output features of rhs can be sharded, and of rhs none where there are "
               f"groups; got {listed((lhs, rhs))}. Use reshard on the operands, or give out_sharding.")
    entries = [None] * out.ndim
    if batch_group_count == 1:
        entries[out_spec[0]] = left[lhs_spec[0]]
    if not has_groups:
        entries[out_spec[1]] = right[rhs_spec[0]]
    return tuple(entries)
