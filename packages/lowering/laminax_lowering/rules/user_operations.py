"""Operations that users define: their programs, written in place."""

from __future__ import annotations

from laminax_ir.ops.user_operations import UserOperation, call_hi_primitive_p
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.registry import lowering_rule
from laminax_lowering.writing.ssa_values import Value


@lowering_rule(call_hi_primitive_p)
def _lower_user_operation(ctx: FunctionWriter, *operands: Value, operation: UserOperation, call_jaxpr: ClosedJaxpr,
                          num_consts: int) -> list[Value]:
    return ctx.run(call_jaxpr, operands, [operation.name])
