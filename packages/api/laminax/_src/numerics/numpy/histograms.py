"""Histograms of one and several dimensions."""

from __future__ import annotations

import builtins
import operator
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from laminax_ir.functions import operators
from laminax_ir.ops import elementwise as op
from laminax_ir.ops import indexing as indexing_ops
from laminax_ir.ops import shape as shape_ops
from laminax_ir.ops import slicing as slicing_ops
from laminax_ir.options import config
from laminax_ir.symbolic.symbolic_dims import size_of
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval
from laminax_ir.types.errors import ShardingTypeError

from laminax._src.numerics.floor import fused, open_zeros, split_result
from laminax._src.numerics.numpy import reductions
from laminax._src.numerics.numpy.arguments import (
    as_array,
    concrete_numpy,
    convert,
    dtype_of,
    ensure_array,
    ensure_arrays,
    is_kind,
    promote_dtypes,
    shape_of,
)
from laminax._src.numerics.numpy.conditions import _where
from laminax._src.numerics.numpy.conversion import asarray
from laminax._src.numerics.numpy.differences import diff
from laminax._src.numerics.numpy.joining import stack
from laminax._src.numerics.numpy.ranges import linspace
from laminax._src.numerics.numpy.reshaping import ravel
from laminax._src.numerics.numpy.searching import searchsorted
from laminax._src.numerics.splits import entries_asked_for

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

_INT32 = np.dtype(np.int32)


def bincount(x: ArrayLike, weights: ArrayLike | None = None, minlength: int = 0, *, length: int | None = None,
             out_sharding: Any = None) -> Array:
    """How often each non-negative integer occurs; negative ones count as 0.

    Args:
      x: integers, rank 1.
      weights: what each counts, by default 1.
      minlength: the least length of the result.
      length: the length of the result, for traced arrays; greater integers are not counted.
      out_sharding: over which explicit mesh axes the counts are left open, a partition spec or a `NamedSharding`.

    Raises:
      ShardingTypeError: if out_sharding splits the result.
      ConcretizationTypeError: if x is traced and length is not given.
      TypeError: if x does not hold integers.

    Example:
      >>> jnp.bincount(jnp.array([0, 2, 2]), length=4)
      Array([1, 0, 2, 0], dtype=int32)
    """
    if out_sharding is not None:
        if any(entries_asked_for(out_sharding, 1)):
            raise ShardingTypeError("bincount: the result can only be fully replicated or fully unreduced, since each device counts in the "
                                    f"whole of it; got out_sharding={out_sharding}. Use reshard on the result.")
        return split_result("bincount", out_sharding, lambda: bincount(x, weights, minlength, length=length), leaves_sums=True)
    x = ensure_array("bincount", x)
    if not is_kind(x, dtypes.integer) and dtype_of(x) != np.bool_:
        raise TypeError(f"bincount: x must hold integers, got {get_aval(x).str_short()}")
    if len(shape_of(x)) != 1:
        raise ValueError(f"bincount: only 1-dimensional input is supported, got {get_aval(x).str_short()}")
    minlength = operator.index(minlength)
    if length is None:
        values = concrete_numpy("bincount", "x", x)
        length = max(minlength, int(values.max()) + 1 if values.size and values.max() >= 0 else (1 if values.size else 0))
    else:
        length = size_of(length)
    if weights is None:
        weights = np.asarray(1, dtypes.scalar_dtype(int))
    elif shape_of(ensure_array("bincount", weights)) != shape_of(x):
        raise ValueError(f"bincount: shape of weights must match shape of x, got {shape_of(weights)} and {shape_of(x)}")
    return _bincount(x, weights, length=length)


@fused(static_argnames=("length",))
def _bincount(x: ArrayLike, weights: ArrayLike, length: int) -> Array:
    places = op.max(convert(x, _INT32), np.int32(0))
    dtype = dtype_of(weights)
    updates = shape_ops.full_like(x, weights, dtype) if shape_of(weights) != shape_of(x) else weights
    dims = indexing_ops.ScatterDimensionNumbers((), (0,), (0,))
    return indexing_ops.scatter_add(open_zeros((length,), dtype), shape_ops.expand_dims(places, (1,)), convert(updates, dtype),
                                    dims, mode="drop")


