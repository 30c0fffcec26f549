"""StableHLO of the indexing operations.

StableHLO's gather and dynamic slices clamp positions, and its scatter drops windows that reach out of bounds; the
other modes are written out around them. Source: the StableHLO specification, sections gather, scatter,
dynamic_slice and dynamic_update_slice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from laminax_ir.key_arrays.extended_arrays import physical_aval
from laminax_ir.ops import indexing as op
from laminax_ir.ops.indexing import GatherScatterMode, default_fill_value
from laminax_ir.symbolic.symbolic_dims import exceeds, is_constant_shape
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.type_shardings import TypeSharding
from laminax_lowering.rules.shape import key_axes, key_shape
from laminax_lowering.writing.comparisons import compare
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.explicit_axes import constrain
from laminax_lowering.writing.registry import lowering_rule
from laminax_lowering.writing.ssa_values import Value
from laminax_lowering.writing.types import bool_text, i64_array, int_list

if TYPE_CHECKING:
    from laminax_ir.programs.jaxpr import Jaxpr

_BOOL = np.dtype(bool)


# Gather


@lowering_rule(op.gather_p)
def _gather(ctx: FunctionWriter, x: Value, indices: Value, *, dimension_numbers: op.GatherDimensionNumbers, slice_sizes: tuple[int, ...],
            indices_are_sorted: bool, unique_indices: bool, mode: GatherScatterMode, fill_value: float | None) -> Value:
    dims = dimension_numbers
    (out,) = ctx.avals_out
    indices = _wide_enough(ctx, indices, x.aval.shape)
    room = [x.aval.shape[axis] - slice_sizes[axis] for axis in dims.start_index_map]
    positions = indices
    if dtypes.issubdtype(indices.aval.dtype, dtypes.unsignedinteger):  # gather would clamp large ones as negative ones
        positions = _clamped(ctx, indices, room)
    result = ctx.emit("stablehlo.gather", [x, positions], attributes={
        "dimension_numbers": gather_numbers(dims, key_axes(out), indices.aval.ndim - 1),
        "indices_are_sorted": bool_text(indices_are_sorted),
        "slice_sizes": i64_array((*slice_sizes, *key_shape(x.aval)))}, results=[out])
    if mode is not GatherScatterMode.FILL_OR_DROP or not dims.start_index_map:
        return result
    if fill_value is None:
        fill_value = default_fill_value(out.dtype)
    inside = _all_inside(ctx, indices, room)
    batch_axes = [axis for axis in range(out.ndim) if axis not in dims.offset_dims]
    stored = physical_aval(out)  # of random keys, their words
    mask = ctx.emit("stablehlo.broadcast_in_dim", [inside], attributes={"broadcast_dimensions": i64_array(batch_axes)},
                    results=[ShapedArray(stored.shape, _BOOL)])
    fill = ctx.constant(np.asarray(fill_value).astype(stored.dtype), shape=stored.shape)
    return ctx.emit("stablehlo.select", [mask, result, fill], results=[out])


def gather_numbers(dims: Any, word_axes: Sequence[int], index_vector_dim: int) -> str:
    """The attribute that carries gather's dimension numbers; `word_axes` are the result's axes of random keys."""
    return ("#stablehlo.gather<"
            f"offset_dims = {int_list((*dims.offset_dims, *word_axes))}, "
            f"collapsed_slice_dims = {int_list(dims.collapsed_slice_dims)}, "
            f"operand_batching_dims = {int_list(dims.operand_batching_dims)}, "
            f"start_indices_batching_dims = {int_list(dims.start_indices_batching_dims)}, "
            f"start_index_map = {int_list(dims.start_index_map)}, "
            f"index_vector_dim = {index_vector_dim}>")


def taken_along(ctx: FunctionWriter, x: Value, positions: Value, dimension: int) -> Value:
    """The elements of x, which may be random keys, at the positions along an axis; x and `positions` have one shape, and all are inside."""
    aval = x.aval
    others = tuple([axis for axis in range(aval.ndim) if axis != dimension])
    dims = op.GatherDimensionNumbers((), (dimension,), (dimension,), others, others)
    vectors = ctx.emit("stablehlo.reshape", [positions], results=[positions.aval.update(shape=(*aval.shape, 1))])
    return ctx.emit("stablehlo.gather", [x, vectors], results=[aval], attributes={
        "dimension_numbers": gather_numbers(dims, key_axes(aval), aval.ndim), "indices_are_sorted": "false",
        "slice_sizes": i64_array((*[1] * aval.ndim, *key_shape(aval)))})


def _wide_enough(ctx: FunctionWriter, indices: Value, shape: Sequence[int]) -> Value:
    """The indices in a dtype that can hold the operand's sizes, so that comparisons with them are exact."""
    dtype = indices.aval.dtype
    if dtypes.bit_width(dtype) >= 32 and not any([exceeds(size, dtypes.iinfo(dtype).max) for size in shape]):
        return indices
    wide = np.int64 if any([exceeds(size, np.iinfo(np.int32).max) for size in shape]) else np.int32
    return ctx.convert(indices, np.dtype(wide))


