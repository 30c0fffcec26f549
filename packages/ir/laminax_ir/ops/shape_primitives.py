"""The primitives of shape operations, and their shape rules. The functions that bind them are in `shape`."""

from __future__ import annotations

import builtins
import functools
import math
from typing import TYPE_CHECKING, Any, Sequence

from laminax_ir.ops.elementwise_avals import joined_named_shape
from laminax_ir.programs.primitive import Primitive, Trait, shape_rule
from laminax_ir.programs.printer_params import hide_params
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.errors import DTypeError, ShapeError

if TYPE_CHECKING:
    import numpy as np

broadcast_in_dim_p = Primitive("broadcast_in_dim", family="shape", traits=(Trait.FOLLOWS_FIRST_OPERAND, Trait.EXACT_MOVE))
reshape_p = Primitive("reshape", family="shape", traits=(Trait.EXACT_MOVE,))
transpose_p = Primitive("transpose", family="shape", traits=(Trait.EXACT_MOVE,))
squeeze_p = Primitive("squeeze", family="shape", traits=(Trait.EXACT_MOVE,))
concatenate_p = Primitive("concatenate", family="shape", traits=(Trait.EXACT_MOVE,))
pad_p = Primitive("pad", family="shape", traits=(Trait.EXACT_MOVE,))
rev_p = Primitive("rev", family="shape", traits=(Trait.EXACT_MOVE,))
iota_p = Primitive("iota", family="shape", traits=(Trait.EXACT_MOVE,))
split_p = Primitive("split", multiple_results=True, family="shape", traits=(Trait.EXACT_MOVE,))
tile_p = Primitive("tile", family="shape")

hide_params(broadcast_in_dim_p, shape=..., sharding=None, broadcast_dimensions=())


def with_shape(x: ShapedArray, shape: tuple[int, ...]) -> ShapedArray:
    return x.update(shape=shape) if x._named else ShapedArray(shape, x.dtype, x.weak_type)


@shape_rule(broadcast_in_dim_p)
def _broadcast_in_dim_shape(x: ShapedArray, *, shape: tuple[int, ...], broadcast_dimensions: tuple[int, ...],
                            sharding: Any = None) -> ShapedArray:
    if len(broadcast_dimensions) != x.ndim:
        raise ShapeError(f"broadcast_in_dim: broadcast_dimensions must have length equal to operand ndim, one entry for each axis, "
                         f"got {broadcast_dimensions} for {x.str_short()}")
    rank = len(shape)
    if rank < x.ndim:
        raise ShapeError(f"broadcast_in_dim: target broadcast shape must have equal or higher rank to the operand shape, got "
                         f"{shape} for {x.str_short()}")
    previous = -1
    for axis, size in zip(broadcast_dimensions, x.shape):
        if not 0 <= axis < rank:
            raise ShapeError(f"broadcast_in_dim broadcast_dimensions must be a subset of output dimensions, got "
                             f"{broadcast_dimensions} for {x.str_short()} and the result's shape {shape}")
        if not previous < axis:
            if len(set(broadcast_dimensions)) < len(broadcast_dimensions):
                raise ShapeError(f"broadcast_in_dim broadcast_dimensions must not contain duplicates, got {broadcast_dimensions} for "
                                 f"{x.str_short()}")
            raise ShapeError(f"broadcast_in_dim: broadcast_dimensions must be strictly increasing, got {broadcast_dimensions} for "
                             f"{x.str_short()}")
        if size != shape[axis] and size != 1:
            raise ShapeError(f"broadcast_in_dim: operand dimension sizes must either be 1, or be equal to their corresponding "
                             f"dimensions in the target broadcast shape; {x.str_short()} has size {size} for the result's axis "
                             f"{axis} of size {shape[axis]} (shape {shape}, broadcast_dimensions {broadcast_dimensions})")
        previous = axis
    _check_sizes("broadcast_in_dim", "shape", shape)
    return with_shape(x, shape)