def histogram_bin_edges(a: ArrayLike, bins: ArrayLike = 10, range: Sequence | None = None, weights: ArrayLike | None = None) -> Array:
    """The edges of the bins of a histogram.

    Args:
      a: an array.
      bins: the number of bins, or the edges themselves.
      range: (lowest, highest) edge, by default those of the elements.
      weights: without effect.

    Raises:
      NotImplementedError: for the names of NumPy's estimators.

    Example:
      >>> jnp.histogram_bin_edges(jnp.array([0.0, 4.0]), bins=2)
      Array([0., 2., 4.], dtype=float32)
    """
    if isinstance(bins, str):
        raise NotImplementedError(f"histogram: the estimator {bins!r} of the number of bins is not supported; give a number or edges")
    del weights
    a = ensure_array("histogram_bin_edges", a)
    dtype = dtypes.to_inexact_dtype(dtypes.result_type(a))
    bins = asarray(bins) if isinstance(bins, (list, tuple)) else ensure_array("histogram_bin_edges", bins)
    if len(shape_of(bins)) == 1:
        return convert(bins, dtype)
    if len(shape_of(bins)) > 1:
        raise ValueError(f"histogram: bins must be a number or a vector of edges, got shape {shape_of(bins)}")
    count = operator.index(bins)
    if count < 1:
        raise ValueError(f"histogram: bins must be positive where it is their number, got {count}")
    flat = convert(ravel(a), dtype)
    if range is None:
        low, high = (reductions.min(flat), reductions.max(flat)) if flat.size else (convert(0, dtype), convert(1, dtype))
    else:
        low, high = [convert(x, dtype) for x in _limits(range)]
    same = operators.equal(low, high)
    low = _where(same, operators.subtract(low, 0.5), low)
    high = _where(same, operators.add(high, 0.5), high)
    return linspace(low, high, count + 1, dtype=dtype)


def _limits(range: Any) -> tuple[Any, Any]:
    """The lowest and highest edge."""
    is_pair = np.shape(range) == (2,) if not isinstance(range, (list, tuple)) else len(range) == 2
    if not is_pair:
        raise ValueError(f"histogram: range must be None or a pair of scalars, the lowest and the highest edge; got {range!r}")
    low, high = ensure_arrays("histogram_bin_edges", *range)
    if shape_of(low) or shape_of(high):
        raise ValueError(f"histogram: range must be None or a pair of scalars, the lowest and the highest edge; got {range!r}")
    return low, high


def histogram(a: ArrayLike, bins: ArrayLike = 10, range: Sequence | None = None, weights: ArrayLike | None = None,
              density: bool | None = None, out_sharding: Any = None) -> tuple[Array, Array]:
    """How many elements fall into each bin; the last bin includes its right edge.

    Args:
      a: an array.
      bins, range: see `histogram_bin_edges`.
      weights: what each element counts, by default 1.
      density: whether to divide so that the integral over the bins is 1.
      out_sharding: how the counts are split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Returns:
      (counts, edges).

    Raises:
      ValueError: if the weights have another shape than a, or as for `histogram_bin_edges`.

    Example:
      >>> jnp.histogram(jnp.array([1.0, 2.0, 2.5]), bins=2)
      (Array([1., 2.], dtype=float32), Array([1.  , 1.75, 2.5 ], dtype=float32))
    """
    a = ensure_array("histogram", a)
    flat = ravel(a)
    edges = histogram_bin_edges(a, bins, range)
    if weights is None:
        weights = shape_ops.full(flat.shape, 1, dtypes.to_inexact_dtype(dtype_of(flat)))
    else:
        weights = ravel(ensure_array("histogram", weights))
        if weights.shape != flat.shape:
            raise ValueError(f"histogram: weights should have the same shape as a, got {weights.shape} and {flat.shape}")
    counts = _histogram(flat, edges, weights) if out_sharding is None else \
        split_result("histogram", out_sharding, lambda: _histogram(flat, edges, weights))
    if density:
        with config.numpy_dtype_promotion("standard"):  # the dtypes of counts and edges are ours to combine
            counts = operators.true_divide(counts, operators.multiply(diff(edges), reductions.sum(counts)))
    return counts, edges


@fused
def _histogram(flat: ArrayLike, edges: ArrayLike, weights: ArrayLike) -> Array:
    bins = edges.shape[0] - 1
    flat = convert(flat, edges.dtype)
    place = _bin_numbers(flat, edges)
    weights = convert(weights, dtypes.to_inexact_dtype(dtype_of(weights)))
    dims = indexing_ops.ScatterDimensionNumbers((), (0,), (0,))
    return indexing_ops.scatter_add(shape_ops.full((bins,), 0, weights.dtype), shape_ops.expand_dims(place, (1,)), weights, dims,
                                    mode="drop")


def _bin_numbers(values: ArrayLike, edges: ArrayLike) -> Array:
    """The bin of each value, -1 or the number of bins for those outside; the last edge belongs to the last bin."""
    bins = edges.shape[0] - 1
    place = op.sub(searchsorted(edges, values, side="right"), np.int32(1))
    last = slicing_ops.index_in_dim(edges, bins, 0, keepdims=False)
    place = op.select(operators.equal(values, last), shape_ops.full(place.shape, bins - 1, _INT32), place)
    return op.select(op.lt(place, np.int32(0)), shape_ops.full(place.shape, bins, _INT32), place)


