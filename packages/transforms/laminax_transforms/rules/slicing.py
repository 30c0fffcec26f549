"""Derivatives and batching of slices: all are linear in the arrays they move.

A position that differs between examples makes a slice a gather, and its update a scatter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

from laminax_ir.ops import slicing as op
from laminax_ir.ops.indexing import GatherDimensionNumbers, GatherScatterMode, ScatterDimensionNumbers, scatter_p
from laminax_ir.ops.scalar_operands import scalar_like
from laminax_ir.ops.shape import broadcast_in_dim, concatenate, full, pad
from laminax_ir.ops.slicing import dynamic_slice_p, dynamic_update_slice_p
from laminax_ir.types.avals import get_aval
from laminax_transforms.base.registry import batching_rule, define_jvp, define_linear, is_linear, jvp_rule, transpose_rule
from laminax_transforms.base.zeros import zero_cotangent
from laminax_transforms.batching.batch_axes import batch_axis_first
from laminax_transforms.rules.indexing import batch_scatter, gather_batch

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

define_linear(op.slice_p)


@transpose_rule(op.slice_p)
def _slice_transpose(ct: Any, x: Any, *, start_indices: tuple[int, ...], limit_indices: tuple[int, ...],
                     strides: tuple[int, ...]) -> list[Any]:
    config = []
    for axis, (size, start) in enumerate(zip(x.shape, start_indices)):
        stride = 1 if strides is None else strides[axis]
        count = ct.shape[axis]
        end = start + (0 if count == 0 else 1 + stride * (count - 1))  # just beyond the last element read
        config.append((start, size - end, stride - 1))
    return [pad(ct, 0, config)]


@batching_rule(op.slice_p)
def _slice_batch(operands: Sequence[Any], batch_axes: Sequence[int | None], *, start_indices: tuple[int, ...],
                 limit_indices: tuple[int, ...], strides: tuple[int, ...]) -> tuple[Any, Any]:
    (x,), (b,) = operands, batch_axes
    return op.slice(x, (*start_indices[:b], 0, *start_indices[b:]),
                    (*limit_indices[:b], x.shape[b], *limit_indices[b:]),
                    None if strides is None else (*strides[:b], 1, *strides[b:])), b


define_jvp(dynamic_slice_p, lambda t, _result, x, *starts, slice_sizes: dynamic_slice_p.bind(t, *starts, slice_sizes=slice_sizes))


@transpose_rule(dynamic_slice_p)
def _dynamic_slice_transpose(ct: Any, x: Any, *starts: ArrayLike, slice_sizes: tuple[int, ...]) -> list[Any]:
    return [dynamic_update_slice_p.bind(zero_cotangent(x), ct, *starts), *[None] * len(starts)]


@jvp_rule(dynamic_update_slice_p)
def _dynamic_update_slice_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    x, update, *starts = primals
    return dynamic_update_slice_p.bind(*primals), dynamic_update_slice_p.bind(tangents[0], tangents[1], *starts)


@transpose_rule(dynamic_update_slice_p)
def _dynamic_update_slice_transpose(ct: Any, x: Any, update: Any, *starts: ArrayLike) -> list[Any]:
    x_ct = update_ct = None
    update_aval = update if is_linear(update) else get_aval(update)
    if is_linear(x):
        x_ct = dynamic_update_slice_p.bind(ct, zero_cotangent(update_aval), *starts)
    if is_linear(update):
        update_ct = dynamic_slice_p.bind(ct, *starts, slice_sizes=update_aval.shape)
    return [x_ct, update_ct, *[None] * len(starts)]


@batching_rule(dynamic_slice_p)
def _dynamic_slice_batch(operands: Sequence[Any], batch_axes: Sequence[Any], *, slice_sizes: tuple[int, ...]) -> tuple[Any, Any]:
    (x, *starts), (b, *start_axes) = operands, batch_axes
    if all([axis is None for axis in start_axes]):
        starts.insert(b, scalar_like(0, get_aval(starts[0]).dtype) if starts else 0)
        return dynamic_slice_p.bind(x, *starts, slice_sizes=(*slice_sizes[:b], x.shape[b], *slice_sizes[b:])), b
    shape = _example_shape(x, b)
    axes = _positioned_axes(shape, slice_sizes)
    indices = _index_vectors(starts, start_axes, axes)
    dims = GatherDimensionNumbers(offset_dims=tuple(range(len(shape))), collapsed_slice_dims=(), start_index_map=axes)
    return gather_batch((x, indices), (b, 0), dimension_numbers=dims, slice_sizes=slice_sizes, indices_are_sorted=True,
                         unique_indices=True, mode=GatherScatterMode.CLIP, fill_value=None)


def _example_shape(x: ArrayLike, batch_axis: int | None) -> tuple[int, ...]:
    shape = get_aval(x).shape
    return shape if batch_axis is None else shape[:batch_axis] + shape[batch_axis + 1:]


def _positioned_axes(shape: Sequence[int], window: tuple[int, ...]) -> tuple[int, ...]:
    """The axes along which a window has room to move; along the others its start is clamped to 0."""
    return tuple([axis for axis, (size, n) in enumerate(zip(shape, window)) if n < size])


def _index_vectors(starts: Sequence[ArrayLike], start_axes: Sequence[int | None], axes: Sequence[int]) -> Array:
    """The start indices along `axes`, batch axis first, as an array `[batch, len(axes)]`."""
    size = next(i.shape[0] for i, axis in zip(starts, start_axes) if axis is not None)
    if not axes:
        return full((size, 0), 0, get_aval(starts[0]).dtype)
    columns = [broadcast_in_dim(starts[axis], (size, 1), () if start_axes[axis] is None else (0,)) for axis in axes]
    return concatenate(columns, 1)


@batching_rule(dynamic_update_slice_p)
def _dynamic_update_slice_batch(operands: Sequence[Any], batch_axes: Sequence[int | None]) -> tuple[Any, Any]:
    (x, update, *starts), (x_axis, update_axis, *start_axes) = operands, batch_axes
    size = next(value.shape[axis] for value, axis in zip(operands, batch_axes) if axis is not None)
    x, update = batch_axis_first(x, x_axis, size), batch_axis_first(update, update_axis, size)
    if all([axis is None for axis in start_axes]):
        first = scalar_like(0, get_aval(starts[0]).dtype) if starts else 0
        return dynamic_update_slice_p.bind(x, update, first, *starts), 0
    axes = _positioned_axes(x.shape[1:], update.shape[1:])
    indices = _index_vectors(starts, start_axes, axes)
    dims = ScatterDimensionNumbers(update_window_dims=tuple(range(len(starts))), inserted_window_dims=(),
                                   scatter_dims_to_operand_dims=axes)
    return batch_scatter(scatter_p, (x, indices, update), (0, 0, 0), dimension_numbers=dims, indices_are_sorted=True,
                          unique_indices=True, mode=GatherScatterMode.CLIP, update_jaxpr=None, update_consts=())
