"""Shape operations: results whose elements are the operand's, arranged otherwise, and arrays made from a shape.

Axes and sizes are static. The functions bring them to normal form (tuples of ints, negative axes counted from
the end where the function allows them); the primitives take only that form. A function whose result would be
its operand returns the operand itself.
"""

from __future__ import annotations

import builtins
import functools
import math
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from laminax_ir.key_arrays.keys import PRNGKeyArray
from laminax_ir.ops.elementwise import convert_element_type
from laminax_ir.ops.open_sums import reduced_as, varying_along, varying_as
from laminax_ir.ops.scalar_operands import constant_of, scalar_like
from laminax_ir.ops.shape_arguments import (
    as_ints,
    canonical_axes,
    canonical_axis,
    canonical_shape,
    checked_out_sharding,
    is_array_value,
    shape_of,
)
from laminax_ir.ops.shape_primitives import (
    broadcast_in_dim_p,
    concatenate_p,
    iota_p,
    pad_p,
    reshape_p,
    rev_p,
    split_p,
    squeeze_p,
    tile_p,
    transpose_p,
)
from laminax_ir.ops.sharding import device_put_p, reshard
from laminax_ir.options import config
from laminax_ir.symbolic.symbolic_dims import DimSize, size_of
from laminax_ir.tracing.manual_axes import manual_axes
from laminax_ir.tracing.trace import Tracer, eval_trace, state
from laminax_ir.types import dtypes
from laminax_ir.types.arguments import as_int, check_rank
from laminax_ir.types.avals import get_aval, is_array_like
from laminax_ir.types.errors import DTypeError, ShapeError
from laminax_ir.types.extended_dtypes import rule_of
from laminax_ir.types.shape_dtype_structs import ShapeDtypeStruct
from laminax_ir.types.type_shardings import in_use

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike, DTypeLike


def broadcast_in_dim(operand: ArrayLike, shape: Sequence[int], broadcast_dimensions: Sequence[int], *, out_sharding: Any = None) -> Array:
    """Repeats an array along new axes and along axes of size 1.

    Args:
      operand: an array or scalar.
      shape: the result's shape.
      broadcast_dimensions: for each axis of the operand the axis of the result that it becomes, each another one; where they do
        not increase the operand is transposed first. The sizes must be equal, or the operand's 1.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Returns:
      An array of the given shape and the operand's dtype.

    Raises:
      TypeError: if the operand does not fit the shape.

    Example:
      >>> broadcast_in_dim(np.array([1, 2]), (2, 3), (0,))
      array([[1, 1, 1],
             [2, 2, 2]], dtype=int32)
    """
    shape = canonical_shape("broadcast_in_dim", shape)
    if out_sharding is not None:
        out_sharding = checked_out_sharding("broadcast_in_dim", out_sharding, len(shape))
    broadcast_dimensions = as_ints("broadcast_in_dim", "broadcast_dimensions", broadcast_dimensions)
    if not broadcast_dimensions and not shape and shape_of(operand) == () and is_array_value(operand):
        return operand
    ordered = tuple(sorted(broadcast_dimensions))
    if ordered != broadcast_dimensions and len({*ordered}) == len(ordered) == len(shape_of(operand)):
        operand = transpose(operand, [broadcast_dimensions.index(axis) for axis in ordered])
        broadcast_dimensions = ordered
    return state.trace.process(broadcast_in_dim_p, (operand,),
                               {"shape": shape, "broadcast_dimensions": broadcast_dimensions, "sharding": out_sharding})


def broadcast(operand: ArrayLike, sizes: Sequence[int], *, out_sharding: Any = None) -> Array:
    """Repeats an array along new leading axes.

    Args:
      operand: an array or scalar.
      sizes: the sizes of the new axes.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Returns:
      An array of shape `(*sizes, *operand.shape)` and the operand's dtype.

    Example:
      >>> broadcast(np.float32([1, 2]), (2,))
      array([[1., 2.],
             [1., 2.]], dtype=float32)
    """
    sizes = as_ints("broadcast", "sizes", sizes)
    if not sizes and is_array_value(operand):
        return operand
    shape = (*sizes, *shape_of(operand))
    return broadcast_in_dim(operand, shape, tuple(range(len(sizes), len(shape))), out_sharding=out_sharding)


