"""Calls of a linear function beside which its transpose is given.

Operands are the residuals, on which both functions depend in any way, and then the linear ones. Both programs take the
residuals first; the transposed one takes cotangents of the results then, and returns those of the linear operands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from laminax_ir.avals import ShapedArray
from laminax_ir.check import call_faults, check_rule
from laminax_ir.jaxpr import ClosedJaxpr, Jaxpr, Var
from laminax_ir.primitive import Primitive, effects_rule, shape_rule

linear_call_p = Primitive("linear_call", multiple_results=True, family="linear_call")


@shape_rule(linear_call_p)
def _linear_call_shape(*avals: ShapedArray, call: ClosedJaxpr, **_params) -> list[ShapedArray]:
    return call.out_avals


@effects_rule(linear_call_p)
def _linear_call_effects(*_avals, call: ClosedJaxpr, **_params):
    return call.effects


@check_rule(linear_call_p)
def _linear_call_faults(in_avals, out_avals, *, call: ClosedJaxpr, transpose: ClosedJaxpr, num_residuals: int, name: str):
    yield from call_faults(f"the function {name}", call, in_avals)
    yield from call_faults(f"the transpose of {name}", transpose, [*in_avals[:num_residuals], *out_avals])


def bind_linear_call(call: ClosedJaxpr, transpose: ClosedJaxpr, residuals: Sequence[Any], linear: Sequence[Any], name: str) -> list[Any]:
    """Binds a call; the constants of both programs become residuals.

    Args:
      call: `(*residuals, *linear operands) -> results`.
      transpose: `(*residuals, *cotangents of the results) -> cotangents of the linear operands`.
      residuals: values for both.
      linear: the linear operands.
      name: the function's name.
    """
    first, second = call.jaxpr, transpose.jaxpr
    call_constants = [*first.constvars, *(Var(v.aval) for v in second.constvars)]
    transpose_constants = [*(Var(v.aval) for v in first.constvars), *second.constvars]
    consts = [*call.consts, *transpose.consts, *residuals]
    return linear_call_p.bind(*consts, *linear, call=_opened(first, call_constants), transpose=_opened(second, transpose_constants),
                              num_residuals=len(consts), name=name)


def _opened(jaxpr: Jaxpr, constants: Sequence[Var]) -> ClosedJaxpr:
    """The program with these variables as leading parameters, and no constants."""
    return ClosedJaxpr(Jaxpr([], [*constants, *jaxpr.invars], jaxpr.outvars, jaxpr.eqns, jaxpr.effects, jaxpr.debug_info), ())
