"""Search in sorted arrays: searchsorted and digitize."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.functions import operators
from laminax_ir.ops import elementwise as op
from laminax_ir.ops import shape as shape_ops
from laminax_ir.ops.indexing import GatherScatterMode
from laminax_ir.ops.reduction import reduce_sum
from laminax_ir.ops.scalar_operands import scalar_like
from laminax_ir.ops.slicing import slice_in_dim
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy.arguments import as_array, convert, ensure_array, ensure_arrays, is_kind, promote_dtypes, shape_of
from laminax._src.numerics.numpy.conditions import _where
from laminax._src.numerics.numpy.sorting import _argsort
from laminax._src.numerics.numpy.taking import _take, take

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

_INT32 = np.dtype(np.int32)
_FEW_VALUES = 8


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
    places = slice_in_dim(ranks, start, start + count)
    own = slice_in_dim(_argsort(_argsort(flat, 0, True, False, _INT32), 0, True, False, _INT32), 0, count)
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

    Raises:
      ValueError: if bins is not of rank 1, or for another method.

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
