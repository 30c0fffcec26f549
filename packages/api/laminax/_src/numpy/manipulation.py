"""Arrangement: reshaping, reordering, joining, splitting, repeating and padding."""

from __future__ import annotations

import math
import operator
from typing import Any, Callable, Sequence

import numpy as np

from laminax_ir import dtypes, operators
from laminax_ir.avals import get_aval
from laminax_ir.ops import elementwise as op
from laminax_ir.ops import indexing as indexing_ops
from laminax_ir.ops import shape as shape_ops
from laminax_ir.ops import slicing as slicing_ops
from laminax_ir.trace import Tracer

from laminax._src.fusion import fused
from laminax._src.numpy.arguments import (
    as_array,
    axis_tuple,
    concrete_int,
    concrete_numpy,
    convert,
    dtype_of,
    ensure_array,
    ensure_arrays,
    is_host_value,
    one_axis,
    promote_dtypes,
    refuse_out,
    refuse_placement,
    shape_of,
    user_dtype,
)

# --- shape ---


def shape(a: Any) -> tuple[int, ...]:
    """The sizes of the axes of an array or scalar."""
    return tuple(a.shape) if hasattr(a, "shape") else shape_of(ensure_array("shape", a))


def ndim(a: Any) -> int:
    """The number of axes of an array or scalar."""
    return len(shape(a))


def size(a: Any, axis: int | Sequence[int] | None = None) -> int:
    """The number of elements of an array or scalar, or along some of its axes."""
    sizes = shape(a)
    return math.prod(sizes[i] for i in axis_tuple("size", axis, len(sizes)))


def reshape(a, shape, order: str = "C", *, copy: bool | None = None, out_sharding=None):
    """The same elements in another shape.

    Args:
      a: an array or scalar.
      shape: the sizes, or one size; one of them may be -1, for what fits.
      order: "C", the last axis varies fastest, or "F", the first one.
      copy: must not be False.
      out_sharding: must be None.

    Raises:
      TypeError: if the number of elements does not fit.
      NotImplementedError: for order "A".
    """
    if copy is False:
        raise NotImplementedError("reshape: copy=False is not supported, because arrays share no memory that changes")
    refuse_placement("reshape", out_sharding=out_sharding)
    a = as_array(ensure_array("reshape", a))
    new = _resolved_shape(a, shape)
    if order == "C":
        return shape_ops.reshape(a, new)
    if order == "F":
        reversed_axes = tuple(reversed(range(len(a.shape))))
        return transpose(shape_ops.reshape(shape_ops.transpose(a, reversed_axes), new[::-1]))
    if order == "A":
        raise NotImplementedError("reshape: order='A' is not supported; use 'C' or 'F'")
    raise ValueError(f"reshape: order must be 'C' or 'F', got {order!r}")


