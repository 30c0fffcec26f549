"""Calls of a linear function beside which its transpose is given.

Operands are the residuals, on which both functions depend in any way, and then the linear ones. The program of the call
takes them all. The transpose is a function, which may not be traced before it is needed: its own transpose is the call again,
which it may make itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from laminax_ir.ops.calls import close_over_constants
from laminax_ir.programs.check_rules import call_faults, check_rule
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.programs.primitive import CALL_TRAITS, Primitive, effects_rule, shape_rule
from laminax_ir.types.avals import ShapedArray

linear_call_p = Primitive("linear_call", multiple_results=True, family="linear_call", traits=CALL_TRAITS)


@shape_rule(linear_call_p)
def _linear_call_shape(*avals: ShapedArray, call: ClosedJaxpr, **_params: Any) -> list[ShapedArray]:
    return call.out_avals


@effects_rule(linear_call_p)
def _linear_call_effects(*_avals: ShapedArray, call: ClosedJaxpr, **_params: Any) -> frozenset[Any]:
    return call.effects


@check_rule(linear_call_p)
def _linear_call_faults(in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *, call: ClosedJaxpr, transpose: Callable,
                        num_residuals: int, name: str) -> Iterable[Any]:
    return call_faults(f"the function {name}", call, in_avals)


def bind_linear_call(call: ClosedJaxpr, transpose: Callable, residuals: Sequence[Any], linear: Sequence[Any], name: str) -> list[Any]:
    """Binds a call; the constants of its program become residuals, which the transpose does not get.

    Args:
      call: `(*residuals, *linear operands) -> results`.
      transpose: `transpose(residuals, cotangents of the results) -> cotangents of the linear operands`, flat lists.
      residuals: values for both.
      linear: the linear operands.
      name: the function's name.
    """
    program, consts = close_over_constants(call)
    count = len(consts)

    def transpose_of_opened(all_residuals: Any, cts: Any) -> Any:
        return transpose(all_residuals[count:], cts)

    transpose_of_opened.__name__ = getattr(transpose, "__name__", "transpose")
    return linear_call_p.bind(*consts, *residuals, *linear, call=program, transpose=transpose_of_opened if consts else transpose,
                              num_residuals=count + len(residuals), name=name)
