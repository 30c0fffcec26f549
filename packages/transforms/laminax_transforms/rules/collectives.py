"""Collectives: derivatives, transposes, and how they become ordinary operations under the `vmap` that defines their axis.

The transpose of a sum over participants is a sum over participants: a cotangent of the result is taken to be the participant's own
share. So `grad` inside of a named axis is the gradient of the sum of all participants' results.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Callable, Sequence

import numpy as np

from laminax_ir.ops import collectives as op
from laminax_ir.ops import elementwise
from laminax_ir.ops.indexing import GatherDimensionNumbers, gather
from laminax_ir.ops.reduction import reduce_max, reduce_min, reduce_sum
from laminax_ir.ops.shape import concatenate, full, iota, reshape
from laminax_ir.programs.primitive import Primitive
from laminax_ir.tracing.manual_axes import checked_axes
from laminax_ir.types.avals import get_aval, remove_axis
from laminax_transforms.base.registry import (
    axis_batching_rule,
    batching_rule,
    define_jvp,
    define_linear,
    is_linear,
    jvp_rule,
    transpose_rule,
)
from laminax_transforms.base.zeros import ZERO
from laminax_transforms.batching.batch_axes import Axis, batch_axis_first, broadcast_batch, move_axis

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

define_linear(op.psum_p)
define_linear(op.all_gather_p)
define_linear(op.reduce_scatter_p)
define_linear(op.all_to_all_p)
define_linear(op.ppermute_p)
define_linear(op.pvary_p)


def _extremum_partial(tangent: ArrayLike, result: ArrayLike, x: ArrayLike, *, axes: tuple[str, ...], axis_index_groups: Any) -> Array:
    """The mean of the tangents at the places of the extremum, as for `reduce_max`."""
    here = elementwise.convert_element_type(elementwise.eq(x, result), get_aval(x).dtype)
    count = op.psum_p.bind(here, axes=axes, axis_index_groups=axis_index_groups)
    total = op.psum_p.bind(elementwise.mul(tangent, here), axes=axes, axis_index_groups=axis_index_groups)
    return elementwise.div(total, count)


define_jvp(op.pmax_p, _extremum_partial)
define_jvp(op.pmin_p, _extremum_partial)


@jvp_rule(op.axis_index_p, symbolic_zeros=True)
def _axis_index_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    return op.axis_index_p.bind(**params), ZERO


@jvp_rule(op.psum_shared_p, symbolic_zeros=True)
def _psum_shared_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    result = op.psum_shared_p.bind(*primals, **params)
    return result, ZERO if tangents[0] is ZERO else op.psum_shared_p.bind(tangents[0], primals[1], **params)


@transpose_rule(op.psum_p)
def _psum_transpose(ct: Any, x: Any, *, axes: tuple[str, ...], axis_index_groups: Any) -> list[Any]:
    """The sum of the cotangents; along checked axes that the cotangent does not vary over, it is the participant's cotangent already."""
    checked = checked_axes()
    if not checked:
        return [op.psum_p.bind(ct, axes=axes, axis_index_groups=axis_index_groups)]
    same = tuple(name for name in axes if name in checked and name not in get_aval(ct).named_shape)
    rest = tuple(name for name in axes if name not in same)
    ct = op.psum_p.bind(ct, axes=rest, axis_index_groups=axis_index_groups) if rest else ct
    return [op.vary(ct, axes)]


@transpose_rule(op.pvary_p)
def _pvary_transpose(ct: Any, x: Any, *, axes: tuple[str, ...]) -> list[Any]:
    return [ct]  # the sum over the axes comes at the end of the linear program, as for every operand that does not vary


@batching_rule(op.pvary_p)
def _pvary_batch(operands: Sequence[Any], batch_axes: Sequence[int | None], *, axes: tuple[str, ...]) -> tuple[Any, Any]:
    return op.pvary_p.bind(*operands, axes=axes), batch_axes[0]


@transpose_rule(op.psum_shared_p)
def _psum_shared_transpose(ct: Any, x: Any, like: Any, **params: Any) -> list[Any]:
    if is_linear(like):
        raise NotImplementedError("reduce_axes inside of a function that is transposed by linear_transpose is not supported")
    return [op.psum_shared_p.bind(ct, like, **params), None]


