"""Calls of operations that users define with rules of their own (JAX's hijax primitives).

An operation is an object, whose `run` computes the results by other operations. Where it is evaluated, that is all; every other trace meets
an equation of it, with the program of `run` for those who have no use for the rules: lowering, evaluation, Taylor series. An operation on
values of users' types has no program, since these are single values till programs are lowered to arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from laminax_ir.ops.calls import bind_program, close_over_constants
from laminax_ir.programs.check_rules import call_faults, check_rule
from laminax_ir.programs.jaxpr import ClosedJaxpr, no_effects
from laminax_ir.programs.primitive import CALL_TRAITS, Primitive, effects_rule, shape_rule
from laminax_ir.recording.staging import stage
from laminax_ir.recording.type_lowering import LoweringTrace
from laminax_ir.tracing.manual_axes import checked_axes
from laminax_ir.tracing.trace import eval_trace, state
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_ir.types.hi_types import HiType

call_hi_primitive_p = Primitive("call_hi_primitive", multiple_results=True, family="user_operations", traits=CALL_TRAITS)


class UserOperation:
    """An operation on flat lists of values, and its rules. A rule runs under the trace that is current where it is applied.

    Args:
      name: the operation's name.
    """

    # The types of the operands and results, where some are of users' types.
    in_avals: Sequence[Any] = ()
    out_avals: Sequence[Any] = ()

    def __init__(self, name: str) -> None:
        self.name: str = name

    @property
    def has_hi_types(self) -> bool:
        """Whether operands or results are of types of users' own."""
        return any(isinstance(aval, HiType) for aval in (*self.in_avals, *self.out_avals))

    def run(self, *operands: Any) -> list[Any]:
        """The results, by other operations."""
        raise NotImplementedError

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """The results and their tangents; tangents may be symbolic zeros on both sides."""
        raise NotImplementedError

    def linearize(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """The results, and their tangents as a linear program; the trace of the tangents is current."""
        raise NotImplementedError

    def transpose(self, cts: Sequence[Any], operands: Sequence[Any]) -> Sequence[Any] | None:
        """The cotangents of the operands, from those of the results; None where the operation is transposed by way of `run`.

        Args:
          cts: one per result.
          operands: values, with avals in the places of the operands in which the operation is linear.
        """
        return None

    def batch(self, axis: Any, operands: Sequence[Any], batch_axes: Sequence[int | None]) -> tuple[list[Any], list[int | None]]:
        """The results over a batch and their batch axes."""
        raise NotImplementedError


@shape_rule(call_hi_primitive_p)
def _user_operation_shape(*avals: ShapedArray, operation: UserOperation, call_jaxpr: ClosedJaxpr | None,
                          **_params: Any) -> list[ShapedArray]:
    return list(operation.out_avals) if call_jaxpr is None else call_jaxpr.out_avals


@effects_rule(call_hi_primitive_p)
def _user_operation_effects(*_avals: ShapedArray, call_jaxpr: ClosedJaxpr | None, **_params: Any) -> frozenset[Any]:
    return no_effects if call_jaxpr is None else call_jaxpr.effects


@check_rule(call_hi_primitive_p)
def _user_operation_faults(in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *, operation: UserOperation,
                           call_jaxpr: ClosedJaxpr | None, num_consts: int) -> Iterable[Any]:
    if call_jaxpr is not None:
        return call_faults(f"the operation {operation.name}", call_jaxpr, in_avals)
    return [] if list(in_avals) == list(operation.in_avals) else [
        f"the operation {operation.name} takes ({', '.join(aval.str_short() for aval in operation.in_avals)})"]


def bind_user_operation(operation: UserOperation, operands: Sequence[Any]) -> list[Any]:
    """Binds an operation; what its `run` closes over becomes operands, which the rules do not get.

    With values of users' types it has no program before it is lowered (`recording.type_lowering`): `run` works on containers of arrays.
    """
    trace = state.trace
    if trace is eval_trace:
        return operation.run(*operands)
    if operation.has_hi_types:
        if isinstance(trace, LoweringTrace):
            return operation.run(*operands)
        if checked_axes():
            raise NotImplementedError(f"{operation.name}: values of types of users' own are not supported in shard_map with check_vma, "
                                      "since their types do not say along which mesh axes they vary. Use shard_map(..., check_vma=False).")
        params = {"operation": operation, "call_jaxpr": None, "num_consts": 0}
        return trace.process(call_hi_primitive_p, operands, params)
    closed = stage(operation.run, [get_aval(x) for x in operands], operation.name, keeps_refs=True)
    program, consts = close_over_constants(closed)
    return bind_program(call_hi_primitive_p, program.effects, [*consts, *operands],
                        {"operation": operation, "call_jaxpr": program, "num_consts": len(consts)})
