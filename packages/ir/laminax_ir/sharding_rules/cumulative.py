"""Cumulative reductions keep the operand's shape and how it is split, which must not be along their axis."""

from __future__ import annotations

from laminax_ir.ops import cumulative
from laminax_ir.programs.primitive import Primitive
from laminax_ir.programs.result_types import sharding_rules
from laminax_ir.sharding_rules.agreement import not_along


def _rule(primitive: Primitive):
    def rule(out, x, *, axis, reverse):
        return not_along(str(primitive), x, axis)
    return rule


for _primitive in {p for p in vars(cumulative).values() if isinstance(p, Primitive)}:
    sharding_rules.add(_primitive, _rule(_primitive))
