"""Calls, evaluated by running the called program."""

from __future__ import annotations

from laminax_ir.ops.calls import (
    checkpoint_p,
    custom_jvp_call_p,
    custom_vjp_call_p,
    custom_vjp_tangent_p,
    custom_vmap_call_p,
    forward_mode_error,
    jit_p,
    name_p,
)
from laminax_ir.reference.evaluate import evaluate, reference_rule


@reference_rule(jit_p, checkpoint_p)
def _jit(*operands, jaxpr, **_params):
    return evaluate(jaxpr, *operands)


@reference_rule(custom_jvp_call_p, custom_vjp_call_p)
def _custom_call(*operands, call_jaxpr, **_params):
    return evaluate(call_jaxpr, *operands)


@reference_rule(custom_vjp_tangent_p)
def _custom_vjp_tangent(*operands, name, **_params):
    raise forward_mode_error(name)


@reference_rule(name_p)
def _name(x, *, name):
    return x


@reference_rule(custom_vmap_call_p)
def _custom_vmap_call(*operands, call, **_params):
    return evaluate(call, *operands)
