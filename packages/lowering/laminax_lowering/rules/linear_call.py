"""Linear calls, written in place."""

from __future__ import annotations

from laminax_ir.ops.linear_call import linear_call_p
from laminax_lowering.writing.registry import lowering_rule


@lowering_rule(linear_call_p)
def _lower_linear_call(ctx, *operands, call, **_params):
    return ctx.run(call, operands)
