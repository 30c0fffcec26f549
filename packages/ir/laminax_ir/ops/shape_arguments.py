"""Shapes, axes and sizes that users give, in normal form: Python ints, checked, and counted from the front."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from laminax_ir.symbolic.symbolic_dims import SymbolicDim, size_of
from laminax_ir.tracing.explicit_axes import check_in_device_memory, out_sharding
from laminax_ir.types.arguments import GREATEST_RANK, GREATEST_SIZE, as_int, check_rank, check_size
from laminax_ir.types.avals import get_aval
from laminax_ir.types.errors import ShapeError, TracerIntegerConversionError


def canonical_shape(name: str, shape: Any) -> tuple[int, ...]:
    """The shape as a tuple of ints and symbolic dimensions; negative sizes are left to shape rules.

    Args:
      name: the operation, for the message.
      shape: a sequence of integers; one integer stands for a shape of one axis.

    Returns:
      A tuple of ints, one per axis.

    Raises:
      TypeError: if a size is not an integer, a traced one included.
      ValueError: if a size is above 2**63 - 1, or there are too many axes.
    """
    if type(shape) is tuple and len(shape) <= GREATEST_RANK:
        for size in shape:
            if type(size) is not int or size > GREATEST_SIZE:
                break
        else:
            return shape
    try:
        sizes = (shape,) if type(shape) is SymbolicDim or np.ndim(shape) == 0 else shape
        check_rank(name, len(sizes))
        found = tuple([size_of(size) for size in sizes])
    except TypeError as error:
        text = f"{name}: Shapes must be 1D sequences of concrete values of integer type, got {shape!r}"
        if isinstance(error, TracerIntegerConversionError):
            text += "\nIf using `jit`, try using `static_argnums` or applying `jit` to smaller subfunctions."
        raise ShapeError(f"{text} ({error})") from None
    for size in found:
        if type(size) is int and size > GREATEST_SIZE:
            check_size(name, "each size in the shape", size)
    return found


def canonical_axis(name: str, axis: Any, rank: int) -> int:
    """The axis as an int in [0, rank); negative ones count from the end.

    Args:
      name: the operation, for the message.
      axis: an integer.
      rank: the number of axes.

    Returns:
      An int.

    Raises:
      ValueError: if it is out of range.
    """
    index = axis if type(axis) is int else as_int(name, "an axis", axis)
    if not -rank <= index < rank:
        raise ValueError(f"{name}: axis {index} is out of bounds for array of dimension {rank}")
    return index + rank if index < 0 else index


def canonical_axes(name: str, axes: Any, rank: int) -> tuple[int, ...]:
    """The axes as ints in [0, rank), in the order given.

    Args:
      name: the operation, for the message.
      axes: a sequence of integers.
      rank: the number of axes.

    Returns:
      A tuple of ints, as long as axes.

    Raises:
      ValueError: if one is out of range or two are the same.
    """
    try:
        axes = tuple(axes)
    except TypeError:
        raise ShapeError(f"{name}: the axes must be a sequence of integers, got {axes!r}") from None
    result = tuple([canonical_axis(name, axis, rank) for axis in axes])
    if len(set(result)) != len(result):
        raise ValueError(f"{name}: axes must be unique, dimensions are not unique in {axes} for an array of {rank} axes")
    return result


def as_ints(name: str, what: str, values: Any) -> tuple[int, ...]:
    if type(values) is tuple:
        for value in values:
            if type(value) is not int:
                break
        else:
            return values
    try:
        return tuple([size_of(v) for v in values])
    except TypeError:
        raise ShapeError(f"{name}: {what} must be a sequence of integers, got {values!r}") from None


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that arrays of the given shapes broadcast to by NumPy's rules.

    Args:
      *shapes: sequences of ints; shorter ones are padded with leading 1.

    Returns:
      A tuple of ints, as long as the longest shape.

    Raises:
      TypeError: if something is not a sequence of non-negative ints.
      ValueError: if two sizes of an axis differ and neither is 1.

    Example:
      >>> broadcast_shapes((8, 1, 6), (7, 1))
      (8, 7, 6)
    """
    known = [_as_shape(shape) for shape in shapes]
    if len(set(known)) == 1:
        return known[0]
    rank = max([len(shape) for shape in known], default=0)
    result = []
    for sizes in zip(*((1,) * (rank - len(shape)) + shape for shape in known)):
        wide = {size for size in sizes if size != 1}
        if len(wide) > 1:
            raise ValueError(f"broadcast_shapes: Incompatible shapes for broadcasting: {', '.join(map(str, known))}; "
                             f"the sizes {', '.join(map(str, sizes))} must be equal or 1")
        result.append(wide.pop() if wide else 1)
    return tuple(result)


def _as_shape(given: Any) -> tuple[int, ...]:
    try:
        shape = tuple([size_of(size) for size in given])
    except TypeError:
        raise TypeError(f"broadcast_shapes: Shapes must be 1D sequences of concrete values of integer type, got {given}") from None
    if any(size < 0 for size in shape):
        raise TypeError("broadcast_shapes: Only non-negative indices are allowed when broadcasting static shapes, but got shape "
                        f"{given}")
    return shape


def common_shape(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that arrays of these are broadcast to.

    Raises:
      ValueError: if there is none.
    """
    try:
        return np.broadcast_shapes(*shapes)
    except TypeError:  # of symbolic dimensions
        return broadcast_shapes(*shapes)


def shape_of(x: Any) -> tuple[int, ...]:
    try:
        return x.shape
    except AttributeError:
        return get_aval(x).shape


def is_array_value(x: Any) -> bool:
    """Whether x may be returned as a result: a tracer or an array, not a host value that was passed in."""
    return not isinstance(x, (np.ndarray, np.generic, bool, int, float, complex, list, tuple))


def checked_out_sharding(name: str, sharding: Any, ndim: int) -> Any:
    """An `out_sharding` that is given, as operations have it as a parameter; see `explicit_axes.out_sharding`."""
    check_in_device_memory(name, sharding)
    return out_sharding(name, sharding, ndim)