def _resolved_shape(a: Any, shape: Any) -> tuple[int, ...]:
    if isinstance(shape, Tracer) or type(shape) in (list, tuple) and any(isinstance(s, Tracer) and s.concrete_value() is None
                                                                         for s in shape):
        raise TypeError(f"reshape: Shapes must be 1D sequences of concrete values of integer type, got {shape!r}. Mark the "
                        "argument it comes from as static (static_argnums).")
    new = shape_ops.canonical_shape("reshape", shape)
    if -1 not in new:
        if math.prod(new) != a.size:
            raise TypeError(f"cannot reshape array of shape {tuple(a.shape)} (size {a.size}) into shape {new} "
                            f"(size {math.prod(new)})")
        return new
    if new.count(-1) > 1:
        raise ValueError(f"reshape: at most one size may be -1, got {new}")
    rest = math.prod(n for n in new if n != -1)
    if rest == 0 or a.size % rest:
        raise TypeError(f"cannot reshape array of shape {tuple(a.shape)} (size {a.size}) into shape {new} because the product "
                        "of specified axis sizes does not evenly divide it" if rest else
                        f"cannot reshape array of shape {tuple(a.shape)} into shape {new}: the size for -1 is not determined")
    return tuple(a.size // rest if n == -1 else n for n in new)


def ravel(a, order: str = "C", *, out_sharding=None):
    """The elements in one axis; parameters as for `reshape`."""
    if order == "K":
        raise NotImplementedError("ravel: order='K' is not supported; use 'C' or 'F'")
    return reshape(a, (math.prod(shape_of(ensure_array("ravel", a))),), order, out_sharding=out_sharding)


def squeeze(a, axis: int | Sequence[int] | None = None):
    """Removes axes of size 1.

    Args:
      a: an array or scalar.
      axis: the axis or axes; None is all of size 1.

    Raises:
      ValueError: if an axis is out of range or not of size 1.
    """
    a = as_array(ensure_array("squeeze", a))
    if axis is None:
        axes = tuple(i for i, n in enumerate(a.shape) if n == 1)
    else:
        axes = axis_tuple("squeeze", axis, len(a.shape))
    for i in axes:
        if a.shape[i] != 1:
            raise ValueError(f"cannot select an axis to squeeze out which has size not equal to one, got shape={tuple(a.shape)} "
                             f"and dimensions={axes}")
    return shape_ops.squeeze(a, axes)


def expand_dims(a, axis: int | Sequence[int]):
    """Adds axes of size 1, at the given places of the result.

    Raises:
      ValueError: if a place is out of range or given twice.
    """
    a = as_array(ensure_array("expand_dims", a))
    axes = (axis,) if np.ndim(axis) == 0 else tuple(axis)
    if len(axes) > 1 and len({int(i) % (len(a.shape) + len(axes)) for i in axes}) < len(axes):
        raise ValueError(f"expand_dims: repeated axis in {axes}, for {get_aval(a).str_short()}")
    return shape_ops.expand_dims(a, axes)


def broadcast_to(array, shape, *, out_sharding=None):
    """Repeats an array along new leading axes and axes of size 1, to a shape.

    Raises:
      ValueError: if the array does not broadcast to the shape.
    """
    refuse_placement("broadcast_to", out_sharding=out_sharding)
    array = as_array(ensure_array("broadcast_to", array))
    shape = shape_ops.canonical_shape("broadcast_to", shape)
    own = tuple(array.shape)
    if own == shape:
        return array
    if len(own) > len(shape) or any(n not in (1, m) for n, m in zip(reversed(own), reversed(shape))):
        raise ValueError(f"Incompatible shapes for broadcasting: {own} and requested shape {shape}")
    return shape_ops.broadcast_to_shape(array, shape)


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that arrays of the given shapes broadcast to.

    Raises:
      ValueError: if there is none.
    """
    return shape_ops.broadcast_shapes(*[(s,) if isinstance(s, (int, np.integer)) else tuple(s) for s in shapes])


def broadcast_arrays(*args) -> list:
    """The arguments, broadcast to one shape.

    Raises:
      ValueError: if there is none.
    """
    arrays = [as_array(x) for x in ensure_arrays("broadcast_arrays", *args)]
    shapes = [tuple(x.shape) for x in arrays]
    if len(set(shapes)) == 1:
        return arrays
    common = shape_ops.broadcast_shapes(*shapes)
    return [x if s == common else shape_ops.broadcast_to_shape(x, common) for x, s in zip(arrays, shapes)]


def atleast_1d(*arys):
    """The arguments with at least one axis: one array, or a list of several."""
    return _at_least("atleast_1d", arys, lambda x: shape_ops.reshape(x, (1,)) if not x.shape else x)


def atleast_2d(*arys):
    """The arguments with at least two axes, new ones in front: one array, or a list of several."""
    return _at_least("atleast_2d", arys, lambda x: shape_ops.expand_dims(x, tuple(range(2 - len(x.shape))))
                     if len(x.shape) < 2 else x)


def atleast_3d(*arys):
    """The arguments with at least three axes: [n] becomes [1, n, 1], [m, n] becomes [m, n, 1]."""
    axes: dict[int, tuple[int, ...]] = {0: (0, 1, 2), 1: (0, 2), 2: (2,)}
    return _at_least("atleast_3d", arys, lambda x: shape_ops.expand_dims(x, axes[len(x.shape)]) if len(x.shape) < 3 else x)


def _at_least(name: str, arrays: tuple, function: Callable):
    if len(arrays) == 1 and isinstance(arrays[0], (list, tuple)):
        from laminax._src.numpy.creation import asarray
        return function(asarray(arrays[0]))
    results = [function(as_array(x)) for x in ensure_arrays(name, *arrays)]
    return results[0] if len(results) == 1 else results


# --- order of axes ---


def transpose(a, axes: Sequence[int] | None = None):
    """Reorders the axes: axis i of the result is axis axes[i] of the argument; by default they are reversed."""
    a = as_array(ensure_array("transpose", a))
    rank = len(a.shape)
    permutation = tuple(reversed(range(rank))) if axes is None else axis_tuple("transpose", tuple(axes), rank)
    if len(permutation) != rank:
        raise ValueError(f"transpose: axes must be a permutation of the {rank} axes of {get_aval(a).str_short()}, got {axes}")
    return shape_ops.transpose(a, permutation)


def permute_dims(a, /, axes: tuple[int, ...]):
    """Reorders the axes; see `transpose`."""
    return transpose(a, axes)


def matrix_transpose(x, /):
    """Swaps the last two axes.

    Raises:
      ValueError: if there are fewer than two.
    """
    x = as_array(ensure_array("matrix_transpose", x))
    if len(x.shape) < 2:
        raise ValueError(f"x must be at least two-dimensional for matrix_transpose; got ndim={len(x.shape)}")
    return swapaxes(x, -1, -2)


def swapaxes(a, axis1: int, axis2: int):
    """Swaps two axes."""
    a = as_array(ensure_array("swapaxes", a))
    rank = len(a.shape)
    i, j = one_axis("swapaxes", axis1, rank), one_axis("swapaxes", axis2, rank)
    order = list(range(rank))
    order[i], order[j] = j, i
    return shape_ops.transpose(a, tuple(order))


def moveaxis(a, source: int | Sequence[int], destination: int | Sequence[int]):
    """Moves axes to other places; the rest stay in order.

    Raises:
      ValueError: if the numbers of sources and destinations differ, or an axis is out of range or given twice.
    """
    a = as_array(ensure_array("moveaxis", a))
    rank = len(a.shape)
    sources = axis_tuple("moveaxis", source, rank)
    destinations = axis_tuple("moveaxis", destination, rank)
    if len(sources) != len(destinations):
        raise ValueError(f"moveaxis: there must be as many destinations as sources, got {sources} and {destinations}")
    order = [i for i in range(rank) if i not in sources]
    for place, axis in sorted(zip(destinations, sources)):
        order.insert(place, axis)
    return shape_ops.transpose(a, tuple(order))


def rollaxis(a, axis: int, start: int = 0):
    """Moves an axis to before another one; `moveaxis` says it more clearly."""
    a = as_array(ensure_array("rollaxis", a))
    rank = len(a.shape)
    axis = one_axis("rollaxis", axis, rank)
    if not -rank <= start <= rank:
        raise ValueError(f"rollaxis: start={start} must be between {-rank} and {rank}")
    start = start + rank if start < 0 else start
    return moveaxis(a, axis, start - 1 if axis < start else start)


def flip(m, axis: int | Sequence[int] | None = None):
    """Reverses the order of the elements along axes; None is all."""
    m = as_array(ensure_array("flip", m))
    return shape_ops.rev(m, axis_tuple("flip", axis, len(m.shape)))


def fliplr(m):
    """Reverses the second axis."""
    return flip(m, 1)


def flipud(m):
    """Reverses the first axis."""
    return flip(m, 0)


def rot90(m, k: int = 1, axes: tuple[int, int] = (0, 1)):
    """Rotates by k quarter turns in the plane of two axes, from the first towards the second."""
    m = as_array(ensure_array("rot90", m))
    first, second = axis_tuple("rot90", tuple(axes), len(m.shape))
    k = operator.index(k) % 4
    if k == 2:
        return flip(m, (first, second))
    if k == 1:
        return swapaxes(flip(m, second), first, second)
    return flip(swapaxes(m, first, second), second) if k == 3 else m


# --- joining ---


def _sequence(name: str, arrays: Any) -> list:
    """The arrays of a sequence, or the rows of one array."""
    if isinstance(arrays, (list, tuple)):
        found = list(ensure_arrays(name, *arrays))
    elif is_host_value(arrays) or isinstance(arrays, Tracer) or hasattr(arrays, "aval"):
        if not len(shape_of(arrays)):
            raise ValueError(f"{name}: a sequence of arrays is expected, got a scalar")
        found = list(unstack(arrays))
    else:
        raise TypeError(f"{name} requires a sequence of arrays, got {type(arrays)}")
    if not found:
        raise ValueError(f"{name}: at least one array is needed")
    return found


def concatenate(arrays, axis: int | None = 0, dtype=None):
    """Joins arrays along an axis.

    Args:
      arrays: a sequence of arrays whose other axes have equal sizes; dtypes are promoted.
      axis: the axis; None joins them as flat arrays.
      dtype: the dtype of the result.

    Raises:
      ValueError: if there is no array, or one is a scalar.
      TypeError: if the shapes do not fit.
    """
    return _concatenate(_sequence("concatenate", arrays), axis=axis, dtype=user_dtype("concatenate", dtype))


@fused(static_argnames=("axis", "dtype"))
def _concatenate(arrays, axis, dtype):
    if axis is None:
        arrays, axis = [ravel(x) for x in arrays], 0
    for x in arrays:
        if not shape_of(x):
            raise ValueError("Zero-dimensional arrays cannot be concatenated; give them an axis with atleast_1d or use stack")
    arrays = promote_dtypes("concatenate", *arrays) if dtype is None else [convert(x, dtype) for x in arrays]
    axis = one_axis("concatenate", axis, len(shape_of(arrays[0])))
    return arrays[0] if len(arrays) == 1 else shape_ops.concatenate(arrays, axis)


def concat(arrays, /, *, axis: int | None = 0):
    """Joins arrays along an axis; see `concatenate`."""
    return concatenate(arrays, axis)


def stack(arrays, axis: int = 0, out: None = None, dtype=None):
    """Joins arrays of one shape along a new axis.

    Args:
      arrays: a sequence of arrays; dtypes are promoted.
      axis: where the new axis is in the result.
      out: must be None.
      dtype: the dtype of the result.

    Raises:
      ValueError: if there is no array, or the shapes differ.
    """
    refuse_out("stack", out)
    return _stack(_sequence("stack", arrays), axis=axis, dtype=user_dtype("stack", dtype))


@fused(static_argnames=("axis", "dtype"))
def _stack(arrays, axis, dtype):
    first = shape_of(arrays[0])
    for x in arrays:
        if shape_of(x) != first:
            raise ValueError(f"All input arrays must have the same shape to stack, got {', '.join(str(shape_of(x)) for x in arrays)}")
    axis = one_axis("stack", axis, len(first) + 1)
    arrays = promote_dtypes("stack", *arrays) if dtype is None else [convert(x, dtype) for x in arrays]
    parts = [shape_ops.expand_dims(x, (axis,)) for x in arrays]
    return parts[0] if len(parts) == 1 else shape_ops.concatenate(parts, axis)


def vstack(tup, dtype=None):
    """Joins arrays along the first axis; those of one axis become rows."""
    arrays = [atleast_2d(x) for x in _sequence("vstack", tup)]
    return concatenate(arrays, 0, dtype)


def hstack(tup, dtype=None):
    """Joins arrays along the second axis, or along the first if they have one."""
    arrays = [atleast_1d(x) for x in _sequence("hstack", tup)]
    return concatenate(arrays, 0 if len(arrays[0].shape) == 1 else 1, dtype)


def dstack(tup, dtype=None):
    """Joins arrays along the third axis, after `atleast_3d`."""
    return concatenate([atleast_3d(x) for x in _sequence("dstack", tup)], 2, dtype)


def column_stack(tup):
    """Joins arrays as columns; those of one axis become columns."""
    arrays = [as_array(x) for x in _sequence("column_stack", tup)]
    return concatenate([transpose(atleast_2d(x)) if len(x.shape) < 2 else x for x in arrays], 1)


def block(arrays):
    """Joins nested lists of arrays: the innermost lists along the last axis, those around them along the one before, ...

    Raises:
      ValueError: if lists are empty or of different depths.
    """
    depth = _list_depth(arrays)
    leaves: list = []
    _collect(arrays, leaves)
    rank = max(depth, *[len(shape_of(x)) for x in ensure_arrays("block", *leaves)]) if leaves else depth
    return _block(arrays, rank, depth)


def _list_depth(x: Any) -> int:
    if isinstance(x, tuple):
        raise TypeError("block: only lists can be used to arrange blocks, got a tuple")
    if not isinstance(x, list):
        return 0
    if not x:
        raise ValueError("block: lists must not be empty")
    depths = {_list_depth(y) for y in x}
    if len(depths) != 1:
        raise ValueError(f"block: lists must have the same depth everywhere, got {sorted(depths)} beside each other")
    return 1 + depths.pop()


def _collect(x: Any, leaves: list) -> None:
    if isinstance(x, list):
        for y in x:
            _collect(y, leaves)
    else:
        leaves.append(x)


def _block(x: Any, rank: int, depth: int):
    if isinstance(x, list):
        return concatenate([_block(y, rank, depth - 1) for y in x], -depth)
    x = as_array(ensure_array("block", x))
    return shape_ops.expand_dims(x, tuple(range(rank - len(x.shape)))) if len(x.shape) < rank else x


def append(arr, values, axis: int | None = None):
    """Joins two arrays along an axis; None joins them as flat arrays."""
    return concatenate([ensure_array("append", arr), ensure_array("append", values)], axis)


# --- splitting ---


def split(ary, indices_or_sections, axis: int = 0) -> list:
    """Cuts an array into pieces along an axis.

    Args:
      ary: an array.
      indices_or_sections: into how many equal pieces, or a sequence of positions to cut at.
      axis: the axis.

    Returns:
      The list of pieces.

    Raises:
      ValueError: if the axis cannot be divided into so many equal pieces.
    """
    return _split("split", ary, indices_or_sections, axis)


def array_split(ary, indices_or_sections, axis: int = 0) -> list:
    """Cuts an array into pieces along an axis; as `split`, but the first pieces may be one longer."""
    return _split("array_split", ary, indices_or_sections, axis)


def vsplit(ary, indices_or_sections) -> list:
    """Cuts an array along its first axis; see `split`."""
    return _split("vsplit", ary, indices_or_sections, 0)


def hsplit(ary, indices_or_sections) -> list:
    """Cuts an array along its second axis, or its only one; see `split`."""
    return _split("hsplit", ary, indices_or_sections, 0 if len(shape_of(ensure_array("hsplit", ary))) == 1 else 1)


def dsplit(ary, indices_or_sections) -> list:
    """Cuts an array along its third axis; see `split`."""
    return _split("dsplit", ary, indices_or_sections, 2)


def _split(name: str, ary, indices_or_sections, axis) -> list:
    ary = as_array(ensure_array(name, ary))
    axis = one_axis(name, axis, len(ary.shape))
    length = ary.shape[axis]
    if not isinstance(indices_or_sections, (list, tuple)) and np.ndim(indices_or_sections) == 0:
        count = concrete_int(name, "indices_or_sections", indices_or_sections)
        if count < 1:
            raise ValueError(f"{name}: the number of pieces must be positive, got {count}")
        each, more = divmod(length, count)
        if more and name != "array_split":
            raise ValueError(f"array split does not result in an equal division: {name} of axis {axis} of size {length} into "
                             f"{count}; array_split allows it")
        sizes = [each + 1] * more + [each] * (count - more)
    else:
        cuts = [concrete_int(name, "a position", i) for i in indices_or_sections]
        cuts = [min(max(i + length if i < 0 else i, 0), length) for i in cuts]
        bounds = [0, *cuts, length]
        if any(b < a for a, b in zip(bounds, bounds[1:])):  # pieces may then overlap, as NumPy's do
            return [slicing_ops.slice_in_dim(ary, a, max(a, b), 1, axis) for a, b in zip(bounds, bounds[1:])]
        sizes = [b - a for a, b in zip(bounds, bounds[1:])]
    return list(shape_ops.split(ary, tuple(sizes), axis))


def unstack(x, /, *, axis: int = 0) -> tuple:
    """The pieces of an array along an axis, without it.

    Raises:
      ValueError: for a scalar.
    """
    x = as_array(ensure_array("unstack", x))
    if not x.shape:
        raise ValueError("Unstack requires arrays with rank > 0, however a scalar array was passed.")
    axis = one_axis("unstack", axis, len(x.shape))
    return tuple(_unstack(x, axis=axis))


@fused(static_argnames=("axis",))
def _unstack(x, axis):
    count = x.shape[axis]
    if not count:
        return []
    return [shape_ops.squeeze(part, (axis,)) for part in shape_ops.split(x, (1,) * count, axis)]


# --- repeating ---


def tile(A, reps: int | Sequence[int]):
    """Repeats an array as a whole, reps[i] times along axis i; missing axes and counts are added in front."""
    A = as_array(ensure_array("tile", A))
    counts = shape_ops.canonical_shape("tile", (reps,) if np.ndim(reps) == 0 else tuple(reps))
    rank = max(len(A.shape), len(counts))
    if len(A.shape) < rank:
        A = shape_ops.expand_dims(A, tuple(range(rank - len(A.shape))))
    counts = (1,) * (rank - len(counts)) + counts
    return A if all(n == 1 for n in counts) else shape_ops.tile(A, counts)


def repeat(a, repeats, axis: int | None = None, *, total_repeat_length: int | None = None, out_sharding=None):
    """Repeats each element along an axis.

    Args:
      a: an array or scalar.
      repeats: how often, an integer or one for each element of the axis. If it is traced, total_repeat_length must
        be given.
      axis: the axis; None takes the array as flat.
      total_repeat_length: the size of the axis in the result: what is too much is cut off, what is missing is filled with
        the last element.
      out_sharding: must be None.

    Raises:
      ConcretizationTypeError: if repeats is traced and total_repeat_length is not given.
    """
    refuse_placement("repeat", out_sharding=out_sharding)
    a = as_array(ensure_array("repeat", a))
    if axis is None or not a.shape:
        a, axis = ravel(a), 0
    axis = one_axis("repeat", axis, len(a.shape))
    if isinstance(repeats, (list, tuple)):
        repeats = np.asarray(repeats)
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
        from laminax._src.numpy.indexing import take
        return take(a, np.repeat(np.arange(a.shape[axis], dtype=np.int32), counts), axis, mode="clip")
    return _repeat_to_length(a, repeats, axis=axis, length=operator.index(total_repeat_length))


@fused(static_argnames=("count", "axis"))
def _repeat_evenly(a, count, axis):
    shape = a.shape
    wide = (*shape[:axis + 1], count, *shape[axis + 1:])
    kept = tuple(i for i in range(len(wide)) if i != axis + 1)
    a = shape_ops.broadcast_in_dim(a, wide, kept)
    return shape_ops.reshape(a, (*shape[:axis], shape[axis] * count, *shape[axis + 1:]))


@fused(static_argnames=("axis", "length"))
def _repeat_to_length(a, repeats, axis, length):
    """Marks where each element's run begins; the running count of marks is the element's number."""
    from laminax._src.numpy.indexing import take
    count = a.shape[axis]
    repeats = broadcast_to(convert(repeats, np.dtype(np.int32)), (count,))
    if count == 0 or length == 0:
        return shape_ops.full((*a.shape[:axis], length, *a.shape[axis + 1:]), 0, dtype_of(a))
    from laminax_ir.ops.cumulative import cumsum
    starts = shape_ops.expand_dims(op.sub(cumsum(repeats, 0), repeats), (1,))
    dims = indexing_ops.ScatterDimensionNumbers((), (0,), (0,))
    marks = indexing_ops.scatter_add(shape_ops.full((length,), 0, np.int32), starts, shape_ops.full((count,), 1, np.int32), dims,
                                     indices_are_sorted=True)
    return take(a, op.sub(cumsum(marks, 0), np.int32(1)), axis, mode="clip", indices_are_sorted=True)


def roll(a, shift, axis: int | Sequence[int] | None = None):
    """Moves the elements along axes; what leaves at one end comes in at the other.

    Args:
      a: an array.
      shift: by how many places, one number for each axis; may be traced.
      axis: the axis or axes; None rolls the flat array.
    """
    a = as_array(ensure_array("roll", a))
    shape = a.shape
    if axis is None:
        return shape_ops.reshape(roll(ravel(a), shift, 0), shape)
    if not shape:
        return a
    axes = tuple(one_axis("roll", i, len(shape)) for i in ((axis,) if np.ndim(axis) == 0 else axis))
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
def _roll_by(a, shifts, axes):
    for shift, axis in zip(shifts, axes):
        size = a.shape[axis]
        cut = (size - shift) % size if size else 0
        if cut:
            a = shape_ops.concatenate([slicing_ops.slice_in_dim(a, cut, size, 1, axis),
                                       slicing_ops.slice_in_dim(a, 0, cut, 1, axis)], axis)
    return a


@fused(static_argnames=("axes",))
def _roll_by_traced(a, shifts, axes):
    for shift, axis in zip(shifts, axes):
        size = a.shape[axis]
        if size:
            start = operators.remainder(op.neg(convert(shift, np.dtype(np.int32))), size)
            a = slicing_ops.dynamic_slice_in_dim(shape_ops.concatenate([a, a], axis), start, size, axis)
    return a


def resize(a, new_shape):
    """The elements, repeated as often as needed or cut off, in another shape."""
    new_shape = shape_ops.canonical_shape("resize", new_shape)
    if any(n < 0 for n in new_shape):
        raise ValueError(f"resize: all sizes of new_shape must be non-negative, got {new_shape}")
    a = ravel(a)
    total = math.prod(new_shape)
    if total == 0 or a.size == 0:
        return shape_ops.full(new_shape, 0, dtype_of(a))
    a = tile(a, -(-total // a.size))
    return shape_ops.reshape(slicing_ops.slice_in_dim(a, 0, total), new_shape)


def trim_zeros(filt, trim: str = "fb", axis=None):
    """Removes zeros from the ends; the values must be known.

    Args:
      filt: an array, not traced.
      trim: "f" for the front, "b" for the back, "fb" for both.
      axis: the axis or axes to trim; None is all.
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


# --- padding ---


def pad(array, pad_width, mode: str | Callable = "constant", **kwargs):
    """Adds elements at the ends of the axes.

    Args:
      array: an array.
      pad_width: how many before and after along each axis: ((before, after), ...), one pair for all axes, or one number
        for all ends; a dict from axis to number or pair pads only these.
      mode: "constant" (with `constant_values`, by default 0), "edge", "reflect" and "symmetric" (with `reflect_type`
        "even" or "odd"), "wrap", "empty", "linear_ramp" (with `end_values`), "maximum", "minimum", "mean", "median" (with
        `stat_length`), or a function as for `numpy.pad` that returns the padded vector.
      **kwargs: what belongs to the mode.

    Raises:
      ValueError: if the widths do not fit, or are negative but for "constant".
      NotImplementedError: for an unknown mode.
    """
    array = as_array(ensure_array("pad", array))
    widths = _pad_widths(pad_width, len(array.shape))
    result = _padded(array, widths, mode, kwargs)
    if array.aval.weak_type and not result.aval.weak_type:
        return op.convert_element_type(result, dtype_of(result), weak_type=True)
    return result


def _padded(array, widths, mode, kwargs):
    if callable(mode):
        return _pad_with_function(array, widths, mode, kwargs)
    allowed = _PAD_OPTIONS.get(mode)
    if allowed is None:
        raise NotImplementedError(f"Unimplemented padding mode '{mode}' for np.pad. Expected one of {', '.join(_PAD_OPTIONS)}, or a function.")
    if unknown := set(kwargs) - set(allowed):
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {unknown}; it takes {allowed or 'none'}")
    if mode != "constant" and any(n < 0 for pair in widths for n in pair):
        raise ValueError(f"pad: widths must not be negative with mode={mode!r}, got {widths}")
    if mode == "constant":
        return _pad_constant(array, kwargs.get("constant_values", 0), widths=widths)
    if mode == "empty":
        return _pad_constant(array, 0, widths=widths)
    if mode == "linear_ramp":
        return _pad_ramp(array, kwargs.get("end_values", 0), widths=widths)
    if mode in ("maximum", "minimum", "mean", "median"):
        lengths = kwargs.get("stat_length")
        lengths = None if lengths is None else _pad_widths(lengths, len(array.shape))
        return _pad_statistic(array, widths=widths, mode=mode, lengths=lengths)
    return _pad_copies(array, widths=widths, mode=mode, odd=kwargs.get("reflect_type", "even") == "odd")


_PAD_OPTIONS: dict[str, list[str]] = {
    "constant": ["constant_values"], "edge": [], "empty": [], "linear_ramp": ["end_values"], "maximum": ["stat_length"],
    "mean": ["stat_length"], "median": ["stat_length"], "minimum": ["stat_length"], "reflect": ["reflect_type"],
    "symmetric": ["reflect_type"], "wrap": []}


def _pad_widths(pad_width: Any, rank: int) -> tuple[tuple[int, int], ...]:
    if isinstance(pad_width, dict):
        pairs: list[tuple[int, int]] = [(0, 0)] * rank
        for axis, width in pad_width.items():
            width = (width, width) if np.ndim(width) == 0 else tuple(width)
            pairs[one_axis("pad", axis, rank)] = tuple(concrete_int("pad", "a width", n) for n in width)
        return tuple(pairs)
    try:
        widths = np.asarray(pad_width)
        if widths.dtype == object or not np.issubdtype(widths.dtype, np.integer):
            raise TypeError(f"pad: widths must be integers, got {pad_width!r}")
        pairs = np.broadcast_to(widths, (rank, 2)).tolist()
    except ValueError:
        raise ValueError(f"pad: pad_width must be one number, a pair, or a pair for each of the {rank} axes, got "
                         f"{pad_width!r}") from None
    return tuple((low, high) for low, high in pairs)


def _end_values(name: str, values: Any, rank: int, dtype: Any) -> list[tuple[Any, Any]]:
    """A value for each end of each axis."""
    values = np.asarray(values) if isinstance(values, (list, tuple)) and _is_host_nested(values) else values
    if isinstance(values, (list, tuple)):
        from laminax._src.numpy.creation import asarray
        values = asarray(values)
    if shape_of(values) == ():
        value = convert(values, dtype)
        return [(value, value)] * rank
    full = broadcast_to(convert(values, dtype), (rank, 2))
    return [(slicing_ops.index_in_dim(slicing_ops.index_in_dim(full, i, 0, False), 0, 0, False),
             slicing_ops.index_in_dim(slicing_ops.index_in_dim(full, i, 0, False), 1, 0, False)) for i in range(rank)]


def _is_host_nested(values: Any) -> bool:
    return all(_is_host_nested(v) for v in values) if isinstance(values, (list, tuple)) else is_host_value(values)


def _pad_constant(array, constant_values, widths):
    if isinstance(constant_values, (list, tuple)):
        from laminax._src.numpy.creation import asarray
        constant_values = asarray(constant_values)
    return _pad_with_constants(array, constant_values, widths=widths)


@fused(static_argnames=("widths",))
def _pad_with_constants(array, constant_values, widths):
    dtype = dtype_of(array)
    if shape_of(ensure_array("pad", constant_values)) == ():
        return shape_ops.pad(array, convert(constant_values, dtype), [(low, high, 0) for low, high in widths])
    for axis, (ends, (low, high)) in enumerate(zip(_end_values("pad", constant_values, len(widths), dtype), widths)):
        for value, config in ((ends[0], (low, 0, 0)), (ends[1], (0, high, 0))):
            array = shape_ops.pad(array, value, [config if i == axis else (0, 0, 0) for i in range(len(widths))])
    return array


@fused(static_argnames=("widths", "mode", "odd"))
def _pad_copies(array, widths, mode, odd):
    """The modes whose new elements are elements of the array: by an index for each new place, axis by axis."""
    for axis, (low, high) in enumerate(widths):
        if low == high == 0:
            continue
        size = array.shape[axis]
        if size == 0:
            raise ValueError(f"Cannot apply '{mode}' padding to empty axis")
        if odd and mode in ("reflect", "symmetric"):
            array = _pad_odd(array, axis, low, high, mode)
            continue
        places = np.arange(-low, size + high)
        if mode == "edge":
            places = np.clip(places, 0, size - 1)
        elif mode == "wrap":
            places = places % size
        elif mode == "symmetric":
            places = places % (2 * size)
            places = np.where(places < size, places, 2 * size - 1 - places)
        else:
            period = max(2 * (size - 1), 1)
            places = places % period
            places = np.where(places < size, places, period - places)
        array = _taken(array, places, axis)
    return array


def _taken(array, places: np.ndarray, axis: int):
    """Elements at known places along an axis, as few slices where they are runs."""
    from laminax._src.numpy.indexing import take
    runs = _runs(places)
    if len(runs) > 6:
        return take(array, places.astype(np.int32), axis, mode="clip")
    return shape_ops.concatenate([_run(array, run, axis) for run in runs], axis)


def _runs(places: np.ndarray) -> list[tuple[int, int, int]]:
    """(first, length, step) of runs of equal step."""
    runs: list[tuple[int, int, int]] = []
    values = places.tolist()
    i = 0
    while i < len(values):
        step = values[i + 1] - values[i] if i + 1 < len(values) else 1
        if step not in (-1, 0, 1):
            step = 1
        j = i + 1
        while j < len(values) and values[j] - values[j - 1] == step:
            j += 1
        runs.append((values[i], j - i, step))
        i = j
    return runs


def _run(array, run: tuple[int, int, int], axis: int):
    first, length, step = run
    if step == 1:
        return slicing_ops.slice_in_dim(array, first, first + length, 1, axis)
    if step == -1:
        return shape_ops.rev(slicing_ops.slice_in_dim(array, first - length + 1, first + 1, 1, axis), (axis,))
    one = slicing_ops.slice_in_dim(array, first, first + 1, 1, axis)
    return shape_ops.broadcast_in_dim(one, tuple(length if i == axis else n for i, n in enumerate(one.shape)),
                                      tuple(range(len(one.shape))))


def _pad_odd(array, axis: int, low: int, high: int, mode: str):
    """Reflection through the end points: twice the edge less the mirrored elements, as often as it takes."""
    offset = 1 if mode == "reflect" else 0
    while low > 0 or high > 0:
        size = array.shape[axis]
        if size == 1:
            return _taken(array, np.zeros(size + low + high, np.int64), axis)
        reach = size - offset
        step_low, step_high = min(low, reach), min(high, reach)
        pieces = [array]
        if step_low:
            edge = slicing_ops.slice_in_dim(array, 0, 1, 1, axis)
            mirrored = shape_ops.rev(slicing_ops.slice_in_dim(array, offset, offset + step_low, 1, axis), (axis,))
            pieces.insert(0, operators.subtract(operators.add(edge, edge), mirrored))
        if step_high:
            edge = slicing_ops.slice_in_dim(array, size - 1, size, 1, axis)
            mirrored = shape_ops.rev(slicing_ops.slice_in_dim(array, size - offset - step_high, size - offset, 1, axis), (axis,))
            pieces.append(operators.subtract(operators.add(edge, edge), mirrored))
        array = shape_ops.concatenate(pieces, axis)
        low, high = low - step_low, high - step_high
    return array


def _pad_ramp(array, end_values, widths):
    if isinstance(end_values, (list, tuple)):
        from laminax._src.numpy.creation import asarray
        end_values = asarray(end_values)
    return _pad_ramps(array, end_values, widths=widths)


@fused(static_argnames=("widths",))
def _pad_ramps(array, end_values, widths):
    from laminax._src.numpy.creation import linspace
    dtype = dtype_of(array)
    for axis, (ends, (low, high)) in enumerate(zip(_end_values("pad", end_values, len(widths), dtype), widths)):
        pieces = [array]
        for which, width in ((0, low), (1, high)):
            if not width:
                continue
            edge = slicing_ops.index_in_dim(array, 0 if which == 0 else array.shape[axis] - 1, axis, keepdims=False)
            ramp = linspace(ends[which], edge, width, endpoint=False, dtype=dtype, axis=axis)
            pieces = [ramp, *pieces] if which == 0 else [*pieces, shape_ops.rev(ramp, (axis,))]
        array = shape_ops.concatenate(pieces, axis)
    return array


@fused(static_argnames=("widths", "mode", "lengths"))
def _pad_statistic(array, widths, mode, lengths):
    from laminax._src.numpy import quantiles, reductions
    function = {"maximum": reductions.max, "minimum": reductions.min, "mean": reductions.mean,
                "median": quantiles.median}[mode]
    dtype = dtype_of(array)
    for axis, (low, high) in enumerate(widths):
        size = array.shape[axis]
        pieces = [array]
        for which, width in ((0, low), (1, high)):
            if not width:
                continue
            length = size if lengths is None else min(lengths[axis][which], size)
            if length == 0:
                raise ValueError(f"pad: stat_length of 0 yields no value for padding with mode={mode!r}")
            part = slicing_ops.slice_in_dim(array, 0 if which == 0 else size - length, length if which == 0 else size, 1, axis)
            value = function(part, axis=axis, keepdims=True)
            if dtypes.issubdtype(dtype, dtypes.integer) and mode in ("mean", "median"):
                value = op.round(value, op.RoundingMethod.TO_NEAREST_EVEN)
            value = convert(value, dtype)
            value = shape_ops.broadcast_to_shape(value, tuple(width if i == axis else n for i, n in enumerate(value.shape)))
            pieces = [value, *pieces] if which == 0 else [*pieces, value]
        array = shape_ops.concatenate(pieces, axis)
    return array


def _pad_with_function(array, widths, function: Callable, kwargs: dict):
    from laminax._src.numpy.apply import apply_along_axis
    array = shape_ops.pad(array, convert(0, dtype_of(array)), [(low, high, 0) for low, high in widths])
    for axis in range(len(array.shape)):
        array = apply_along_axis(lambda vector, axis=axis: function(vector, widths[axis], axis, kwargs), axis, array)
    return array