def broadcast_to_rank(x: ArrayLike, rank: int) -> Array:
    """Adds leading axes of size 1 until the array has `rank` axes.

    Args:
      x: an array or scalar of at most `rank` axes, any dtype.
      rank: the number of axes of the result.

    Returns:
      An array of shape `(1, ..., 1, *x.shape)` and x's dtype.

    Raises:
      ValueError: if x has more axes, or arrays cannot have so many.

    Example:
      >>> broadcast_to_rank(np.float32([1, 2]), 3).shape
      (1, 1, 2)
    """
    missing = check_rank("broadcast_to_rank", as_int("broadcast_to_rank", "rank", rank)) - len(shape_of(x))
    if missing < 0:
        raise ValueError(f"broadcast_to_rank: the array already has more than {rank} axes: {get_aval(x).str_short()}")
    return expand_dims(x, tuple(range(missing)))


def broadcast_to_shape(x: Any, shape: Sequence[int]) -> Any:
    """NumPy-style broadcast of an array or scalar to a shape; itself when it has that shape already.

    Args:
      x: an array or scalar with at most as many axes as the shape, any dtype.
      shape: the result's shape.

    Returns:
      An array of the given shape and x's dtype.

    Raises:
      TypeError: if x does not broadcast to the shape.
    """
    aval = get_aval(x)
    if aval.shape == tuple(shape) and aval.shape:
        return x
    rank = len(aval.shape)
    stretched = tuple(i for i, size in enumerate(aval.shape) if size == 1 and shape[len(shape) - rank + i] != 1)
    kept = tuple(len(shape) - rank + i for i in range(rank) if i not in stretched)
    return broadcast_in_dim(squeeze(x, stretched) if stretched else x, shape, kept)


def reshape(operand: ArrayLike, new_sizes: Sequence[int], dimensions: Sequence[int] | None = None, *, out_sharding: Any = None) -> Array:
    """The same elements in another shape.

    Args:
      operand: an array or scalar.
      new_sizes: the result's shape, with as many elements; no -1 (numpy.reshape has that).
      dimensions: the order in which the operand's axes are read, a permutation; by default as they are.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Returns:
      An array of shape new_sizes and the operand's dtype.

    Raises:
      TypeError: if the number of elements changes, or dimensions is not a permutation.

    Example:
      >>> reshape(np.arange(6, dtype='int32'), (2, 3))
      array([[0, 1, 2],
             [3, 4, 5]], dtype=int32)
    """
    new_sizes = canonical_shape("reshape", new_sizes)
    if out_sharding is not None:
        out_sharding = checked_out_sharding("reshape", out_sharding, len(new_sizes))
    if dimensions is not None:
        dimensions = as_ints("reshape", "dimensions", dimensions)
        if dimensions == tuple(range(len(shape_of(operand)))):
            dimensions = None
    if dimensions is None and shape_of(operand) == new_sizes and is_array_value(operand) and out_sharding is None:
        return operand
    return state.trace.process(reshape_p, (operand,),
                               {"new_sizes": new_sizes, "dimensions": dimensions, "sharding": out_sharding})


def transpose(operand: ArrayLike, permutation: Sequence[int]) -> Array:
    """Reorders the axes: axis i of the result is axis permutation[i] of the operand.

    Args:
      operand: an array of any dtype.
      permutation: for each axis of the result the axis of the operand that it is, not negative.

    Returns:
      An array of shape `tuple(operand.shape[i] for i in permutation)` and the operand's dtype.

    Raises:
      TypeError: if permutation is not a permutation of the operand's axes.

    Example:
      >>> transpose(np.zeros((2, 3, 4)), (2, 0, 1)).shape
      (4, 2, 3)
    """
    permutation = as_ints("transpose", "permutation", permutation)
    if permutation == tuple(range(len(shape_of(operand)))) and is_array_value(operand):
        return operand
    return state.trace.process(transpose_p, (operand,), {"permutation": permutation})


def squeeze(array: ArrayLike, dimensions: Sequence[int]) -> Array:
    """Removes axes of size 1.

    Args:
      array: an array.
      dimensions: the axes to remove; negative ones count from the end.

    Returns:
      An array of the operand's shape without those axes, and of its dtype.

    Raises:
      ValueError: if an axis is out of range, given twice, or not of size 1.

    Example:
      >>> squeeze(np.float32([[1], [2]]), (1,))
      array([1., 2.], dtype=float32)
    """
    dimensions = tuple(sorted(canonical_axes("squeeze", dimensions, len(shape_of(array)))))
    if not dimensions and is_array_value(array):
        return array
    return state.trace.process(squeeze_p, (array,), {"dimensions": dimensions})


