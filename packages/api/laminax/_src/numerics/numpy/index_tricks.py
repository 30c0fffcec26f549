"""Objects that make arrays and indices from what stands in brackets, and functions that change an array's length."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from laminax_ir.functions import operators
from laminax_ir.ops import elementwise as op
from laminax_ir.ops import shape as shape_ops
from laminax_ir.ops.scalar_operands import scalar_like
from laminax_ir.ops.shape_arguments import canonical_shape
from laminax_ir.ops.sorting import sort
from laminax_ir.options import config
from laminax_ir.symbolic.symbolic_dims import known_size
from laminax_ir.tracing.trace import Tracer
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval
from laminax_ir.types.errors import ConcretizationTypeError

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy import reductions
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
    user_dtype,
)
from laminax._src.numerics.numpy.conditions import _where
from laminax._src.numerics.numpy.conversion import asarray
from laminax._src.numerics.numpy.finding import nonzero
from laminax._src.numerics.numpy.gather_plans import brought_in_range
from laminax._src.numerics.numpy.joining import concatenate, stack
from laminax._src.numerics.numpy.ranges import arange, linspace, meshgrid
from laminax._src.numerics.numpy.reshaping import broadcast_arrays, ravel
from laminax._src.numerics.numpy.taking import take

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike, DTypeLike


class _Grid:
    """`mgrid` and `ogrid`: coordinate arrays from slices.

    A slice start:stop:step is a range; with an imaginary step nj it is n evenly spaced numbers that include stop.
    """

    def __init__(self, is_sparse: bool, name: str) -> None:
        self._is_sparse, self._name = is_sparse, name

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return _range_of(self._name, key)
        ranges = [_range_of(self._name, k) for k in key]
        if not ranges:
            return [] if self._is_sparse else arange(0)
        with config.numpy_dtype_promotion("standard"):
            ranges = promote_dtypes(self._name, *ranges)
        grids = meshgrid(*ranges, indexing="ij", sparse=self._is_sparse)
        return grids if self._is_sparse else stack(grids)

    def __repr__(self) -> str:
        return f"laminax.numpy.{self._name}"


def _range_of(name: str, part: Any) -> Any:
    if not isinstance(part, slice):
        raise TypeError(f"{name}: slices are expected in the brackets, got {part!r}")
    start, stop, step = (_known(f"slice {which} of jnp.{name}", getattr(part, which)) for which in ("start", "stop", "step"))
    if isinstance(step, complex):
        return linspace(start or 0, stop, int(abs(step)))
    return arange(start or 0, stop, step or None)


def _known(what: str, value: Any) -> Any:
    """A part of a slice as a known number, since it decides a shape; None and Python scalars stay as they are."""
    if not isinstance(value, Tracer):
        return value
    if (known := value.demanded_value()) is None:
        raise ConcretizationTypeError(f"The {what} decides the shape of the result, so it must be known while the function is traced; "
                                      f"got {value.aval.str_short()}. Mark the argument it comes from as static.")
    return known


mgrid, ogrid = _Grid(False, "mgrid"), _Grid(True, "ogrid")


class _Concatenator:
    """`r_` and `c_`: arrays joined from what stands in the brackets, slices meaning ranges.

    A string "axis,ndim,place" in front says along which axis, with at least how many axes, and where an array's own axes
    stand among them; the string "r" or "c" makes a row or a column of a vector.
    """

    def __init__(self, name: str, axis: int, ndim: int, place: int) -> None:
        self._name, self._defaults = name, (axis, ndim, place)

    def __getitem__(self, key: Any) -> Any:
        items = key if isinstance(key, tuple) else (key,)
        (axis, ndim, place), matrix_axis = self._defaults, None
        if items and isinstance(items[0], str):
            directive, items = items[0], items[1:]
            matrix_axis = {"r": 0, "c": 1}.get(directive)
            if matrix_axis is None:
                axis, ndim, place = self._directive(directive)
        arrays = []
        for item in items:
            if isinstance(item, str):
                raise ValueError(f"{self._name}: a string directive must be placed at the beginning, got {item!r} after it")
            value = _range_of(self._name, item) if isinstance(item, slice) else asarray(item)
            arrays.append(self._with_axes(value, ndim, place))
        result = concatenate(arrays, axis)
        return result if matrix_axis is None or len(result.shape) > 1 else shape_ops.expand_dims(result, (matrix_axis,))

    def _directive(self, text: str) -> tuple[int, int, int]:
        axis, ndim, place = self._defaults
        try:
            numbers = [int(n) for n in text.split(",")[:3]]
        except ValueError:
            raise ValueError(f"{self._name}: could not understand directive {text!r}; expected 'axis', 'axis,ndim', 'axis,ndim,place', "
                             "'r' or 'c'") from None
        axis, ndim, place = numbers + [axis, ndim, place][len(numbers):]
        return axis, ndim, place

    @staticmethod
    def _with_axes(x: Any, ndim: int, place: int) -> Any:
        missing = ndim - len(x.shape)
        if missing <= 0:
            return shape_ops.reshape(x, (1,)) if not x.shape else x
        if not x.shape:
            return shape_ops.reshape(x, (1,) * ndim)
        start = place if place >= 0 else missing + 1 + place
        return shape_ops.expand_dims(x, tuple(i for i in range(ndim) if not start <= i < start + len(x.shape)))


r_, c_ = _Concatenator("r_", 0, 1, -1), _Concatenator("c_", -1, 2, 0)
s_, index_exp = np.s_, np.index_exp


def ix_(*args: ArrayLike) -> tuple:
    """Index arrays for the product of index vectors: each gets an axis of its own; bool vectors mean where they hold.

    Args:
      *args: vectors of integers or bools.

    Returns:
      One array for each vector: vector i along axis i, all other axes of size 1.

    Raises:
      ValueError: if an argument is not of rank 1.

    Example:
      >>> [x.shape for x in jnp.ix_(jnp.array([0, 1]), jnp.array([0, 1, 2]))]
      [(2, 1), (1, 3)]
    """
    vectors = []
    for x in ensure_arrays("ix_", *args):
        if len(shape_of(x)) != 1:
            raise ValueError(f"Arguments to ix_ must be 1-dimensional, got shape {shape_of(x)}")
        if dtype_of(x) == np.bool_:
            vectors.append(nonzero(x)[0])
        else:  # no indices at all are integers, whatever type an empty list made them, as in NumPy
            vectors.append(as_array(x) if shape_of(x)[0] else shape_ops.full((0,), 0, dtypes.scalar_dtype(int)))
    return tuple(shape_ops.reshape(x, tuple(x.shape[0] if i == axis else 1 for i in range(len(vectors))))
                 for axis, x in enumerate(vectors))


def unravel_index(indices: ArrayLike, shape: Any) -> tuple:
    """The index along each axis of places in the flat array; places out of bounds give the nearest one.

    Args:
      indices: integers; negative ones count from the end.
      shape: the sizes of the axes, or the size of the only one; arrays of integers too, which may be traced and promote the result.

    Returns:
      One integer array for each axis.

    Raises:
      TypeError: if the shape has something else than integers.
      ValueError: if a size is negative.

    Example:
      >>> jnp.unravel_index(jnp.array([1, 5]), (2, 3))
      (Array([0, 1], dtype=int32), Array([1, 2], dtype=int32))
    """
    indices = ensure_array("unravel_index", indices)
    sizes = list(shape) if isinstance(shape, (list, tuple)) or len(shape_of(shape)) else [shape]
    for n in sizes:
        if shape_of(n) or not is_kind(n, dtypes.integer):
            raise TypeError(f"unravel_index: shape must be an integer or a sequence of integers, got {shape!r}")
        if not isinstance(n, Tracer) and n < 0:
            raise ValueError(f"unravel_index: sizes must not be negative, got {shape}")
    return tuple(_unravel(indices, sizes))


@fused
def _unravel(indices: ArrayLike, sizes: Sequence[ArrayLike]) -> list[Array]:
    """Digits of mixed radix. What is left above the first is 0 in bounds, or -1 for places counted from the end."""
    if not is_kind(indices, dtypes.integer):
        raise TypeError(f"unravel_index: indices must be integers, got {get_aval(indices).str_short()}")
    left, digits = indices, []
    for n in reversed(sizes):
        digits.append(operators.remainder(left, n))
        left = operators.floor_divide(left, n)
    above = operators.greater(left, 0)
    digits = [_where(above, convert(operators.subtract(n, 1), dtype_of(digit)), digit) for n, digit in zip(sizes, reversed(digits))]
    if is_kind(left, dtypes.unsignedinteger):  # which has no -1
        return digits
    below = operators.less(left, -1)
    return [_where(below, scalar_like(0, dtype_of(digit)), digit) for digit in digits]


def ravel_multi_index(multi_index: Sequence, dims: Sequence[int], mode: str = "raise", order: str = "C", *,
                      dtype: DTypeLike | None = None) -> Array:
    """Places in the flat array from the index along each axis.

    Args:
      multi_index: one integer array for each axis.
      dims: the sizes of the axes.
      mode: what to do with indices out of bounds: "clip", "wrap", "ignore" (they count as they are), or "raise", which needs known
        values.
      order: "C" or "F".
      dtype: the integer dtype of the result; by default the one that the indices promote to.

    Raises:
      ValueError: if an index is out of bounds with mode="raise", the dtype is too small, or the arguments do not fit.
      ConcretizationTypeError: if an index is traced with mode="raise".

    Example:
      >>> jnp.ravel_multi_index((jnp.array([0, 1]), jnp.array([1, 2])), (2, 3))
      Array([1, 5], dtype=int32)
    """
    dims = canonical_shape("ravel_multi_index", dims)
    if len(multi_index) != len(dims):
        raise ValueError(f"ravel_multi_index: there must be one index array for each of the {len(dims)} axes, got {len(multi_index)}")
    arrays = [as_array(x) for x in ensure_arrays("ravel_multi_index", *multi_index)]
    for x in arrays:
        if not is_kind(x, dtypes.integer):
            raise TypeError(f"ravel_multi_index: indices must be integers, got {get_aval(x).str_short()}")
    dtype = dtypes.result_type(int, *arrays) if dtype is None else user_dtype("ravel_multi_index", dtype)
    if not dtypes.issubdtype(dtype, dtypes.integer):
        raise ValueError(f"ravel_multi_index: dtype must be an integer type, got {dtype}")
    if math.prod(dims) - 1 > dtypes.iinfo(dtype).max:
        raise ValueError(f"ravel_multi_index: dtype {dtype} is not large enough to hold the flat index of dims={dims}; give a larger dtype")
    if mode == "raise":
        for x, n in zip(arrays, dims):
            values = concrete_numpy("ravel_multi_index", "an index", x, "The error occurred because ravel_multi_index was jit-compiled "
                                    "with mode='raise'. Use mode='wrap' or mode='clip' instead.")
            if values.size and (values.min() < 0 or values.max() >= n):
                raise ValueError("invalid entry in coordinates array: an index is out of bounds; use mode='clip' or 'wrap'")
    elif mode in ("clip", "wrap"):
        arrays = [brought_in_range(x, n, mode) for x, n in zip(arrays, dims)]
    elif mode != "ignore":
        raise ValueError(f"ravel_multi_index: mode must be 'raise', 'clip', 'wrap' or 'ignore', got {mode!r}")
    if order not in ("C", "F"):
        raise ValueError(f"ravel_multi_index: order must be 'C' or 'F', got {order!r}")
    strides = np.cumprod((1, *reversed(dims[1:])))[::-1] if order == "C" else np.cumprod((1, *dims[:-1]))
    total = as_array(np.asarray(0, dtype))
    for x, stride in zip(broadcast_arrays(*arrays), strides):
        total = operators.add(total, operators.multiply(convert(x, dtype), int(stride)))
    return total


# --- deleting and inserting ---


def delete(arr: ArrayLike, obj: Any, axis: int | None = None, *, assume_unique_indices: bool = False) -> Array:
    """A copy without some slices along an axis.

    Args:
      arr: an array.
      obj: which: an integer, a slice, an array of integers or a mask. Arrays must be known while a function is traced,
        unless assume_unique_indices is given.
      axis: the axis; None takes the array as flat.
      assume_unique_indices: the caller's word that integers do not repeat, which then may be traced.

    Returns:
      An array like arr with fewer elements along the axis.

    Raises:
      TypeError: if obj is a list or tuple.
      ValueError: if the axis is out of range, or a mask is not as long as it.
      IndexError: if an integer is out of bounds.
      ConcretizationTypeError: if obj is traced and must be known.

    Example:
      >>> jnp.delete(jnp.array([1, 2, 3]), 1)
      Array([1, 3], dtype=int32)
    """
    arr = as_array(ensure_array("delete", arr))
    if axis is None:
        arr, axis = ravel(arr), 0
    axis = one_axis("delete", axis, len(arr.shape))
    size = arr.shape[axis]
    if assume_unique_indices and not isinstance(obj, (int, slice)) and is_kind(obj, dtypes.integer):
        return _delete_unique(arr, ravel(obj), axis=axis)
    if isinstance(obj, slice):
        gone = np.arange(size)[obj]
    elif isinstance(obj, (list, tuple)):
        raise TypeError(f"delete requires ndarray or scalar arguments, got {type(obj)} at position 1")
    else:
        gone = concrete_numpy("delete", "obj", ensure_array("delete", obj))
        if gone.dtype == bool:
            if gone.shape != (size,):
                raise ValueError(f"delete: a mask must have shape ({size},), got {gone.shape}")
            gone = np.flatnonzero(gone)
        elif gone.ndim == 0 and not -size <= gone < size:
            raise IndexError(f"delete: index {gone} is out of bounds for axis {axis} with size {size}")
    size = known_size("delete", size)
    kept = np.delete(np.arange(size), gone[(gone >= -size) & (gone < size)] if gone.ndim else gone)
    return take(arr, kept.astype(np.int32), axis, mode="clip", indices_are_sorted=True, unique_indices=True)


@fused(static_argnames=("axis",))
def _delete_unique(arr: Any, obj: Any, axis: Any) -> Any:
    """Element n of the result is element n plus the number of deleted ones before it."""
    size = arr.shape[axis]
    obj = convert(obj, np.dtype(np.int32))
    obj = _where(op.lt(obj, 0), op.add(obj, size), obj)
    ordered = sort(op.clamp(0, obj, size - 1), 0)
    shifted = op.sub(ordered, shape_ops.iota(np.int32, ordered.shape[0]))
    places = shape_ops.iota(np.int32, size - ordered.shape[0])
    before = reductions.sum(operators.less_equal(shape_ops.expand_dims(shifted, (1,)), shape_ops.expand_dims(places, (0,))), axis=0)
    return take(arr, op.add(places, before), axis, mode="clip")


def insert(arr: ArrayLike, obj: Any, values: ArrayLike, axis: int | None = None) -> Array:
    """A copy with values put in along an axis.

    Args:
      arr: an array.
      obj: before which positions: an integer, a slice, an array of integers or a mask; all but an integer known while a
        function is traced.
      values: what to put in; converted to arr's dtype.
      axis: the axis; None takes the array as flat.

    Returns:
      An array like arr with more elements along the axis.

    Raises:
      TypeError: if the positions are no integers.
      ValueError: if the axis is out of range.
      ConcretizationTypeError: if several positions are traced.

    Example:
      >>> jnp.insert(jnp.array([1, 3]), 1, 2)
      Array([1, 2, 3], dtype=int32)
    """
    arr = as_array(ensure_array("insert", arr))
    values = as_array(convert(ensure_array("insert", values), arr.dtype))
    if axis is None:
        arr, axis = ravel(arr), 0
    axis = one_axis("insert", axis, len(arr.shape))
    size = arr.shape[axis]
    if isinstance(obj, slice):
        places: Any = np.arange(size)[obj]
    elif isinstance(obj, Tracer) and obj.concrete_value() is None and not obj.shape and is_kind(obj, dtypes.integer):
        places = obj
    else:
        places = concrete_numpy("insert", "obj", ensure_array("insert", obj))
        if places.dtype == bool:
            places = np.flatnonzero(places)
        elif not np.issubdtype(places.dtype, np.integer):
            raise TypeError(f"insert: positions must be integers, got dtype {places.dtype}")
    size = size if isinstance(places, Tracer) else known_size("insert", size)
    if places.ndim == 0 and len(values.shape):
        values = shape_ops.expand_dims(values, tuple(range(len(arr.shape) - len(values.shape)))) \
            if len(values.shape) < len(arr.shape) else values
        permutation = [i for i in range(1, len(values.shape))]
        permutation.insert(axis, 0)
        values = shape_ops.transpose(values, tuple(permutation)) if values.shape[0] != 1 or len(arr.shape) > 1 and axis else values
    count = places.size if places.ndim else (values.shape[axis] if len(values.shape) == len(arr.shape) else 1)
    if isinstance(places, Tracer):
        return _insert_at(arr, values, places, count, axis)
    places = np.clip(np.where(places < 0, places + size, places), 0, size)
    if places.ndim == 0:
        places = np.full(count, places)
    shape = tuple(count if i == axis else n for i, n in enumerate(arr.shape))
    values = shape_ops.broadcast_to_shape(values, shape)
    order = np.argsort(places, kind="stable")
    targets = np.empty(count, np.int64)
    targets[order] = places[order] + np.arange(count)
    source = np.zeros(size + count, np.int64)
    is_new = np.zeros(size + count, bool)
    is_new[targets] = True
    source[targets] = size + np.arange(count)
    source[~is_new] = np.arange(size)
    return take(concatenate([arr, values], axis), source.astype(np.int32), axis, mode="clip")


def _insert_at(arr: ArrayLike, values: ArrayLike, place: ArrayLike, count: int, axis: int) -> Array:
    """The values put in before one place, which is traced."""
    size = arr.shape[axis]
    values = shape_ops.broadcast_to_shape(values, tuple(count if i == axis else n for i, n in enumerate(arr.shape)))
    place = convert(place, np.dtype(np.int32))
    place = op.clamp(np.int32(0), op.select(op.lt(place, np.int32(0)), op.add(place, np.int32(size)), place), np.int32(size))
    position = shape_ops.iota(np.int32, size + count)
    after = op.select(op.lt(position, op.add(place, np.int32(count))), op.sub(op.add(position, np.int32(size)), place),
                      op.sub(position, np.int32(count)))
    source = op.select(op.lt(position, place), position, after)
    return take(concatenate([arr, values], axis), source, axis, mode="clip")
