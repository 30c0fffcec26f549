"""StableHLO of the shape operations.

An array of random keys has the keys' own axes behind the array's; they stay where they are.
Source: the StableHLO specification, sections of the operations' names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

import laminax_lowering.rules.shape_cpu  # noqa: F401
from laminax_ir.key_arrays.extended_arrays import physical_aval
from laminax_ir.ops import shape as op
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.explicit_axes import laid_out_as_typed, terms_kept
from laminax_lowering.writing.registry import lowering_rule
from laminax_lowering.writing.ssa_values import Value
from laminax_lowering.writing.types import i64_array

if TYPE_CHECKING:
    import numpy as np


def key_shape(aval: ShapedArray) -> tuple[int, ...]:
    """The sizes of the axes behind the array's own: those of one key, none for ordinary dtypes."""
    return physical_aval(aval).shape[aval.ndim:] if dtypes.is_extended(aval.dtype) else ()


def key_axes(aval: ShapedArray) -> tuple[int, ...]:
    """The axes behind the array's own."""
    return tuple(range(aval.ndim, aval.ndim + len(key_shape(aval))))


@lowering_rule(op.broadcast_in_dim_p)
def _broadcast_in_dim(ctx: FunctionWriter, x: Value, *, shape: tuple[int, ...], broadcast_dimensions: tuple[int, ...],
                      sharding: Any) -> Value:
    if not x.aval.shape:
        return ctx.broadcast_to(x, shape)
    (out,) = ctx.avals_out
    split, wanted = x.aval._split, out._split
    if wanted is not None and wanted.spec.unreduced and x.aval.shape == shape and (split is None or not split.spec.unreduced):
        x = laid_out_as_typed(ctx, x, wanted.mesh, wanted.spec.unreduced)  # the operation is none, and the array is the sum
    if split is not None and split.spec.unreduced and not key_axes(out):
        # an axis of size 1 that becomes longer would have the compiler drop that these are the terms of a sum
        kept = [i for i, axis in enumerate(broadcast_dimensions) if x.aval.shape[i] == shape[axis]]
        without = split.with_entries([split.spec.partitions[i] for i in kept])
        parts = x.aval.update(shape=tuple([x.aval.shape[i] for i in kept]), sharding=None).update(sharding=without)
        x = terms_kept(ctx, ctx.emit("stablehlo.reshape", [x], results=[parts]))
        broadcast_dimensions = tuple([broadcast_dimensions[i] for i in kept])
    axes = (*broadcast_dimensions, *key_axes(out))
    return ctx.emit("stablehlo.broadcast_in_dim", [x], attributes={"broadcast_dimensions": i64_array(axes)})


@lowering_rule(op.reshape_p)
def _reshape(ctx: FunctionWriter, x: Value, *, new_sizes: tuple[int, ...], dimensions: tuple[int, ...], sharding: Any) -> Value:
    if dimensions is not None:
        x = transposed(ctx, x, dimensions)
    return ctx.emit("stablehlo.reshape", [x])


def transposed(ctx: FunctionWriter, x: Value, permutation: Sequence[int]) -> Any:
    """x with its axes permuted."""
    aval = x.aval.update(shape=tuple([x.aval.shape[axis] for axis in permutation]))
    return ctx.emit("stablehlo.transpose", [x], attributes={"permutation": i64_array((*permutation, *key_axes(x.aval)))},
                    results=[aval])


@lowering_rule(op.transpose_p)
def _transpose(ctx: FunctionWriter, x: Value, *, permutation: tuple[int, ...]) -> Value:
    return transposed(ctx, x, permutation)


@lowering_rule(op.squeeze_p)
def _squeeze(ctx: FunctionWriter, x: Value, *, dimensions: tuple[int, ...]) -> Value:
    return ctx.emit("stablehlo.reshape", [x])


@lowering_rule(op.concatenate_p)
def _concatenate(ctx: FunctionWriter, *operands: Value, dimension: int) -> Value:
    return ctx.emit("stablehlo.concatenate", operands, attributes={"dimension": f"{dimension} : i64"})


@lowering_rule(op.pad_p)
def _pad(ctx: FunctionWriter, x: Value, padding_value: Value, *, padding_config: tuple[tuple[int, ...], ...]) -> Value:
    low, high, interior = zip(*padding_config) if padding_config else ((), (), ())
    return ctx.emit("stablehlo.pad", [x, padding_value], attributes={
        "edge_padding_low": i64_array(low), "edge_padding_high": i64_array(high), "interior_padding": i64_array(interior)})


@lowering_rule(op.rev_p)
def _rev(ctx: FunctionWriter, x: Value, *, dimensions: tuple[int, ...]) -> Value:
    return ctx.emit("stablehlo.reverse", [x], attributes={"dimensions": i64_array(dimensions)})


@lowering_rule(op.iota_p)
def _iota(ctx: FunctionWriter, *, dtype: np.dtype, shape: tuple[int, ...], dimension: int, sharding: Any) -> Value:
    value = ctx.emit("stablehlo.iota", [], attributes={"iota_dimension": f"{dimension} : i64"})
    ctx.iotas[value.name] = dimension
    return value


@lowering_rule(op.split_p)
def _split(ctx: FunctionWriter, x: Value, *, sizes: tuple[int, ...], axis: int) -> list[Value]:
    pieces = []
    starts, limits = [0] * x.aval.ndim, list(x.aval.shape)
    for aval, size in zip(ctx.avals_out, sizes):
        limits[axis] = starts[axis] + size
        pieces.append(sliced(ctx, x, starts, limits, None, aval))
        starts[axis] = limits[axis]
    return pieces


def sliced(ctx: FunctionWriter, x: Value, starts: Sequence[int], limits: Sequence[int], strides: Sequence[int] | None,
           aval: ShapedArray) -> Any:
    """The window of x from `starts` up to `limits`."""
    words = key_shape(x.aval)
    strides = (1,) * x.aval.ndim if strides is None else strides
    return ctx.emit("stablehlo.slice", [x], results=[aval], attributes={
        "start_indices": i64_array((*starts, *[0] * len(words))), "limit_indices": i64_array((*limits, *words)),
        "strides": i64_array((*strides, *[1] * len(words)))})


@lowering_rule(op.tile_p)
def _tile(ctx: FunctionWriter, x: Value, *, reps: tuple[int, ...]) -> Value:
    # Each axis gets one of size reps[i] in front of it, and merges with it.
    apart = tuple([n for pair in zip(reps, x.aval.shape) for n in pair])
    axes = (*range(1, 2 * x.aval.ndim, 2), *range(len(apart), len(apart) + len(key_shape(x.aval))))
    repeated = ctx.emit("stablehlo.broadcast_in_dim", [x], attributes={"broadcast_dimensions": i64_array(axes)},
                        results=[x.aval.update(shape=apart)])
    return ctx.emit("stablehlo.reshape", [repeated])
