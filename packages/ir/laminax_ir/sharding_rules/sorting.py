"""Sorting: the results are split as the operands are, which must not be along the axis that is sorted."""

from __future__ import annotations

from typing import Any, Sequence

from laminax_ir.ops import sorting as op
from laminax_ir.programs.result_types import sharding_rules
from laminax_ir.sharding_rules.agreement import joined, listed, of_parts, refuse
from laminax_ir.types.avals import ShapedArray


@sharding_rules(op.sort_p)
def _sort(outs: Sequence[ShapedArray], *avals: ShapedArray, dimension: int, **_params: Any) -> list[tuple]:
    entries = joined(avals, avals[0].shape,
                     lambda: f"sort: operands must have the same shardings, got {listed(avals)}. Use reshard on some of them.")
    if entries[dimension] is not None:
        refuse(f"sort: Arguments to sort must be unsharded over the sorting dimension. Got {listed(avals)} and axis {dimension}. "
               "Use reshard on them.")
        entries = (*entries[:dimension], None, *entries[dimension + 1:])
    return [entries] * len(outs)


@sharding_rules(op.top_k_p)
def _top_k(outs: Sequence[ShapedArray], x: ShapedArray, **_params: Any) -> list[tuple]:
    return [of_parts("top_k", x, out.shape, "top_k") for out in outs]


@sharding_rules(op.approx_top_k_p)
def _approx_top_k(outs: Sequence[ShapedArray], x: ShapedArray, **_params: Any) -> list[tuple]:
    return [of_parts("approx_top_k", x, out.shape, "approx_top_k") for out in outs]
