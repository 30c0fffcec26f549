"""StableHLO of stacking: a concatenation of slices of size 1."""

from __future__ import annotations

from laminax_ir.ops import stacking as op
from laminax_lowering.rules.shape import sliced
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.registry import lowering_rule
from laminax_lowering.writing.ssa_values import Value


@lowering_rule(op.stack_p)
def _stack(ctx: FunctionWriter, *operands: Value, axis: int) -> Value:
    (out,) = ctx.avals_out
    slice_aval = out.update(shape=(*out.shape[:axis], 1, *out.shape[axis + 1:]))
    slices = [ctx.emit("stablehlo.reshape", [x], results=[slice_aval]) for x in operands]
    return slices[0] if len(slices) == 1 else ctx.emit("stablehlo.concatenate", slices, attributes={"dimension": f"{axis} : i64"})


@lowering_rule(op.unstack_p)
def _unstack(ctx: FunctionWriter, x: Value, *, axis: int) -> list[Value]:
    pieces = []
    starts, limits = [0] * x.aval.ndim, list(x.aval.shape)
    slice_aval = x.aval.update(shape=(*x.aval.shape[:axis], 1, *x.aval.shape[axis + 1:]))
    for i, out in enumerate(ctx.avals_out):
        starts[axis], limits[axis] = i, i + 1
        piece = sliced(ctx, x, starts, limits, None, slice_aval)
        pieces.append(ctx.emit("stablehlo.reshape", [piece], results=[out]))
    return pieces
