"""Calls, evaluated by running the called program."""

from __future__ import annotations

from typing import Any

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
def _jit(*operands: Any, jaxpr: Any, **_params: Any) -> Any:
    return evaluate(jaxpr, *operands)


@reference_rule(custom_jvp_call_p, custom_vjp_call_p)
def _custom_call(*operands: Any, call_jaxpr: Any, **_params: Any) -> Any:
    return evaluate(call_jaxpr, *operands)


@reference_rule(custom_vjp_tangent_p)
def _custom_vjp_tangent(*operands: Any, name: str, **_params: Any) -> Any:
    raise forward_mode_error(name)


@reference_rule(name_p)
def _name(x: Any, *, name: str) -> Any:
    return x


@reference_rule(custom_vmap_call_p)
def _custom_vmap_call(*operands: Any, call: Any, **_params: Any) -> Any:
    return evaluate(call, *operands)