def _along_last_axis(ctx: FunctionWriter, values: Sequence[int], aval: ShapedArray) -> Value:
    """A constant of the aval's shape and dtype that has the values along its last axis."""
    if not is_constant_shape(values):
        row = ctx.convert(ctx.shape_value(values), aval.dtype)
        return row if aval.ndim == 1 else ctx.emit("stablehlo.broadcast_in_dim", [row], results=[aval],
                                                   attributes={"broadcast_dimensions": i64_array([aval.ndim - 1])})
    if len(set(values)) == 1:
        return ctx.constant(values[0], aval.dtype, aval.shape)
    row = ctx.constant(np.asarray(values), aval.dtype)
    return ctx.broadcast_to(row, aval.shape) if aval.ndim > 1 else row


def _clamped(ctx: FunctionWriter, indices: Value, room: Sequence[int]) -> Value:
    """The positions moved in: between 0 and `room`, which has one entry for each component of an index vector."""
    if not room:
        return indices
    aval = indices.aval
    bounds = [_along_last_axis(ctx, values, aval) for values in ([0] * len(room), room)]
    return ctx.emit("stablehlo.clamp", [bounds[0], indices, bounds[1]], results=[aval])


def _all_inside(ctx: FunctionWriter, indices: Value, room: Sequence[int]) -> Value:
    """For each index vector whether all its components lie between 0 and `room`."""
    aval = indices.aval
    tests = [compare(ctx, indices, _along_last_axis(ctx, values, aval), direction)
             for direction, values in (("GE", [0] * len(room)), ("LE", room))]
    both = ctx.emit("stablehlo.and", tests, results=[tests[0].aval])
    batch = ShapedArray(aval.shape[:-1], _BOOL)
    if len(room) == 1:
        return ctx.emit("stablehlo.reshape", [both], results=[batch])
    scalar = ShapedArray((), _BOOL)
    body = ctx.region([scalar, scalar], lambda a, b: ctx.emit("stablehlo.and", [a, b], results=[scalar]))
    return ctx.emit("stablehlo.reduce", [both, ctx.constant(True)], regions=[body], results=[batch],
                    attributes={"dimensions": i64_array([aval.ndim - 1])})


# Scatter


@lowering_rule(op.scatter_p, op.scatter_add_p, op.scatter_sub_p, op.scatter_mul_p, op.scatter_min_p, op.scatter_max_p)
def _scatter(ctx: FunctionWriter, x: Value, indices: Value, updates: Value, *, dimension_numbers: op.ScatterDimensionNumbers,
             indices_are_sorted: bool, unique_indices: bool, mode: GatherScatterMode, update_jaxpr: Jaxpr | None,
             update_consts: tuple[Any, ...]) -> Value:
    params: dict[str, Any] = {"dimension_numbers": dimension_numbers, "indices_are_sorted": indices_are_sorted,
                              "unique_indices": unique_indices, "mode": mode, "update_jaxpr": update_jaxpr}
    if _open_sums(x.aval) - _open_sums(updates.aval):
        return _scattered_terms(ctx, x, indices, updates, params)
    return _scattered(ctx, x, indices, updates, **params)


