"""Joining arrays, and splitting one into several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.ops import shape as shape_ops
from laminax_ir.ops import slicing as slicing_ops
from laminax_ir.symbolic.symbolic_dims import SymbolicDim
from laminax_ir.tracing.trace import Tracer

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy.arguments import (
    as_array,
    concrete_int,
    convert,
    ensure_array,
    ensure_arrays,
    is_host_value,
    one_axis,
    promote_dtypes,
    refuse_out,
    shape_of,
    user_dtype,
)
from laminax._src.numerics.numpy.reshaping import atleast_1d, atleast_2d, atleast_3d, ravel, transpose
from laminax._src.numerics.splits import check_not_split

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike, DTypeLike

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


def concatenate(arrays: Array | Sequence[ArrayLike], axis: int | None = 0, dtype: DTypeLike | None = None) -> Array:
    """Joins arrays along an axis.

    Args:
      arrays: a sequence of arrays whose other axes have equal sizes; dtypes are promoted.
      axis: the axis; None joins them as flat arrays.
      dtype: the dtype of the result.

    Raises:
      ValueError: if there is no array, or one is a scalar.
      TypeError: if the shapes do not fit.

    Example:
      >>> jnp.concatenate([jnp.array([[1, 2]]), jnp.array([[3, 4]])], axis=1)
      Array([[1, 2, 3, 4]], dtype=int32)
    """
    return _concatenate(_sequence("concatenate", arrays), axis=axis, dtype=user_dtype("concatenate", dtype))


@fused(static_argnames=("axis", "dtype"))
def _concatenate(arrays: Sequence[ArrayLike], axis: int | None, dtype: Any) -> Array:
    if axis is None:
        arrays, axis = [ravel(x) for x in arrays], 0
    for x in arrays:
        if not shape_of(x):
            raise ValueError("Zero-dimensional arrays cannot be concatenated; give them an axis with atleast_1d or use stack")
    arrays = promote_dtypes("concatenate", *arrays) if dtype is None else [convert(x, dtype) for x in arrays]
    axis = one_axis("concatenate", axis, len(shape_of(arrays[0])))
    return arrays[0] if len(arrays) == 1 else shape_ops.concatenate(arrays, axis)


def concat(arrays: Any, /, *, axis: int | None = 0) -> Array:
    """Joins arrays along an axis; see `concatenate`.

    Example:
      >>> jnp.concat([jnp.array([1, 2]), jnp.array([3])])
      Array([1, 2, 3], dtype=int32)
    """
    return concatenate(arrays, axis)


def stack(arrays: Array | Sequence[ArrayLike], axis: int = 0, out: None = None, dtype: DTypeLike | None = None) -> Array:
    """Joins arrays of one shape along a new axis.

    Args:
      arrays: a sequence of arrays; dtypes are promoted.
      axis: where the new axis is in the result.
      out: must be None.
      dtype: the dtype of the result.

    Raises:
      ValueError: if there is no array, or the shapes differ.

    Example:
      >>> jnp.stack([jnp.array([1, 2]), jnp.array([3, 4])], axis=1)
      Array([[1, 3],
             [2, 4]], dtype=int32)
    """
    refuse_out("stack", out)
    return _stack(_sequence("stack", arrays), axis=axis, dtype=user_dtype("stack", dtype))


@fused(static_argnames=("axis", "dtype"))
def _stack(arrays: Sequence[Any], axis: int, dtype: Any) -> Array:
    first = shape_of(arrays[0])
    for x in arrays:
        if shape_of(x) != first:
            raise ValueError(f"All input arrays must have the same shape to stack, got {', '.join(str(shape_of(x)) for x in arrays)}")
    axis = one_axis("stack", axis, len(first) + 1)
    arrays = promote_dtypes("stack", *arrays) if dtype is None else [convert(x, dtype) for x in arrays]
    parts = [shape_ops.expand_dims(x, (axis,)) for x in arrays]
    return parts[0] if len(parts) == 1 else shape_ops.concatenate(parts, axis)


def vstack(tup: Array | Sequence[ArrayLike], dtype: DTypeLike | None = None) -> Array:
    """Joins arrays along the first axis; those of one axis become rows.

    Args:
      tup: a sequence of arrays, or an array whose first axis numbers them.
      dtype: the dtype of the result, by default the promoted one.

    Returns:
      An array of at least two axes.

    Raises:
      ValueError: if there are no arrays.
      ShapeError: if the sizes of other axes differ.

    Example:
      >>> jnp.vstack([jnp.array([1, 2]), jnp.array([3, 4])])
      Array([[1, 2],
             [3, 4]], dtype=int32)
    """
    arrays = [atleast_2d(x) for x in _sequence("vstack", tup)]
    return concatenate(arrays, 0, dtype)


def hstack(tup: Array | Sequence[ArrayLike], dtype: DTypeLike | None = None) -> Array:
    """Joins arrays along the second axis, or along the first if they have one.

    Args:
      tup: a sequence of arrays, or an array whose first axis numbers them.
      dtype: the dtype of the result, by default the promoted one.

    Returns:
      An array of at least one axis.

    Raises:
      ValueError: if there are no arrays.
      ShapeError: if the sizes of other axes differ.

    Example:
      >>> jnp.hstack([jnp.array([1, 2]), jnp.array([3])])
      Array([1, 2, 3], dtype=int32)
    """
    arrays = [atleast_1d(x) for x in _sequence("hstack", tup)]
    return concatenate(arrays, 0 if len(arrays[0].shape) == 1 else 1, dtype)


def dstack(tup: Array | Sequence[ArrayLike], dtype: DTypeLike | None = None) -> Array:
    """Joins arrays along the third axis, after `atleast_3d`.

    Args:
      tup: a sequence of arrays, or an array whose first axis numbers them.
      dtype: the dtype of the result, by default the promoted one.

    Returns:
      An array of at least three axes.

    Raises:
      ValueError: if there are no arrays.
      ShapeError: if the sizes of other axes differ.

    Example:
      >>> jnp.dstack([jnp.array([1, 2]), jnp.array([3, 4])])
      Array([[[1, 3],
              [2, 4]]], dtype=int32)
    """
    return concatenate([atleast_3d(x) for x in _sequence("dstack", tup)], 2, dtype)


def column_stack(tup: Array | Sequence[ArrayLike]) -> Array:
    """Joins arrays as columns; those of one axis become columns.

    Example:
      >>> jnp.column_stack([jnp.array([1, 2]), jnp.array([3, 4])])
      Array([[1, 3],
             [2, 4]], dtype=int32)
    """
    arrays = [as_array(x) for x in _sequence("column_stack", tup)]
    return concatenate([transpose(atleast_2d(x)) if len(x.shape) < 2 else x for x in arrays], 1)


def block(arrays: Sequence[Any]) -> Array:
    """Joins nested lists of arrays: the innermost lists along the last axis, those around them along the one before, ...

    Raises:
      ValueError: if lists are empty or of different depths.

    Example:
      >>> jnp.block([[jnp.eye(2), jnp.zeros((2, 1))], [jnp.ones((1, 3))]])
      Array([[1., 0., 0.],
             [0., 1., 0.],
             [1., 1., 1.]], dtype=float32)
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


