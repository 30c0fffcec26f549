"""What is in stashed references, as cotangents on a tape (see `laminax_ir.recording.stashes`).

Two equations of the tape stand around one that stashes a reference. The one behind it has no result, and its transpose reads the reference:
it begins the backward pass of the operation. The one before it has no operand, and its transpose writes the reference.
"""

from __future__ import annotations

from typing import Any, Callable, Sequence

from laminax_ir.ops.calls import custom_vjp_tangent_p
from laminax_ir.refs.refs import Ref, write
from laminax_ir.tracing import source
from laminax_ir.tracing.trace import state
from laminax_transforms.base.zeros import ZERO
from laminax_transforms.differentiation.linear import LinearEqn, LinearTracer, TangentTrace
from laminax_transforms.differentiation.transposition import StashReader


def way_out(tape: TangentTrace, ref: Ref) -> LinearTracer:
    """A tangent whose cotangent is written to the reference."""
    def write_last(_residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
        write("ref_set", ref, (), cts[0])
        return []

    tangent = tape.new_input(ref.aval.inner_aval)
    _record(tape, (), (), tangent.index, (tangent.aval,), write_last)
    return tangent


def way_in(tape: TangentTrace, ref: Ref, tangent: Any) -> None:
    """Makes what is in the reference the cotangent of a tangent."""
    if tangent is not ZERO:
        _record(tape, (tangent.aval,), ((0, tangent.index),), len(tape.origins), (), StashReader(ref))


def _record(tape: TangentTrace, operands: tuple, inputs: tuple, output: int, out_avals: tuple, bwd: Callable[..., list[Any]]) -> None:
    params = {"bwd": bwd, "num_residuals": 0, "out_avals": out_avals, "name": "stash"}
    tape.tape.append(LinearEqn(custom_vjp_tangent_p, list(operands), params, inputs, output, out_avals, state.source or source.current()))