def _open_sums(aval: ShapedArray) -> frozenset:
    return frozenset() if aval._split is None else aval._split.spec.unreduced


def _scattered_terms(ctx: FunctionWriter, x: Value, indices: Value, updates: Value, params: dict[str, Any]) -> Value:
    """Updates that are split along the axes over which the operand is a sum: each device adds its own ones to its term.

    Beside an operand of terms the partitioner would bring all updates to each device, and the sum have them as often as there are
    devices. So the updates are scattered into zeros that are whole, which it leaves as terms where the result is to be such.
    """
    mesh, spec = x.aval._split or (None, None)
    assert mesh is not None and spec is not None  # it is a sum
    whole = x.aval.update(sharding=TypeSharding(mesh, spec.update(unreduced=_open_sums(updates.aval))))
    zeros = constrain(ctx, ctx.constant(0, x.aval.dtype, x.aval.shape), whole)
    terms = constrain(ctx, _scattered(ctx, Value(zeros.name, whole), indices, updates, **params), x.aval)
    return ctx.emit("stablehlo.add", [x, terms], results=[x.aval])


def _scattered(ctx: FunctionWriter, x: Value, indices: Value, updates: Value, *, dimension_numbers: op.ScatterDimensionNumbers,
               indices_are_sorted: bool, unique_indices: bool, mode: GatherScatterMode, update_jaxpr: Jaxpr | None) -> Value:
    dims = dimension_numbers
    (out,) = ctx.avals_out
    if not x.aval.shape:  # XLA's scatter simplifier fails on rank 0 (seen with jaxlib 0.10.2)
        x, dims = ctx.emit("stablehlo.reshape", [x], results=[x.aval.update(shape=(1,))]), dims._replace(inserted_window_dims=(0,))
    free_axes = [axis for axis in range(x.aval.ndim) if axis not in dims.operand_batching_dims]
    if not dims.scatter_dims_to_operand_dims and free_axes:
        # With index vectors of length 0, XLA (jaxlib 0.10.2) writes only one of several updates: position an axis at 0.
        dims = dims._replace(scatter_dims_to_operand_dims=(free_axes[0],))
        indices = ctx.constant(0, np.int32, (*indices.aval.shape[:-1], 1))
    indices = _wide_enough(ctx, indices, x.aval.shape)
    if mode is GatherScatterMode.CLIP:
        window = op.scatter_window(x.aval.shape, updates.aval.shape, dims)
        indices = _clamped(ctx, indices, [x.aval.shape[axis] - window[axis] for axis in dims.scatter_dims_to_operand_dims])
    word = ShapedArray((), x.aval.dtype) if not key_shape(x.aval) else ShapedArray((), np.uint32)
    body = ctx.region([word, word], lambda old, new: new if update_jaxpr is None else ctx.run_jaxpr(update_jaxpr, [old, new]))
    result = ctx.emit("stablehlo.scatter", [x, indices, updates], regions=[body], results=[x.aval], attributes={
        "scatter_dimension_numbers": _scatter_numbers(dims, key_axes(updates.aval), indices.aval.ndim - 1),
        "indices_are_sorted": bool_text(indices_are_sorted), "unique_indices": bool_text(unique_indices)})
    return result if out.shape else ctx.emit("stablehlo.reshape", [result])


def _scatter_numbers(dims: Any, word_axes: Sequence[int], index_vector_dim: int) -> str:
    return ("#stablehlo.scatter<"
            f"update_window_dims = {int_list((*dims.update_window_dims, *word_axes))}, "
            f"inserted_window_dims = {int_list(dims.inserted_window_dims)}, "
            f"input_batching_dims = {int_list(dims.operand_batching_dims)}, "
            f"scatter_indices_batching_dims = {int_list(dims.scatter_indices_batching_dims)}, "
            f"scatter_dims_to_operand_dims = {int_list(dims.scatter_dims_to_operand_dims)}, "
            f"index_vector_dim = {index_vector_dim}>")
