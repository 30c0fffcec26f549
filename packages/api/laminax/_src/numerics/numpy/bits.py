"""Bytes as arrays of bits, and back."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.ops import elementwise as op
from laminax_ir.ops import shape as shape_ops
from laminax_ir.ops.reduction import reduce_or
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy.arguments import convert, dtype_of, ensure_array, is_kind, one_axis, shape_of

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

_UINT8 = np.dtype(np.uint8)


def packbits(a: ArrayLike, axis: int | None = None, bitorder: str = "big") -> Array:
    """Packs truth values into bytes, eight along an axis into one; zeros fill up the last.

    Args:
      a: an array of bools or integers.
      axis: the axis; None takes the array as flat.
      bitorder: "big" if the first value is the highest bit, or "little".

    Returns:
      A uint8 array.

    Example:
      >>> jnp.packbits(jnp.array([1, 0, 0, 0, 0, 0, 0, 1]))
      Array([129], dtype=uint8)
    """
    return _packbits(ensure_array("packbits", a), axis=axis, shifts=_shifts("packbits", bitorder))


def _shifts(name: str, bitorder: str) -> tuple[int, ...]:
    if bitorder not in ("big", "little"):
        raise ValueError(f"{name}: bitorder must be 'big' or 'little', got {bitorder!r}")
    return tuple(range(7, -1, -1)) if bitorder == "big" else tuple(range(8))


@fused(static_argnames=("axis", "shifts"))
def _packbits(a: ArrayLike, axis: Any, shifts: tuple[int, ...]) -> Array:
    if not is_kind(a, dtypes.integer) and dtype_of(a) != np.bool_:
        raise TypeError(f"Expected an input array of integer or boolean data type, got {get_aval(a).str_short()}")
    if axis is None:
        a, axis = shape_ops.reshape(a, (math.prod(shape_of(a)),)), 0
    axis = one_axis("packbits", axis, len(shape_of(a)))
    a = convert(op.ne(a, np.zeros((), dtype_of(a))[()]), _UINT8)
    shape = shape_of(a)
    count = -(-shape[axis] // 8)
    a = shape_ops.pad(a, np.uint8(0), [(0, 8 * count - shape[axis] if i == axis else 0, 0) for i in range(len(shape))])
    a = shape_ops.reshape(a, (*shape[:axis], count, 8, *shape[axis + 1:]))
    places = np.array(shifts, np.uint8).reshape([8 if i == axis + 1 else 1 for i in range(len(shape) + 1)])
    return reduce_or(op.shift_left(a, shape_ops.broadcast_to_shape(places, a.shape)), (axis + 1,))


def unpackbits(a: ArrayLike, axis: int | None = None, count: int | None = None, bitorder: str = "big") -> Array:
    """Unpacks bytes into bits, one into eight along an axis.

    Args:
      a: a uint8 array.
      axis: the axis; None takes the array as flat.
      count: how many bits along the axis the result has: the rest is cut off or filled with zeros; a negative number is
        how many are cut off at the end.
      bitorder: "big" if the highest bit comes first, or "little".

    Raises:
      TypeError: for another dtype.

    Example:
      >>> jnp.unpackbits(jnp.array([129], "uint8"))
      Array([1, 0, 0, 0, 0, 0, 0, 1], dtype=uint8)
    """
    a = ensure_array("unpackbits", a)
    if dtype_of(a) != _UINT8:
        raise TypeError(f"Expected an input array of unsigned byte data type, got {get_aval(a).str_short()}")
    return _unpackbits(a, axis=axis, count=None if count is None else operator.index(count), shifts=_shifts("unpackbits", bitorder))


@fused(static_argnames=("axis", "count", "shifts"))
def _unpackbits(a: Any, axis: Any, count: int, shifts: Any) -> Any:
    if axis is None:
        a, axis = shape_ops.reshape(a, (math.prod(shape_of(a)),)), 0
    axis = one_axis("unpackbits", axis, len(shape_of(a)))
    shape = shape_of(a)
    wide = shape_ops.broadcast_in_dim(a, (*shape[:axis + 1], 8, *shape[axis + 1:]),
                                      tuple(i + (i > axis) for i in range(len(shape))))
    places = np.array(shifts, np.uint8).reshape([8 if i == axis + 1 else 1 for i in range(len(shape) + 1)])
    bits = op.bitwise_and(op.shift_right_logical(wide, shape_ops.broadcast_to_shape(places, wide.shape)), np.uint8(1))
    bits = shape_ops.reshape(bits, (*shape[:axis], 8 * shape[axis], *shape[axis + 1:]))
    if count is None:
        return bits
    size = bits.shape[axis]
    change = count if count < 0 else count - size
    return shape_ops.pad(bits, np.uint8(0), [(0, change if i == axis else 0, 0) for i in range(len(shape))])
