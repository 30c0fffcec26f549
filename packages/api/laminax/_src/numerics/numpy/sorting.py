"""Order and search: sort, argsort, partition, nonzero, searchsorted and digitize."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.functions import operators
from laminax_ir.ops import elementwise as op
from laminax_ir.ops import indexing as indexing_ops
from laminax_ir.ops import shape as shape_ops
from laminax_ir.ops import slicing as slicing_ops
from laminax_ir.ops import sorting as sorting_ops
from laminax_ir.ops.cumulative import cumsum as cumulative_sum_of
from laminax_ir.ops.indexing import GatherScatterMode
from laminax_ir.ops.reduction import reduce_sum
from laminax_ir.ops.scalar_operands import scalar_like
from laminax_ir.ops.slicing import slice_in_dim
from laminax_ir.symbolic.symbolic_dims import size_of
from laminax_ir.tracing.trace import Tracer
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy.arguments import (
    as_array,
    concrete_numpy,
    convert,
    dtype_of,
    ensure_array,
    ensure_arrays,
    is_kind,
    one_axis,
    promote_dtypes,
    refuse_out,
    shape_of,
    user_dtype,
)
from laminax._src.numerics.numpy.conditions import _where, truth_of
from laminax._src.numerics.numpy.joining import stack, unstack
from laminax._src.numerics.numpy.reshaping import ravel
from laminax._src.numerics.numpy.taking import _take, take, take_along_axis

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike, DTypeLike

_INT32 = np.dtype(np.int32)
_FEW_VALUES = 8


def sort(a: ArrayLike, axis: int | None = -1, *, kind: None = None, order: None = None, stable: bool = True,
         descending: bool = False) -> Any:
    """A sorted copy; NaN go last.

    Args:
      a: an array.
      axis: the axis; None sorts the flat array.
      kind, order: must be None.
      stable: whether equal elements keep their order.
      descending: whether the greatest come first.

    Example:
      >>> jnp.sort(jnp.array([3, 1, 2]))
      Array([1, 2, 3], dtype=int32)
    """
    _refuse_kind("sort", kind, order)
    return _sort(a, axis=axis, stable=bool(stable), descending=bool(descending))


def _refuse_kind(name: str, kind: Any, order: Any) -> None:
    if kind is not None:
        raise TypeError(f"{name}: the kind of sort cannot be chosen, got {kind!r}; use stable=True or False")
    if order is not None:
        raise TypeError(f"{name}: order is for structured dtypes, which arrays do not have; got {order!r}")


@fused(static_argnames=("axis", "stable", "descending"))
def _sort(a: ArrayLike, axis: int, stable: bool, descending: bool) -> Array:
    a, axis = _flat_if_none("sort", a, axis)
    result = sorting_ops.sort(a, axis, stable)
    return shape_ops.rev(result, (axis,)) if descending else result


def _flat_if_none(name: str, a: Any, axis: int | None) -> tuple[Any, int]:
    a = ensure_array(name, a)
    if axis is None:
        return shape_ops.reshape(a, (math.prod(shape_of(a)),)), 0
    return a, one_axis(name, axis, len(shape_of(a)))


def argsort(a: ArrayLike, axis: int | None = -1, *, kind: None = None, order: None = None, stable: bool = True, descending: bool = False,
            dtype: DTypeLike | None = None) -> Array:
    """The indices that sort an array along an axis.

    Args:
      a: an array.
      axis: the axis; None sorts the flat array.
      kind, order: must be None.
      stable: whether equal elements keep their order.
      descending: whether the greatest come first.
      dtype: the integer dtype of the result, by default the default one.

    Returns:
      An integer array of a's shape.

    Example:
      >>> jnp.argsort(jnp.array([3, 1, 2]))
      Array([1, 2, 0], dtype=int32)
    """
    _refuse_kind("argsort", kind, order)
    return _argsort(a, axis=axis, stable=bool(stable), descending=bool(descending), dtype=user_dtype("argsort", dtype))


@fused(static_argnames=("axis", "stable", "descending", "dtype"))
def _argsort(a: Any, axis: int, stable: bool, descending: bool, dtype: Any) -> Array:
    a, axis = _flat_if_none("argsort", a, axis)
    shape = shape_of(a)
    dtype = dtypes.scalar_dtype(int) if dtype is None else dtype
    if not shape:
        return shape_ops.full((), 0, dtype)
    places = shape_ops.broadcasted_iota(dtype, shape, axis)
    if not descending:
        return sorting_ops.sort((a, places), axis, stable, num_keys=1)[1]
    # Sorted backwards and turned around, so that equal elements keep their order.
    backwards = op.sub(scalar_like(shape[axis] - 1, dtype), places)
    order = sorting_ops.sort((shape_ops.rev(a, (axis,)), backwards), axis, stable, num_keys=1)[1]
    return shape_ops.rev(order, (axis,))


def top_k(a: ArrayLike, k: int, /, *, axis: int = -1, mode: str = "largest", sorted: bool = True) -> tuple[Any, Any]:
    """The k greatest or least elements along an axis, and where they were.

    Args:
      a: an array, not complex.
      k: how many, at most the size of the axis.
      axis: the axis; a negative one counts from the end.
      mode: "largest" or "smallest". NaN are greater than all numbers.
      sorted: without effect; the elements are in descending order, or in ascending order for "smallest".

    Returns:
      (values, indices): of a's shape with size k along the axis; of equal elements the earlier one comes first.

    Raises:
      ValueError: if k, the axis or the mode is none of these, or a is complex.

    Example:
      >>> top_k(numpy.array([1, 5, 3]), 2)
      (Array([5, 3], dtype=int32), Array([1, 2], dtype=int32))
    """
    del sorted
    if mode not in ("largest", "smallest"):
        raise ValueError(f"top_k: mode must be 'largest' or 'smallest', got {mode!r}")
    a = ensure_array("top_k", a)
    axis, k = one_axis("top_k", axis, len(shape_of(a))), operator.index(k)
    if is_kind(a, dtypes.complexfloating):
        raise ValueError(f"top_k: complex numbers have no greatest ones, got {get_aval(a).str_short()}")
    if not 0 <= k <= shape_of(a)[axis]:
        raise ValueError(f"top_k: k must be from 0 to the size of the axis, got k={k} for axis {axis} of {get_aval(a).str_short()}")
    return tuple(_top_k(a, k=k, axis=axis, mode=mode))


@fused(static_argnames=("k", "axis", "mode"))
def _top_k(a: Any, k: Any, axis: Any, mode: Any) -> Any:
    a = as_array(a)
    if mode == "largest":
        return sorting_ops.top_k(a, k, axis=axis)
    ascending = sorting_ops.sort((a, shape_ops.broadcasted_iota(np.int32, a.shape, axis)), axis, True, num_keys=1)
    return [slicing_ops.slice_in_dim(x, 0, k, axis=axis) for x in ascending]


def lexsort(keys: ArrayLike, axis: int = -1, *, batch_size: int = 16) -> Array:
    """The indices that sort by several keys; the last key decides first.

    Args:
      keys: a sequence of arrays of one shape, or an array whose first axis numbers them.
      axis: the axis to sort along.
      batch_size: how many keys are compared in one sort: more keys are sorted by in turns, the least significant ones first, so that
        compile time does not grow with their number.

    Raises:
      TypeError: if there are no keys.
      ValueError: if their shapes differ, or the batch size is not positive.

    Example:
      >>> jnp.lexsort((jnp.array([1, 0, 2]), jnp.array([1, 0, 0])))
      Array([1, 2, 0], dtype=int32)
    """
    if (batch_size := operator.index(batch_size)) < 1:
        raise ValueError(f"lexsort: batch_size must be positive, got {batch_size}")
    if not isinstance(keys, (list, tuple)):
        keys = unstack(keys)
    if not len(keys):
        raise TypeError("lexsort: need sequence of keys with len > 0")
    return _lexsort(list(ensure_arrays("lexsort", *keys)), axis=axis, batch_size=batch_size)


@fused(static_argnames=("axis", "batch_size"))
def _lexsort(keys: Sequence[ArrayLike], axis: int, batch_size: Any) -> Array:
    shape = shape_of(keys[0])
    if any(shape_of(k) != shape for k in keys):
        raise ValueError(f"lexsort: all keys need to be the same shape, got {', '.join(str(shape_of(k)) for k in keys)}")
    dtype = dtypes.scalar_dtype(int)
    if not shape:
        return shape_ops.full((), 0, dtype)
    axis = one_axis("lexsort", axis, len(shape))
    places = shape_ops.broadcasted_iota(dtype, shape, axis)
    for start in range(0, len(keys), batch_size):  # each sort is stable, and keeps the order by the keys before among equal elements
        batch = keys[start:start + batch_size]
        if start:
            batch = [take_along_axis(key, places, axis, "promise_in_bounds") for key in batch]
        places = sorting_ops.sort((*reversed(batch), places), axis, True, num_keys=len(batch))[-1]
    return places


def sort_complex(a: ArrayLike) -> Array:
    """A sorted copy as complex numbers, in lexicographic order.

    Example:
      >>> jnp.sort_complex(jnp.array([2 + 1j, 1 + 2j]))
      Array([1.+2.j, 2.+1.j], dtype=complex64)
    """
    a = ensure_array("sort_complex", a)
    return convert(sort(a, -1), dtypes.to_complex_dtype(dtype_of(a)))


def partition(a: ArrayLike, kth: int, axis: int = -1) -> Array:
    """A copy in which element kth is where sorting puts it, with lesser ones before and greater ones after it.

    Args:
      a: an array of real numbers.
      kth: a position along the axis, an int; negative ones count from the end.
      axis: the axis.

    Returns:
      An array like a: the elements up to the kth in increasing order, those after it in decreasing order.

    Raises:
      NotImplementedError: for complex numbers.
      ValueError: if kth or axis is out of bounds.

    Example:
      >>> jnp.partition(jnp.array([5, 1, 4, 2]), 1)[0]
      Array(1, dtype=int32)
    """
    return _partition(a, kth=operator.index(kth), axis=axis)


@fused(static_argnames=("kth", "axis"))
def _partition(a: ArrayLike, kth: int, axis: int) -> Array:
    a = ensure_array("partition", a)
    place, axis = _place_of_kth("partition", a, kth, axis)
    ordered = sort(a, axis)
    size = shape_of(a)[axis]
    after = shape_ops.rev(slice_in_dim(ordered, place + 1, size, axis=axis), (axis,))
    return shape_ops.concatenate([slice_in_dim(ordered, 0, place + 1, axis=axis), after], axis)


def argpartition(a: ArrayLike, kth: int, axis: int = -1) -> Array:
    """The indices that partition an array; parameters and errors as for `partition`.

    Returns:
      Integers like a: first the indices of the elements up to the kth, in the order of those, then the others, increasing.

    Example:
      >>> sorted(jnp.argpartition(jnp.array([5, 1, 4, 2]), 2)[:2].tolist())
      [1, 3]
    """
    return _argpartition(a, kth=operator.index(kth), axis=axis)


@fused(static_argnames=("kth", "axis"))
def _argpartition(a: ArrayLike, kth: int, axis: int) -> Array:
    a = ensure_array("argpartition", a)
    place, axis = _place_of_kth("argpartition", a, kth, axis)
    order = argsort(a, axis)
    after = sort(slice_in_dim(order, place + 1, shape_of(a)[axis], axis=axis), axis)
    return shape_ops.concatenate([slice_in_dim(order, 0, place + 1, axis=axis), after], axis)


def _place_of_kth(name: str, a: Any, kth: int, axis: int) -> tuple[int, int]:
    """The position and the axis, not negative."""
    if is_kind(a, dtypes.complexfloating):
        raise NotImplementedError(f"{name}: complex numbers are not supported")
    shape = shape_of(a)
    axis = one_axis(name, axis, len(shape))
    size = shape[axis]
    if not -size <= kth < size:
        raise ValueError(f"{name}: kth={kth} is out of bounds for axis {axis} of size {size}")
    return kth % size, axis


# --- where things are ---


def nonzero(a: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None) -> tuple:
    """The indices of the elements that are not 0.

    Args:
      a: an array of rank at least 1.
      size: how many indices there are in the result, for traced arrays: what is too much is cut off, what is missing
        gets the fill value.
      fill_value: an index, or one for each axis; by default 0.

    Returns:
      One integer array for each axis.

    Raises:
      ConcretizationTypeError: if the array is traced and size is not given.
      ValueError: for a scalar.

    Example:
      >>> jnp.nonzero(jnp.array([0, 4, 5]))
      (Array([1, 2], dtype=int32),)
    """
    a = ensure_array("nonzero", a)
    if not shape_of(a):
        raise ValueError("Calling nonzero on 0d arrays is not allowed. Use atleast_1d(scalar).nonzero() instead.")
    dtype = dtypes.scalar_dtype(int)
    if size is None:
        places = np.nonzero(concrete_numpy("nonzero", "the array", a))
        return tuple(as_array(i.astype(dtype)) for i in places)
    rank = len(shape_of(a))
    fills = fill_value if isinstance(fill_value, tuple) else (fill_value,) * rank
    if len(fills) != rank:
        raise ValueError(f"nonzero: fill_value must be a scalar or a tuple with one for each of the {rank} axes, got {fill_value!r}")
    for fill in fills:
        if fill is not None and shape_of(ensure_array("nonzero", fill)) != ():
            raise ValueError(f"nonzero: fill_value must be a scalar or a tuple of scalars, got {fill_value!r}")
    return tuple(_nonzero(a, tuple(0 if fill is None else fill for fill in fills), size=size_of(size)))


@fused(static_argnames=("size",))
def _nonzero(a: Any, fills: tuple[int, ...], size: int) -> list[Array]:
    """The running count of true elements says which of them comes n-th: place n is the number of elements with count <= n."""
    shape = shape_of(a)
    dtype = dtypes.scalar_dtype(int)
    total = math.prod(shape)
    if total == 0 or size == 0:
        return [shape_ops.broadcast_to_shape(convert(fill, dtype), (size,)) for fill in fills]
    mask = convert(shape_ops.reshape(truth_of(a, "nonzero"), (total,)), dtype)
    count = cumulative_sum_of(mask, 0)
    dims = indexing_ops.ScatterDimensionNumbers((), (0,), (0,))
    starts = shape_ops.full((size,), 0, dtype)
    starts = indexing_ops.scatter_add(starts, shape_ops.expand_dims(count, (1,)), shape_ops.full((total,), 1, dtype), dims,
                                      indices_are_sorted=True, mode="drop")
    flat = cumulative_sum_of(starts, 0)
    found = reduce_sum(mask, (0,))
    is_found = op.lt(shape_ops.iota(dtype, size), found)
    results = []
    stride = total
    for extent, fill in zip(shape, fills):
        stride //= extent
        place = op.rem(op.div(flat, scalar_like(stride, dtype)), scalar_like(extent, dtype))
        results.append(_where(is_found, place, convert(fill, dtype)))
    return results


def flatnonzero(a: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None) -> Array:
    """The places of the elements of the flat array that are not 0; parameters as for `nonzero`.

    Example:
      >>> jnp.flatnonzero(jnp.array([0, 4, 5]))
      Array([1, 2], dtype=int32)
    """
    return nonzero(ravel(a), size=size, fill_value=fill_value)[0]


def argwhere(a: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None) -> Array:
    """The indices of the elements that are not 0, one in each row: [n, rank]; parameters as for `nonzero`.

    Example:
      >>> jnp.argwhere(jnp.array([0, 4, 5]))
      Array([[1],
             [2]], dtype=int32)
    """
    a = ensure_array("argwhere", a)
    rank = len(shape_of(a))
    if rank == 0:
        result = nonzero(shape_ops.reshape(as_array(a), (1,)), size=size, fill_value=fill_value)[0]
        return shape_ops.full((result.shape[0], 0), 0, dtype_of(result))
    return stack(nonzero(a, size=size, fill_value=fill_value), 1)


def compress(condition: ArrayLike, a: ArrayLike, axis: int | None = None, *, size: int | None = None, fill_value: ArrayLike = 0,
             out: None = None) -> Array:
    """The slices of an array along an axis where a condition holds.

    Args:
      condition: a bool vector, no longer than the axis.
      a: an array.
      axis: the axis; None takes the array as flat.
      size: how many slices there are in the result, for traced conditions.
      fill_value: what the missing ones are filled with, a scalar.
      out: must be None.

    Example:
      >>> jnp.compress(jnp.array([True, False, True]), jnp.array([1, 2, 3]))
      Array([1, 3], dtype=int32)
    """
    refuse_out("compress", out)
    condition, a = ensure_arrays("compress", condition, a)
    if len(shape_of(condition)) != 1:
        raise ValueError(f"compress: condition must be 1D, got {get_aval(condition).str_short()}")
    if axis is None:
        a, axis = ravel(a), 0
    axis = one_axis("compress", axis, len(shape_of(a)))
    if shape_of(condition)[0] > shape_of(a)[axis]:
        extra = concrete_numpy("compress", "the condition", condition)[shape_of(a)[axis]:]
        if extra.any():
            raise ValueError(f"condition contains entries that are out of bounds for axis {axis} of size {shape_of(a)[axis]}")
        condition = condition[:shape_of(a)[axis]]
    if size is None:
        condition = concrete_numpy("compress", "the condition", condition, "The size argument of jnp.compress must be specified there, so "
                                   "that the result has a known shape.")
        return take(a, nonzero(condition)[0], axis, mode="clip")
    if shape_of(a)[axis] == 0:
        shape = tuple(size if i == axis else n for i, n in enumerate(shape_of(a)))
        return shape_ops.broadcast_to_shape(convert(fill_value, dtype_of(a)), shape)
    places = nonzero(condition, size=size, fill_value=shape_of(a)[axis])[0]
    if not isinstance(fill_value, Tracer):
        return take(a, places, axis, mode="fill", fill_value=fill_value)
    found = take(a, places, axis, mode="clip")
    is_found = shape_ops.broadcast_in_dim(op.lt(places, np.asarray(shape_of(a)[axis], dtype_of(places))[()]), shape_of(found), (axis,))
    return _where(is_found, found, convert(fill_value, dtype_of(a)))


def extract(condition: ArrayLike, arr: ArrayLike, *, size: int | None = None, fill_value: ArrayLike = 0) -> Array:
    """The elements of the flat array where a condition holds; parameters as for `compress`.

    Example:
      >>> jnp.extract(jnp.array([True, False, True]), jnp.array([1, 2, 3]))
      Array([1, 3], dtype=int32)
    """
    return compress(ravel(condition), arr, None, size=size, fill_value=fill_value)


# --- search ---


def searchsorted(a: ArrayLike, v: ArrayLike, side: str = "left", sorter: Any = None, *, method: str = "scan") -> Array:
    """Where values would have to be inserted in a sorted array to keep it sorted.

    Args:
      a: a sorted array of rank 1.
      v: the values.
      side: "left" for the place before equal elements, "right" for the one after.
      sorter: the indices that sort a, if it is not sorted.
      method: "scan" and "scan_unrolled" (binary search, in a loop or without), "sort" (one sort of both), or "compare_all" (every
        value with every element, which vectorises well for short arrays).

    Returns:
      An integer array of v's shape.

    Raises:
      ValueError: for another side or method, or if a is not of rank 1.

    Example:
      >>> jnp.searchsorted(jnp.array([1, 3, 5]), jnp.array([3, 4]))
      Array([1, 2], dtype=int32)
    """
    a, v = ensure_arrays("searchsorted", a, v)
    if side not in ("left", "right"):
        raise ValueError(f"{side!r} is an invalid value for keyword 'side'. Expected one of ['left', 'right'].")
    if method not in ("scan", "scan_unrolled", "sort", "compare_all"):
        raise ValueError(f"{method!r} is an invalid value for keyword 'method'. Expected one of ['sort', 'scan', 'scan_unrolled', "
                         "'compare_all'].")
    if len(shape_of(a)) != 1:
        raise ValueError(f"a should be 1-dimensional; got a.ndim={len(shape_of(a))}")
    if sorter is not None:
        a = take(a, ensure_array("searchsorted", sorter), 0, mode="clip")
    return _searchsorted(a, v, side=side, method=method)


@fused(static_argnames=("side", "method"))
def _searchsorted(a: Any, v: Any, side: str, method: str) -> Any:
    a, v = promote_dtypes("searchsorted", a, v)
    size, shape = shape_of(a)[0], shape_of(v)
    if size == 0:
        return shape_ops.full(shape, 0, _INT32)
    if method == "compare_all":
        return _count_before(a, v, side)
    if method == "sort":
        return _search_by_sorting(a, v, side)
    return binary_search(a, v, side, method == "scan_unrolled")


def _goes_after(element: Any, value: Any, side: str) -> Any:
    """Whether a value's place is after an element, NaN being the greatest value."""
    before = (operators.less if side == "left" else operators.less_equal)(element, value)
    if not is_kind(value, dtypes.floating):
        return before
    value_nan, element_nan = op.ne(value, value), op.ne(element, element)
    both = op.bitwise_and(value_nan, op.bitwise_not(element_nan)) if side == "left" else value_nan
    return op.bitwise_or(before, both)


