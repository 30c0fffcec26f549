"""Slices: reading and writing one window of an array, at static or computed positions.

`slice` and `dynamic_slice` read a window, `dynamic_update_slice` writes one. Many windows at once are gather's and
scatter's (`ops/indexing.py`).
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from laminax_ir.ops import elementwise
from laminax_ir.ops.elementwise_avals import joined_named_shape
from laminax_ir.ops.scalar_operands import scalar_like
from laminax_ir.ops.shape import expand_dims, squeeze
from laminax_ir.ops.shape_arguments import as_ints, canonical_axis, canonical_shape, shape_of
from laminax_ir.ops.shape_primitives import with_shape
from laminax_ir.programs.primitive import Primitive, Trait, shape_rule
from laminax_ir.symbolic.symbolic_dims import DimSize, exceeds
from laminax_ir.tracing.trace import state
from laminax_ir.types import dtypes
from laminax_ir.types.arguments import as_int
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_ir.types.errors import DTypeError, ShapeError

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

slice_p = Primitive("slice", family="slicing", traits=(Trait.EXACT_MOVE,))
dynamic_slice_p = Primitive("dynamic_slice", family="slicing", traits=(Trait.EXACT_MOVE,))
dynamic_update_slice_p = Primitive("dynamic_update_slice", family="slicing", traits=(Trait.EXACT_MOVE,))


# Shape rules


@shape_rule(slice_p)
def _slice_shape(x: ShapedArray, *, start_indices: tuple[int, ...], limit_indices: tuple[int, ...],
                 strides: tuple[int, ...] | None) -> ShapedArray:
    rank = x.ndim
    if len(start_indices) != rank or len(limit_indices) != rank or (strides is not None and len(strides) != rank):
        raise ShapeError(f"slice: start_indices, limit_indices and strides must have one entry for each axis of the "
                         f"operand, got {_described(start_indices, limit_indices, strides)} for {x.str_short()}")
    shape = []
    for axis, (size, start, limit) in enumerate(zip(x.shape, start_indices, limit_indices)):
        if not 0 <= start <= limit <= size:
            raise ShapeError(f"slice: along axis {axis}, 0 <= start <= limit <= size must hold, got "
                             f"{_described(start_indices, limit_indices, strides)} for {x.str_short()}")
        stride = 1 if strides is None else strides[axis]
        if stride < 1:
            raise ShapeError(f"slice: strides must be positive, got {strides} for {x.str_short()}")
        shape.append(limit - start if stride == 1 else (limit - start + stride - 1) // stride)
    return with_shape(x, tuple(shape))


def _described(start_indices: tuple[int, ...], limit_indices: tuple[int, ...], strides: tuple[int, ...] | None) -> str:
    return f"start_indices {start_indices}, limit_indices {limit_indices}, strides {strides}"


@shape_rule(dynamic_slice_p)
def _dynamic_slice_shape(x: ShapedArray, *start_indices: ShapedArray, slice_sizes: tuple[int, ...]) -> ShapedArray:
    _check_start_indices("dynamic_slice", x, start_indices)
    if len(slice_sizes) != x.ndim:
        raise ShapeError(f"dynamic_slice: slice_sizes must have one entry for each axis of the operand, got "
                         f"{slice_sizes} for {x.str_short()}")
    for size, window in zip(x.shape, slice_sizes):
        if not 0 <= window <= size:
            raise ShapeError(f"dynamic_slice: slice_sizes must lie between 0 and the operand's sizes, got {slice_sizes} "
                             f"for {x.str_short()}")
    if x._named or builtins.any([i._named for i in start_indices]):
        return x.update(shape=slice_sizes, named_shape=joined_named_shape((x, *start_indices)))
    return ShapedArray(slice_sizes, x.dtype, x.weak_type)


def _check_start_indices(name: str, x: ShapedArray, start_indices: Sequence[ShapedArray]) -> None:
    if len(start_indices) != x.ndim:
        raise ValueError(f"{name}: there must be one start index for each axis of the operand, got "
                         f"{len(start_indices)} for {x.str_short()}")
    for index in start_indices:
        if index.shape or index.dtype != start_indices[0].dtype or not dtypes.issubdtype(index.dtype, dtypes.integer):
            raise ShapeError(f"{name}: start indices must be integer scalars of one dtype, got "
                             f"{', '.join(i.str_short() for i in start_indices)} for {x.str_short()}")


@shape_rule(dynamic_update_slice_p)
def _dynamic_update_slice_shape(x: ShapedArray, update: ShapedArray, *start_indices: ShapedArray) -> ShapedArray:
    _check_start_indices("dynamic_update_slice", x, start_indices)
    if update.dtype != x.dtype:
        raise DTypeError(f"dynamic_update_slice: operand and update must have the same dtype, got {x.str_short()} and "
                         f"{update.str_short()}")
    if update.ndim != x.ndim:
        raise ShapeError(f"dynamic_update_slice: the update must have as many axes as the operand, got "
                         f"{update.str_short()} for {x.str_short()}")
    for size, window in zip(x.shape, update.shape):
        if window > size:
            raise ShapeError(f"dynamic_update_slice: the update must not be larger than the operand, got "
                             f"{update.str_short()} for {x.str_short()}")
    avals = (x, update, *start_indices)
    return x.update(named_shape=joined_named_shape(avals)) if builtins.any([a._named for a in avals]) else x


# Static slices


def slice(operand: ArrayLike, start_indices: Sequence[int], limit_indices: Sequence[int], strides: Sequence[int] | None = None) -> Array:
    """Reads a window at a static position.

    Args:
      operand: an array.
      start_indices: the first index along each axis.
      limit_indices: the first index beyond the window along each axis, at most the axis' size.
      strides: the distance between two elements read, positive; by default 1.

    Returns:
      An array of the operand's dtype, of size ceil((limit - start) / stride) along each axis.

    Raises:
      TypeError: if the window does not lie within the operand.

    Example:
      >>> slice(np.arange(10, dtype='int32'), (2,), (9,), (3,))
      array([2, 5, 8], dtype=int32)
    """
    return state.trace.process(slice_p, (operand,), {
        "start_indices": as_ints("slice", "start_indices", start_indices),
        "limit_indices": as_ints("slice", "limit_indices", limit_indices),
        "strides": None if strides is None else as_ints("slice", "strides", strides)})


def slice_in_dim(operand: ArrayLike, start_index: DimSize | None, limit_index: DimSize | None, stride: int = 1, axis: int = 0) -> Array:
    """Slices along one axis.

    Args:
      operand: an array.
      start_index: the first index; None is 0, a negative one counts from the end.
      limit_index: the first index not read; None is the axis' size, a negative one counts from the end.
      stride: the distance between two elements read, positive.
      axis: the axis; a negative one counts from the end.

    Returns:
      An array of the operand's dtype and shape, but for size ceil((limit - start) / stride) along the axis.

    Raises:
      TypeError: if the window does not lie within the operand, or the stride is not positive.
      ValueError: if the axis is out of range.

    Example:
      >>> slice_in_dim(np.arange(6, dtype='int32'), 1, -1, 2)
      array([1, 3], dtype=int32)
    """
    shape = shape_of(operand)
    axis = canonical_axis("slice_in_dim", axis, len(shape))
    size = shape[axis]
    start = 0 if start_index is None else as_int("slice_in_dim", "start_index", start_index)
    limit = size if limit_index is None else as_int("slice_in_dim", "limit_index", limit_index)
    starts, limits, strides = [0] * len(shape), list(shape), [1] * len(shape)
    starts[axis] = start + size if start < 0 else start
    limits[axis] = limit + size if limit < 0 else limit
    strides[axis] = as_int("slice_in_dim", "stride", stride)
    return slice(operand, tuple(starts), tuple(limits), tuple(strides))


def index_in_dim(operand: ArrayLike, index: int, axis: int = 0, keepdims: bool = True) -> Array:
    """Reads one position along an axis.

    Args:
      operand: an array.
      index: the position; a negative one counts from the end.
      axis: the axis; a negative one counts from the end.
      keepdims: whether the axis stays, with size 1.

    Returns:
      An array of the operand's dtype and of its shape without the axis, or with keepdims of size 1 along it.

    Raises:
      IndexError: if the index is out of bounds.
      ValueError: if the axis is out of range.

    Example:
      >>> index_in_dim(np.float32([[1, 2], [3, 4]]), 1, axis=0, keepdims=False)
      array([3., 4.], dtype=float32)
    """
    shape = shape_of(operand)
    axis, index = canonical_axis("index_in_dim", axis, len(shape)), as_int("index_in_dim", "index", index)
    size = shape[axis]
    position = index + size if index < 0 else index
    if not 0 <= position < size:
        raise IndexError(f"index_in_dim: index {index} is out of bounds for axis {axis} with size {size} of "
                         f"{get_aval(operand).str_short()}")
    result = slice_in_dim(operand, position, position + 1, 1, axis)
    return result if keepdims else squeeze(result, (axis,))


# Slices at computed positions


def dynamic_slice(operand: ArrayLike, start_indices: Any, slice_sizes: Sequence[int], *, allow_negative_indices: bool = True) -> Array:
    """Reads a window of static size at a computed position; the position is clamped so that the window fits.

    Args:
      operand: an array.
      start_indices: one integer scalar for each axis, or an integer array of that length.
      slice_sizes: the window's sizes.
      allow_negative_indices: whether negative start indices count from the end; a bool, or one for each axis.
        False saves a few operations where they are known not to be negative.

    Returns:
      An array of shape slice_sizes and the operand's dtype.

    Raises:
      TypeError: if the indices are not integers or the window is larger than the operand.
      ValueError: if the number of indices is not that of the axes.

    Example:
      >>> dynamic_slice(np.arange(6, dtype='int32'), (5,), (3,))
      array([3, 4, 5], dtype=int32)
    """
    slice_sizes = canonical_shape("dynamic_slice", slice_sizes)
    starts = _normal_starts("dynamic_slice", operand, start_indices, allow_negative_indices)
    return state.trace.process(dynamic_slice_p, (operand, *starts), {"slice_sizes": slice_sizes})


def dynamic_update_slice(operand: ArrayLike, update: ArrayLike, start_indices: Any, *, allow_negative_indices: bool = True) -> Array:
    """Writes a window at a computed position; the position is clamped so that the window fits.

    Args:
      operand: an array.
      update: an array of the operand's dtype and number of axes, no larger.
      start_indices: one integer scalar for each axis, or an integer array of that length.
      allow_negative_indices: whether negative start indices count from the end; a bool, or one for each axis.

    Returns:
      An array of the operand's shape and dtype, with the window replaced.

    Raises:
      TypeError: if the indices are not integers, or the update does not fit.
      ValueError: if the number of indices is not that of the axes.

    Example:
      >>> dynamic_update_slice(np.float32([0, 0, 0, 0]), np.float32([1, 2]), (np.int32(1),))
      array([0., 1., 2., 0.], dtype=float32)
    """
    if type(update) in dtypes.python_scalar_types:
        update = scalar_like(update, get_aval(operand).dtype)
    starts = _normal_starts("dynamic_update_slice", operand, start_indices, allow_negative_indices)
    return state.trace.process(dynamic_update_slice_p, (operand, update, *starts), {})


_HOST_INTEGERS = (int, np.integer)


def _normal_starts(name: str, operand: ArrayLike, start_indices: Any, allow_negative: bool) -> list:
    """Start indices as scalars of one dtype, with negative ones resolved where that is allowed."""
    shape = shape_of(operand)
    starts = _as_scalars(name, start_indices)
    if len(starts) != len(shape):
        raise ValueError(f"{name}: there must be one start index for each axis of the operand, got {len(starts)} for "
                         f"{get_aval(operand).str_short()}")
    if allow_negative is True and builtins.all([type(i) is int for i in starts]):
        return [i + size if i < 0 else i for i, size in zip(starts, shape)]
    allowed = [allow_negative] * len(shape) if isinstance(allow_negative, bool) else list(allow_negative)
    if len(allowed) != len(shape):
        raise ValueError(f"{name}: allow_negative_indices must be a bool or one for each axis of the operand, got "
                         f"{allow_negative} for {get_aval(operand).str_short()}")
    dtype = _index_dtype(name, starts, shape)
    result = []
    for start, size, negative in zip(starts, shape, allowed):
        if isinstance(start, _HOST_INTEGERS):
            start = int(start)
            start = start + size if negative and start < 0 else start
            info = dtypes.iinfo(dtype)  # an index that the dtype does not hold is out of bounds, and is clamped anyway
            result.append(scalar_like(min(max(start, int(info.min)), int(info.max)), dtype))
        else:
            start = elementwise.convert_element_type(start, dtype)
            result.append(wrapped_index(start, size) if negative else start)
    return result


def _as_scalars(name: str, start_indices: Any) -> list:
    if isinstance(start_indices, (list, tuple)):
        return [i[()] if isinstance(i, np.ndarray) and i.shape == () else i for i in start_indices]
    shape = shape_of(start_indices)
    if len(shape) != 1:
        raise ValueError(f"{name}: start_indices must be a sequence of scalars or an array of one axis, got "
                         f"{get_aval(start_indices).str_short()}")
    if isinstance(start_indices, np.ndarray):
        return list(start_indices)
    return [index_in_dim(start_indices, i, 0, keepdims=False) for i in range(shape[0])]


def _index_dtype(name: str, starts: Sequence, shape: Sequence[int]) -> np.dtype:
    """The dtype all start indices are brought to: their own if they share one that can hold the sizes."""
    found = [get_aval(i) for i in starts if not isinstance(i, _HOST_INTEGERS) or isinstance(i, bool)]
    for aval in found:
        if aval.shape or not dtypes.issubdtype(aval.dtype, dtypes.integer):
            raise ShapeError(f"{name}: start indices must be integer scalars, got "
                             f"{', '.join(get_aval(i).str_short() for i in starts)}")
    chosen = {aval.dtype for aval in found if not aval.weak_type} | {i.dtype for i in starts if isinstance(i, np.integer)}
    if len(chosen) > 1:
        raise DTypeError(f"{name}: index arguments to {name} must be integers of the same type, got "
                         f"{', '.join(get_aval(i).str_short() for i in starts)}")
    if not found:
        return dtypes.scalar_dtype(int)
    dtype = found[0].dtype
    if builtins.all(aval.dtype == dtype for aval in found) and not builtins.any(exceeds(size, dtypes.iinfo(dtype).max) for size in shape):
        return dtype
    return dtypes.scalar_dtype(int)


def wrapped_index(index: Any, size: int) -> Any:
    """The index with the size added where it is negative.

    Args:
      index: an integer or an array of integers.
      size: the size of the axis, an int.

    Returns:
      An int or an array like the index, of its dtype.
    """
    dtype = get_aval(index).dtype
    if dtypes.issubdtype(dtype, dtypes.unsignedinteger):
        return index
    return elementwise.select_n(elementwise.lt(index, 0), index, elementwise.add(index, scalar_like(size, dtype)))


def _axis_starts(operand: ArrayLike, index: ArrayLike, axis: int) -> list:
    starts: list[Any] = [0] * len(shape_of(operand))
    starts[axis] = index
    return starts


def dynamic_slice_in_dim(operand: ArrayLike, start_index: ArrayLike, slice_size: int, axis: int = 0, *,
                         allow_negative_indices: bool = True) -> Array:
    """Reads positions along one axis, from a computed one on, clamped so that they fit; see `dynamic_slice`.

    Args:
      operand: an array of any dtype.
      start_index: an integer scalar.
      slice_size: how many positions, an int, at most the size of the axis.
      axis: the axis; a negative one counts from the end.
      allow_negative_indices: whether a negative index counts from the end.

    Returns:
      An array of the operand's dtype and shape, but for size slice_size along the axis.

    Raises:
      TypeError: if the index is no integer scalar, or slice_size does not fit.
      ValueError: if the axis is out of range.

    Example:
      >>> dynamic_slice_in_dim(np.float32([1, 2, 3, 4]), np.int32(1), 2)
      array([2., 3.], dtype=float32)
    """
    shape = shape_of(operand)
    axis = canonical_axis("dynamic_slice_in_dim", axis, len(shape))
    sizes = (*shape[:axis], as_int("dynamic_slice_in_dim", "slice_size", slice_size), *shape[axis + 1:])
    return dynamic_slice(operand, _axis_starts(operand, start_index, axis), sizes,
                         allow_negative_indices=allow_negative_indices)


def dynamic_index_in_dim(operand: ArrayLike, index: ArrayLike, axis: int = 0, keepdims: bool = True, *,
                         allow_negative_indices: bool = True) -> Array:
    """Reads one computed position along an axis, clamped to the axis.

    Args:
      operand: an array of any dtype.
      index: an integer scalar.
      axis: the axis; a negative one counts from the end.
      keepdims: whether the axis stays, with size 1.
      allow_negative_indices: whether a negative index counts from the end.

    Returns:
      An array of the operand's dtype and of its shape without the axis, or with keepdims of size 1 along it.

    Raises:
      TypeError: if the index is no integer scalar, or the axis is empty.
      ValueError: if the axis is out of range.

    Example:
      >>> dynamic_index_in_dim(np.float32([[1, 2], [3, 4]]), np.int32(1), keepdims=False)
      array([3., 4.], dtype=float32)
    """
    axis = canonical_axis("dynamic_index_in_dim", axis, len(shape_of(operand)))
    result = dynamic_slice_in_dim(operand, index, 1, axis, allow_negative_indices=allow_negative_indices)
    return result if keepdims else squeeze(result, (axis,))


def dynamic_update_slice_in_dim(operand: ArrayLike, update: ArrayLike, start_index: ArrayLike, axis: int, *,
                                allow_negative_indices: bool = True) -> Array:
    """Writes an update over the positions along one axis from a computed one on; see `dynamic_update_slice`.

    Args:
      operand: an array of any dtype.
      update: an array of the operand's dtype and number of axes, no larger.
      start_index: an integer scalar.
      axis: the axis; a negative one counts from the end.
      allow_negative_indices: whether a negative index counts from the end.

    Returns:
      An array of the operand's shape and dtype.

    Raises:
      TypeError: if the index is no integer scalar, or the update does not fit.
      ValueError: if the axis is out of range.

    Example:
      >>> dynamic_update_slice_in_dim(np.float32([0, 0, 0]), np.float32([5]), np.int32(2), 0)
      array([0., 0., 5.], dtype=float32)
    """
    axis = canonical_axis("dynamic_update_slice_in_dim", axis, len(shape_of(operand)))
    return dynamic_update_slice(operand, update, _axis_starts(operand, start_index, axis),
                                allow_negative_indices=allow_negative_indices)


def dynamic_update_index_in_dim(operand: ArrayLike, update: ArrayLike, index: ArrayLike, axis: int, *,
                                allow_negative_indices: bool = True) -> Array:
    """Writes an update at one computed position along an axis, clamped to it.

    Args:
      operand: an array of any dtype.
      update: an array of the operand's dtype, of its shape without the axis, or with the axis of size 1.
      index: an integer scalar.
      axis: the axis; a negative one counts from the end.
      allow_negative_indices: whether a negative index counts from the end.

    Returns:
      An array of the operand's shape and dtype.

    Raises:
      TypeError: if the index is no integer scalar, or the update does not fit.
      ValueError: if the axis is out of range.

    Example:
      >>> dynamic_update_index_in_dim(np.float32([0, 0, 0]), np.float32(5), np.int32(1), 0)
      array([0., 5., 0.], dtype=float32)
    """
    rank = len(shape_of(operand))
    axis = canonical_axis("dynamic_update_index_in_dim", axis, rank)
    if len(shape_of(update)) != rank:
        if len(shape_of(update)) != rank - 1:
            raise ShapeError(f"dynamic_update_index_in_dim: the update must have as many axes as the operand, or one less, "
                             f"got {get_aval(update).str_short()} for {get_aval(operand).str_short()}")
        update = expand_dims(update, (axis,))
    return dynamic_update_slice_in_dim(operand, update, index, axis, allow_negative_indices=allow_negative_indices)
