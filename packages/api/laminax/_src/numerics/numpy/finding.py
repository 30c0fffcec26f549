"""Where the elements of an array are for which something holds, and which they are: nonzero, argwhere, compress, extract.

How many there are decides the shape of the result, so traced arrays need the parameter `size`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.ops import elementwise as op
from laminax_ir.ops import indexing as indexing_ops
from laminax_ir.ops import shape as shape_ops
from laminax_ir.ops.cumulative import cumsum as cumulative_sum_of
from laminax_ir.ops.reduction import reduce_sum
from laminax_ir.ops.scalar_operands import scalar_like
from laminax_ir.symbolic.symbolic_dims import size_of
from laminax_ir.tracing.trace import Tracer
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy.arguments import (
    as_array,
    concrete_numpy,
    convert,
    dtype_of,
    ensure_array,
    ensure_arrays,
    one_axis,
    refuse_out,
    shape_of,
)
from laminax._src.numerics.numpy.conditions import _where, truth_of
from laminax._src.numerics.numpy.joining import stack
from laminax._src.numerics.numpy.reshaping import ravel
from laminax._src.numerics.numpy.taking import take

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


def nonzero(a: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None) -> tuple:
    """The indices of the elements that are not 0.

    Args:
      a: an array of rank at least 1.
      size: how many indices there are in the result, for traced arrays: what is too much is cut off, what is missing
        gets the fill value.
      fill_value: an index, or one for each axis; by default 0.

    Returns:
      One integer array for each axis.

    Raises:
      ConcretizationTypeError: if the array is traced and size is not given.
      ValueError: for a scalar.

    Example:
      >>> jnp.nonzero(jnp.array([0, 4, 5]))
      (Array([1, 2], dtype=int32),)
    """
    a = ensure_array("nonzero", a)
    if not shape_of(a):
        raise ValueError("Calling nonzero on 0d arrays is not allowed. Use atleast_1d(scalar).nonzero() instead.")
    dtype = dtypes.scalar_dtype(int)
    if size is None:
        places = np.nonzero(concrete_numpy("nonzero", "the array", a))
        return tuple(as_array(i.astype(dtype)) for i in places)
    rank = len(shape_of(a))
    fills = fill_value if isinstance(fill_value, tuple) else (fill_value,) * rank
    if len(fills) != rank:
        raise ValueError(f"nonzero: fill_value must be a scalar or a tuple with one for each of the {rank} axes, got {fill_value!r}")
    for fill in fills:
        if fill is not None and shape_of(ensure_array("nonzero", fill)) != ():
            raise ValueError(f"nonzero: fill_value must be a scalar or a tuple of scalars, got {fill_value!r}")
    return tuple(_nonzero(a, tuple(0 if fill is None else fill for fill in fills), size=size_of(size)))


@fused(static_argnames=("size",))
def _nonzero(a: Any, fills: tuple[int, ...], size: int) -> list[Array]:
    """The running count of true elements says which of them comes n-th: place n is the number of elements with count <= n."""
    shape = shape_of(a)
    dtype = dtypes.scalar_dtype(int)
    total = math.prod(shape)
    if total == 0 or size == 0:
        return [shape_ops.broadcast_to_shape(convert(fill, dtype), (size,)) for fill in fills]
    mask = convert(shape_ops.reshape(truth_of(a, "nonzero"), (total,)), dtype)
    count = cumulative_sum_of(mask, 0)
    dims = indexing_ops.ScatterDimensionNumbers((), (0,), (0,))
    starts = shape_ops.full((size,), 0, dtype)
    starts = indexing_ops.scatter_add(starts, shape_ops.expand_dims(count, (1,)), shape_ops.full((total,), 1, dtype), dims,
                                      indices_are_sorted=True, mode="drop")
    flat = cumulative_sum_of(starts, 0)
    found = reduce_sum(mask, (0,))
    is_found = op.lt(shape_ops.iota(dtype, size), found)
    results = []
    stride = total
    for extent, fill in zip(shape, fills):
        stride //= extent
        place = op.rem(op.div(flat, scalar_like(stride, dtype)), scalar_like(extent, dtype))
        results.append(_where(is_found, place, convert(fill, dtype)))
    return results


def flatnonzero(a: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None) -> Array:
    """The places of the elements of the flat array that are not 0; parameters as for `nonzero`.

    Example:
      >>> jnp.flatnonzero(jnp.array([0, 4, 5]))
      Array([1, 2], dtype=int32)
    """
    return nonzero(ravel(a), size=size, fill_value=fill_value)[0]


def argwhere(a: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None) -> Array:
    """The indices of the elements that are not 0, one in each row: [n, rank]; parameters as for `nonzero`.

    Example:
      >>> jnp.argwhere(jnp.array([0, 4, 5]))
      Array([[1],
             [2]], dtype=int32)
    """
    a = ensure_array("argwhere", a)
    rank = len(shape_of(a))
    if rank == 0:
        result = nonzero(shape_ops.reshape(as_array(a), (1,)), size=size, fill_value=fill_value)[0]
        return shape_ops.full((result.shape[0], 0), 0, dtype_of(result))
    return stack(nonzero(a, size=size, fill_value=fill_value), 1)


def compress(condition: ArrayLike, a: ArrayLike, axis: int | None = None, *, size: int | None = None, fill_value: ArrayLike = 0,
             out: None = None) -> Array:
    """The slices of an array along an axis where a condition holds.

    Args:
      condition: a bool vector, no longer than the axis.
      a: an array.
      axis: the axis; None takes the array as flat.
      size: how many slices there are in the result, for traced conditions.
      fill_value: what the missing ones are filled with, a scalar.
      out: must be None.

    Returns:
      An array like a with as many slices along the axis as there are true elements, or `size`.

    Raises:
      ValueError: if the condition is not of rank 1, or true beyond the end of the axis.
      ConcretizationTypeError: if the condition is traced and size is not given.

    Example:
      >>> jnp.compress(jnp.array([True, False, True]), jnp.array([1, 2, 3]))
      Array([1, 3], dtype=int32)
    """
    refuse_out("compress", out)
    condition, a = ensure_arrays("compress", condition, a)
    if len(shape_of(condition)) != 1:
        raise ValueError(f"compress: condition must be 1D, got {get_aval(condition).str_short()}")
    if axis is None:
        a, axis = ravel(a), 0
    axis = one_axis("compress", axis, len(shape_of(a)))
    if shape_of(condition)[0] > shape_of(a)[axis]:
        extra = concrete_numpy("compress", "the condition", condition)[shape_of(a)[axis]:]
        if extra.any():
            raise ValueError(f"condition contains entries that are out of bounds for axis {axis} of size {shape_of(a)[axis]}")
        condition = condition[:shape_of(a)[axis]]
    if size is None:
        condition = concrete_numpy("compress", "the condition", condition, "The size argument of jnp.compress must be specified there, so "
                                   "that the result has a known shape.")
        return take(a, nonzero(condition)[0], axis, mode="clip")
    if shape_of(a)[axis] == 0:
        shape = tuple(size if i == axis else n for i, n in enumerate(shape_of(a)))
        return shape_ops.broadcast_to_shape(convert(fill_value, dtype_of(a)), shape)
    places = nonzero(condition, size=size, fill_value=shape_of(a)[axis])[0]
    if not isinstance(fill_value, Tracer):
        return take(a, places, axis, mode="fill", fill_value=fill_value)
    found = take(a, places, axis, mode="clip")
    is_found = shape_ops.broadcast_in_dim(op.lt(places, np.asarray(shape_of(a)[axis], dtype_of(places))[()]), shape_of(found), (axis,))
    return _where(is_found, found, convert(fill_value, dtype_of(a)))


def extract(condition: ArrayLike, arr: ArrayLike, *, size: int | None = None, fill_value: ArrayLike = 0) -> Array:
    """The elements of the flat array where a condition holds; parameters as for `compress`.

    Example:
      >>> jnp.extract(jnp.array([True, False, True]), jnp.array([1, 2, 3]))
      Array([1, 3], dtype=int32)
    """
    return compress(ravel(condition), arr, None, size=size, fill_value=fill_value)


def compress_method(self: Any, condition: Any, axis: Any = None, *, out: Any = None, size: Any = None, fill_value: Any = 0) -> Any:
    """`compress` as a method of the array."""
    return compress(condition, self, axis, out=out, size=size, fill_value=fill_value)
