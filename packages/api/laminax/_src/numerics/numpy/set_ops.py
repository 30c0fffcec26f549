"""Sets of the elements of arrays: unique, union, intersection, difference, membership.

How many elements a set has depends on the values, so traced arrays need `size`, the number that the result is to have:
what is too much is cut off, what is missing is filled.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from laminax_ir.ops import elementwise as op
from laminax_ir.ops import indexing as indexing_ops
from laminax_ir.ops import shape as shape_ops
from laminax_ir.ops import slicing as slicing_ops
from laminax_ir.ops import sorting as sorting_ops
from laminax_ir.ops.cumulative import cumsum
from laminax_ir.ops.indexing import GatherScatterMode
from laminax_ir.ops.reduction import reduce_or, reduce_sum
from laminax_ir.ops.scalar_operands import scalar_like
from laminax_ir.symbolic.symbolic_dims import size_of
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval, is_array_like

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
    shape_of,
    size_scalar,
    strong,
    weak_like,
)
from laminax._src.numerics.numpy.conditions import _where
from laminax._src.numerics.numpy.finding import _nonzero, compress
from laminax._src.numerics.numpy.joining import concatenate
from laminax._src.numerics.numpy.reshaping import moveaxis, ravel
from laminax._src.numerics.numpy.searching import _searchsorted
from laminax._src.numerics.numpy.taking import _take

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

_INT32 = np.dtype(np.int32)


def unique(ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, axis: int | None = None, *,
           equal_nan: bool = True, size: int | None = None, fill_value: ArrayLike | None = None,
           sorted: bool = True) -> Array | tuple[Array, ...]:
    """The different elements of an array, sorted.

    Args:
      ar: an array.
      return_index: whether to return where each occurs first.
      return_inverse: whether to return which of them each element of the array is.
      return_counts: whether to return how often each occurs.
      axis: None for the elements of the flat array; else the different slices along the axis, in lexicographic order.
      equal_nan: whether all NaN are one element.
      size: how many elements there are in the result, for traced arrays.
      fill_value: what the missing ones are filled with, by default the least element.
      sorted: without effect; the result always is.

    Returns:
      The elements; with the flags a tuple of them, indices, inverse and counts, as asked for.

    Raises:
      ConcretizationTypeError: if the array is traced and size is not given.

    Example:
      >>> jnp.unique(jnp.array([3, 1, 3]))
      Array([1, 3], dtype=int32)
    """
    del sorted
    ar = ensure_array("unique", ar)
    if size is None:
        concrete_numpy("unique", "the array", ar)
        count = None
    else:
        count = size_of(size)
    if axis is None:
        flat, axis, is_flat = ravel(ar), 0, True
    else:
        flat, axis, is_flat = as_array(ar), one_axis("unique", axis, len(shape_of(ar))), False
    if count is None and not math.prod(flat.shape):
        count = 0 if flat.shape[axis] == 0 else 1
    if count is None:
        count = int(_count_unique(flat, axis=axis, equal_nan=equal_nan))
    values, index, inverse, counts = _unique(flat, fill_value, axis=axis, size=count, equal_nan=bool(equal_nan))
    index, inverse, counts = [convert(x, dtypes.scalar_dtype(int)) for x in (index, inverse, counts)]
    if is_flat:
        inverse = shape_ops.reshape(inverse, shape_of(ar))
    results = [values]
    results += [index] if return_index else []
    results += [inverse] if return_inverse else []
    results += [counts] if return_counts else []
    return results[0] if len(results) == 1 else tuple(results)


@fused(static_argnames=("axis", "equal_nan"))
def _count_unique(x: ArrayLike, axis: int, equal_nan: bool) -> Array:
    _, _, is_new = _sorted_slices(x, axis, equal_nan)
    return reduce_sum(convert(is_new, _INT32), (0,))


def _sorted_slices(x: Any, axis: int, equal_nan: bool) -> tuple[Array, ...]:
    """The slices along an axis as sorted rows, their original places, and which rows differ from the one before."""
    x = moveaxis(x, axis, 0)
    if equal_nan and is_kind(x, dtypes.complexfloating):  # one NaN for all, which sort among numbers by the part that is not NaN
        x = op.select(op.ne(x, x), shape_ops.full(x.shape, math.nan, x.dtype), x)
    count, width = x.shape[0], math.prod(x.shape[1:])
    places = shape_ops.iota(_INT32, count)
    rows = shape_ops.reshape(x, (count, width))
    if width == 0:
        return rows, places, op.eq(places, np.int32(0))
    columns = [shape_ops.squeeze(c, (1,)) for c in shape_ops.split(rows, (1,) * width, 1)] if width > 1 \
        else [shape_ops.reshape(rows, (count,))]
    *columns, places = sorting_ops.sort((*columns, places), 0, True, num_keys=width)
    differs = None
    for column in columns:
        before, after = slicing_ops.slice_in_dim(column, 0, count - 1), slicing_ops.slice_in_dim(column, 1, count)
        unequal = op.ne(before, after)
        if equal_nan and is_kind(column, dtypes.inexact):
            unequal = op.bitwise_and(unequal, op.bitwise_not(op.bitwise_and(op.ne(before, before), op.ne(after, after))))
        differs = unequal if differs is None else op.bitwise_or(differs, unequal)
    is_new = shape_ops.concatenate([shape_ops.full((1,), True), differs], 0)
    rows = shape_ops.concatenate([shape_ops.expand_dims(c, (1,)) for c in columns], 1) if width > 1 else \
        shape_ops.expand_dims(columns[0], (1,))
    return rows, places, is_new


@fused(static_argnames=("axis", "size", "equal_nan"))
def _unique(x: Any, fill_value: int | None, axis: int, size: int, equal_nan: bool) -> tuple[Array, ...]:
    moved = moveaxis(x, axis, 0)
    slice_shape, total = moved.shape[1:], x.shape[axis]
    if total == 0 or size == 0:
        values = shape_ops.full((size, *slice_shape), 0, dtype_of(x))
        if size:
            if fill_value is None:
                raise ValueError("unique: with an empty array and a positive size, fill_value must be given")
            values = shape_ops.broadcast_to_shape(convert(fill_value, dtype_of(x)), values.shape)
        zeros = shape_ops.full((size,), 0, _INT32)
        return moveaxis(values, 0, axis), zeros, shape_ops.full((total,), 0, _INT32), zeros
    rows, places, is_new = _sorted_slices(x, axis, equal_nan)
    number = op.sub(cumsum(convert(is_new, _INT32), 0), np.int32(1))  # of each sorted row, which unique one it is
    found = reduce_sum(convert(is_new, _INT32), (0,))
    drop, one_axis_dims = GatherScatterMode.FILL_OR_DROP, indexing_ops.ScatterDimensionNumbers((), (0,), (0,))
    first = indexing_ops.scatter_min(shape_ops.full((size,), total, _INT32), shape_ops.expand_dims(number, (1,)),
                                     shape_ops.iota(_INT32, total), one_axis_dims, indices_are_sorted=True, mode=drop)
    is_filled = op.ge(shape_ops.iota(_INT32, size), found)
    clipped = op.min(op.select(is_filled, shape_ops.full((size,), 0, _INT32), first), size_scalar(total - 1))
    values = _take(rows, clipped, 0, GatherScatterMode.PROMISE_IN_BOUNDS, None, False, True)
    values = shape_ops.reshape(values, (size, *slice_shape))
    if fill_value is not None:
        mask = shape_ops.expand_dims(is_filled, tuple(range(1, len(slice_shape) + 1)))
        values = _where(mask, convert(ensure_array("unique", fill_value), dtype_of(x)), values)
    index = _take(places, clipped, 0, GatherScatterMode.PROMISE_IN_BOUNDS, None, False, False)
    inverse = indexing_ops.scatter(shape_ops.full((total,), 0, _INT32), shape_ops.expand_dims(places, (1,)), number, one_axis_dims,
                                   unique_indices=True, mode=GatherScatterMode.PROMISE_IN_BOUNDS)
    counts = indexing_ops.scatter_add(shape_ops.full((size,), 0, _INT32), shape_ops.expand_dims(number, (1,)),
                                      shape_ops.full((total,), 1, _INT32), one_axis_dims, indices_are_sorted=True, mode=drop)
    return moveaxis(values, 0, axis), index, inverse, counts


class _UniqueAllResult(NamedTuple):
    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class _UniqueCountsResult(NamedTuple):
    values: Any
    counts: Any


class _UniqueInverseResult(NamedTuple):
    values: Any
    inverse_indices: Any


def unique_all(x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None) -> _UniqueAllResult:
    """The different elements, where each occurs first, the inverse and the counts; NaN are different; see `unique`.

    Example:
      >>> jnp.unique_all(jnp.array([3, 1, 3])).counts
      Array([1, 2], dtype=int32)
    """
    return _UniqueAllResult(*unique(x, True, True, True, equal_nan=False, size=size, fill_value=fill_value))


def unique_counts(x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None) -> _UniqueCountsResult:
    """The different elements and how often each occurs; NaN are different; see `unique`.

    Example:
      >>> jnp.unique_counts(jnp.array([3, 1, 3])).counts
      Array([1, 2], dtype=int32)
    """
    return _UniqueCountsResult(*unique(x, return_counts=True, equal_nan=False, size=size, fill_value=fill_value))


def unique_inverse(x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None) -> _UniqueInverseResult:
    """The different elements and which of them each element is; NaN are different; see `unique`.

    Example:
      >>> jnp.unique_inverse(jnp.array([3, 1, 3])).inverse_indices
      Array([1, 0, 1], dtype=int32)
    """
    return _UniqueInverseResult(*unique(x, return_inverse=True, equal_nan=False, size=size, fill_value=fill_value))


def unique_values(x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None) -> Array:
    """The different elements; NaN are different; see `unique`.

    Example:
      >>> jnp.unique_values(jnp.array([3, 1, 3]))
      Array([1, 3], dtype=int32)
    """
    return unique(x, equal_nan=False, size=size, fill_value=fill_value)


# --- sets ---


def contains(x: Any, element: Any) -> Array:
    """What `element in x` asks: whether one of the elements of a vector equals a scalar. Python takes the truth of the result.

    Args:
      x: [n].
      element: a scalar.

    Raises:
      TypeError: if element is no number, nor an array.
      ValueError: if x has another number of axes than one, or element is no scalar.
    """
    if not is_array_like(element):
        raise TypeError(f"Array.__contains__: unsupported operand type {type(element)}. A number or a scalar array is expected")
    if len(x.shape) != 1:
        raise ValueError(f"Array.__contains__: search array must be one-dimensional, got {get_aval(x).str_short()}. "
                         "laminax.numpy.isin(element, array) takes any shape.")
    if shape_of(element):
        raise ValueError(f"Array.__contains__: query value must be a scalar, got {get_aval(element).str_short()}. "
                         "laminax.numpy.isin(elements, array) tells it for each element.")
    return (x == element).any()


def isin(element: ArrayLike, test_elements: ArrayLike, assume_unique: bool = False, invert: bool = False, *, method: str = "auto") -> Array:
    """Whether each element is one of the test elements.

    Args:
      element: an array.
      test_elements: an array.
      assume_unique: without effect.
      invert: whether to return the opposite.
      method: "compare_all", "binary_search", "sort", or "auto", which chooses.

    Returns:
      A bool array of element's shape.

    Raises:
      ValueError: for another method.

    Example:
      >>> jnp.isin(jnp.array([1, 2, 3]), jnp.array([2, 5]))
      Array([False,  True, False], dtype=bool)
    """
    del assume_unique
    if method not in ("auto", "compare_all", "binary_search", "sort"):
        raise ValueError(f"isin: method must be 'auto', 'compare_all', 'binary_search' or 'sort', got {method!r}")
    element, test_elements = ensure_arrays("isin", element, test_elements)
    return _isin(element, test_elements, invert=bool(invert), method=method)


@fused(static_argnames=("invert", "method"))
def _isin(element: ArrayLike, test_elements: Any, invert: bool, method: str) -> Array:
    element, test_elements = promote_dtypes("isin", element, test_elements)
    shape, count = shape_of(element), math.prod(shape_of(test_elements))
    if not count or not math.prod(shape):
        return shape_ops.full(shape, invert)
    tests = shape_ops.reshape(test_elements, (count,))
    if method in ("auto", "compare_all") and (method == "compare_all" or type(count) is int and count <= 32):
        values = shape_ops.expand_dims(element, (len(shape),))
        found = op.eq(values, shape_ops.reshape(tests, (1,) * len(shape) + (count,)))
        result = reduce_or(found, (len(shape),))
    else:
        tests = sorting_ops.sort(tests, 0)
        place = op.min(_searchsorted(tests, element, "left", "sort" if method == "sort" else "scan"), size_scalar(count - 1))
        result = op.eq(_take(tests, place, 0, GatherScatterMode.PROMISE_IN_BOUNDS, None, False, False), element)
    return strong(op.bitwise_not(result) if invert else result)


def union1d(ar1: ArrayLike, ar2: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None) -> Array:
    """The elements of either array, sorted; size and fill_value as for `unique`.

    Example:
      >>> jnp.union1d(jnp.array([1, 2]), jnp.array([2, 3]))
      Array([1, 2, 3], dtype=int32)
    """
    ar1, ar2 = ensure_arrays("union1d", ar1, ar2)
    return unique(concatenate([ravel(ar1), ravel(ar2)]), size=size, fill_value=fill_value)


def setdiff1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, *, size: int | None = None,
              fill_value: ArrayLike | None = None) -> Array:
    """The elements of the first array that are not in the second, sorted.

    Args:
      ar1, ar2: arrays.
      assume_unique: whether ar1 has no element twice; its order is kept then.
      size, fill_value: as for `unique`; the fill value is 0 by default.

    Example:
      >>> jnp.setdiff1d(jnp.array([1, 2, 3]), jnp.array([2]))
      Array([1, 3], dtype=int32)
    """
    ar1, ar2 = map(ravel, ensure_arrays("setdiff1d", ar1, ar2))
    if size is None:
        values = concrete_numpy("setdiff1d", "the arrays", ar1)
        others = concrete_numpy("setdiff1d", "the arrays", ar2)
        return as_array(np.setdiff1d(values, others, assume_unique).astype(dtype_of(ar1)))
    fill = 0 if fill_value is None else fill_value
    if not assume_unique:
        count = ar1.shape[0]
        unique_values_, counts = unique(ar1, return_counts=True, size=count) if count else (ar1, ar1)
        mask = op.bitwise_and(isin(unique_values_, ar2, invert=True), op.gt(counts, 0)) if count else shape_ops.full((0,), False)
        return compress(mask, unique_values_, size=size, fill_value=fill)
    return compress(isin(ar1, ar2, invert=True), ar1, size=size, fill_value=fill)


def intersect1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, return_indices: bool = False, *, size: int | None = None,
                fill_value: ArrayLike | None = None) -> Array | tuple[Array, Array, Array]:
    """The elements of both arrays, sorted.

    Args:
      ar1, ar2: arrays.
      assume_unique: whether neither has an element twice.
      return_indices: whether to return where each occurs first in the two flat arrays.
      size, fill_value: as for `unique`.

    Returns:
      The elements, or with return_indices a tuple of them and two index arrays.

    Example:
      >>> jnp.intersect1d(jnp.array([1, 2, 3]), jnp.array([2, 3, 4]))
      Array([2, 3], dtype=int32)
    """
    ar1, ar2 = map(ravel, promote_dtypes("intersect1d", ar1, ar2))
    if size is None:
        left, right = (concrete_numpy("intersect1d", "the arrays", x) for x in (ar1, ar2))
        if not return_indices:
            return weak_like(as_array(np.intersect1d(left, right, assume_unique)), ar1, ar2)
        found: tuple[Any, ...] = np.intersect1d(left, right, assume_unique, return_indices=True)
        found = (weak_like(as_array(found[0]), ar1, ar2), *found[1:])
    else:
        found = _intersect(ar1, ar2, fill_value, size=operator.index(size), return_indices=bool(return_indices))
        if not return_indices:
            return found
    return as_array(found[0]), *[as_array(convert(x, dtypes.scalar_dtype(int))) for x in found[1:]]


@fused(static_argnames=("size", "return_indices"))
def _intersect(ar1: ArrayLike, ar2: ArrayLike, fill_value: Any, size: int, return_indices: bool) -> tuple[Array, ...]:
    """The unique elements of the first array, those found in the second moved to the front in order."""
    n1, n2 = ar1.shape[0], ar2.shape[0]
    if not n1 or not n2 or not size:
        values = shape_ops.full((size,), 0, dtype_of(ar1))
        if fill_value is not None:
            values = shape_ops.broadcast_to_shape(convert(fill_value, dtype_of(ar1)), (size,))
        empty = shape_ops.full((size,), 0, _INT32)
        return (values, empty, empty) if return_indices else values
    values, first1, _, counts = _unique(ar1, None, 0, n1, True)
    common = op.bitwise_and(_isin(values, ar2, False, "auto"), op.gt(counts, np.int32(0)))
    (place,) = _nonzero(common, (n1,), size)
    is_found = op.lt(place, scalar_like(n1, dtype_of(place)))
    place = op.min(place, scalar_like(n1 - 1, dtype_of(place)))
    chosen = _take(values, place, 0, GatherScatterMode.PROMISE_IN_BOUNDS, None, False, False)
    if fill_value is None:  # the least of them, 0 if there is none
        least = slicing_ops.index_in_dim(chosen, 0, 0, keepdims=False)
        fill_value = _where(slicing_ops.index_in_dim(is_found, 0, 0, keepdims=False), least, scalar_like(0, dtype_of(ar1)))
    result = _where(is_found, chosen, convert(fill_value, dtype_of(ar1)))
    if not return_indices:
        return result
    order2 = sorting_ops.sort((ar2, shape_ops.iota(_INT32, n2)), 0, True, num_keys=1)
    at2 = op.min(_searchsorted(order2[0], chosen, "left", "scan"), np.int32(n2 - 1))
    index1 = _take(first1, place, 0, GatherScatterMode.PROMISE_IN_BOUNDS, None, False, False)
    index2 = _take(order2[1], at2, 0, GatherScatterMode.PROMISE_IN_BOUNDS, None, False, False)
    return result, _where(is_found, index1, np.int32(n1)), _where(is_found, index2, np.int32(n2))


def setxor1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, *, size: int | None = None,
             fill_value: ArrayLike | None = None) -> Array:
    """The elements of exactly one of the arrays, sorted.

    Args:
      ar1, ar2: arrays.
      assume_unique: whether neither has an element twice; if one has, it is left out, as in NumPy.
      size, fill_value: as for `unique`.

    Example:
      >>> jnp.setxor1d(jnp.array([1, 2, 3]), jnp.array([2, 3, 4]))
      Array([1, 4], dtype=int32)
    """
    ar1, ar2 = map(ravel, promote_dtypes("setxor1d", ar1, ar2))
    if size is None:
        found = np.setxor1d(concrete_numpy("setxor1d", "the arrays", ar1), concrete_numpy("setxor1d", "the arrays", ar2), assume_unique)
        return weak_like(as_array(found), ar1, ar2)
    return _setxor(ar1, ar2, fill_value, size=operator.index(size), assume_unique=bool(assume_unique))


@fused(static_argnames=("size", "assume_unique"))
def _setxor(ar1: Any, ar2: Any, fill_value: Any, size: Any, assume_unique: bool) -> Any:
    n1, n2 = ar1.shape[0], ar2.shape[0]
    joined = shape_ops.concatenate([ar1, ar2], 0) if n1 and n2 else (ar1 if n1 else ar2)
    total = n1 + n2
    if not total or not size:
        fill = 0 if fill_value is None else fill_value
        return shape_ops.broadcast_to_shape(convert(fill, dtype_of(ar1)), (size,))
    if assume_unique:  # what is in both is beside itself
        values = sorting_ops.sort(joined, 0)
        changes = shape_ops.pad(op.ne(slicing_ops.slice_in_dim(values, 1, total), slicing_ops.slice_in_dim(values, 0, total - 1)),
                                np.True_, [(1, 1, 0)])
        alone = op.bitwise_and(slicing_ops.slice_in_dim(changes, 0, total), slicing_ops.slice_in_dim(changes, 1, total + 1))
    else:
        values, _, _, counts = _unique(joined, None, 0, total, True)
        alone = op.ne(_isin(values, ar1, False, "auto"), _isin(values, ar2, False, "auto"))
        alone = op.bitwise_and(alone, op.gt(counts, np.int32(0)))
    (place,) = _nonzero(alone, (total,), size)
    is_found = op.lt(place, scalar_like(total, dtype_of(place)))
    chosen = _take(values, op.min(place, scalar_like(total - 1, dtype_of(place))), 0, GatherScatterMode.PROMISE_IN_BOUNDS, None,
                   False, False)
    fill = convert(fill_value, dtype_of(ar1)) if fill_value is not None else \
        slicing_ops.index_in_dim(chosen, 0, 0, keepdims=False)
    return _where(is_found, chosen, fill)
