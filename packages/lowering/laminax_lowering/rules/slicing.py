"""StableHLO of slices.

An array of random keys has the keys' own axes behind the array's; a window holds them whole.
Source: the StableHLO specification, sections of the operations' names.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import laminax_lowering.rules.slicing_cpu  # noqa: F401
from laminax_ir.ops import slicing as op
from laminax_ir.symbolic.symbolic_dims import DimSize
from laminax_lowering.rules.shape import key_shape, sliced
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.registry import lowering_rule
from laminax_lowering.writing.ssa_values import Value
from laminax_lowering.writing.types import i64_array


@lowering_rule(op.slice_p)
def _slice(ctx: FunctionWriter, x: Value, *, start_indices: tuple[int, ...], limit_indices: tuple[int, ...],
           strides: tuple[int, ...] | None) -> Value:
    return sliced(ctx, x, start_indices, limit_indices, strides, ctx.avals_out[0])


@lowering_rule(op.dynamic_slice_p)
def _dynamic_slice(ctx: FunctionWriter, x: Value, *starts: Value, slice_sizes: tuple[int, ...]) -> Value:
    if not starts:
        return x
    return ctx.emit("stablehlo.dynamic_slice", [x, *_with_key_starts(ctx, x, starts)],
                    attributes={"slice_sizes": i64_array((*slice_sizes, *key_shape(x.aval)))})


def _with_key_starts(ctx: FunctionWriter, x: Value, starts: tuple[Value, ...]) -> list[Any]:
    return [*starts, *[ctx.constant(0, starts[0].aval.dtype) for _ in key_shape(x.aval)]]


@lowering_rule(op.dynamic_update_slice_p)
def _dynamic_update_slice(ctx: FunctionWriter, x: Value, update: Value, *starts: Value) -> Value:
    if not starts:
        return update
    if ctx.module.num_partitions > 1:
        starts = tuple(_within(ctx, start, size, part) for start, size, part in zip(starts, x.aval.shape, update.aval.shape))
    return ctx.emit("stablehlo.dynamic_update_slice", [x, update, *_with_key_starts(ctx, x, starts)])


def _within(ctx: FunctionWriter, start: Value, size: DimSize, part: DimSize) -> Value:
    """A start at which the update lies inside. The specification moves others there too, but the compiler loses an update of one place
    outside of an axis that it splits over devices."""
    if type(size) is not int or type(part) is not int:
        return start
    dtype = start.aval.dtype
    last = min(size - part, np.iinfo(dtype).max)
    return ctx.emit("stablehlo.clamp", [ctx.constant(0, dtype), start, ctx.constant(last, dtype)], results=[start.aval])
