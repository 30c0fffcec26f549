"""Stacks: the new axis is whole."""

from __future__ import annotations

from typing import Sequence

from laminax_ir.ops import stacking as op
from laminax_ir.programs.result_types import sharding_rules, sum_rules
from laminax_ir.sharding_rules import sums
from laminax_ir.sharding_rules.agreement import entries_of, joined, listed, refuse, without
from laminax_ir.types.avals import ShapedArray


@sharding_rules(op.stack_p)
def _stack(out: ShapedArray, *avals: ShapedArray, axis: int) -> tuple:
    entries = joined(avals, avals[0].shape,
                     lambda: f"stack: All operands should have the same sharding. Got {listed(avals)}. Use reshard on some of them.")
    return (*entries[:axis], None, *entries[axis:])


@sharding_rules(op.unstack_p)
def _unstack(outs: Sequence[ShapedArray], x: ShapedArray, *, axis: int) -> list[tuple]:
    entries = entries_of(x)
    if entries[axis] is not None:
        refuse(f"unstack operand cannot be sharded on the unstacking axis: axis {axis} of {x.str_short()}. Use reshard on the operand.")
    return [without(entries, (axis,))] * len(outs)


# Sums over mesh axes that have not been made

sum_rules(op.unstack_p)(sums.kept)
sum_rules(op.stack_p)(sums.all_alike("stack"))
