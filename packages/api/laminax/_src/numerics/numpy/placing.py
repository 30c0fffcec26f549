"""Writing at positions along an axis or in the flat array: `put_along_axis`, `put`, `place`. Arrays do not change: copies do."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.ops import elementwise as op
from laminax_ir.ops import shape as shape_ops
from laminax_ir.ops.cumulative import cumsum
from laminax_ir.ops.indexing import GatherScatterMode

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy.arguments import as_array, convert, ensure_arrays, one_axis, shape_of
from laminax._src.numerics.numpy.conditions import truth_of
from laminax._src.numerics.numpy.gather_plans import brought_in_range
from laminax._src.numerics.numpy.repeating import resize
from laminax._src.numerics.numpy.reshaping import ravel
from laminax._src.numerics.numpy.taking import _take
from laminax._src.numerics.numpy.updates import update

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


def put_along_axis(arr: ArrayLike, indices: ArrayLike, values: ArrayLike, axis: int | None, inplace: bool = True, *,
                   mode: str | None = None) -> Array:
    """An array with values written along an axis at positions that differ from vector to vector.

    Args:
      arr: an array.
      indices: an integer array with as many axes.
      values: what is written, an array that broadcasts to the indices' shape.
      axis: the axis; None takes arr as flat.
      inplace: must be False, because arrays do not change.
      mode: what becomes of indices out of bounds, as for `x.at[...].set`.

    Returns:
      A changed copy of arr.

    Example:
      >>> jnp.put_along_axis(jnp.zeros((2, 2)), jnp.array([[1], [0]]), 5.0, axis=1, inplace=False)
      Array([[0., 5.],
             [5., 0.]], dtype=float32)
    """
    refuse_inplace("put_along_axis", inplace)
    arr, indices, values = ensure_arrays("put_along_axis", arr, indices, values)
    if axis is None:
        flat = shape_ops.reshape(as_array(arr), (math.prod(shape_of(arr)),))
        return shape_ops.reshape(update("set", flat, indices, values, mode=mode), shape_of(arr))
    axis = one_axis("put_along_axis", axis, len(shape_of(arr)))
    rank = len(shape_of(arr))
    places = tuple(indices if i == axis else np.arange(size, dtype=np.int32).reshape([-1 if j == i else 1 for j in range(rank)])
                   for i, size in enumerate(shape_of(arr)))
    return update("set", as_array(arr), places, values, mode=mode)


def refuse_inplace(name: str, inplace: bool) -> None:
    if inplace:
        raise ValueError(f"numpy.{name}: arrays do not change, so inplace=True (the default, as in NumPy) is not possible. Pass "
                         "inplace=False and use the returned array.")


def put(a: ArrayLike, ind: Any, v: ArrayLike, mode: str | None = None, *, inplace: bool = True) -> Array:
    """An array with values written at places of the flat array.

    Args:
      a: an array.
      ind: integers, places in the flat array.
      v: the values, repeated if there are fewer than places.
      mode: "clip" moves places out of bounds to the nearer end, negative ones to 0; "wrap" takes them modulo the size; with None negative
        ones count from the end, and what is out of bounds then is clipped.
      inplace: must be False, because arrays do not change.

    Returns:
      A changed copy of a.

    Raises:
      ValueError: for another mode, or if inplace is True.

    Example:
      >>> jnp.put(jnp.zeros(3), jnp.array([1]), 5.0, inplace=False)
      Array([0., 5., 0.], dtype=float32)
    """
    refuse_inplace("put", inplace)
    a, ind, v = ensure_arrays("put", a, ind, v)
    a, ind, v = as_array(a), ravel(ind), ravel(v)
    if not a.size or not ind.size or not v.size:
        return a
    if mode not in (None, "clip", "wrap"):
        raise ValueError(f"put: mode must be None, 'clip' or 'wrap', got {mode!r}")
    flat = update("set", ravel(a), brought_in_range(ind, a.size, mode), resize(v, ind.shape))
    return shape_ops.reshape(flat, a.shape)


def place(arr: ArrayLike, mask: ArrayLike, vals: ArrayLike, *, inplace: bool = True) -> Array:
    """An array with values written where a mask holds, in order, repeated if there are fewer.

    Args:
      arr: an array.
      mask: a bool array of as many elements.
      vals: the values.
      inplace: must be False, because arrays do not change.

    Returns:
      A changed copy of arr.

    Raises:
      ValueError: if there are no values, or the sizes differ.

    Example:
      >>> jnp.place(jnp.array([1, 2, 3]), jnp.array([True, False, True]), jnp.array([0]), inplace=False)
      Array([0, 2, 0], dtype=int32)
    """
    refuse_inplace("place", inplace)
    arr, mask, vals = ensure_arrays("place", arr, mask, vals)
    arr, mask, vals = as_array(arr), ravel(mask), ravel(vals)
    if arr.size != mask.size:
        raise ValueError(f"place: arr and mask must have the same size, got {arr.size} and {mask.size}")
    if not vals.size:
        raise ValueError("place: vals must not be empty")
    if not arr.size:
        return arr
    return _place(arr, mask, vals)


@fused
def _place(arr: Any, mask: Any, vals: Any) -> Any:
    """The n-th true element takes value n modulo their number."""
    mask = truth_of(mask)
    number = op.sub(cumsum(convert(mask, np.dtype(np.int32)), 0), np.int32(1))
    values = _take(vals, op.rem(op.max(number, np.int32(0)), np.int32(vals.size)), 0, GatherScatterMode.PROMISE_IN_BOUNDS, None,
                   False, False)
    return shape_ops.reshape(op.select(mask, convert(values, arr.dtype), shape_ops.reshape(arr, mask.shape)), arr.shape)