@transpose_rule(op.all_gather_p)
def _all_gather_transpose(ct: Any, x: Any, *, all_gather_dimension: int, **params: Any) -> list[Any]:
    return [op.reduce_scatter_p.bind(ct, scatter_dimension=all_gather_dimension, **params)]


@transpose_rule(op.reduce_scatter_p)
def _reduce_scatter_transpose(ct: Any, x: Any, *, scatter_dimension: int, **params: Any) -> list[Any]:
    return [op.all_gather_p.bind(ct, all_gather_dimension=scatter_dimension, **params)]


@transpose_rule(op.all_to_all_p)
def _all_to_all_transpose(ct: Any, x: Any, *, split_axis: int, concat_axis: int, **params: Any) -> list[Any]:
    return [op.all_to_all_p.bind(ct, split_axis=concat_axis, concat_axis=split_axis, **params)]


@transpose_rule(op.ppermute_p)
def _ppermute_transpose(ct: Any, x: Any, *, axis_name: tuple, perm: tuple) -> list[Any]:
    return [op.ppermute_p.bind(ct, axis_name=axis_name, perm=tuple((d, s) for s, d in perm))]


# Batching. Each rule has two cases: a collective over other axes, which carries the batch axis along, and a collective over the
# mapped axis itself.


def _take_rows(x: ArrayLike, indices: np.ndarray) -> Array:
    """`x[indices]` along the first axis, for known indices of any rank."""
    shape = get_aval(x).shape
    rank = indices.ndim
    dims = GatherDimensionNumbers(offset_dims=tuple(range(rank, rank + len(shape) - 1)), collapsed_slice_dims=(0,),
                                  start_index_map=(0,))
    return gather(x, np.asarray(indices, np.int32)[..., None], dims, (1, *shape[1:]))


def _merge_axes(x: ArrayLike, axis: int, count: int = 2) -> Array:
    """`count` neighbouring axes as one."""
    shape = get_aval(x).shape
    return reshape(x, (*shape[:axis], math.prod(shape[axis:axis + count]), *shape[axis + count:]))


def _split_axis(x: ArrayLike, axis: int, sizes: Sequence[int]) -> Array:
    """One axis as several."""
    shape = get_aval(x).shape
    return reshape(x, (*shape[:axis], *sizes, *shape[axis + 1:]))


def _define_reduction(primitive: Primitive, reduce: Callable, of_equals: Callable) -> None:
    """Args: `of_equals(x, n)`, the reduction of n equal values."""
    @axis_batching_rule(primitive, uses_axis_name=True)
    def rule(axis: Axis, operands: Sequence[Any], batch_axes: Sequence[int | None], *, axes: tuple[str, ...],
             axis_index_groups: tuple[tuple[int, ...], ...] | None) -> tuple[Any, Any]:
        (x,), (b,) = operands, batch_axes
        if axis.name is None or axis.name not in axes:
            return primitive.bind(x, axes=axes, axis_index_groups=axis_index_groups), b
        if axis_index_groups is not None:
            _require_one_name(primitive, axes)
            x = batch_axis_first(x, b, axis.size)
            return _reduce_in_groups(x, axis_index_groups, reduce), 0
        x = of_equals(x, axis.size) if b is None else reduce(x, (b,))
        rest = tuple(name for name in axes if name != axis.name)
        return (primitive.bind(x, axes=rest, axis_index_groups=None) if rest else x), None


def _require_one_name(primitive: Primitive, names: Sequence) -> None:
    if len(names) > 1:
        raise NotImplementedError(f"{primitive} over several axes {tuple(names)} with axis_index_groups or a permutation cannot be "
                                  "batched by the vmap of one of them. Use one axis name.")


def _reduce_in_groups(x: ArrayLike, groups: tuple[tuple[int, ...], ...], reduce: Callable) -> Array:
    """Replaces each row by the reduction over the rows of its group."""
    totals = [reduce(_take_rows(x, np.array(group)), (0,)) for group in groups]
    stacked = concatenate([reshape(t, (1, *get_aval(t).shape)) for t in totals], 0)
    group_of = np.zeros(sum(map(len, groups)), np.int32)
    for index, group in enumerate(groups):
        group_of[list(group)] = index
    return _take_rows(stacked, group_of)


def _repeated(x: ArrayLike, count: int) -> Array:
    return elementwise.mul(x, np.asarray(count, get_aval(x).dtype)[()])


