"""A linear solve given by functions: the program that solves, written in place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from laminax_ir.ops.linear_solve import custom_linear_solve_p, split_operands
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.registry import lowering_rule
from laminax_lowering.writing.ssa_values import Value

if TYPE_CHECKING:
    from laminax_ir.ops.linear_solve import SolveParts


@lowering_rule(custom_linear_solve_p)
def _lower_linear_solve(ctx: FunctionWriter, *operands: Value, const_lengths: SolveParts, jaxprs: SolveParts) -> list[Value]:
    consts, b = split_operands(operands, const_lengths)
    return ctx.run(jaxprs.solve, [*consts.solve, *b])