def expand_dims(array: ArrayLike, dimensions: Sequence[int]) -> Array:
    """Adds axes of size 1.

    Args:
      array: an array or scalar.
      dimensions: where the new axes are in the result; negative ones count from the result's end.

    Returns:
      An array of the operand's dtype, with an axis of size 1 at each of the dimensions and the operand's sizes, in
      order, elsewhere.

    Raises:
      ValueError: if an axis is out of range or given twice.

    Example:
      >>> expand_dims(np.zeros((2, 3)), (0, -1)).shape
      (1, 2, 3, 1)
    """
    shape, dimensions = shape_of(array), as_ints("expand_dims", "dimensions", dimensions)
    rank = check_rank("expand_dims", len(shape) + len(dimensions))
    added = canonical_axes("expand_dims", dimensions, rank)
    if not added and is_array_value(array):
        return array
    kept = tuple([axis for axis in range(rank) if axis not in added])
    sizes = iter(shape)
    return broadcast_in_dim(array, tuple([1 if axis in added else next(sizes) for axis in range(rank)]), kept)


def concatenate(operands: Sequence[Any], dimension: int) -> Array:
    """Joins arrays along an axis.

    Args:
      operands: a sequence of arrays of one dtype and, but for the axis `dimension`, one shape; or one array,
        whose rows along its first axis are joined.
      dimension: the axis, not negative.

    Returns:
      An array of the operands' dtype and shape, but for the size along `dimension`, which is the sum of theirs.

    Raises:
      ValueError: if there are no operands.
      TypeError: if they do not fit together.

    Example:
      >>> concatenate([np.float32([[1, 2]]), np.float32([[3, 4]])], 0)
      array([[1., 2.],
             [3., 4.]], dtype=float32)
    """
    operands, dimension = tuple(operands), as_int("concatenate", "dimension", dimension)
    if len(operands) == 1 and is_array_value(operands[0]) and 0 <= dimension < len(shape_of(operands[0])):
        return operands[0]
    return state.trace.process(concatenate_p, operands, {"dimension": dimension})


def pad(operand: ArrayLike, padding_value: ArrayLike, padding_config: Sequence[tuple[int, int, int]]) -> Array:
    """Puts a value before, after and between the elements along each axis.

    Args:
      operand: an array.
      padding_value: a scalar of the operand's dtype.
      padding_config: (low, high, interior) for each axis: how many go before the first element, after the last one,
        and between two neighbours. Negative low and high remove elements instead.

    Returns:
      An array of the operand's dtype, of size low + high + size + interior * (size - 1) along each axis (low + high
      where size is 0).

    Raises:
      ValueError: if padding_config does not fit, or more is removed than there is.
      TypeError: if the dtypes differ.

    Example:
      >>> pad(np.array([1, 2, 3], 'int32'), 0, ((1, -1, 1),))
      array([0, 1, 0, 2, 0], dtype=int32)
    """
    if type(padding_value) in dtypes.python_scalar_types:
        padding_value = scalar_like(padding_value, get_aval(operand).dtype)
    try:
        config = tuple([(size_of(low), size_of(high), size_of(interior))
                        for low, high, interior in padding_config])
    except (TypeError, ValueError):
        raise ValueError(f"pad: padding_config must be a sequence of three integers (low, high, interior) for each "
                         f"axis, got {padding_config!r} for {get_aval(operand).str_short()}") from None
    return state.trace.process(pad_p, (operand, padding_value), {"padding_config": config})


def rev(operand: ArrayLike, dimensions: Sequence[int]) -> Array:
    """Reverses the order of the elements along the given axes (not negative, unique).

    Args:
      operand: an array of any dtype.
      dimensions: the axes, not negative, distinct.

    Returns:
      An array of the operand's shape and dtype.

    Raises:
      TypeError: if an axis is out of range or given twice.

    Example:
      >>> rev(np.float32([[1, 2], [3, 4]]), (1,))
      array([[2., 1.],
             [4., 3.]], dtype=float32)
    """
    return state.trace.process(rev_p, (operand,), {"dimensions": as_ints("rev", "dimensions", dimensions)})


def iota(dtype: DTypeLike, size: DimSize) -> Array:
    """The numbers 0, 1, ..., size - 1 as an array of the given dtype.

    Args:
      dtype: a number dtype.
      size: the number of elements, an int.

    Returns:
      An array of shape [size] and the canonical form of the dtype (32 bits instead of 64 unless x64 mode is on).

    Raises:
      TypeError: if the size is negative or the dtype is not a number's.

    Example:
      >>> iota('int32', 3)
      array([0, 1, 2], dtype=int32)
    """
    return broadcasted_iota(dtype, (size,), 0)