_define_reduction(op.psum_p, reduce_sum, _repeated)
_define_reduction(op.pmax_p, reduce_max, lambda x, n: x)
_define_reduction(op.pmin_p, reduce_min, lambda x, n: x)


@axis_batching_rule(op.psum_shared_p, uses_axis_name=True)
def _psum_shared_batch(axis: Axis, operands: Sequence[Any], batch_axes: Sequence[int | None], *, axes: tuple[str, ...]) -> tuple[Any, Any]:
    (x, like), (b, like_axis) = operands, batch_axes
    rest = axes
    if axis.name is not None and axis.name in axes:
        rest = tuple(name for name in axes if name != axis.name)
        if like_axis is None and b is not None:
            x, b = reduce_sum(x, (b,)), None
    return (op.psum_shared_p.bind(x, like, axes=rest) if rest else x), b


@axis_batching_rule(op.all_gather_p, uses_axis_name=True)
def _all_gather_batch(axis: Axis, operands: Sequence[Any], batch_axes: Sequence[int | None], *, all_gather_dimension: int, axis_name: tuple,
                      axis_index_groups: tuple[tuple[int, ...], ...] | None, axis_size: int, tiled: bool) -> tuple[Any, Any]:
    (x,), (b,), dim = operands, batch_axes, all_gather_dimension
    if axis.name is None or axis.name not in axis_name:
        x = x if b is None else move_axis(x, b, 0)
        shift = b is not None
        result = op.all_gather_p.bind(x, all_gather_dimension=dim + shift, axis_name=axis_name, axis_index_groups=axis_index_groups,
                                      axis_size=axis_size, tiled=tiled)
        return result, 0 if shift else None
    if axis_index_groups is not None:
        _require_one_name(op.all_gather_p, axis_name)
        members, _ = op.group_index(axis_index_groups)
        result = move_axis(_take_rows(batch_axis_first(x, b, axis.size), members), 1, dim + 1)
        return (_merge_axes(result, dim + 1) if tiled else result), 0
    for name in reversed(axis_name):  # the last name varies fastest, so its axis ends up innermost
        if name == axis.name:
            x, b = broadcast_batch(x, axis.size, dim) if b is None else move_axis(x, b, dim), None
        else:
            x, b = (x, None) if b is None else (move_axis(x, b, 0), 0)
            x = op.all_gather_p.bind(x, all_gather_dimension=dim + (b is not None), axis_name=(name,), axis_index_groups=None,
                                     axis_size=op.axis_size(name), tiled=False)
    count = len(axis_name) + tiled
    return (_merge_axes(x, dim, count) if count > 1 else x), None


