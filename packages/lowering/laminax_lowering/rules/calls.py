"""Calls: each distinct jaxpr is one private function."""

from __future__ import annotations

from laminax_ir.ops.calls import custom_jvp_call_p, custom_vjp_call_p, jit_p
from laminax_lowering.registry import lowering_rule


@lowering_rule(jit_p)
def _lower_jit(ctx, *operands, jaxpr, name, inline=False, **_params):
    if inline or len(jaxpr.eqns) <= 1:
        return ctx.run(jaxpr, operands)
    function = ctx.module.private_function(jaxpr, name)
    return ctx.call(function, operands, ctx.avals_out)


@lowering_rule(custom_jvp_call_p, custom_vjp_call_p)
def _lower_custom_call(ctx, *operands, call_jaxpr, **_params):
    return ctx.run(call_jaxpr, operands)
