"""Elements repeated, rolled and trimmed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from laminax_ir.functions import operators
from laminax_ir.ops import elementwise as op
from laminax_ir.ops import indexing as indexing_ops
from laminax_ir.ops import shape as shape_ops
from laminax_ir.ops import slicing as slicing_ops
from laminax_ir.ops.cumulative import cumsum
from laminax_ir.ops.shape_arguments import canonical_shape
from laminax_ir.symbolic.symbolic_dims import SymbolicDim, size_of
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.floor import fused, split_result
from laminax._src.numerics.numpy.arguments import (
    as_array,
    axis_tuple,
    concrete_numpy,
    convert,
    dtype_of,
    ensure_array,
    ensure_arrays,
    is_host_value,
    one_axis,
    size_scalar,
)
from laminax._src.numerics.numpy.joining import unstack
from laminax._src.numerics.numpy.reshaping import broadcast_to, ravel
from laminax._src.numerics.numpy.taking import take
from laminax._src.numerics.splits import check_not_split

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


def tile(A: ArrayLike, reps: int | Sequence[int]) -> Array:
    """Repeats an array as a whole, reps[i] times along axis i; missing axes and counts are added in front.

    Args:
      A: an array.
      reps: how often along each axis, an integer or a sequence of them.

    Returns:
      An array of A's dtype; its sizes are those of A times the counts.

    Example:
      >>> jnp.tile(jnp.array([1, 2]), 2)
      Array([1, 2, 1, 2], dtype=int32)
    """
    A = as_array(ensure_array("tile", A))
    given: Any = reps
    counts = canonical_shape("tile", (given,) if np.ndim(given) == 0 else tuple(given))
    rank = max(len(A.shape), len(counts))
    if len(A.shape) < rank:
        A = shape_ops.expand_dims(A, tuple(range(rank - len(A.shape))))
    counts = (1,) * (rank - len(counts)) + counts
    return A if all(n == 1 for n in counts) else shape_ops.tile(A, counts)


def repeat(a: ArrayLike, repeats: ArrayLike, axis: int | None = None, *, total_repeat_length: int | None = None,
           out_sharding: Any = None) -> Array:
    """Repeats each element along an axis.

    Args:
      a: an array or scalar.
      repeats: how often, an integer or one for each element of the axis. If it is traced, total_repeat_length must
        be given.
      axis: the axis; None takes the array as flat.
      total_repeat_length: the size of the axis in the result: what is too much is cut off, what is missing is filled with
        the last element.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Raises:
      ConcretizationTypeError: if repeats is traced and total_repeat_length is not given.

    Example:
      >>> jnp.repeat(jnp.array([1, 2]), 2)
      Array([1, 1, 2, 2], dtype=int32)
    """
    if out_sharding is not None:
        return split_result("repeat", out_sharding, lambda: repeat(a, repeats, axis, total_repeat_length=total_repeat_length))
    a = as_array(ensure_array("repeat", a))
    if axis is None or not a.shape:
        a, axis = ravel(a), 0
    axis = one_axis("repeat", axis, len(a.shape))
    if isinstance(repeats, (list, tuple)):
        repeats = np.asarray(repeats)
    if total_repeat_length is None and type(repeats) is SymbolicDim:
        return _repeat_evenly(a, count=repeats, axis=axis)
    if total_repeat_length is None:
        counts = concrete_numpy("repeat", "repeats", ensure_array("repeat", repeats))
        if not np.issubdtype(counts.dtype, np.integer) and counts.dtype != bool:
            raise TypeError(f"repeat: repeats must be integers, got dtype {counts.dtype}")
        if np.any(counts < 0):
            raise ValueError(f"repeat: repeats must not be negative, got {counts}")
        if counts.size == 1:
            return _repeat_evenly(a, count=int(counts.reshape(())), axis=axis)
        if counts.shape != (a.shape[axis],):
            raise ValueError(f"repeat: there must be one count for each of the {a.shape[axis]} elements of axis {axis}, or one "
                             f"for all, got shape {counts.shape}")
        return take(a, np.repeat(np.arange(a.shape[axis], dtype=np.int32), counts), axis, mode="clip")
    return _repeat_to_length(a, repeats, axis=axis, length=size_of(total_repeat_length))


@fused(static_argnames=("count", "axis"))
def _repeat_evenly(a: ArrayLike, count: int, axis: int) -> Array:
    shape = a.shape
    wide = (*shape[:axis + 1], count, *shape[axis + 1:])
    kept = tuple(i for i in range(len(wide)) if i != axis + 1)
    a = shape_ops.broadcast_in_dim(a, wide, kept)
    return shape_ops.reshape(a, (*shape[:axis], shape[axis] * count, *shape[axis + 1:]))


@fused(static_argnames=("axis", "length"))
def _repeat_to_length(a: Any, repeats: Any, axis: Any, length: Any) -> Any:
    """Marks where each element's run begins; the running count of marks is the element's number."""
    count = a.shape[axis]
    repeats = broadcast_to(convert(repeats, np.dtype(np.int32)), (count,))
    if count == 0 or length == 0:
        return shape_ops.full((*a.shape[:axis], length, *a.shape[axis + 1:]), 0, dtype_of(a))
    starts = shape_ops.expand_dims(op.sub(cumsum(repeats, 0), repeats), (1,))
    dims = indexing_ops.ScatterDimensionNumbers((), (0,), (0,))
    marks = indexing_ops.scatter_add(shape_ops.full((length,), 0, np.int32), starts, shape_ops.full((count,), 1, np.int32), dims,
                                     indices_are_sorted=True)
    return take(a, op.sub(cumsum(marks, 0), np.int32(1)), axis, mode="clip", indices_are_sorted=True)


def roll(a: ArrayLike, shift: ArrayLike, axis: int | Sequence[int] | None = None) -> Array:
    """Moves the elements along axes; what leaves at one end comes in at the other.

    Args:
      a: an array.
      shift: by how many places, one number for each axis; may be traced.
      axis: the axis or axes; None rolls the flat array.

    Example:
      >>> jnp.roll(jnp.array([1, 2, 3]), 1)
      Array([3, 1, 2], dtype=int32)
    """
    if type(shift) is int and (axis is None or type(axis) is int):
        return _roll_one(a, shift=shift, axis=axis)
    return _roll(a, shift, axis)


@fused(static_argnames=("shift", "axis"))
def _roll_one(a: ArrayLike, shift: int, axis: int | None) -> Array:
    return _roll(a, shift, axis)


def _roll(a: Any, shift: Any, axis: Any) -> Any:
    a = as_array(ensure_array("roll", a))
    shape = a.shape
    if axis is None:
        return shape_ops.reshape(roll(ravel(a), shift, 0), shape)
    if not shape:
        return a
    axes = tuple(one_axis("roll", i, len(shape)) for i in ((axis,) if np.ndim(axis) == 0 else axis))
    check_not_split(a, axes, f"roll: `a` cannot be sharded on the axis being rolled over, which is {axis}.")
    if isinstance(shift, (list, tuple)):
        shifts = list(shift)
    elif np.ndim(shift := ensure_array("roll", shift)):
        shifts = list(np.asarray(shift)) if is_host_value(shift) else list(unstack(shift))
    else:
        shifts = [shift]
    if len(shifts) == 1:
        shifts = shifts * len(axes)
    if len(axes) == 1:
        axes = axes * len(shifts)
    if len(shifts) != len(axes):
        raise ValueError(f"roll: there must be one shift for each axis, got {len(shifts)} for axes {axes}")
    for s in ensure_arrays("roll", *shifts):
        if not dtypes.issubdtype(dtype_of(s), dtypes.integer):
            raise TypeError(f"roll: shifts must be integers, got {get_aval(s).str_short()}")
    if all(is_host_value(s) for s in shifts):
        return _roll_by(a, shifts=tuple(int(s) for s in shifts), axes=axes)
    return _roll_by_traced(a, shifts, axes=axes)


@fused(static_argnames=("shifts", "axes"))
def _roll_by(a: ArrayLike, shifts: tuple[int, ...], axes: tuple[int, ...]) -> Array:
    for shift, axis in zip(shifts, axes):
        size = a.shape[axis]
        cut = (size - shift) % size if type(size) is SymbolicDim or size else 0
        if type(cut) is SymbolicDim or cut:
            a = shape_ops.concatenate([slicing_ops.slice_in_dim(a, cut, size, 1, axis),
                                       slicing_ops.slice_in_dim(a, 0, cut, 1, axis)], axis)
    return a


@fused(static_argnames=("axes",))
def _roll_by_traced(a: ArrayLike, shifts: Sequence[ArrayLike], axes: tuple[int, ...]) -> Array:
    for shift, axis in zip(shifts, axes):
        size = a.shape[axis]
        if size:
            start = operators.remainder(op.neg(convert(shift, np.dtype(np.int32))), size_scalar(size))
            a = slicing_ops.dynamic_slice_in_dim(shape_ops.concatenate([a, a], axis), start, size, axis)
    return a


def resize(a: ArrayLike, new_shape: int | Sequence[int]) -> Array:
    """The elements, repeated as often as needed or cut off, in another shape.

    Args:
      a: an array.
      new_shape: the shape of the result.

    Returns:
      An array of a's dtype; zeros, if a has no elements.

    Raises:
      ValueError: if a size is negative.

    Example:
      >>> jnp.resize(jnp.array([1, 2]), (2, 3))
      Array([[1, 2, 1],
             [2, 1, 2]], dtype=int32)
    """
    new_shape = canonical_shape("resize", new_shape)
    if any(n < 0 for n in new_shape):
        raise ValueError(f"resize: all sizes of new_shape must be non-negative, got {new_shape}")
    a = ravel(a)
    total = math.prod(new_shape)
    if total == 0 or a.size == 0:
        return shape_ops.full(new_shape, 0, dtype_of(a))
    a = tile(a, -(-total // a.size))
    return shape_ops.reshape(slicing_ops.slice_in_dim(a, 0, total), new_shape)


def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Array:
    """Removes zeros from the ends; the values must be known.

    Args:
      filt: an array, not traced.
      trim: "f" for the front, "b" for the back, "fb" for both.
      axis: the axis or axes to trim; None is all.

    Example:
      >>> jnp.trim_zeros(jnp.array([0, 1, 2, 0]))
      Array([1, 2], dtype=int32)
    """
    filt = as_array(ensure_array("trim_zeros", filt) if not isinstance(filt, (list, tuple)) else np.asarray(filt))
    values = concrete_numpy("trim_zeros", "the array", filt)
    axes = axis_tuple("trim_zeros", axis, values.ndim)
    trim = trim.lower()
    result = filt
    for i in axes:
        others = tuple(j for j in range(values.ndim) if j != i)
        nonzero = np.flatnonzero(np.any(values != 0, axis=others))
        start = int(nonzero[0]) if nonzero.size and "f" in trim else (values.shape[i] if not nonzero.size else 0)
        stop = int(nonzero[-1]) + 1 if nonzero.size and "b" in trim else values.shape[i]
        result = slicing_ops.slice_in_dim(result, start, stop, 1, i)
    return result
