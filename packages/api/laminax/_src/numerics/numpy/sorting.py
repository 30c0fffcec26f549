"""Order: sorted copies, the indices that sort, partitions, the greatest elements."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.ops import elementwise as op
from laminax_ir.ops import shape as shape_ops
from laminax_ir.ops import sorting as sorting_ops
from laminax_ir.ops.scalar_operands import scalar_like
from laminax_ir.ops.slicing import slice_in_dim
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy.arguments import (
    as_array,
    convert,
    dtype_of,
    ensure_array,
    ensure_arrays,
    is_kind,
    one_axis,
    shape_of,
    user_dtype,
)
from laminax._src.numerics.numpy.joining import unstack
from laminax._src.numerics.numpy.taking import take_along_axis

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike, DTypeLike


def sort(a: ArrayLike, axis: int | None = -1, *, kind: None = None, order: None = None, stable: bool = True,
         descending: bool = False) -> Any:
    """A sorted copy; NaN go last.

    Args:
      a: an array.
      axis: the axis; None sorts the flat array.
      kind, order: must be None.
      stable: whether equal elements keep their order.
      descending: whether the greatest come first.

    Example:
      >>> jnp.sort(jnp.array([3, 1, 2]))
      Array([1, 2, 3], dtype=int32)
    """
    _refuse_kind("sort", kind, order)
    return _sort(a, axis=axis, stable=bool(stable), descending=bool(descending))


def _refuse_kind(name: str, kind: Any, order: Any) -> None:
    if kind is not None:
        raise TypeError(f"{name}: the kind of sort cannot be chosen, got {kind!r}; use stable=True or False")
    if order is not None:
        raise TypeError(f"{name}: order is for structured dtypes, which arrays do not have; got {order!r}")


@fused(static_argnames=("axis", "stable", "descending"))
def _sort(a: ArrayLike, axis: int, stable: bool, descending: bool) -> Array:
    a, axis = _flat_if_none("sort", a, axis)
    result = sorting_ops.sort(a, axis, stable)
    return shape_ops.rev(result, (axis,)) if descending else result


def _flat_if_none(name: str, a: Any, axis: int | None) -> tuple[Any, int]:
    a = ensure_array(name, a)
    if axis is None:
        return shape_ops.reshape(a, (math.prod(shape_of(a)),)), 0
    return a, one_axis(name, axis, len(shape_of(a)))


def argsort(a: ArrayLike, axis: int | None = -1, *, kind: None = None, order: None = None, stable: bool = True, descending: bool = False,
            dtype: DTypeLike | None = None) -> Array:
    """The indices that sort an array along an axis.

    Args:
      a: an array.
      axis: the axis; None sorts the flat array.
      kind, order: must be None.
      stable: whether equal elements keep their order.
      descending: whether the greatest come first.
      dtype: the integer dtype of the result, by default the default one.

    Returns:
      An integer array of a's shape.

    Example:
      >>> jnp.argsort(jnp.array([3, 1, 2]))
      Array([1, 2, 0], dtype=int32)
    """
    _refuse_kind("argsort", kind, order)
    return _argsort(a, axis=axis, stable=bool(stable), descending=bool(descending), dtype=user_dtype("argsort", dtype))


@fused(static_argnames=("axis", "stable", "descending", "dtype"))
def _argsort(a: Any, axis: int, stable: bool, descending: bool, dtype: Any) -> Array:
    a, axis = _flat_if_none("argsort", a, axis)
    shape = shape_of(a)
    dtype = dtypes.scalar_dtype(int) if dtype is None else dtype
    if not shape:
        return shape_ops.full((), 0, dtype)
    places = shape_ops.broadcasted_iota(dtype, shape, axis)
    if not descending:
        return sorting_ops.sort((a, places), axis, stable, num_keys=1)[1]
    # Sorted backwards and turned around, so that equal elements keep their order.
    backwards = op.sub(scalar_like(shape[axis] - 1, dtype), places)
    order = sorting_ops.sort((shape_ops.rev(a, (axis,)), backwards), axis, stable, num_keys=1)[1]
    return shape_ops.rev(order, (axis,))


def top_k(a: ArrayLike, k: int, /, *, axis: int = -1, mode: str = "largest", sorted: bool = True) -> tuple[Any, Any]:
    """The k greatest or least elements along an axis, and where they were.

    Args:
      a: an array, not complex.
      k: how many, at most the size of the axis.
      axis: the axis; a negative one counts from the end.
      mode: "largest" or "smallest". NaN are greater than all numbers.
      sorted: without effect; the elements are in descending order, or in ascending order for "smallest".

    Returns:
      (values, indices): of a's shape with size k along the axis; of equal elements the earlier one comes first.

    Raises:
      ValueError: if k, the axis or the mode is none of these, or a is complex.

    Example:
      >>> top_k(numpy.array([1, 5, 3]), 2)
      (Array([5, 3], dtype=int32), Array([1, 2], dtype=int32))
    """
    del sorted
    if mode not in ("largest", "smallest"):
        raise ValueError(f"top_k: mode must be 'largest' or 'smallest', got {mode!r}")
    a = ensure_array("top_k", a)
    axis, k = one_axis("top_k", axis, len(shape_of(a))), operator.index(k)
    if is_kind(a, dtypes.complexfloating):
        raise ValueError(f"top_k: complex numbers have no greatest ones, got {get_aval(a).str_short()}")
    if not 0 <= k <= shape_of(a)[axis]:
        raise ValueError(f"top_k: k must be from 0 to the size of the axis, got k={k} for axis {axis} of {get_aval(a).str_short()}")
    return tuple(_top_k(a, k=k, axis=axis, mode=mode))


@fused(static_argnames=("k", "axis", "mode"))
def _top_k(a: Any, k: Any, axis: Any, mode: Any) -> Any:
    a = as_array(a)
    if mode == "largest":
        return sorting_ops.top_k(a, k, axis=axis)
    ascending = sorting_ops.sort((a, shape_ops.broadcasted_iota(np.int32, a.shape, axis)), axis, True, num_keys=1)
    return [slice_in_dim(x, 0, k, axis=axis) for x in ascending]


def lexsort(keys: ArrayLike, axis: int = -1, *, batch_size: int = 16) -> Array:
    """The indices that sort by several keys; the last key decides first.

    Args:
      keys: a sequence of arrays of one shape, or an array whose first axis numbers them.
      axis: the axis to sort along.
      batch_size: how many keys are compared in one sort: more keys are sorted by in turns, the least significant ones first, so that
        compile time does not grow with their number.

    Raises:
      TypeError: if there are no keys.
      ValueError: if their shapes differ, or the batch size is not positive.

    Example:
      >>> jnp.lexsort((jnp.array([1, 0, 2]), jnp.array([1, 0, 0])))
      Array([1, 2, 0], dtype=int32)
    """
    if (batch_size := operator.index(batch_size)) < 1:
        raise ValueError(f"lexsort: batch_size must be positive, got {batch_size}")
    if not isinstance(keys, (list, tuple)):
        keys = unstack(keys)
    if not len(keys):
        raise TypeError("lexsort: need sequence of keys with len > 0")
    return _lexsort(list(ensure_arrays("lexsort", *keys)), axis=axis, batch_size=batch_size)


@fused(static_argnames=("axis", "batch_size"))
def _lexsort(keys: Sequence[ArrayLike], axis: int, batch_size: Any) -> Array:
    shape = shape_of(keys[0])
    if any(shape_of(k) != shape for k in keys):
        raise ValueError(f"lexsort: all keys need to be the same shape, got {', '.join(str(shape_of(k)) for k in keys)}")
    dtype = dtypes.scalar_dtype(int)
    if not shape:
        return shape_ops.full((), 0, dtype)
    axis = one_axis("lexsort", axis, len(shape))
    places = shape_ops.broadcasted_iota(dtype, shape, axis)
    for start in range(0, len(keys), batch_size):  # each sort is stable, and keeps the order by the keys before among equal elements
        batch = keys[start:start + batch_size]
        if start:
            batch = [take_along_axis(key, places, axis, "promise_in_bounds") for key in batch]
        places = sorting_ops.sort((*reversed(batch), places), axis, True, num_keys=len(batch))[-1]
    return places


def sort_complex(a: ArrayLike) -> Array:
    """A sorted copy as complex numbers, in lexicographic order.

    Example:
      >>> jnp.sort_complex(jnp.array([2 + 1j, 1 + 2j]))
      Array([1.+2.j, 2.+1.j], dtype=complex64)
    """
    a = ensure_array("sort_complex", a)
    return convert(sort(a, -1), dtypes.to_complex_dtype(dtype_of(a)))


def partition(a: ArrayLike, kth: int, axis: int = -1) -> Array:
    """A copy in which element kth is where sorting puts it, with lesser ones before and greater ones after it.

    Args:
      a: an array of real numbers.
      kth: a position along the axis, an int; negative ones count from the end.
      axis: the axis.

    Returns:
      An array like a: the elements up to the kth in increasing order, those after it in decreasing order.

    Raises:
      NotImplementedError: for complex numbers.
      ValueError: if kth or axis is out of bounds.

    Example:
      >>> jnp.partition(jnp.array([5, 1, 4, 2]), 1)[0]
      Array(1, dtype=int32)
    """
    return _partition(a, kth=operator.index(kth), axis=axis)


@fused(static_argnames=("kth", "axis"))
def _partition(a: ArrayLike, kth: int, axis: int) -> Array:
    a = ensure_array("partition", a)
    place, axis = _place_of_kth("partition", a, kth, axis)
    ordered = sort(a, axis)
    size = shape_of(a)[axis]
    after = shape_ops.rev(slice_in_dim(ordered, place + 1, size, axis=axis), (axis,))
    return shape_ops.concatenate([slice_in_dim(ordered, 0, place + 1, axis=axis), after], axis)


def argpartition(a: ArrayLike, kth: int, axis: int = -1) -> Array:
    """The indices that partition an array; parameters and errors as for `partition`.

    Returns:
      Integers like a: first the indices of the elements up to the kth, in the order of those, then the others, increasing.

    Example:
      >>> sorted(jnp.argpartition(jnp.array([5, 1, 4, 2]), 2)[:2].tolist())
      [1, 3]
    """
    return _argpartition(a, kth=operator.index(kth), axis=axis)


@fused(static_argnames=("kth", "axis"))
def _argpartition(a: ArrayLike, kth: int, axis: int) -> Array:
    a = ensure_array("argpartition", a)
    place, axis = _place_of_kth("argpartition", a, kth, axis)
    order = argsort(a, axis)
    after = sort(slice_in_dim(order, place + 1, shape_of(a)[axis], axis=axis), axis)
    return shape_ops.concatenate([slice_in_dim(order, 0, place + 1, axis=axis), after], axis)


def _place_of_kth(name: str, a: Any, kth: int, axis: int) -> tuple[int, int]:
    """The position and the axis, not negative."""
    if is_kind(a, dtypes.complexfloating):
        raise NotImplementedError(f"{name}: complex numbers are not supported")
    shape = shape_of(a)
    axis = one_axis(name, axis, len(shape))
    size = shape[axis]
    if not -size <= kth < size:
        raise ValueError(f"{name}: kth={kth} is out of bounds for axis {axis} of size {size}")
    return kth % size, axis