@axis_batching_rule(op.reduce_scatter_p, uses_axis_name=True)
def _reduce_scatter_batch(axis: Axis, operands: Sequence[Any], batch_axes: Sequence[int | None], *, scatter_dimension: int,
                          axis_name: tuple, axis_index_groups: tuple[tuple[int, ...], ...] | None, axis_size: int,
                          tiled: bool) -> tuple[Any, Any]:
    (x,), (b,), dim = operands, batch_axes, scatter_dimension
    if axis.name is None or axis.name not in axis_name:
        x = x if b is None else move_axis(x, b, 0)
        shift = b is not None
        result = op.reduce_scatter_p.bind(x, scatter_dimension=dim + shift, axis_name=axis_name,
                                          axis_index_groups=axis_index_groups, axis_size=axis_size, tiled=tiled)
        return result, 0 if shift else None
    if axis_index_groups is not None:
        _require_one_name(op.reduce_scatter_p, axis_name)
        x = _reduce_in_groups(batch_axis_first(x, b, axis.size), axis_index_groups, reduce_sum)
        if tiled:
            x = _split_axis(x, dim + 1, (axis_size, get_aval(x).shape[dim + 1] // axis_size))
        _, positions = op.group_index(axis_index_groups)
        rows = _merge_axes(move_axis(x, dim + 1, 1), 0)
        return _take_rows(rows, np.arange(axis.size) * axis_size + positions), 0
    x = _repeated(x, axis.size) if b is None else reduce_sum(x, (b,))
    sizes = [op.axis_size(name) for name in axis_name]
    if tiled or len(sizes) > 1:
        kept = (get_aval(x).shape[dim] // axis_size,) if tiled else ()
        x = _split_axis(x, dim, (*sizes, *kept))
    place = dim + axis_name.index(axis.name)
    x = move_axis(x, place, 0)  # a participant gets the part with its index: the axis of the parts becomes the batch axis
    for name in axis_name:
        if name != axis.name:
            x = op.reduce_scatter_p.bind(x, scatter_dimension=dim + 1, axis_name=(name,), axis_index_groups=None,
                                         axis_size=op.axis_size(name), tiled=False)
    return x, 0


@axis_batching_rule(op.all_to_all_p, uses_axis_name=True)
def _all_to_all_batch(axis: Axis, operands: Sequence[Any], batch_axes: Sequence[Any], *, split_axis: int, concat_axis: int,
                      axis_name: tuple, axis_index_groups: tuple[tuple[int, ...], ...] | None, tiled: bool) -> tuple[Any, Any]:
    (x,), (b,) = operands, batch_axes
    names = op.axis_names(axis_name)
    if axis.name is None or axis.name not in names:
        shift = b is not None
        x = move_axis(x, b, 0) if shift else x
        result = op.all_to_all_p.bind(x, split_axis=split_axis + shift, concat_axis=concat_axis + shift, axis_name=axis_name,
                                      axis_index_groups=axis_index_groups, tiled=tiled)
        return result, 0 if shift else None
    x = batch_axis_first(x, b, axis.size)
    op.all_to_all_p.shape_rule(remove_axis(get_aval(x), 0), split_axis=split_axis, concat_axis=concat_axis, axis_name=axis_name,
                               axis_index_groups=axis_index_groups, tiled=tiled)  # refuses sizes that do not fit
    split, concat = split_axis + 1, concat_axis + 1
    counts = [op.axis_size(name) for name in names] if axis_index_groups is None else [len(axis_index_groups[0])]
    # The parts, by the coordinates of the receiving participants; with `tiled` a part is a block, whose axis stays.
    x = _split_axis(x, split, [*counts, get_aval(x).shape[split] // math.prod(counts)] if tiled else counts)
    if axis_index_groups is None:
        for place, name in enumerate(names, split):  # each name trades its own coordinate of the parts
            if name == axis.name:
                x = move_axis(move_axis(x, place, 0), 1, place)
            else:
                x = op.all_to_all_p.bind(x, split_axis=place, concat_axis=place, axis_name=name, axis_index_groups=None, tiled=False)
        x = _merge_axes(x, split, len(names))
    else:
        _require_one_name(op.all_to_all_p, names)
        members, positions = op.group_index(axis_index_groups)
        x = _merge_axes(move_axis(x, split, 1), 0)  # a row for each part of each participant
        x = move_axis(_take_rows(x, members * counts[0] + positions[:, None]), 1, split)
    x = move_axis(x, split, concat)  # the received values, by sender
    return (_merge_axes(x, concat) if tiled else x), 0


@axis_batching_rule(op.ppermute_p, uses_axis_name=True)
def _ppermute_batch(axis: Axis, operands: Sequence[Any], batch_axes: Sequence[int | None], *, axis_name: tuple,
                    perm: tuple) -> tuple[Any, Any]:
    (x,), (b,) = operands, batch_axes
    if axis.name is None or axis.name not in axis_name:
        return op.ppermute_p.bind(x, axis_name=axis_name, perm=perm), b
    _require_one_name(op.ppermute_p, axis_name)
    source = np.full(axis.size, axis.size, np.int32)  # by default the row of zeros put behind the others
    for s, d in perm:
        source[d] = s
    is_complete = len(perm) == axis.size
    if b is None and is_complete:
        return x, None
    x = batch_axis_first(x, b, axis.size)
    if not is_complete:
        aval = get_aval(x)
        x = concatenate([x, full((1, *aval.shape[1:]), 0, aval.dtype)], 0)
    return _take_rows(x, source), 0


@axis_batching_rule(op.axis_index_p, uses_axis_name=True)
def _axis_index_batch(axis: Axis, operands: Sequence[Any], batch_axes: Sequence[int | None], *, axis_name: tuple) -> tuple[Any, Any]:
    if axis.name is None or axis_name != axis.name:
        return op.axis_index_p.bind(axis_name=axis_name), None
    return iota(np.int32, axis.size), 0
