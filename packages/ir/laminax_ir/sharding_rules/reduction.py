"""Reductions: the axes that stay are split as they were."""

from __future__ import annotations

from typing import Any, Sequence

from laminax_ir.ops import reduction as op
from laminax_ir.programs.result_types import sharding_rules, sum_rules
from laminax_ir.sharding_rules import sums
from laminax_ir.sharding_rules.agreement import entries_of, joined, listed, without
from laminax_ir.types.avals import ShapedArray


@sharding_rules(op.reduce_sum_p, op.reduce_prod_p, op.reduce_max_p, op.reduce_min_p, op.reduce_and_p, op.reduce_or_p, op.reduce_xor_p,
                op.argmax_p, op.argmin_p)
def _reduce(out: ShapedArray, x: ShapedArray, *, axes: Any, **_params: Any) -> tuple:
    return without(entries_of(x), axes)


@sharding_rules(op.reduce_p)
def _reduce_general(outs: Sequence[ShapedArray], *avals: ShapedArray, dimensions: Any, jaxpr: Any) -> list[tuple]:
    operands, _ = op.split_operands("reduce", avals)
    entries = joined(operands, operands[0].shape,
                     lambda: f"reduce: operands must have the same shardings, got {listed(operands)}. Use reshard on some of them.")
    return [without(entries, dimensions)] * len(outs)


sum_rules(op.reduce_sum_p)(sums.summed)
for _primitive in (op.reduce_prod_p, op.reduce_max_p, op.reduce_min_p, op.reduce_and_p, op.reduce_or_p, op.reduce_xor_p, op.argmax_p,
                   op.argmin_p):
    sum_rules.add(_primitive, sums.without_terms_of(_primitive.name))