def _block(x: Any, rank: int, depth: int) -> Array:
    if isinstance(x, list):
        return concatenate([_block(y, rank, depth - 1) for y in x], -depth)
    x = as_array(ensure_array("block", x))
    return shape_ops.expand_dims(x, tuple(range(rank - len(x.shape)))) if len(x.shape) < rank else x


@fused(static_argnames=("axis",))
def append(arr: ArrayLike, values: ArrayLike, axis: int | None = None) -> Array:
    """Joins two arrays along an axis; None joins them as flat arrays.

    Args:
      arr: an array.
      values: an array; of arr's shape but for the axis, unless that is None.
      axis: the axis; None takes both as flat.

    Returns:
      An array of the promoted dtype.

    Raises:
      ValueError: if the axis is out of range.
      ShapeError: if the sizes of other axes differ.

    Example:
      >>> jnp.append(jnp.array([1, 2]), jnp.array([3]))
      Array([1, 2, 3], dtype=int32)
    """
    return concatenate([ensure_array("append", arr), ensure_array("append", values)], axis)


# --- splitting ---


def split(ary: ArrayLike, indices_or_sections: Any, axis: int = 0) -> list:
    """Cuts an array into pieces along an axis.

    Args:
      ary: an array.
      indices_or_sections: into how many equal pieces, or a sequence of positions to cut at.
      axis: the axis.

    Returns:
      The list of pieces.

    Raises:
      ValueError: if the axis cannot be divided into so many equal pieces.

    Example:
      >>> jnp.split(jnp.arange(4), 2)
      [Array([0, 1], dtype=int32), Array([2, 3], dtype=int32)]
    """
    return _split("split", ary, indices_or_sections, axis)


