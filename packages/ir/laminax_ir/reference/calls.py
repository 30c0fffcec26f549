"""Calls, evaluated by running the called program."""

from __future__ import annotations

from laminax_ir.ops.calls import custom_jvp_call_p, custom_vjp_call_p, jit_p
from laminax_ir.reference.evaluate import evaluate, reference_rule


@reference_rule(jit_p)
def _jit(*operands, jaxpr, **_params):
    return evaluate(jaxpr, *operands)


@reference_rule(custom_jvp_call_p, custom_vjp_call_p)
def _custom_call(*operands, call_jaxpr, **_params):
    return evaluate(call_jaxpr, *operands)
