"""Derivatives and batching of indexing operations.

A read is linear in its array, and its transpose adds the cotangents at the places that were read; a write is linear in the
array and in the written values. Batched gathers and scatters use the batching dimensions of their dimension numbers.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from laminax_ir.ops import indexing as op
from laminax_ir.ops.elementwise import add, convert_element_type, div, eq, mul, neg, select
from laminax_ir.ops.indexing import GatherDimensionNumbers, ScatterDimensionNumbers, gather, gather_p, scatter_add
from laminax_ir.ops.shape import full, iota, reshape
from laminax_ir.programs.primitive import Primitive
from laminax_ir.types.avals import get_aval
from laminax_transforms.base.registry import batching_rule, define_jvp, is_linear, jvp_rule, transpose_rule
from laminax_transforms.base.zeros import zero_cotangent, zeros_of
from laminax_transforms.batching.batch_axes import move_axis, move_batch_axis

if TYPE_CHECKING:
    from laminax_ir.ops.indexing import GatherScatterMode
    from laminax_ir.programs.jaxpr import Jaxpr
    from laminax_ir.types.annotations import Array, ArrayLike

# Gather


def _gather_partial(t: ArrayLike, _result: ArrayLike, x: ArrayLike, indices: ArrayLike, *, fill_value: Any, **params: Any) -> Array:
    return gather_p.bind(t, indices, fill_value=None if fill_value is None else 0, **params)


define_jvp(gather_p, _gather_partial)


@transpose_rule(gather_p)
def _gather_transpose(ct: Any, x: Any, indices: Any, *, dimension_numbers: GatherDimensionNumbers, slice_sizes: tuple[int, ...],
                      indices_are_sorted: bool, unique_indices: bool, mode: GatherScatterMode, fill_value: Any) -> list[Any]:
    dims = ScatterDimensionNumbers(*dimension_numbers)  # field by field the same axes
    return [scatter_add(zero_cotangent(x), indices, ct, dims, indices_are_sorted=indices_are_sorted,
                        unique_indices=unique_indices, mode=mode), None]


def _shifted(axes: Sequence[int]) -> tuple[int, ...]:
    return tuple([axis + 1 for axis in axes])


@batching_rule(gather_p)
def gather_batch(operands: Sequence[Any], batch_axes: Sequence[int | None], *, dimension_numbers: GatherDimensionNumbers,
                 slice_sizes: tuple[int, ...], indices_are_sorted: bool, unique_indices: bool, mode: GatherScatterMode,
                 fill_value: Any) -> tuple[Any, Any]:
    """The batching rule of gather, also for operations that become a gather when they are batched."""
    (x, indices), (x_axis, indices_axis) = operands, batch_axes
    offset, collapsed, index_map, x_batching, indices_batching = dimension_numbers
    if x_axis is not None:
        x = move_axis(x, x_axis, 0)
        collapsed, index_map, x_batching = _shifted(collapsed), _shifted(index_map), _shifted(x_batching)
    if indices_axis is not None:
        indices = move_axis(indices, indices_axis, 0)
        offset, indices_batching = _shifted(offset), _shifted(indices_batching)
    if x_axis is None:  # windows of different examples may be the same
        indices_are_sorted = unique_indices = False
    elif indices_axis is None:  # the batch axis is one more axis of the window
        offset, slice_sizes = (0, *_shifted(offset)), (x.shape[0], *slice_sizes)
    else:
        x_batching, indices_batching = (0, *x_batching), (0, *indices_batching)
        slice_sizes = (1 if x.shape[0] else 0, *slice_sizes)
    dims = GatherDimensionNumbers(offset, collapsed, index_map, x_batching, indices_batching)
    return gather_p.bind(x, indices, dimension_numbers=dims, slice_sizes=slice_sizes, indices_are_sorted=indices_are_sorted,
                         unique_indices=unique_indices, mode=mode, fill_value=fill_value), 0


# Scatter: rules for all kinds

SCATTERS = (op.scatter_p, op.scatter_add_p, op.scatter_sub_p, op.scatter_mul_p, op.scatter_min_p, op.scatter_max_p)


def gather_where_scattered(x: ArrayLike, indices: ArrayLike, updates_shape: tuple[int, ...], *, dimension_numbers: ScatterDimensionNumbers,
                           indices_are_sorted: bool, unique_indices: bool, mode: GatherScatterMode, **_: Any) -> Any:
    """Reads from x what a scatter with these parameters would write to; 0 where it writes nothing."""
    dims = GatherDimensionNumbers(*dimension_numbers)
    shape = get_aval(x).shape
    sizes = tuple(map(min, op.scatter_window(shape, updates_shape, dimension_numbers), shape))
    if any([sizes[axis] == 0 for axis in dims.collapsed_slice_dims]):  # nothing to read from
        return full(updates_shape, 0, get_aval(x).dtype)
    return gather(x, indices, dims, sizes, indices_are_sorted=indices_are_sorted, unique_indices=unique_indices, mode=mode,
                  fill_value=0)


def _hints(params: dict[str, Any]) -> dict:
    return {name: params[name] for name in ("dimension_numbers", "indices_are_sorted", "unique_indices", "mode")}


def batch_scatter(primitive: Primitive, operands: Sequence[Any], batch_axes: Sequence[int | None], *,
                  dimension_numbers: ScatterDimensionNumbers, indices_are_sorted: bool, unique_indices: bool, mode: GatherScatterMode,
                  update_jaxpr: Jaxpr | None, update_consts: tuple[Any, ...]) -> tuple[Any, Any]:
    """The batching rule of every scatter, also for operations that become a scatter when they are batched."""
    (x, indices, updates), (x_axis, indices_axis, updates_axis) = operands, batch_axes
    mapped = [(get_aval(value), axis) for value, axis in zip(operands, batch_axes) if axis is not None]
    size = mapped[0][0].shape[mapped[0][1]]
    mesh_axes = next((aval._split.spec.partitions[axis] for aval, axis in mapped if aval._split is not None), None)
    x, updates = move_batch_axis(x, x_axis, 0, size, mesh_axes), move_batch_axis(updates, updates_axis, 0, size, mesh_axes)
    window, inserted, index_map, x_batching, indices_batching = dimension_numbers
    window, inserted, index_map, x_batching = map(_shifted, (window, inserted, index_map, x_batching))
    if indices_axis is None:  # the batch axis is one more axis of the window
        window = (0, *window)
    else:
        indices = move_axis(indices, indices_axis, 0)
        x_batching, indices_batching = (0, *x_batching), (0, *_shifted(indices_batching))
    dims = ScatterDimensionNumbers(window, inserted, index_map, x_batching, indices_batching)
    return primitive.bind(x, indices, updates, dimension_numbers=dims, indices_are_sorted=indices_are_sorted,
                          unique_indices=unique_indices, mode=mode, update_jaxpr=update_jaxpr, update_consts=update_consts), 0


def _define_scatter_batching(primitive: Primitive) -> None:
    @batching_rule(primitive)
    def rule(operands: Sequence[Any], batch_axes: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
        return batch_scatter(primitive, operands, batch_axes, **params)


for _primitive in SCATTERS:
    _define_scatter_batching(_primitive)


# scatter-add and scatter-sub are linear in the operand and the updates together.


def _define_linear_scatter(primitive: Primitive, negate: bool) -> None:
    @jvp_rule(primitive)
    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        x_dot, _, updates_dot = tangents
        return primitive.bind(*primals, **params), primitive.bind(x_dot, primals[1], updates_dot, **params)

    @transpose_rule(primitive)
    def transpose(ct: Any, x: Any, indices: Any, updates: Any, **params: Any) -> list[Any]:
        if not is_linear(updates):
            return [ct, None, None]
        updates_ct = gather_where_scattered(ct, indices, updates.shape, **params)
        return [ct if is_linear(x) else None, None, neg(updates_ct) if negate else updates_ct]


_define_linear_scatter(op.scatter_add_p, negate=False)
_define_linear_scatter(op.scatter_sub_p, negate=True)


# scatter-mul is linear in the operand; in the updates only if no element is multiplied twice.


def _scatter_mul_by_tangent(t: ArrayLike, _result: ArrayLike, x: ArrayLike, indices: ArrayLike, updates: ArrayLike, **params: Any) -> Array:
    if not params["unique_indices"]:
        raise NotImplementedError("scatter_mul gradients are only implemented if `unique_indices=True`: in the updates, "
                                  "an element that is multiplied twice would need the product of all its other factors")
    factor = gather_where_scattered(x, indices, get_aval(updates).shape, **params)
    return scatter_add(zeros_of(get_aval(x)), indices, mul(t, factor), **_hints(params))


define_jvp(op.scatter_mul_p, lambda t, _result, x, indices, updates, **params: op.scatter_mul_p.bind(t, indices, updates, **params),
           None, _scatter_mul_by_tangent)


@transpose_rule(op.scatter_mul_p)
def _scatter_mul_transpose(ct: Any, x: Any, indices: Any, updates: Any, **params: Any) -> list[Any]:
    if is_linear(updates):
        raise NotImplementedError("scatter_mul: the transpose with respect to the updates is not defined")
    return [op.scatter_mul_p.bind(ct, indices, updates, **params), None, None]


# scatter-min and scatter-max: the elements and updates that attain the extremum share the derivative equally.


def _define_extremal_scatter(primitive: Primitive) -> None:
    @jvp_rule(primitive)
    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        (x, indices, updates), (x_dot, _, updates_dot) = primals, tangents
        result = primitive.bind(*primals, **params)
        aval, updates_aval = get_aval(x), get_aval(updates)
        attains = convert_element_type(eq(x, result), aval.dtype)
        result_read = gather_where_scattered(result, indices, updates_aval.shape, **params)
        updates_attain = convert_element_type(eq(updates, result_read), aval.dtype)
        hints = _hints(params)
        count = scatter_add(attains, indices, updates_attain, **hints)
        # A result that no element attains is NaN, and its tangent 0/0 is NaN too.
        shared = scatter_add(mul(x_dot, attains), indices, mul(updates_dot, updates_attain), **hints)
        return result, div(shared, count)


_define_extremal_scatter(op.scatter_min_p)
_define_extremal_scatter(op.scatter_max_p)


# scatter: of several updates of one element one wins, and the derivative must follow the winner.


@jvp_rule(op.scatter_p)
def _scatter_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    if params["update_jaxpr"] is not None:
        raise NotImplementedError("scatter_apply cannot be differentiated; gather the elements, compute, and scatter the result")
    (x, indices, updates), (x_dot, _, updates_dot) = primals, tangents
    if params["unique_indices"]:
        return op.scatter_p.bind(*primals, **params), op.scatter_p.bind(x_dot, indices, updates_dot, **params)
    # Number the updates, scatter the numbers, and read back who won. Then each element has one update at most, and
    # adding to zeros is the same as writing: linear, and the same winner for result and tangent on every platform.
    shape = get_aval(updates).shape
    count = math.prod(shape)
    numbers = reshape(add(iota(np.int32, count), full((count,), 1, np.int32)), shape)
    winners = op.scatter_p.bind(full(get_aval(x).shape, 0, np.int32), indices, numbers, **params)
    untouched = eq(winners, full(winners.shape, 0, np.int32))
    won = eq(numbers, gather_where_scattered(winners, indices, shape, **params))
    hints = _hints(params)

    def write(into: ArrayLike, values: ArrayLike) -> Any:
        into = select(untouched, into, zeros_of(get_aval(into)))
        return scatter_add(into, indices, select(won, values, zeros_of(get_aval(values))), **hints)

    return write(x, updates), write(x_dot, updates_dot)


@transpose_rule(op.scatter_p)
def _scatter_transpose(ct: Any, x: Any, indices: Any, updates: Any, **params: Any) -> list[Any]:
    updates_aval = updates if is_linear(updates) else get_aval(updates)
    x_ct = updates_ct = None
    if is_linear(x):
        x_ct = op.scatter_p.bind(ct, indices, zero_cotangent(updates_aval), **params)
    if is_linear(updates):
        if not params["unique_indices"]:
            raise NotImplementedError("scatter: the transpose with respect to the updates needs unique_indices=True")
        updates_ct = gather_where_scattered(ct, indices, updates_aval.shape, **params)
    return [x_ct, None, updates_ct]