def _check_sizes(name: str, what: str, sizes: Sequence[int]) -> None:
    for size in sizes:
        if size < 0:
            raise ShapeError(f"{name}: the sizes in {what} must not be negative, got {sizes}")


@shape_rule(reshape_p)
def _reshape_shape(x: ShapedArray, *, new_sizes: tuple[int, ...], dimensions: Any = None, sharding: Any = None) -> ShapedArray:
    for size in new_sizes:
        if size < 0:
            raise ShapeError(f"reshape: new_sizes must not be negative, got {new_sizes} for {x.str_short()}; "
                             "numpy.reshape is the similar function that replaces -1 by what fits")
    if math.prod(new_sizes) != x.size:
        raise ShapeError(f"reshape: the total size must be unchanged, got new_sizes {new_sizes} "
                         f"({math.prod(new_sizes)} elements) for {x.str_short()} ({x.size} elements)")
    if dimensions is not None and not _is_permutation(dimensions, x.ndim):
        raise ShapeError(f"reshape: dimensions must be a permutation of the operand's axes, got {dimensions} for "
                         f"{x.str_short()}")
    return with_shape(x, new_sizes)


@shape_rule(transpose_p)
def _transpose_shape(x: ShapedArray, *, permutation: tuple[int, ...]) -> ShapedArray:
    if not _is_permutation(permutation, x.ndim):
        raise ShapeError(f"transpose: permutation must be a permutation of the operand's axes, got {permutation} "
                         f"for {x.str_short()}")
    shape = x.shape
    return with_shape(x, tuple([shape[axis] for axis in permutation]))


@functools.lru_cache(maxsize=4096)
def _is_permutation(axes: tuple[int, ...], rank: int) -> bool:
    return sorted(axes) == list(range(rank))


@shape_rule(squeeze_p)
def _squeeze_shape(x: ShapedArray, *, dimensions: tuple[int, ...]) -> ShapedArray:
    shape = x.shape
    for axis in dimensions:
        if not 0 <= axis < x.ndim or shape[axis] != 1:
            raise ValueError("squeeze: cannot select an axis to squeeze out which has size not equal to one, "
                             f"got dimensions={dimensions} for {x.str_short()}")
    return with_shape(x, tuple([size for axis, size in enumerate(shape) if axis not in dimensions]))


@shape_rule(concatenate_p)
def _concatenate_shape(*operands: ShapedArray, dimension: int) -> ShapedArray:
    if not operands:
        raise ValueError("concatenate: at least one operand is needed")
    first = operands[0]
    if not 0 <= dimension < first.ndim:
        raise ShapeError(f"concatenate: dimension {dimension} is out of range for operands {_listed(operands)}")
    before, after = first.shape[:dimension], first.shape[dimension + 1:]
    total, weak = 0, True
    for x in operands:
        if x is not first:
            if x.ndim != first.ndim:
                raise ShapeError(f"concatenate: operands must have the same number of axes, got {_listed(operands)}")
            if x.dtype != first.dtype:
                raise DTypeError(f"concatenate: operands must have the same dtype, got {_listed(operands)}. "
                                 "numpy.concatenate is the similar function that promotes")
            if x.shape[:dimension] != before or x.shape[dimension + 1:] != after:
                raise ShapeError(f"concatenate: operands may differ in axis {dimension} only, got {_listed(operands)}")
        total = total + x.shape[dimension]
        weak = weak and x.weak_type
    return ShapedArray((*before, total, *after), first.dtype, weak, named_shape=joined_named_shape(operands))


def _listed(avals: Sequence[ShapedArray]) -> str:
    return ", ".join(x.str_short() for x in avals)


