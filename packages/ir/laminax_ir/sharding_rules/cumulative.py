"""Cumulative reductions keep the operand's shape and how it is split, which must not be along their axis."""

from __future__ import annotations

from collections.abc import Callable

from laminax_ir.ops import cumulative
from laminax_ir.programs.primitive import Primitive
from laminax_ir.programs.result_types import sharding_rules, sum_rules
from laminax_ir.sharding_rules import sums
from laminax_ir.sharding_rules.agreement import not_along
from laminax_ir.types.avals import ShapedArray


def _rule(primitive: Primitive) -> Callable:
    def rule(out: ShapedArray, x: ShapedArray, *, axis: int, reverse: bool) -> tuple:
        return not_along(str(primitive), x, axis)
    return rule


for _primitive in {p for p in vars(cumulative).values() if isinstance(p, Primitive)}:
    sharding_rules.add(_primitive, _rule(_primitive))
    sum_rules.add(_primitive, sums.kept if _primitive is cumulative.cumsum_p else sums.without_terms_of(_primitive.name))
