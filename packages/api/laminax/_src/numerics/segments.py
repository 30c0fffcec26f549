"""Reductions over segments: the rows of an array that have the same number are combined into one.

Each is one scatter into an array of the reduction's neutral value. Numbers outside [0, num_segments) are dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.symbolic.symbolic_dims import max_dim, size_of
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.floor import fused, open_zeros, split_result
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.numpy.arguments import concrete_numpy, dtype_of, ensure_arrays, shape_of

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

_STATIC = ("kind", "num_segments", "indices_are_sorted", "unique_indices", "bucket_size", "mode")


def segment_sum(data: ArrayLike, segment_ids: ArrayLike, num_segments: int | None = None, indices_are_sorted: bool = False,
                unique_indices: bool = False, bucket_size: int | None = None, mode: ArrayLike | None = None,
                out_sharding: Any = None) -> Array:
    """Sums of the rows of an array that have the same segment number.

    Args:
      data: [n, ...], the rows; of a dtype of numbers.
      segment_ids: integers [n], the segment of each row; they may repeat, and need not be sorted. Rows with a number
        outside [0, num_segments) are dropped.
      num_segments: a static integer; by default one more than the greatest of `segment_ids`, whose values must be known then.
      indices_are_sorted: the caller's word that `segment_ids` increase.
      unique_indices: the caller's word that none occurs twice.
      bucket_size: rows are reduced in groups of this many first, which loses less precision; by default not.
      mode: what becomes of numbers out of range: "drop" (the default), "clip" or "promise_in_bounds".
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Returns:
      [num_segments, ...], the neutral value of the reduction where a segment has no rows.

    Raises:
      ValueError: if `num_segments` is negative, or the shapes do not match.
      TypeError: if `segment_ids` are no integers, or are traced and `num_segments` is not given.

    Example:
      >>> segment_sum(numpy.arange(4.), numpy.array([0, 0, 2, 1]))
      Array([1., 3., 2.], dtype=float32)
    """
    return _segment_reduce("sum", data, segment_ids, num_segments, indices_are_sorted, unique_indices, bucket_size, mode, out_sharding)


def segment_prod(data: ArrayLike, segment_ids: ArrayLike, num_segments: int | None = None, indices_are_sorted: bool = False,
                 unique_indices: bool = False, bucket_size: int | None = None, mode: ArrayLike | None = None,
                 out_sharding: Any = None) -> Array:
    """Products of the rows of an array that have the same segment number; see `segment_sum`."""
    return _segment_reduce("prod", data, segment_ids, num_segments, indices_are_sorted, unique_indices, bucket_size, mode, out_sharding)


def segment_max(data: ArrayLike, segment_ids: ArrayLike, num_segments: int | None = None, indices_are_sorted: bool = False,
                unique_indices: bool = False, bucket_size: int | None = None, mode: ArrayLike | None = None,
                out_sharding: Any = None) -> Array:
    """Maxima of the rows of an array that have the same segment number; see `segment_sum`."""
    return _segment_reduce("max", data, segment_ids, num_segments, indices_are_sorted, unique_indices, bucket_size, mode, out_sharding)


def segment_min(data: ArrayLike, segment_ids: ArrayLike, num_segments: int | None = None, indices_are_sorted: bool = False,
                unique_indices: bool = False, bucket_size: int | None = None, mode: ArrayLike | None = None,
                out_sharding: Any = None) -> Array:
    """Minima of the rows of an array that have the same segment number; see `segment_sum`."""
    return _segment_reduce("min", data, segment_ids, num_segments, indices_are_sorted, unique_indices, bucket_size, mode, out_sharding)


def _segment_reduce(kind: str, data: ArrayLike, segment_ids: ArrayLike, num_segments: Any, indices_are_sorted: bool, unique_indices: bool,
                    bucket_size: int | None, mode: Any, out_sharding: Any) -> Any:
    name = f"segment_{kind}"
    data, segment_ids = ensure_arrays(name, data, segment_ids)
    if out_sharding is not None:
        if kind != "sum" and getattr(out_sharding, "spec", out_sharding).unreduced:
            raise NotImplementedError(f"{name}: out_sharding={out_sharding} is not supported: only sums can be left open over mesh axes. "
                                      "Leave unreduced out.")
        return split_result(name, out_sharding,
                            lambda: _segment_reduce(kind, data, segment_ids, num_segments, indices_are_sorted, unique_indices,
                                                    bucket_size, mode, None), leaves_sums=kind == "sum")
    if not dtypes.issubdtype(dtype_of(segment_ids), dtypes.integer):
        raise TypeError(f"{name}: segment_ids must be integers, got {get_aval(segment_ids).str_short()}")
    if kind in ("sum", "prod") and dtype_of(data) == np.bool_:
        raise TypeError(f"{name}: data must be numbers, got {get_aval(data).str_short()}. Convert them with astype.")
    if num_segments is None:
        num_segments = int(np.max(concrete_numpy(name, "num_segments, by default from segment_ids,", segment_ids))) + 1
    num_segments = size_of(num_segments)
    if num_segments < 0:
        raise ValueError(f"{name}: num_segments must be non-negative, got {num_segments}")
    if bucket_size is not None and not (bucket_size := size_of(bucket_size)) >= 1:
        raise ValueError(f"{name}: bucket_size must be positive, got {bucket_size}")
    return _reduced(data, segment_ids, kind=kind, num_segments=num_segments, indices_are_sorted=bool(indices_are_sorted),
                    unique_indices=bool(unique_indices), bucket_size=bucket_size, mode=mode)


@fused(static_argnames=_STATIC)
def _reduced(data: ArrayLike, segment_ids: ArrayLike, kind: str, num_segments: int, indices_are_sorted: bool, unique_indices: bool,
             bucket_size: int | None, mode: Any) -> Array:
    data, segment_ids = jnp.asarray(data), jnp.asarray(segment_ids)
    dtype = dtype_of(data)
    shape = (num_segments, *shape_of(data)[1:])
    start = open_zeros(shape, dtype) if kind == "sum" else jnp.full(shape, _neutral_value(kind, dtype), dtype)

    def changed(target: Array, where: Any) -> Array:
        at = target.at[where]
        change = {"sum": at.add, "prod": at.multiply, "max": at.max, "min": at.min}[kind]
        return change(data, indices_are_sorted=indices_are_sorted, unique_indices=unique_indices, mode=mode,
                      wrap_negative_indices=False)

    if bucket_size is None:
        return changed(start, segment_ids)
    if shape_of(segment_ids) != shape_of(data)[:1]:
        raise ValueError(f"segment_{kind}: with bucket_size, data must have one row for each of segment_ids, got "
                         f"{get_aval(data).str_short()} and {get_aval(segment_ids).str_short()}")
    rows = shape_of(data)[0]
    buckets = max_dim(-(-rows // bucket_size), 1)
    target = jnp.broadcast_to(start, (buckets, *shape_of(start)))
    bucket_of = jnp.arange(rows, dtype=np.int32) // jnp.asarray(bucket_size, np.int32)
    reduce = {"sum": jnp.sum, "prod": jnp.prod, "max": jnp.max, "min": jnp.min}[kind]
    return reduce(changed(target, (bucket_of, segment_ids)), axis=0).astype(dtype)


def _neutral_value(kind: str, dtype: Any) -> Any:
    if kind in ("sum", "prod"):
        return 0 if kind == "sum" else 1
    if dtype == np.bool_:
        return kind == "min"
    if dtypes.issubdtype(dtype, dtypes.inexact):
        return -np.inf if kind == "max" else np.inf
    info = dtypes.iinfo(dtype)
    return int(info.min if kind == "max" else info.max)
