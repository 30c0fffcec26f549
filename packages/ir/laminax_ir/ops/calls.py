"""Calls: `jit`, and functions with derivative rules of their own.

A jit call carries a closed jaxpr without constants; what the function closed over is passed as leading
operands, so that one jaxpr serves every call. Custom calls meet each trace as an object, because an
evaluating or differentiating trace runs the Python function itself and only a staging trace needs its jaxpr.
"""

from __future__ import annotations

from typing import Any, Callable, Sequence

from laminax_ir.avals import ShapedArray, get_aval
from laminax_ir.jaxpr import ClosedJaxpr, Jaxpr
from laminax_ir.primitive import Primitive, effects_rule, shape_rule
from laminax_ir.staging import stage
from laminax_ir.trace import state

jit_p = Primitive("jit", multiple_results=True, family="calls")
custom_jvp_call_p = Primitive("custom_jvp_call", multiple_results=True, family="calls")
custom_vjp_call_p = Primitive("custom_vjp_call", multiple_results=True, family="calls")


@shape_rule(jit_p)
def _jit_shape(*avals: ShapedArray, jaxpr: ClosedJaxpr, **_params) -> list[ShapedArray]:
    return jaxpr.out_avals


@effects_rule(jit_p)
def _jit_effects(*avals, jaxpr: ClosedJaxpr, **_params):
    return jaxpr.effects


@shape_rule(custom_jvp_call_p)
@shape_rule(custom_vjp_call_p)
def _custom_call_shape(*avals: ShapedArray, call_jaxpr: ClosedJaxpr, **_params) -> list[ShapedArray]:
    return call_jaxpr.out_avals


@effects_rule(custom_jvp_call_p)
@effects_rule(custom_vjp_call_p)
def _custom_call_effects(*avals, call_jaxpr: ClosedJaxpr, **_params):
    return call_jaxpr.effects


def close_over_constants(closed: ClosedJaxpr) -> tuple[ClosedJaxpr, list[Any]]:
    """The same program with its constants as leading parameters, and their values: the form in which it is called."""
    if not closed.consts:
        return closed, []
    jaxpr = closed.jaxpr
    program = Jaxpr([], [*jaxpr.constvars, *jaxpr.invars], jaxpr.outvars, jaxpr.eqns, jaxpr.effects, jaxpr.debug_info)
    return ClosedJaxpr(program, ()), closed.consts


def call_jaxpr(closed: ClosedJaxpr, *operands: Any, name: str, inline: bool = False, **params: Any) -> list[Any]:
    """Binds a jit call of a closed jaxpr; its constants become operands.

    Args:
      closed: the program.
      *operands: one per parameter of the program.
      name: the called function's name.
      inline: whether the compiler must not outline it.
      **params: further parameters of the call (donation, shardings).
    """
    program, consts = close_over_constants(closed)
    return jit_p.bind(*consts, *operands, jaxpr=program, name=name, inline=inline, **params)


class CustomJVPCall:
    """One call of a function with its own JVP rule, on flat operands.

    Args:
      fun: the flat function.
      jvp: flat rule, `jvp(primals, tangents) -> (results, tangents)`; tangents may be symbolic zeros on both sides.
      operands: the values.
      name: the function's name.
    """

    __slots__ = ("fun", "jvp", "operands", "name")

    def __init__(self, fun: Callable, jvp: Callable, operands: Sequence[Any], name: str):
        self.fun = fun
        self.jvp = jvp
        self.operands = list(operands)
        self.name = name

    def bind(self) -> list[Any]:
        """Makes the call under the current trace."""
        return state.trace.process_custom_jvp(self)

    def call_primal(self) -> list[Any]:
        """Runs the function itself under the current trace."""
        return list(self.fun(*self.operands))

    def stage(self) -> tuple[Primitive, list[Any], dict[str, Any]]:
        """Primitive, operands and parameters of the equation that stands for this call."""
        program, consts = close_over_constants(stage(self.fun, [get_aval(x) for x in self.operands], self.name))
        params = {"call_jaxpr": program, "jvp": self.jvp, "name": self.name, "num_consts": len(consts)}
        return custom_jvp_call_p, [*consts, *self.operands], params


class CustomVJPCall:
    """One call of a function with its own reverse rule, on flat operands.

    Args:
      fun: the flat function.
      fwd: flat forward rule, `fwd(operands, perturbed) -> (results, residuals)`; `perturbed` tells which operands
        have tangents.
      bwd: flat backward rule, `bwd(residuals, cotangents) -> cotangents of the operands`; cotangents may be
        symbolic zeros on both sides.
      operands: the values.
      name: the function's name.
    """

    __slots__ = ("fun", "fwd", "bwd", "operands", "name")

    def __init__(self, fun: Callable, fwd: Callable, bwd: Callable, operands: Sequence[Any], name: str):
        self.fun = fun
        self.fwd = fwd
        self.bwd = bwd
        self.operands = list(operands)
        self.name = name

    def bind(self) -> list[Any]:
        """Makes the call under the current trace."""
        return state.trace.process_custom_vjp(self)

    def call_primal(self) -> list[Any]:
        """Runs the function itself under the current trace."""
        return list(self.fun(*self.operands))

    def stage(self) -> tuple[Primitive, list[Any], dict[str, Any]]:
        """Primitive, operands and parameters of the equation that stands for this call."""
        program, consts = close_over_constants(stage(self.fun, [get_aval(x) for x in self.operands], self.name))
        params = {"call_jaxpr": program, "fwd": self.fwd, "bwd": self.bwd, "name": self.name, "num_consts": len(consts)}
        return custom_vjp_call_p, [*consts, *self.operands], params
