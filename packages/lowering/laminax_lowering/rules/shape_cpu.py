"""Concatenations on one CPU device: arrays that move along their last axis, and columns joined to rows.

What the compiler writes for a concatenation asks of every number which array it comes from; along the first axis it asks once for many.

Moved along the last axis, as `roll` does, `concatenate(x[:, -1:], x[:, :-1])` is a window of `concatenate(x[:, -1:], x)`, whose parts
are copied row by row. A vector that moves in a loop is made before it is used. Milliseconds of one core for a sum of neighbours, float32,
jaxlib 0.12, joined from slices -> so, the same bits:

  a hundred steps of (64, 64)      0.25 -> 0.10     (256, 256) 4.1 -> 3.0      (64, 64, 64) 53 -> 30
                     (256,)       0.030 -> 0.019      (1024,)  0.073 -> 0.027      (16384,) 1.25 -> 0.56
  one step of (1000, 1000)         2.25 -> 1.55       (64, 64, 64) 0.40 -> 0.34

Outside of loops matrices of some thousand numbers are no faster.

Columns become rows that are transposed. Milliseconds of one core, joined along the last axis -> along the first and transposed, the same
bits:

                              2               3               4               8 columns
  of 10,000 numbers     0.023 -> 0.016  0.032 -> 0.023  0.041 -> 0.029  0.121 -> 0.079
  of 100,000            0.216 -> 0.139  0.493 -> 0.390  0.436 -> 0.289  1.15 -> 0.80
  of 100,000, squared   0.327 -> 0.258  0.378 -> 0.305  0.531 -> 0.401  1.32 -> 0.64

It compiles as fast or faster. With 1,000 numbers it is no faster.
"""

from __future__ import annotations

from typing import Sequence

from laminax_ir.ops.shape import concatenate_p
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.registry import cpu_kernel
from laminax_lowering.writing.ssa_values import Value
from laminax_lowering.writing.types import i64_array

FEWEST_ROWS, MOST_COLUMNS = 8_000, 16
MIN_MOVED, MIN_MOVED_IN_LOOP = 1 << 17, 256  # the smallest matrices that are moved so
MIN_VECTOR_IN_LOOP = 64
MOST_PARTS_WASTED = 4  # what is outside of the window is at most one part in so many of it


@cpu_kernel(concatenate_p)
def _concatenate(ctx: FunctionWriter, *operands: Value, dimension: int) -> Value | None:
    (out,) = ctx.avals_out
    if dimension != out.ndim - 1 or dtypes.is_extended(out.dtype) or not all(type(n) is int for n in out.shape):
        return None
    if len(operands) == 2:
        if out.size > out.shape[-1]:
            if out.size >= (MIN_MOVED_IN_LOOP if ctx.module.loop_depth else MIN_MOVED) and (moved := _moved(ctx, *operands, out)):
                return moved
        elif ctx.module.loop_depth and out.size >= MIN_VECTOR_IN_LOOP and any(x.name in ctx.slices for x in operands):
            return ctx.emit("stablehlo.optimization_barrier", [_joined(ctx, operands, dimension, out)], results=[out])
    return _columns(ctx, operands, out)


def _joined(ctx: FunctionWriter, operands: Sequence[Value], dimension: int, aval: ShapedArray) -> Value:
    return ctx.emit("stablehlo.concatenate", list(operands), attributes={"dimension": f"{dimension} : i64"}, results=[aval])


def _moved(ctx: FunctionWriter, first: Value, second: Value, out: ShapedArray) -> Value | None:
    """A window of an array joined with one of the two, if the other is its beginning or its end."""
    for part, other, is_beginning in ((second, first, True), (first, second, False)):
        source, starts = ctx.slices.get(part.name, (part, None))
        *rows, size = source.aval.shape
        left = size - part.aval.shape[-1]
        if starts is None or tuple(rows) != out.shape[:-1] or starts[-1] != (0 if is_beginning else left):
            continue
        if type(left) is not int or MOST_PARTS_WASTED * left > out.shape[-1]:
            continue
        parts = [other, source] if is_beginning else [source, other]
        wide = _joined(ctx, parts, out.ndim - 1, out.update(shape=(*rows, out.shape[-1] + left)))
        begin = 0 if is_beginning else left
        return ctx.emit("stablehlo.slice", [wide], results=[out], attributes={
            "start_indices": i64_array((*[0] * len(rows), begin)), "limit_indices": i64_array((*rows, begin + out.shape[-1])),
            "strides": i64_array((1,) * out.ndim)})
    return None


def _columns(ctx: FunctionWriter, operands: Sequence[Value], out: ShapedArray) -> Value | None:
    if out.ndim < 2 or out.dtype.itemsize < 2:
        return None
    columns, rows = out.shape[-1], out.size // max(out.shape[-1], 1)
    if not 2 <= columns <= MOST_COLUMNS or rows < FEWEST_ROWS or ctx.module.loop_depth or len(operands) != columns:
        return None
    row = ShapedArray((1, rows), out.dtype)
    flat = [ctx.emit("stablehlo.reshape", [x], results=[row]) for x in operands]
    matrix = ctx.emit("stablehlo.transpose", [_joined(ctx, flat, 0, ShapedArray((columns, rows), out.dtype))],
                      attributes={"permutation": i64_array((1, 0))}, results=[ShapedArray((rows, columns), out.dtype)])
    return ctx.emit("stablehlo.reshape", [matrix], results=[out])