@shape_rule(pad_p)
def _pad_shape(x: ShapedArray, padding_value: ShapedArray, *, padding_config: Any) -> ShapedArray:
    if x.dtype != padding_value.dtype:
        raise DTypeError(f"pad: operand and padding_value must have the same dtype, got {x.str_short()} and "
                         f"{padding_value.str_short()}")
    if dtypes.is_extended(x.dtype):
        raise DTypeError(f"pad: arrays of random keys cannot be padded, got {x.str_short()}; concatenate them")
    if padding_value.shape:
        raise ValueError(f"pad: padding_value must be a scalar, got {padding_value.str_short()}")
    if len(padding_config) != x.ndim:
        raise ValueError(f"pad: padding_config must have one entry for each axis of the operand, got {padding_config} "
                         f"for {x.str_short()}")
    shape = []
    for size, (low, high, interior) in zip(x.shape, padding_config):
        if interior < 0:
            raise ValueError(f"pad: interior padding in padding_config must be nonnegative, got {padding_config} for "
                             f"{x.str_short()}")
        padded = low + high + dilated_size(size, interior + 1)
        if padded < 0:
            raise ValueError(f"pad: Dimension size after padding is not at least 0, negative padding removes more than there is; got "
                             f"padding_config {padding_config} for {x.str_short()}")
        shape.append(padded)
    return ShapedArray(tuple(shape), x.dtype, x.weak_type and padding_value.weak_type,
                       named_shape=joined_named_shape((x, padding_value)))


def dilated_size(size: int, dilation: int) -> int:
    """The size of an axis after moving its elements `dilation` apart.

    Args:
      size: the number of elements, an int.
      dilation: the distance, a positive int.

    Returns:
      An int: 0 for no elements, else 1 + dilation * (size - 1).
    """
    return 0 if size == 0 else 1 + dilation * (size - 1)


@shape_rule(rev_p)
def _rev_shape(x: ShapedArray, *, dimensions: tuple[int, ...]) -> ShapedArray:
    if len(set(dimensions)) != len(dimensions):
        raise ShapeError(f"rev: dimensions must be unique, got {dimensions} for {x.str_short()}")
    for axis in dimensions:
        if not 0 <= axis < x.ndim:
            raise ShapeError(f"rev: dimension {axis} is out of range for {x.str_short()}, which has {x.ndim} axes")
    return x


@shape_rule(iota_p)
def _iota_shape(*, dtype: np.dtype, shape: Sequence[int], dimension: int, sharding: Any = None) -> ShapedArray:
    if not dtypes.issubdtype(dtype, dtypes.number):
        raise DTypeError(f"iota: the dtype must be a number type, got {dtypes.short_name(dtype)}")
    _check_sizes("iota", "shape", shape)
    if not 0 <= dimension < len(shape):
        raise ValueError(f"iota: dimension must be an axis of the shape, got dimension={dimension} for shape={shape}")
    return ShapedArray(shape, dtype)


@shape_rule(split_p)
def _split_shape(x: ShapedArray, *, sizes: tuple[int, ...], axis: int) -> list[ShapedArray]:
    if not 0 <= axis < x.ndim:
        raise ValueError(f"split: axis {axis} is out of bounds for {x.str_short()}, which has {x.ndim} axes")
    if builtins.any(size < 0 for size in sizes):
        raise ValueError(f"split: Sizes passed to split must be nonnegative, got {sizes} for {x.str_short()}")
    if sum(sizes) != x.shape[axis]:
        raise ValueError(f"split: Sum of sizes {sum(sizes)} must be equal to dimension {axis} of the operand, {x.shape[axis]}, got "
                         f"sizes {sizes} for {x.str_short()}")
    before, after = x.shape[:axis], x.shape[axis + 1:]
    return [with_shape(x, (*before, size, *after)) for size in sizes]


@shape_rule(tile_p)
def _tile_shape(x: ShapedArray, *, reps: tuple[int, ...]) -> ShapedArray:
    if len(reps) != x.ndim:
        raise ShapeError(f"tile: reps must have one entry for each axis of the operand, got {reps} for {x.str_short()}")
    _check_sizes("tile", "reps", reps)
    return with_shape(x, tuple([size * n for size, n in zip(x.shape, reps)]))
