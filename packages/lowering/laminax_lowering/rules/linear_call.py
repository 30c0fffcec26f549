"""Linear calls, written in place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from laminax_ir.ops.linear_call import linear_call_p
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.registry import lowering_rule
from laminax_lowering.writing.ssa_values import Value

if TYPE_CHECKING:
    from laminax_ir.programs.jaxpr import ClosedJaxpr


@lowering_rule(linear_call_p)
def _lower_linear_call(ctx: FunctionWriter, *operands: Value, call: ClosedJaxpr, **_params: Any) -> list[Value]:
    return ctx.run(call, operands)
