"""Calls: written in place, as private functions, or as calls that the compiler keeps; see `outlining`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from laminax_ir.ops.calls import (
    Inline,
    KeptCall,
    checkpoint_p,
    custom_jvp_call_p,
    custom_vjp_call_p,
    custom_vjp_tangent_p,
    custom_vmap_call_p,
    forward_mode_error,
    jit_p,
    name_p,
)
from laminax_ir.programs.effects import has_ordered
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_lowering.planning.outlining import KEEP_CALL, keeps_recomputation
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.explicit_axes import terms_kept
from laminax_lowering.writing.registry import lowering_rule
from laminax_lowering.writing.ssa_values import Value


@lowering_rule(jit_p)
def _lower_jit(ctx: FunctionWriter, *operands: Value, jaxpr: ClosedJaxpr, name: str, inline: bool | Inline | KeptCall = False,
               **_params: Any) -> list[Value]:
    plan = ctx.module.plan
    jaxpr = plan.programs.representative(jaxpr)
    if isinstance(inline, Inline):
        ctx.name_call(f"jit({name})")
        return ctx.call_program(jaxpr, name, operands, ctx.avals_out,
                                f' {{mhlo.frontend_attributes = {{inlineable = "{inline.value}"}}}}')
    if isinstance(inline, KeptCall) and not has_ordered(jaxpr.effects):
        ctx.name_call(f"jit({name})")
        return ctx.call_program(jaxpr, name, operands, ctx.avals_out, "")
    if inline or jaxpr in plan.in_place or len(jaxpr.eqns) <= 1 or has_ordered(jaxpr.effects):
        return ctx.run(jaxpr, operands, [f"jit({name})"])
    is_outlined = ctx.is_top_level and jaxpr in plan.outlined
    ctx.name_call(f"jit({name})")
    return ctx.call_program(jaxpr, name, operands, ctx.avals_out, KEEP_CALL if is_outlined else "")


@lowering_rule(checkpoint_p)
def _lower_checkpoint(ctx: FunctionWriter, *operands: Value, jaxpr: ClosedJaxpr, name: str, prevent_cse: bool | tuple[bool, ...],
                      policy: Callable | None, differentiated: bool) -> list[Value]:
    """The recomputation starts behind a barrier, or the compiler would see that its results are known already."""
    fenced = prevent_cse if isinstance(prevent_cse, tuple) else (prevent_cse,) * len(operands)
    behind = [x for x, is_fenced in zip(operands, fenced) if is_fenced]
    if differentiated and behind:
        results = ctx.emit("stablehlo.optimization_barrier", behind, results=[x.aval for x in behind])
        results = iter([terms_kept(ctx, x) for x in ([results] if len(behind) == 1 else results)])
        operands = tuple([next(results) if is_fenced else x for x, is_fenced in zip(operands, fenced)])
    if len(jaxpr.eqns) <= 1 or has_ordered(jaxpr.effects):
        return ctx.run(jaxpr, operands, ["checkpoint"])
    is_kept = differentiated and behind and ctx.is_top_level and keeps_recomputation(ctx.platforms, jaxpr.jaxpr)
    return ctx.call_program(jaxpr, name, operands, ctx.avals_out, KEEP_CALL if is_kept else "")


@lowering_rule(name_p)
def _lower_name(ctx: FunctionWriter, x: Value, *, name: str) -> Value:
    return x


@lowering_rule(custom_jvp_call_p, custom_vjp_call_p)
def _lower_custom_call(ctx: FunctionWriter, *operands: Value, call_jaxpr: ClosedJaxpr, **_params: Any) -> list[Value]:
    return ctx.run(call_jaxpr, operands, [ctx.eqn.primitive.name])


@lowering_rule(custom_vjp_tangent_p)
def _lower_custom_vjp_tangent(ctx: FunctionWriter, *operands: Value, name: str, **_params: Any) -> list[Value]:
    raise forward_mode_error(name)


@lowering_rule(custom_vmap_call_p)
def _lower_custom_vmap_call(ctx: FunctionWriter, *operands: Value, call: ClosedJaxpr, **_params: Any) -> list[Value]:
    return ctx.run(call, operands, [ctx.eqn.primitive.name])
