"""Reading at positions along an axis or in the flat array: `take`, `take_along_axis`."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.ops import elementwise as op
from laminax_ir.ops import indexing as indexing_ops
from laminax_ir.ops import shape as shape_ops
from laminax_ir.ops.indexing import GatherDimensionNumbers, GatherScatterMode
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy import reductions
from laminax._src.numerics.numpy.arguments import dtype_of, ensure_arrays, is_kind, one_axis, refuse_out, shape_of
from laminax._src.numerics.numpy.gather_plans import brought_in_range, from_the_front, index_dtype, make_plan
from laminax._src.numerics.numpy.index_items import Slice
from laminax._src.numerics.numpy.indexing import static_scalar
from laminax._src.numerics.numpy.reshaping import moveaxis

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


def take(a: ArrayLike, indices: ArrayLike, axis: int | None = None, out: None = None, mode: str | None = None, unique_indices: bool = False,
         indices_are_sorted: bool = False, fill_value: ArrayLike | None = None) -> Array:
    """Reads elements along an axis.

    Args:
      a: an array.
      indices: an integer array or scalar; negative ones count from the end.
      axis: the axis; None takes the array as flat.
      out: must be None.
      mode: what indices out of bounds give: "fill" (the default) the fill value, "clip" the nearest element (the first
        for negative ones), "wrap" the one of the index modulo the size; "promise_in_bounds" is the caller's word that there are none.
      unique_indices: the caller's word that no index occurs twice.
      indices_are_sorted: the caller's word that the indices increase.
      fill_value: for "fill"; by default NaN, the smallest signed or largest unsigned integer, or True.

    Returns:
      An array whose axis is replaced by the axes of the indices.

    Raises:
      ValueError: if the indices are not integers.
      IndexError: if the axis is empty and the indices are not.
      NotImplementedError: for mode="raise".

    Example:
      >>> jnp.take(jnp.array([10, 20, 30]), jnp.array([2, 0]))
      Array([30, 10], dtype=int32)
    """
    refuse_out("take", out)
    return _take(a, indices, axis=None if axis is None else operator.index(axis), mode=mode,
                 fill_value=None if fill_value is None else static_scalar(fill_value), unique_indices=bool(unique_indices),
                 indices_are_sorted=bool(indices_are_sorted))


@fused(static_argnames=("axis", "mode", "fill_value", "unique_indices", "indices_are_sorted"))
def _take(a: Any, indices: Any, axis: Any, mode: GatherScatterMode | str | None, fill_value: Any, unique_indices: bool,
          indices_are_sorted: bool) -> Any:
    a, indices = ensure_arrays("take", a, indices)
    if mode == "raise":
        raise NotImplementedError("take: mode='raise' is not supported, because compiled programs cannot raise; use 'fill', 'clip' "
                                  "or 'wrap'")
    if not is_kind(indices, dtypes.integer):
        raise ValueError(f"take requires integer indices, got {get_aval(indices).str_short()}")
    is_wrapping = mode == "wrap"
    mode = GatherScatterMode.PROMISE_IN_BOUNDS if is_wrapping else GatherScatterMode.from_any("fill" if mode is None else mode)
    if axis is None:
        a, axis = shape_ops.reshape(a, (math.prod(shape_of(a)),)), 0
    shape = shape_of(a)
    axis = one_axis("take", axis, len(shape))
    if shape[axis] == 0 and math.prod(shape_of(indices)):
        raise IndexError(f"cannot do a non-empty jnp.take() from an empty axis: axis {axis} of {get_aval(a).str_short()}")
    if is_wrapping:
        indices = brought_in_range(indices, shape[axis], "wrap")
    items = [indices if i == axis else Slice(0, size, 1) for i, size in enumerate(shape)]
    plan = make_plan(shape, items, wrap=mode is GatherScatterMode.FILL_OR_DROP)
    if 0 in plan.shape:
        return shape_ops.full(plan.shape, 0, dtype_of(a))
    dims = GatherDimensionNumbers(plan.window_axes, plan.collapsed, plan.index_map)
    return indexing_ops.gather(a, plan.indices, dims, plan.window_sizes, mode=mode, fill_value=fill_value,
                               unique_indices=unique_indices, indices_are_sorted=indices_are_sorted)


def take_along_axis(arr: ArrayLike, indices: ArrayLike, axis: int | None = -1, mode: str | GatherScatterMode | None = None,
                    fill_value: ArrayLike | None = None, *, wrap_negative_indices: bool | None = None) -> Array:
    """Reads along an axis at positions that differ from vector to vector, as `argsort` and `argmax` give them.

    Args:
      arr: an array.
      indices: an integer array with as many axes; their other sizes are equal to arr's, or 1 in one of them.
      axis: the axis; None takes arr as flat.
      mode: what indices out of bounds give: "fill" (the default), "clip" or "promise_in_bounds"; see `take`. "one_hot" sums over
        the axis, masked by comparisons with the index, in place of a gather; out of bounds is 0.
      fill_value: for "fill".
      wrap_negative_indices: whether negative indices count from the end, as is the default.

    Returns:
      An array like the indices, with arr's dtype.

    Raises:
      TypeError: if the indices are not integers.
      ValueError: if the shapes do not fit.

    Example:
      >>> jnp.take_along_axis(jnp.array([[1, 2], [3, 4]]), jnp.array([[1], [0]]), axis=1)
      Array([[2],
             [3]], dtype=int32)
    """
    return _take_along_axis(arr, indices, axis=None if axis is None else operator.index(axis), mode=mode,
                            fill_value=None if fill_value is None else static_scalar(fill_value),
                            wrap=wrap_negative_indices is not False)


@fused(static_argnames=("axis", "mode", "fill_value", "wrap"))
def _take_along_axis(arr: ArrayLike, indices: ArrayLike, axis: int, mode: Any, fill_value: Any, wrap: bool) -> Array:
    arr, indices = ensure_arrays("take_along_axis", arr, indices)
    if not is_kind(indices, dtypes.integer):
        raise TypeError(f"take_along_axis indices must be of integer type, got {dtypes.dtype_name(dtype_of(indices))}")
    mode = mode if mode == "one_hot" else GatherScatterMode.from_any("fill" if mode is None else mode)
    if axis is None:
        if len(shape_of(indices)) != 1:
            raise ValueError(f"take_along_axis indices must be 1D if axis=None, got shape {shape_of(indices)}")
        arr, axis = shape_ops.reshape(arr, (math.prod(shape_of(arr)),)), 0
    shape, wanted = shape_of(arr), shape_of(indices)
    rank = len(shape)
    if len(wanted) != rank:
        raise ValueError(f"indices and arr must have the same number of dimensions; {len(wanted)} vs. {rank}")
    axis = one_axis("take_along_axis", axis, rank)
    others = tuple(i for i in range(rank) if i != axis)
    if any(shape[i] != wanted[i] and 1 not in (shape[i], wanted[i]) for i in others):
        raise ValueError(f"take_along_axis: the sizes of {get_aval(arr).str_short()} and of the indices "
                         f"{get_aval(indices).str_short()} outside axis {axis} must be equal or 1")
    common = [m if n == 1 else n for m, n in zip(shape, wanted)]  # of the axis itself: not used
    arr = shape_ops.broadcast_to_shape(arr, tuple(shape[i] if i == axis else n for i, n in enumerate(common)))
    result_shape = tuple(wanted[i] if i == axis else n for i, n in enumerate(common))
    if 0 in result_shape:
        return shape_ops.full(result_shape, 0, dtype_of(arr))
    dtype = index_dtype([(axis, indices, 0)], shape)
    indices = shape_ops.broadcast_to_shape(from_the_front(indices, shape[axis], dtype, wrap), result_shape)
    if mode == "one_hot":
        return _by_comparison(arr, indices, axis)
    dims = GatherDimensionNumbers((), (axis,), (axis,), others, others)
    return indexing_ops.gather(arr, shape_ops.reshape(indices, (*result_shape, 1)), dims, (1,) * rank, mode=mode,
                               fill_value=fill_value)


def _by_comparison(arr: ArrayLike, indices: ArrayLike, axis: int) -> Array:
    """The elements at the indices along an axis as a sum over a new last one of those where it equals the index."""
    size, rank = arr.shape[axis], len(arr.shape)
    shape = (*indices.shape, size)
    hits = op.eq(shape_ops.broadcast_in_dim(indices, shape, range(rank)), shape_ops.broadcasted_iota(dtype_of(indices), shape, rank))
    elements = shape_ops.broadcast_to_shape(shape_ops.expand_dims(moveaxis(arr, axis, -1), (axis,)), shape)
    if dtype_of(arr) == np.bool_:
        return reductions.any(op.bitwise_and(hits, elements), axis=-1)
    return reductions.sum(op.select(hits, elements, shape_ops.full_like(elements, 0)), axis=-1, dtype=dtype_of(arr))


