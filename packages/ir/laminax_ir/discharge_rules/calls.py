"""Calls with references: the arrays are operands, and the arrays written are further results."""

from __future__ import annotations

from typing import Any, Callable, Sequence

from laminax_ir.ops.calls import CustomVJPCall, checkpoint_p, custom_vjp_call_p, jit_p, run_forward
from laminax_ir.programs.primitive import Primitive
from laminax_ir.recording.discharge import DischargingTrace, discharge_rules, discharged, eval_with_refs
from laminax_ir.recording.stashes import keeping_stashes
from laminax_ir.refs.refs import values_in, write_back
from laminax_ir.tracing.trace import state


@discharge_rules(jit_p)
def _jit(operands: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """In a program being discharged a call stays a call; elsewhere the operations are done one by one, with the references."""
    if isinstance(state.trace, DischargingTrace):
        return _pure_call(jit_p, operands, params)
    closed = params["jaxpr"]
    return eval_with_refs(closed.jaxpr, closed.consts, *operands)


@discharge_rules(checkpoint_p)
@keeping_stashes
def _checkpoint(operands: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    return _pure_call(checkpoint_p, operands, params)


def _pure_call(primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    pure = discharged(params["jaxpr"])
    outs = primitive.bind(*values_in(operands), **{**params, "jaxpr": pure.closed})
    count = len(pure.results)
    write_back(operands, pure.written, outs[count:])
    return outs[:count]


@discharge_rules(custom_vjp_call_p)
def _custom_vjp_call(operands: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """Makes the call again: of the equation's program as a function, with the equation's rules."""
    closed, skipped = params["call_jaxpr"], params["num_consts"]
    staged_fwd, staged_bwd = params["fwd"], params["bwd"]

    def fun(*args: Any) -> list[Any]:
        return eval_with_refs(closed.jaxpr, closed.consts, *args)

    # the constants that the function closed over come first and have no cotangents
    def fwd(args: Sequence[Any], perturbed: Sequence[bool]) -> tuple[list[Any], Any, Callable]:
        results, residuals, bwd = run_forward(staged_fwd, staged_bwd, args[skipped:], perturbed[skipped:])
        return results, residuals, lambda residuals, cts: [*[None] * skipped, *bwd(residuals, cts)]

    return CustomVJPCall(fun, fwd, staged_bwd, operands, params["name"]).bind()
