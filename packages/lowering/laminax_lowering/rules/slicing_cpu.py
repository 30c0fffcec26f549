"""Slices on one CPU device are noted, and windows that are made of others of the array that they are written into are made before.

The compiler makes a window in the operation that writes it, in place. It sees that it may not, where that reads what is already written,
but not if the result is then reshaped: `dynamic_update_slice(x, x[:2], (1,)).reshape(3, 1)` is x[0], x[0], x[0] with jaxlib 0.10 and 0.12.
Where it sees it, it copies the array first and asks of each number of the copy whether it is to be replaced. Milliseconds of a hundred
steps on one core, float32, jaxlib 0.12, the new window in the operation -> made before, the same bits:

  u.at[1:-1, 1:-1].set(...) by the four neighbours   64 by 64: 0.30 -> 0.10, 256 by 256: 4.5 -> 1.9

Where a window is made of what was there, it is written in place, and would take 2.4 times as long if it were made before.
"""

from __future__ import annotations

from typing import Any, Sequence

from laminax_ir.ops import slicing as op
from laminax_ir.programs.jaxpr import JaxprEqn, Literal
from laminax_lowering.rules.shape import key_shape, sliced
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.registry import cpu_kernel
from laminax_lowering.writing.ssa_values import Value


@cpu_kernel(op.slice_p)
def _slice(ctx: FunctionWriter, x: Value, *, start_indices: tuple[int, ...], limit_indices: tuple[int, ...],
           strides: tuple[int, ...] | None) -> Value:
    part = sliced(ctx, x, start_indices, limit_indices, strides, ctx.avals_out[0])
    if strides is None or set(strides) <= {1}:
        ctx.slices[part.name] = x, start_indices
    return part


@cpu_kernel(op.dynamic_update_slice_p)
def _dynamic_update_slice(ctx: FunctionWriter, x: Value, update: Value, *starts: Value) -> Any:
    if not starts or update.aval.size == 1 or key_shape(x.aval) or ctx.uses is None:
        return None
    array, window, *places = ctx.eqn.invars
    if not ctx.uses.may_be_made_of(window, array, lambda eqn: _reads_same_place(eqn, window.aval.shape, places)):
        return None
    return ctx.emit("stablehlo.dynamic_update_slice", [x, _made(ctx, update), *starts])


def _made(ctx: FunctionWriter, update: Value) -> Value:
    """A value that the compiler makes before what reads it; that of jaxlib 0.10 drops barriers too early."""
    if ctx.module.has_new_cpu_compiler:
        return ctx.emit("stablehlo.optimization_barrier", [update], results=[update.aval])
    return ctx.small_call("window", [update], lambda writer, x: [x])[0]


def _reads_same_place(eqn: JaxprEqn, shape: tuple[Any, ...], places: Sequence[Any]) -> bool:
    """Whether an equation cuts a window of this shape out at these places."""
    if eqn.outvars[0].aval.shape != shape:
        return False
    if eqn.primitive is op.dynamic_slice_p:
        return all(a is b or type(a) is type(b) is Literal and a.val == b.val for a, b in zip(eqn.invars[1:], places, strict=True))
    if eqn.primitive is not op.slice_p or eqn.params["strides"] is not None and set(eqn.params["strides"]) > {1}:
        return False
    return all(type(place) is Literal and start == place.val for start, place in zip(eqn.params["start_indices"], places, strict=True))