def _count_before(a: ArrayLike, v: ArrayLike, side: str) -> Array:
    rank = len(shape_of(v))
    elements = shape_ops.reshape(a, (*shape_of(a), *(1,) * rank))
    values = shape_ops.expand_dims(v, (0,))
    return reduce_sum(convert(_goes_after(elements, values, side), _INT32), (0,))


def _search_by_sorting(a: ArrayLike, v: ArrayLike, side: str) -> Array:
    size, shape = shape_of(a)[0], shape_of(v)
    count = math.prod(shape)
    flat = shape_ops.reshape(v, (count,))
    parts = [flat, a] if side == "left" else [a, flat]  # the sort is stable: what comes first goes before its equals
    joined = shape_ops.concatenate(parts, 0)
    order = _argsort(joined, 0, True, False, _INT32)
    ranks = _argsort(order, 0, True, False, _INT32)
    start = 0 if side == "left" else size
    places = slicing_ops.slice_in_dim(ranks, start, start + count)
    own = slicing_ops.slice_in_dim(_argsort(_argsort(flat, 0, True, False, _INT32), 0, True, False, _INT32), 0, count)
    return shape_ops.reshape(op.sub(places, own), shape)


def binary_search(a: Any, v: Any, side: str, unrolled: bool = False) -> Any:
    """The number of elements of a sorted array that come before each value, found bit by bit from the highest, for all values at once.

    A loop over the bits, unless `unrolled` or for a few values: of a thousand values among as many elements the loop takes 18
    microseconds of a core and 60 ms to compile, without a loop 23 and 180.
    """
    size, shape = shape_of(a)[0], shape_of(v)
    count = np.int32(size) if type(size) is int else scalar_like(size, _INT32)
    bits = size.bit_length() if type(size) is int else 31  # of a symbolic size, as many as there may be

    def is_before(place: Any) -> Any:
        return _goes_after(_take(a, op.sub(place, np.int32(1)), 0, GatherScatterMode.PROMISE_IN_BOUNDS, None, False, False), v, side)

    def with_bit(place: Any, bit: Any) -> Any:
        further = op.add(place, bit)
        return op.select(op.bitwise_and(op.le(further, count), is_before(op.min(further, count))), further, place)

    place = shape_ops.full(shape, 0, _INT32)
    if unrolled or bits < 3 or all([type(n) is int for n in shape]) and math.prod(shape) <= _FEW_VALUES:
        for bit in reversed(range(bits)):
            place = with_bit(place, np.int32(1 << bit))
        return place
    from laminax_ir.ops.loops import fori_loop

    place = op.select(is_before(shape_ops.full(shape, 1, _INT32)), place, place)  # split over mesh axes as the values are
    first = np.int32(1 << bits - 1)
    return fori_loop(0, bits, lambda i, place: with_bit(place, op.shift_right_logical(first, convert(i, _INT32))), place)


