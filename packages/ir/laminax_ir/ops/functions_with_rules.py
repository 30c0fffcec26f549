"""Calls of functions with derivative rules, as users' interpreters see them: functions of flat values.

Inside laminax such a call is one object (`CustomJVPCall`, `CustomVJPCall`), whose rules take and give sequences in which a zero may be any
object that is no array. An interpreter that a user wrote gets the function and its rules as a `WrappedFun` each, of flat
values without such objects; it may put transformations around them, and hands them on by
`custom_jvp_call_p.bind(*values, subfuns=(fun, jvp), ...)`, where they become an object again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Sequence

import numpy as np

from laminax_ir.ops.shape import full
from laminax_ir.programs.primitive import Primitive
from laminax_ir.pytrees.pytree import tree_structure
from laminax_ir.tracing.trace import state
from laminax_ir.tracing.wrapped_functions import WrappedFun, wrap_init
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray, get_aval, is_array_like
from laminax_ir.types.symbolic_zeros import SymbolicZero

if TYPE_CHECKING:
    from laminax_ir.ops.calls import CustomJVPCall, CustomVJPCall
    from laminax_ir.tracing.trace import Trace


class _CallPrimitive(Primitive):
    """The operation of such calls, bound to a program, or to `subfuns`: the functions."""

    __slots__ = ("call_type",)

    call_type: type  # of the objects that stand for calls; set where it is defined

    def bind(self, *operands: Any, **params: Any) -> Any:
        if "subfuns" not in params:
            return super().bind(*operands, **params)
        return self.bind_with_trace(state.trace, operands, (), params)

    def bind_with_trace(self, trace: Trace, args: Sequence[Any], avals: Sequence[ShapedArray], params: dict[str, Any], /) -> Any:
        if "subfuns" not in params:
            return self.call_type.of_program(args, params).process_by(trace)  # type: ignore[attr-defined]
        return self._process_functions(trace, args, **params)

    def _process_functions(self, trace: Trace, args: Sequence[Any], **params: Any) -> Any:
        """Has a trace interpret a call of functions."""
        raise NotImplementedError


def has_symbolic_zeros(rule: Callable[..., Any]) -> bool:
    """Whether the user asked for `SymbolicZero`s among the arguments of a rule."""
    return getattr(rule, "symbolic_zeros", False)


def _filled(value: Any, aval: ShapedArray, may_be_symbolic: bool = False) -> Any:
    """A tangent or cotangent of this type: the value, or zeros where it is no array."""
    if is_array_like(value) or may_be_symbolic and isinstance(value, SymbolicZero):
        return value
    if may_be_symbolic:
        return SymbolicZero(aval)
    return np.zeros(aval.shape, dtypes.float0) if aval.dtype == dtypes.float0 else full(aval.shape, 0, aval.dtype)


# --- functions with a JVP rule ---


class CustomJVPCallPrimitive(_CallPrimitive):
    """The primitive `custom_jvp_call`."""

    __slots__ = ()

    def _process_functions(self, trace: Trace, args: Sequence[Any], **params: Any) -> Any:
        fun, jvp = params["subfuns"]
        return trace.process_custom_jvp_call(self, fun, jvp, args, symbolic_zeros=params.get("symbolic_zeros", False))

    def call_of(self, fun: WrappedFun, jvp: WrappedFun, operands: Sequence[Any], symbolic_zeros: bool) -> CustomJVPCall:
        """The call of a function and its rule, as an interpreter hands them on."""
        def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
            filled = [_filled(t, get_aval(x).to_tangent_aval(), symbolic_zeros) for x, t in zip(primals, tangents)]
            found = list(jvp.call_wrapped(*primals, *filled))
            results, out_tangents = found[:len(found) // 2], found[len(found) // 2:]
            return results, [_filled(t, get_aval(x).to_tangent_aval()) for x, t in zip(results, out_tangents)]

        rule.__name__ = jvp.__name__
        rule.symbolic_zeros = symbolic_zeros  # type: ignore[attr-defined]
        return self.call_type(fun.call_wrapped, rule, operands, fun.__name__)


def jvp_functions(call: CustomJVPCall) -> tuple[WrappedFun, WrappedFun]:
    """The function of a call and its rule, which takes primals and tangents, and gives results and tangents, in one sequence."""
    may_be_symbolic = has_symbolic_zeros(call.jvp)

    def jvp(*values: Any) -> list[Any]:
        primals, tangents = values[:len(values) // 2], values[len(values) // 2:]
        filled = [_filled(t, get_aval(x).to_tangent_aval(), may_be_symbolic) for x, t in zip(primals, tangents)]
        results, out_tangents = call.jvp(primals, filled)
        return [*results, *[_filled(t, get_aval(x).to_tangent_aval()) for x, t in zip(results, out_tangents)]]

    jvp.__name__ = getattr(call.jvp, "__name__", "jvp")
    return wrap_init(call.fun), wrap_init(jvp)


# --- functions with a VJP rule ---


class CustomVJPCallPrimitive(_CallPrimitive):
    """The primitive `custom_vjp_call`."""

    __slots__ = ()

    def _process_functions(self, trace: Trace, args: Sequence[Any], **params: Any) -> Any:
        fun, fwd, bwd = params["subfuns"]
        return trace.process_custom_vjp_call(self, fun, fwd, bwd, args, out_trees=params["out_trees"],
                                             symbolic_zeros=params.get("symbolic_zeros", False))

    def call_of(self, fun: WrappedFun, fwd: WrappedFun, bwd: Any, operands: Sequence[Any], out_trees: Callable[[], Any],
                symbolic_zeros: bool) -> CustomVJPCall:
        """The call of a function and its rules, as an interpreter hands them on."""
        backward = getattr(bwd, "call_wrapped", bwd)

        def rule(primals: Sequence[Any], perturbed: Sequence[bool]) -> tuple[list[Any], list[Any], Callable[..., Any]]:
            found = list(fwd.call_wrapped(*[x for pair in zip(primals, perturbed) for x in pair]))
            _, _, forwarded = out_trees()
            count = sum(place is None for place in forwarded)
            own, results = iter(found[:count]), found[count:]
            residuals = [next(own) if place is None else primals[place] for place in forwarded]
            ct_avals = [get_aval(x).to_ct_aval() for x in results]

            def backward_of_run(residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
                return list(backward(*residuals, *[_filled(ct, aval, symbolic_zeros) for ct, aval in zip(cts, ct_avals)]))

            return results, residuals, backward_of_run

        rule.__name__ = fwd.__name__
        rule.symbolic_zeros = symbolic_zeros  # type: ignore[attr-defined]
        return self.call_type(fun.call_wrapped, rule, bwd, operands, fun.__name__)


class VJPFunctions:
    """The function of a call and its rules, of flat values; the backward rule is that of the last run of the forward rule.

    Args:
      call: the call.
      run_forward: runs the forward rule of a call: results, residuals and backward rule.
    """

    def __init__(self, call: CustomVJPCall, run_forward: Callable[..., Any]) -> None:
        self._call = call
        self._run_forward = run_forward
        self._backward: Callable[..., Any] | None = None
        self._num_results = self._num_residuals = 0
        self._avals = [get_aval(x) for x in call.operands]

    def wrapped(self) -> tuple[WrappedFun, WrappedFun, WrappedFun]:
        """The function, its forward rule and its backward rule."""
        return wrap_init(self._call.fun), wrap_init(self._fwd), wrap_init(self._bwd)

    def out_trees(self) -> tuple[Any, Any, list[None]]:
        """The trees of results and residuals of the last run; no residual is known to be an operand."""
        self._check_has_run()
        return tree_structure([0] * self._num_results), tree_structure([0] * self._num_residuals), [None] * self._num_residuals

    def _fwd(self, *values: Any) -> list[Any]:
        results, residuals, self._backward = self._run_forward(self._call.fwd, self._call.bwd, values[::2], values[1::2])
        self._num_results, self._num_residuals = len(results), len(residuals)
        return [*residuals, *results]

    def _bwd(self, *values: Any) -> list[Any]:
        rule, may_be_symbolic = self._check_has_run(), has_symbolic_zeros(self._call.fwd)
        residuals, cts = values[:self._num_residuals], values[self._num_residuals:]
        known = [ct if is_array_like(ct) or may_be_symbolic and isinstance(ct, SymbolicZero) else None for ct in cts]
        return [_filled(ct, aval.to_ct_aval()) for ct, aval in zip(rule(residuals, known), self._avals)]

    def _check_has_run(self) -> Callable[..., Any]:
        if self._backward is None:
            raise ValueError(f"custom_vjp function {self._call.name}: out_trees and the backward rule are known once the forward rule has "
                             "run. Call fwd.call_wrapped first.")
        return self._backward
