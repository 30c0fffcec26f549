"""Derivatives and batching of shape operations: all are linear, and their transposes undo the arrangement.

`iota` takes no operands, so there is nothing to differentiate or to map.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from laminax_ir.ops import shape as op
from laminax_ir.ops.elementwise import select, sub
from laminax_ir.ops.reduction import reduce_sum
from laminax_ir.ops.shape import broadcast_in_dim, concatenate, full, pad, reshape, rev, transpose
from laminax_ir.ops.slicing import slice, slice_in_dim
from laminax_ir.types.avals import get_aval
from laminax_transforms.base.registry import batching_rule, define_linear, is_linear, jvp_rule, transpose_rule
from laminax_transforms.base.zeros import instantiate_cotangent, zeros_of
from laminax_transforms.batching.batch_axes import batch_axis_first, broadcast_batch, move_axis

if TYPE_CHECKING:
    from laminax_ir.types.avals import ShapedArray

for _primitive in (op.broadcast_in_dim_p, op.reshape_p, op.transpose_p, op.squeeze_p, op.concatenate_p, op.pad_p,
                   op.rev_p, op.tile_p):
    define_linear(_primitive)


@jvp_rule(op.split_p)
def _split_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    return op.split_p.bind(*primals, **params), op.split_p.bind(*tangents, **params)


# Transposition


@transpose_rule(op.broadcast_in_dim_p)  # each element receives the sum over its copies
def _broadcast_in_dim_transpose(ct: Any, x: Any, *, shape: tuple[int, ...], broadcast_dimensions: tuple[int, ...],
                                sharding: Any) -> list[Any]:
    stretched = [axis for axis, size in zip(broadcast_dimensions, x.shape) if size == 1 and shape[axis] != 1]
    summed = tuple([axis for axis in range(len(shape)) if axis not in broadcast_dimensions or axis in stretched])
    total = reduce_sum(ct, axes=summed) if summed else ct
    return [reshape(total, x.shape) if stretched else total]


@transpose_rule(op.reshape_p)
def _reshape_transpose(ct: Any, x: Any, *, new_sizes: tuple[int, ...], dimensions: tuple[int, ...], sharding: Any) -> list[Any]:
    if dimensions is None:
        return [reshape(ct, x.shape)]
    return [transpose(reshape(ct, tuple([x.shape[axis] for axis in dimensions])), _inverse(dimensions))]


def _inverse(permutation: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(range(len(permutation)), key=permutation.__getitem__))


@transpose_rule(op.transpose_p)
def _transpose_transpose(ct: Any, x: Any, *, permutation: tuple[int, ...]) -> list[Any]:
    return [transpose(ct, _inverse(permutation))]


@transpose_rule(op.squeeze_p)
def _squeeze_transpose(ct: Any, x: Any, *, dimensions: tuple[int, ...]) -> list[Any]:
    return [reshape(ct, x.shape)]


@transpose_rule(op.concatenate_p)
def _concatenate_transpose(ct: Any, *operands: Any, dimension: int) -> Sequence[Any]:
    result = []
    start = 0
    for x in operands:
        end = start + (x if is_linear(x) else get_aval(x)).shape[dimension]
        result.append(slice_in_dim(ct, start, end, axis=dimension) if is_linear(x) else None)
        start = end
    return result


@transpose_rule(op.pad_p)
def _pad_transpose(ct: Any, x: Any, padding_value: Any, *, padding_config: tuple[tuple[int, ...], ...]) -> list[Any]:
    shape = x.shape if is_linear(x) else get_aval(x).shape
    # Negative padding takes the borders off again (and puts zeros where elements had been removed).
    inner = pad(ct, 0, tuple([(-low, -high, 0) for low, high, _ in padding_config]))
    x_ct = slice(inner, (0,) * len(shape), inner.shape, tuple([interior + 1 for *_, interior in padding_config]))
    if not is_linear(padding_value):
        return [x_ct, None]
    everywhere = tuple(range(len(shape)))
    value_ct = sub(reduce_sum(ct, axes=everywhere), reduce_sum(x_ct, axes=everywhere))
    return [x_ct if is_linear(x) else None, value_ct]


@transpose_rule(op.rev_p)
def _rev_transpose(ct: Any, x: Any, *, dimensions: tuple[int, ...]) -> list[Any]:
    return [rev(ct, dimensions)]


@transpose_rule(op.split_p)
def _split_transpose(cts: Sequence[Any], x: ShapedArray, *, sizes: tuple[int, ...], axis: int) -> list[Any]:
    pieces = [x.update(shape=(*x.shape[:axis], size, *x.shape[axis + 1:])) for size in sizes]
    return [concatenate([instantiate_cotangent(ct, piece) for ct, piece in zip(cts, pieces)], axis)]


@transpose_rule(op.tile_p)
def _tile_transpose(ct: Any, x: Any, *, reps: tuple[int, ...]) -> list[Any]:
    apart = tuple([n for pair in zip(reps, x.shape) for n in pair])
    return [reduce_sum(reshape(ct, apart), axes=tuple(range(0, 2 * len(reps), 2)))]


# Batching


@batching_rule(op.broadcast_in_dim_p)
def _broadcast_in_dim_batch(operands: Sequence[Any], batch_axes: Sequence[int], *, shape: tuple[int, ...], broadcast_dimensions: Any,
                            sharding: Any) -> tuple[Any, Any]:
    (x,), (batch_axis,) = operands, batch_axes
    # The batch axis keeps its place among the operand's axes, so that nothing has to be transposed.
    out_axis = 0 if batch_axis == 0 else broadcast_dimensions[batch_axis - 1] + 1
    axes = (*broadcast_dimensions[:batch_axis], out_axis, *[axis + 1 for axis in broadcast_dimensions[batch_axis:]])
    return broadcast_in_dim(x, (*shape[:out_axis], x.shape[batch_axis], *shape[out_axis:]), axes), out_axis


@batching_rule(op.reshape_p)
def _reshape_batch(operands: Sequence[Any], batch_axes: Sequence[Any], *, new_sizes: Any, dimensions: tuple[int, ...],
                   sharding: Any) -> tuple[Any, Any]:
    x = move_axis(operands[0], batch_axes[0], 0)
    order = None if dimensions is None else (0, *[axis + 1 for axis in dimensions])
    return reshape(x, (x.shape[0], *new_sizes), order), 0


@batching_rule(op.transpose_p)
def _transpose_batch(operands: Sequence[Any], batch_axes: Sequence[int], *, permutation: Any) -> tuple[Any, Any]:
    (x,), (batch_axis,) = operands, batch_axes
    return transpose(x, (batch_axis, *[axis + (axis >= batch_axis) for axis in permutation])), 0


@batching_rule(op.squeeze_p)
def _squeeze_batch(operands: Sequence[Any], batch_axes: Sequence[int], *, dimensions: tuple[int, ...]) -> tuple[Any, Any]:
    (x,), (batch_axis,) = operands, batch_axes
    shifted = tuple([axis + (axis >= batch_axis) for axis in dimensions])
    return op.squeeze(x, shifted), batch_axis - sum([axis < batch_axis for axis in shifted])


@batching_rule(op.concatenate_p)
def _concatenate_batch(operands: Sequence[Any], batch_axes: Sequence[int | None], *, dimension: int) -> tuple[Any, Any]:
    operands, batch_axis = align_batch_axes(operands, batch_axes)
    return concatenate(operands, dimension + (dimension >= batch_axis)), batch_axis


def align_batch_axes(operands: Sequence[Any], batch_axes: Sequence[int | None]) -> tuple[Any, Any]:
    """Operands of one rank with their batch axes in the same place, and that place; those without one are repeated."""
    x, target = next((x, axis) for x, axis in zip(operands, batch_axes) if axis is not None)
    size = x.shape[target]
    return [broadcast_batch(x, size, target) if axis is None else move_axis(x, axis, target)
            for x, axis in zip(operands, batch_axes)], target


@batching_rule(op.pad_p)
def _pad_batch(operands: Sequence[Any], batch_axes: Sequence[int | None], *, padding_config: Any) -> tuple[Any, Any]:
    (x, padding_value), (batch_axis, value_axis) = operands, batch_axes
    if value_axis is None:
        config = (*padding_config[:batch_axis], (0, 0, 0), *padding_config[batch_axis:])
        return op.pad_p.bind(x, padding_value, padding_config=config), batch_axis
    # A value for each example: pad with anything, then put the values where the padding is.
    x = batch_axis_first(x, batch_axis, padding_value.shape[0])
    config = ((0, 0, 0), *padding_config)
    padded = pad(x, zeros_of(get_aval(padding_value).update(shape=())), config)
    is_padding = pad(full(x.shape, False, np.bool_), True, config)
    return select(is_padding, broadcast_in_dim(padding_value, padded.shape, (0,)), padded), 0


@batching_rule(op.rev_p)
def _rev_batch(operands: Sequence[Any], batch_axes: Sequence[int], *, dimensions: tuple[int, ...]) -> tuple[Any, Any]:
    (x,), (batch_axis,) = operands, batch_axes
    return rev(x, tuple([axis + (axis >= batch_axis) for axis in dimensions])), batch_axis


@batching_rule(op.split_p)
def _split_batch(operands: Sequence[Any], batch_axes: Sequence[int], *, sizes: tuple[int, ...], axis: int) -> tuple[Any, Any]:
    (x,), (batch_axis,) = operands, batch_axes
    pieces = op.split_p.bind(x, sizes=sizes, axis=axis + (axis >= batch_axis))
    return pieces, [batch_axis] * len(pieces)


@batching_rule(op.tile_p)
def _tile_batch(operands: Sequence[Any], batch_axes: Sequence[int | None], *, reps: tuple[int, ...]) -> tuple[Any, Any]:
    (x,), (batch_axis,) = operands, batch_axes
    return op.tile_p.bind(x, reps=(*reps[:batch_axis], 1, *reps[batch_axis:])), batch_axis