def histogram2d(x: ArrayLike, y: ArrayLike, bins: Any = 10, range: Sequence | None = None, weights: ArrayLike | None = None,
                density: bool | None = None) -> tuple[Array, Array, Array]:
    """How many points fall into each bin of a plane.

    Args:
      x, y: the coordinates, vectors of one length.
      bins: a number for both axes, a vector of edges for both, or a pair of these.
      range: a pair of (lowest, highest) edges.
      weights, density: as for `histogram`.

    Returns:
      (counts, edges of x, edges of y).

    Example:
      >>> jnp.histogram2d(jnp.array([0.0, 1.0]), jnp.array([0.0, 1.0]), bins=2)[0]
      Array([[1, 0],
             [0, 1]], dtype=int32)
    """
    x, y = promote_dtypes("histogram2d", x, y)
    if not isinstance(bins, (list, tuple)) and len(shape_of(bins)) == 1:
        bins = [bins, bins]
    elif isinstance(bins, (list, tuple)) and len(bins) not in (1, 2):
        edges = asarray(bins)
        bins = [edges, edges]
    counts, edges_of = histogramdd(stack([x, y], 1), bins, range, weights, density)
    return counts, edges_of[0], edges_of[1]


def histogramdd(sample: ArrayLike, bins: Any = 10, range: Sequence | None = None, weights: ArrayLike | None = None,
                density: bool | None = None) -> tuple[Array, list[Array]]:
    """How many points fall into each bin of a space.

    Args:
      sample: the points, [n, dimensions].
      bins: a number for all dimensions, or one number or vector of edges for each.
      range: (lowest, highest) edges for each dimension, or None for one of them.
      weights, density: as for `histogram`.

    Returns:
      (counts, list of edges).

    Raises:
      ValueError: if sample is not of rank 2; if bins or range do not have one entry for each dimension, or weights not one for each point.

    Example:
      >>> jnp.histogramdd(jnp.ones((3, 2)), bins=1)[0]
      Array([[3]], dtype=int32)
    """
    sample = ensure_array("histogramdd", sample)
    if len(shape_of(sample)) != 2:
        raise ValueError(f"histogramdd: sample must have shape [n, dimensions], got {get_aval(sample).str_short()}")
    sample = as_array(convert(sample, dtypes.to_inexact_dtype(dtype_of(sample))))
    count, dimensions = sample.shape
    if range is not None and len(range) != dimensions:
        raise ValueError(f"histogramdd: for sample.shape={sample.shape}, range must be None or have {dimensions} elements, got "
                         f"{len(range)}")
    per_axis = list(bins) if isinstance(bins, (list, tuple)) else [bins] * dimensions
    if len(per_axis) != dimensions:
        raise ValueError(f"histogramdd: there must be one entry of bins for each of the {dimensions} dimensions, got {len(per_axis)}")
    edges = [histogram_bin_edges(sample[:, i], b, None if range is None else range[i]) for i, b in enumerate(per_axis)]
    if weights is None:
        weights = shape_ops.full((count,), 1, dtypes.scalar_dtype(int))
    elif shape_of(ensure_array("histogramdd", weights)) != (count,):
        raise ValueError(f"histogramdd: should have one weight for each of the {count} samples, got shape {shape_of(weights)}")
    counts = _histogramdd(sample, edges, weights)
    if density:
        with config.numpy_dtype_promotion("standard"):  # as in `histogram`
            counts = operators.true_divide(counts, reductions.sum(counts))
            for i, e in enumerate(edges):
                widths = diff(e)
                shape = tuple(widths.shape[0] if j == i else 1 for j in builtins.range(dimensions))
                counts = operators.true_divide(counts, shape_ops.reshape(widths, shape))
    return counts, edges


@fused
def _histogramdd(sample: Any, edges: Any, weights: Any) -> Any:
    shape = tuple(e.shape[0] - 1 for e in edges)
    columns = [shape_ops.expand_dims(_bin_numbers(sample[:, i], e), (1,)) for i, e in enumerate(edges)]
    places = columns[0] if len(columns) == 1 else shape_ops.concatenate(columns, 1)
    axes = tuple(builtins.range(len(edges)))
    dims = indexing_ops.ScatterDimensionNumbers((), axes, axes)
    return indexing_ops.scatter_add(shape_ops.full(shape, 0, dtype_of(weights)), places, weights, dims, mode="drop")