@fused(static_argnames=("right", "method"))
def digitize(x: ArrayLike, bins: ArrayLike, right: bool = False, *, method: str | None = None) -> Array:
    """The number of the bin that each value falls into.

    Args:
      x: the values.
      bins: the edges, increasing or decreasing, rank 1.
      right: whether a bin includes its right edge instead of its left one.
      method: see `searchsorted`.

    Returns:
      An integer array of x's shape.

    Example:
      >>> jnp.digitize(jnp.array([0.5, 2.5]), jnp.array([0.0, 1.0, 2.0]))
      Array([1, 3], dtype=int32)
    """
    x, bins = ensure_arrays("digitize", x, bins)
    if len(shape_of(bins)) != 1:
        raise ValueError(f"digitize: bins must be a 1-dimensional array, got {get_aval(bins).str_short()}")
    count = shape_of(bins)[0]
    if not count:
        return shape_ops.full(shape_of(x), 0, _INT32)
    bins = as_array(bins)
    options = {} if method is None else {"method": method}
    side = "right" if not right else "left"
    is_rising = op.le(bins[0], bins[count - 1])
    found = searchsorted(_where(is_rising, bins, shape_ops.rev(bins, (0,))), x, side, **options)
    return _where(is_rising, found, operators.subtract(count, found))


def compress_method(self: Any, condition: Any, axis: Any = None, *, out: Any = None, size: Any = None, fill_value: Any = 0) -> Any:
    """`compress` as a method of the array."""
    return compress(condition, self, axis, out=out, size=size, fill_value=fill_value)
