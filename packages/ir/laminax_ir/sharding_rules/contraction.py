"""Products: batch and free axes are split as in the operands; sums over axes that are split leave open how the result is."""

from __future__ import annotations

from typing import Any

from laminax_ir.ops import contraction as op
from laminax_ir.programs.result_types import sharding_rules, sum_rules
from laminax_ir.sharding_rules import sums
from laminax_ir.sharding_rules.agreement import entries_of, listed, refuse, without
from laminax_ir.tracing.explicit_axes import is_resolving
from laminax_ir.types.avals import ShapedArray


@sharding_rules(op.dot_general_p)
def _dot_general(out: ShapedArray, lhs: ShapedArray, rhs: ShapedArray, *, dimension_numbers: tuple[tuple[Any, ...], ...],
                 **_params: Any) -> tuple:
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = dimension_numbers
    left, right = entries_of(lhs), entries_of(rhs)
    batch = []
    for i, j in zip(lhs_batch, rhs_batch):
        if left[i] != right[j]:
            refuse("dot_general requires lhs batch dimensions and rhs batch dimensions to have the same sharding, got "
                   f"{listed((lhs, rhs))} with the batch axes {lhs_batch} and {rhs_batch}. Use reshard on one of them.")
        batch.append(left[i] or right[j])
    for i, j in zip(lhs_contracting, rhs_contracting):
        if left[i] is None or right[j] is None:
            continue
        if left[i] != right[j]:
            refuse("dot_general requires contracting dimensions to have consistent sharding, got "
                   f"{listed((lhs, rhs))} with the contracting axes {lhs_contracting} and {rhs_contracting}. Contracting dimensions are "
                   "sharded in two ways. Use reshard on one of them.")
        refuse("dot_general: Contracting dimensions are sharded and it is ambiguous how the output should be sharded. "
               f"Please specify the output sharding via the `out_sharding` parameter. Got {listed((lhs, rhs))} with the contracting axes "
               f"{lhs_contracting} and {rhs_contracting}.")
    return (*batch, *without(left, (*lhs_contracting, *lhs_batch)), *without(right, (*rhs_contracting, *rhs_batch)))


@sharding_rules(op.ragged_dot_general_p)
def _ragged_dot_general(out: ShapedArray, *avals: ShapedArray, **_params: Any) -> tuple:
    if not is_resolving.value:
        raise NotImplementedError("Explicit sharding inference for ragged_dot_general is not implemented. Please specify out_sharding. "
                                  f"Got {listed(avals)}.")
    return (None,) * out.ndim


sum_rules(op.dot_general_p)(sums.contracted)