def broadcasted_iota(dtype: DTypeLike, shape: Sequence[DimSize], dimension: int, *, out_sharding: Any = None) -> Array:
    """An array of the given shape whose elements are their index along one axis.

    Args:
      dtype: a number dtype.
      shape: the result's shape.
      dimension: the axis that counts, not negative.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Returns:
      An array of the given shape and the canonical form of the dtype (32 bits instead of 64 unless x64 mode is on).

    Raises:
      TypeError: if a size is negative or the dtype is not a number's.
      ValueError: if the axis is out of range.

    Example:
      >>> broadcasted_iota(np.int32, (2, 3), 1)
      array([[0, 1, 2],
             [0, 1, 2]], dtype=int32)
    """
    shape = canonical_shape("iota", shape)
    if out_sharding is not None:
        out_sharding = checked_out_sharding("broadcasted_iota", out_sharding, len(shape))
    return state.trace.process(iota_p, (), {
        "dtype": dtypes.requested_dtype(dtype, fun_name="broadcasted_iota"), "shape": shape,
        "dimension": as_int("broadcasted_iota", "dimension", dimension), "sharding": out_sharding})


def split(operand: ArrayLike, sizes: Sequence[int], axis: int = 0) -> Any:
    """Cuts an array into pieces along an axis.

    Args:
      operand: an array.
      sizes: the sizes of the pieces along the axis; they add up to its size.
      axis: the axis; a negative one counts from the end.

    Returns:
      The list of pieces: arrays of the operand's dtype and of its shape, but for size sizes[i] along the axis.

    Raises:
      ValueError: if the sizes do not add up, or the axis is out of range.

    Example:
      >>> split(np.float32([1, 2, 3]), (1, 2))
      [array([1.], dtype=float32), array([2., 3.], dtype=float32)]
    """
    axis = canonical_axis("split", axis, len(shape_of(operand)))
    return state.trace.process(split_p, (operand,), {"sizes": as_ints("split", "sizes", sizes), "axis": axis})


def collapse(operand: ArrayLike, start_dimension: int, stop_dimension: int | None = None) -> Array:
    """Merges the axes from start_dimension up to, not including, stop_dimension (by default all after it) into one.

    Args:
      operand: an array of any dtype.
      start_dimension: the first axis merged; a negative one counts from the end.
      stop_dimension: the first axis after them that is not; by default the end.

    Returns:
      An array of the operand's dtype; the merged axis has the product of their sizes, and size 1 if there are none.

    Raises:
      ValueError: if the range is reversed.

    Example:
      >>> collapse(np.zeros((2, 3, 4)), 1).shape
      (2, 12)
    """
    shape = shape_of(operand)
    stop_dimension = len(shape) if stop_dimension is None else as_int("collapse", "stop_dimension", stop_dimension)
    start_dimension = as_int("collapse", "start_dimension", start_dimension)
    start, stop, _ = builtins.slice(start_dimension, stop_dimension).indices(len(shape))
    if stop < start:
        raise ValueError(f"collapse: the axes {start_dimension} up to {stop_dimension} of {get_aval(operand).str_short()} "
                         "are no range")
    return reshape(operand, (*shape[:start], math.prod(shape[start:stop]), *shape[stop:]))


def tile(operand: ArrayLike, reps: Sequence[int]) -> Array:
    """Repeats an array as a whole, reps[i] times along axis i.

    Args:
      operand: an array of any dtype.
      reps: a count for each axis.

    Returns:
      An array of size operand.shape[i] * reps[i] along axis i, of the operand's dtype.

    Raises:
      TypeError: if there is not one non-negative count for each axis.

    Example:
      >>> tile(np.array([1, 2], 'int32'), (2,))
      array([1, 2, 1, 2], dtype=int32)
    """
    return state.trace.process(tile_p, (operand,), {"reps": as_ints("tile", "reps", reps)})


def full(shape: Sequence[int], fill_value: ArrayLike, dtype: DTypeLike | None = None, *, sharding: Any = None) -> Array:
    """An array with one value everywhere.

    Args:
      shape: the result's shape; an integer stands for one axis.
      fill_value: a scalar.
      dtype: the result's dtype, by default the value's; the value is converted to it. In random keys, every word is the
        number; other extended dtypes have a rule `full`, which makes the array.
      sharding: how the result is laid out over devices; by default the compiler's or the default device's choice.

    Returns:
      The array; weakly typed when no dtype is given and the value is a Python scalar.

    Raises:
      TypeError: if the value is not a scalar, or complex where a real dtype is asked for, or `sharding` is none.

    Example:
      >>> full((2, 2), 7, np.int32)
      array([[7, 7],
             [7, 7]], dtype=int32)
    """
    if sharding is not None:
        if not hasattr(sharding, "is_equivalent_to"):
            raise TypeError(f"full: sharding must be a Sharding, such as NamedSharding(mesh, spec), got {sharding!r}")
        return device_put_p.bind(full(shape, fill_value, dtype), sharding=sharding, source=None)
    shape = canonical_shape("full", shape)
    if dtype is not None:
        dtype = dtypes.requested_dtype(dtype, True, "full")
        if dtypes.is_extended(dtype) and not isinstance(dtype, dtypes.KeyDType):
            return rule_of(dtype, "full")(shape, fill_value, dtype)
        if dtype == dtypes.float0:  # of which there are no arrays but NumPy's
            return np.zeros(shape, dtypes.float0)
        constant = _integer_constant if type(fill_value) is int and not dtypes.is_kept_wide(dtype) else _converted
        fill_value = constant(fill_value, dtype)
    if shape_of(fill_value) != ():
        raise ShapeError(f"full: fill_value must be a scalar, got {get_aval(fill_value).str_short()}")
    return broadcast_in_dim(fill_value, shape, ())