def array_split(ary: ArrayLike, indices_or_sections: Any, axis: int = 0) -> list:
    """Cuts an array into pieces along an axis; as `split`, but the first pieces may be one longer.

    Args:
      ary: an array.
      indices_or_sections: the number of pieces, or a sequence of the positions where it is cut.
      axis: the axis.

    Returns:
      A list of arrays.

    Example:
      >>> jnp.array_split(jnp.arange(5), 2)
      [Array([0, 1, 2], dtype=int32), Array([3, 4], dtype=int32)]
    """
    return _split("array_split", ary, indices_or_sections, axis)


def vsplit(ary: ArrayLike, indices_or_sections: Any) -> list:
    """Cuts an array along its first axis; see `split`.

    Args:
      ary: an array.
      indices_or_sections: the number of pieces, or a sequence of the positions where it is cut.

    Returns:
      A list of arrays.

    Example:
      >>> jnp.vsplit(jnp.array([[1, 2], [3, 4]]), 2)
      [Array([[1, 2]], dtype=int32), Array([[3, 4]], dtype=int32)]
    """
    return _split("vsplit", ary, indices_or_sections, 0)


def hsplit(ary: ArrayLike, indices_or_sections: Any) -> list:
    """Cuts an array along its second axis, or its only one; see `split`.

    Args:
      ary: an array.
      indices_or_sections: the number of pieces, or a sequence of the positions where it is cut.

    Returns:
      A list of arrays.

    Example:
      >>> jnp.hsplit(jnp.array([[1, 2], [3, 4]]), 2)
      [Array([[1],
             [3]], dtype=int32), Array([[2],
             [4]], dtype=int32)]
    """
    return _split("hsplit", ary, indices_or_sections, 0 if len(shape_of(ensure_array("hsplit", ary))) == 1 else 1)


def dsplit(ary: ArrayLike, indices_or_sections: Any) -> list:
    """Cuts an array along its third axis; see `split`.

    Args:
      ary: an array.
      indices_or_sections: the number of pieces, or a sequence of the positions where it is cut.

    Returns:
      A list of arrays.

    Example:
      >>> [x.shape for x in jnp.dsplit(jnp.ones((1, 2, 4)), 2)]
      [(1, 2, 2), (1, 2, 2)]
    """
    return _split("dsplit", ary, indices_or_sections, 2)


def _split(name: str, ary: ArrayLike, indices_or_sections: Any, axis: int) -> list:
    ary = as_array(ensure_array(name, ary))
    axis = one_axis(name, axis, len(ary.shape))
    length = ary.shape[axis]
    if not isinstance(indices_or_sections, (list, tuple)) and np.ndim(indices_or_sections) == 0:
        if type(indices_or_sections) is SymbolicDim:
            raise ValueError(f"jax.numpy.split with a symbolic number of sections is not supported: {name} makes a list of "
                             f"{indices_or_sections} arrays. Give a number, or the positions to cut at.")
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


def unstack(x: ArrayLike, /, *, axis: int = 0) -> tuple:
    """The pieces of an array along an axis, without it.

    Args:
      x: an array of at least one axis.
      axis: the axis.

    Returns:
      A tuple of arrays, one for each element of the axis.

    Raises:
      ValueError: for a scalar.

    Example:
      >>> jnp.unstack(jnp.array([[1, 2], [3, 4]]))
      (Array([1, 2], dtype=int32), Array([3, 4], dtype=int32))
    """
    x = as_array(ensure_array("unstack", x))
    if not x.shape:
        raise ValueError("Unstack requires arrays with rank > 0, however a scalar array was passed.")
    axis = one_axis("unstack", axis, len(x.shape))
    check_not_split(x, (axis,), f"unstack operand cannot be sharded on the unstacking axis, which is {axis}.")
    return tuple(_unstack(x, axis=axis))


@fused(static_argnames=("axis",))
def _unstack(x: Any, axis: int) -> list[Any]:
    count = x.shape[axis]
    if not count:
        return []
    return [shape_ops.squeeze(part, (axis,)) for part in shape_ops.split(x, (1,) * count, axis)]