def _converted(value: float, dtype: Any) -> Array:
    """The scalar with the dtype, strongly typed; host scalars are converted on the spot, with wrap-around."""
    if type(value) not in dtypes.python_scalar_types and not isinstance(value, np.generic):
        return convert_element_type(value, dtype)
    if isinstance(dtype, dtypes.KeyDType):
        return _key_of_number(value, dtype)
    if isinstance(value, complex) and not dtypes.issubdtype(dtype, dtypes.complexfloating):
        raise DTypeError(f"full: the complex value {value} cannot fill an array of dtype {dtypes.short_name(dtype)}")
    return constant_of(np.asarray(value).astype(dtype))


def _key_of_number(value: Any, dtype: Any) -> Any:
    """The key all of whose words are a number."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not 0 <= value < 2**32:
        raise DTypeError(f"full: an array of dtype {dtype} can be filled with a key, or with a number from 0 to 2**32 - 1 in every word "
                         f"of every key, got {value}")
    return PRNGKeyArray(dtype.impl, np.full(dtype.impl.key_shape, value, np.uint32))


_integer_constant = functools.lru_cache(maxsize=512)(_converted)  # zeros and ones, mostly


def full_like(x: ArrayLike, fill_value: ArrayLike, dtype: DTypeLike | None = None, shape: Sequence[int] | None = None,
              sharding: Any = None) -> Array:
    """An array with one value everywhere, of the shape and dtype of another.

    Args:
      x: an array, a scalar or anything with `shape` and `dtype`.
      fill_value: a scalar.
      dtype: the result's dtype, by default x's.
      shape: the result's shape, by default x's.
      sharding: how the result is laid out over devices; by default as x, if x is an array committed to one device, or to several and of
        this shape.

    Returns:
      The array; weakly typed when no dtype is given and x is weakly typed. Its type says that it varies along the axes of a checked
      `shard_map` along which x does, so that a loop may start with it and go on with values that vary.

    Example:
      >>> full_like(np.float32([1, 2]), 3)
      array([3., 3.], dtype=float32)
    """
    result = _full_like(x, fill_value, dtype, shape, sharding)
    if not manual_axes.value:
        return result
    if isinstance(x, ShapeDtypeStruct):
        return result if x.manual_axis_type is None else varying_along(result, x.manual_axis_type.varying)
    return varying_as(result, x.aval) if isinstance(x, Tracer) else result


def _full_like(x: ArrayLike, fill_value: ArrayLike, dtype: DTypeLike | None, shape: Sequence[int] | None, sharding: Any) -> Array:
    if sharding is None and state.trace is eval_trace and getattr(x, "committed", False) and not x.weak_type:
        sharding = x.sharding if shape is None or getattr(x.sharding, "num_devices", 0) == 1 else None
    if in_use and shape is None and sharding is None and is_array_like(x) and (split := get_aval(x)._split) is not None:
        return reduced_as(reshard(_full_like(x, fill_value, dtype, shape_of(x), None), split.along_explicit_axes()), get_aval(x))
    shape = shape_of(x) if shape is None else canonical_shape("full_like", shape)
    if dtype is not None:
        return full(shape, fill_value, dtype, sharding=sharding)
    weak_type = dtypes.is_weakly_typed(x)
    if not weak_type:
        if dtypes.is_kept_wide(own := dtypes.dtype(x)):  # in any mode: nobody asks for a dtype here
            with config.explicit_x64_dtypes("allow"):
                return full(shape, fill_value, own, sharding=sharding)
        return full(shape, fill_value, own, sharding=sharding)
    return convert_element_type(full(shape, fill_value, dtypes.dtype(x), sharding=sharding), dtypes.dtype(x),
                                weak_type=True)
