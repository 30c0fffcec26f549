"""Quantiles, percentiles and medians: values that given fractions of the elements, weighted or not, do not exceed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.ops import cumulative
from laminax_ir.ops import elementwise as op
from laminax_ir.ops import shape as shape_ops
from laminax_ir.ops import sorting as sorting_ops
from laminax_ir.ops.indexing import GatherScatterMode
from laminax_ir.ops.reduction import reduce_or, reduce_sum
from laminax_ir.ops.scalar_operands import scalar_like
from laminax_ir.ops.slicing import slice_in_dim
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.floor import fused, split_result
from laminax._src.numerics.numpy.arguments import (
    as_array,
    axis_tuple,
    convert,
    dtype_of,
    ensure_array,
    ensure_arrays,
    is_kind,
    shape_of,
    size_scalar,
)
from laminax._src.numerics.numpy.reducing import static_axis
from laminax._src.numerics.numpy.reshaping import moveaxis
from laminax._src.numerics.numpy.taking import _take_along_axis

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

_INT32 = np.dtype(np.int32)
_METHODS = ("linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf")


def _refuse_in_place(name: str, out: Any, overwrite_input: bool) -> None:
    """Raises if NumPy's parameters for results in the memory of others are used."""
    if out is not None or overwrite_input:
        raise ValueError(f"numpy.{name} does not support overwrite_input=True or out != None, because arrays do not change. Leave them "
                         "out, and use the returned array.")


def quantile(a: ArrayLike, q: ArrayLike, axis: int | tuple[int, ...] | None = None, out: None = None, overwrite_input: bool = False,
             method: str = "linear", keepdims: bool = False, *, weights: ArrayLike | None = None) -> Array:
    """The values below which given fractions of the elements lie.

    Args:
      a: an array of real numbers.
      q: the fractions, from 0 to 1.
      axis: the axis or axes; None is all.
      out, overwrite_input: must be None and False: arrays do not change.
      method: what to take between two elements: "linear", "lower", "higher", "midpoint" or "nearest"; or "inverted_cdf", the
        least element such that the fraction of those not above it is at least q.
      keepdims: whether the reduced axes stay, with size 1.
      weights: what each element counts, of a's shape or a vector along the axis, not negative; for "inverted_cdf" only.

    Returns:
      An array of shape [*q.shape, *the other axes]; NaN where an element is.

    Raises:
      ValueError: for another method, complex numbers, weights of another shape, an `out`, or overwrite_input=True.
      NotImplementedError: if weights are given with another method than "inverted_cdf".

    Source for weights: Hyndman and Fan, "Sample Quantiles in Statistical Packages", The American Statistician, 1996, definition 1.

    Example:
      >>> jnp.quantile(jnp.array([1.0, 2.0, 3.0]), 0.5)
      Array(2., dtype=float32)
    """
    _refuse_in_place("quantile", out, overwrite_input)
    return _quantile_of("quantile", a, q, weights, axis, method, keepdims, False, 1.0)


def nanquantile(a: ArrayLike, q: ArrayLike, axis: int | tuple[int, ...] | None = None, out: None = None, overwrite_input: bool = False,
                method: str = "linear", keepdims: bool = False, *, weights: ArrayLike | None = None) -> Array:
    """The values below which given fractions of the elements lie, NaN left out; see `quantile`.

    Example:
      >>> jnp.nanquantile(jnp.array([1.0, jnp.nan, 3.0]), 0.5)
      Array(2., dtype=float32)
    """
    _refuse_in_place("nanquantile", out, overwrite_input)
    return _quantile_of("nanquantile", a, q, weights, axis, method, keepdims, True, 1.0)


def percentile(a: ArrayLike, q: ArrayLike, axis: int | tuple[int, ...] | None = None, out: None = None, overwrite_input: bool = False,
               method: str = "linear", keepdims: bool = False, *, weights: ArrayLike | None = None, out_sharding: Any = None) -> Array:
    """The values below which given percentages of the elements lie; q is from 0 to 100; see `quantile`.

    Example:
      >>> jnp.percentile(jnp.array([1.0, 2.0, 3.0]), 50)
      Array(2., dtype=float32)
    """
    _refuse_in_place("percentile", out, overwrite_input)
    if out_sharding is not None:
        return split_result("percentile", out_sharding, lambda: percentile(a, q, axis, method=method, keepdims=keepdims, weights=weights))
    return _quantile_of("percentile", a, q, weights, axis, method, keepdims, False, 100.0)


def nanpercentile(a: ArrayLike, q: ArrayLike, axis: int | tuple[int, ...] | None = None, out: None = None, overwrite_input: bool = False,
                  method: str = "linear", keepdims: bool = False, *, weights: ArrayLike | None = None) -> Array:
    """The values below which given percentages of the elements lie, NaN left out; see `percentile`.

    Example:
      >>> jnp.nanpercentile(jnp.array([1.0, jnp.nan, 3.0]), 50)
      Array(2., dtype=float32)
    """
    _refuse_in_place("nanpercentile", out, overwrite_input)
    return _quantile_of("nanpercentile", a, q, weights, axis, method, keepdims, True, 100.0)


def median(a: ArrayLike, axis: int | tuple[int, ...] | None = None, out: None = None, overwrite_input: bool = False,
           keepdims: bool = False) -> Array:
    """The middle of the sorted elements, or the mean of the two in the middle; parameters as for `quantile`.

    Example:
      >>> jnp.median(jnp.array([1.0, 9.0, 2.0]))
      Array(2., dtype=float32)
    """
    _refuse_in_place("median", out, overwrite_input)
    return _median(a, axis=static_axis("median", axis), keepdims=bool(keepdims))


@fused(static_argnames=("axis", "keepdims"))
def _median(a: ArrayLike, axis: Any, keepdims: bool) -> Array:
    return _quantile_of("median", a, 0.5, None, axis, "midpoint", keepdims, False, 1.0)


def nanmedian(a: ArrayLike, axis: int | tuple[int, ...] | None = None, out: None = None, overwrite_input: bool = False,
              keepdims: bool = False) -> Array:
    """The median, NaN left out; parameters as for `quantile`.

    Example:
      >>> jnp.nanmedian(jnp.array([1.0, jnp.nan, 3.0]))
      Array(2., dtype=float32)
    """
    _refuse_in_place("nanmedian", out, overwrite_input)
    return _quantile_of("nanmedian", a, 0.5, None, axis, "midpoint", keepdims, True, 1.0)


def _quantile_of(name: str, a: ArrayLike, q: ArrayLike, weights: ArrayLike | None, axis: Any, method: str, keepdims: bool,
                 ignores_nan: bool, whole: float) -> Any:
    return _quantile(a, q, weights, name=name, axis=static_axis(name, axis), method=method, keepdims=bool(keepdims),
                     ignores_nan=ignores_nan, whole=whole)


@fused(static_argnames=("name", "axis", "method", "keepdims", "ignores_nan", "whole"))
def _quantile(a: ArrayLike, q: ArrayLike, weights: ArrayLike | None, name: str, axis: Any, method: str, keepdims: bool, ignores_nan: bool,
              whole: float) -> Array:
    if method not in _METHODS:
        raise ValueError(f"{name}: method can only be one of {_METHODS}, got {method!r}")
    a, q = ensure_arrays(name, a, q)
    for x in (a, q):
        if is_kind(x, dtypes.complexfloating):
            raise ValueError(f"{name}: complex numbers have no order, got {get_aval(x).str_short()}")
    if weights is not None:
        if method != "inverted_cdf":
            raise NotImplementedError(f"{name}: method {method!r} doesn't support weights. Only method 'inverted_cdf' supports weights.")
        weights = _spread_weights(name, ensure_array(name, weights), shape_of(a), axis)
    return _checked_quantile(a, q, weights, name, axis, method, keepdims, ignores_nan, whole)


def _spread_weights(name: str, weights: Any, shape: tuple[int, ...], axis: Any) -> Any:
    """The weights in the shape of the array."""
    if shape_of(weights) == shape:
        return weights
    axes = axis_tuple(name, axis, len(shape))
    if axis is None or len(axes) != 1 or shape_of(weights) != (shape[axes[0]],):
        raise ValueError(f"{name}: weights must have the shape {shape} of a, or with one axis be a vector along it, got "
                         f"{get_aval(weights).str_short()} for axis={axis}")
    return shape_ops.broadcast_in_dim(weights, shape, axes)


def _checked_quantile(a: ArrayLike, q: ArrayLike, weights: ArrayLike | None, name: str, axis: Any, method: str, keepdims: bool,
                      ignores_nan: bool, whole: float) -> Array:
    if len(shape_of(q)) > 1:
        raise ValueError(f"{name}: q must be have rank <= 1, got shape {shape_of(q)}")
    dtype = dtypes.to_inexact_dtype(dtype_of(a))
    work = np.dtype(np.float32) if dtype.itemsize < 4 else dtype
    a, q = convert(a, work), convert(q, work)
    if whole != 1.0:
        q = op.div(q, scalar_like(whole, work))
    shape = shape_of(a)
    axes = axis_tuple(name, axis, len(shape))
    rest = tuple(i for i in range(len(shape)) if i not in axes)
    size = math.prod(shape[i] for i in axes)
    if size == 0:
        raise ValueError(f"{name}: there is no element over the axes {axes} of shape {shape}")
    rest_shape = tuple(shape[i] for i in rest)
    flat, *weights = [shape_ops.reshape(shape_ops.transpose(as_array(x), rest + axes), (*rest_shape, size))
                      for x in ((a,) if weights is None else (a, convert(weights, work)))]
    is_nan = op.ne(flat, flat)
    q_shape = shape_of(q)
    full = (*q_shape, *rest_shape)
    spread = shape_ops.broadcast_to_shape(shape_ops.reshape(as_array(q), (*q_shape, *(1,) * len(rest))), full)
    if ignores_nan:
        count = reduce_sum(convert(op.bitwise_not(is_nan), work), (len(rest),))
        last = shape_ops.expand_dims(op.sub(count, scalar_like(1.0, work)), tuple(range(len(q_shape))))
        is_bad = shape_ops.broadcast_to_shape(op.lt(last, scalar_like(0.0, work)), full)
    else:
        last = size_scalar(size - 1, work)
        is_bad = shape_ops.broadcast_to_shape(reduce_or(is_nan, (len(rest),)), full)
    if weights:
        result = _weighted(flat, weights[0], is_nan, spread, len(q_shape))
    else:
        result = _between(sorting_ops.sort(flat, len(rest)), spread, last, method, len(q_shape))  # NaN last
    result = op.select(is_bad, shape_ops.full(full, math.nan, work), result)
    if keepdims:
        result = shape_ops.expand_dims(result, tuple(len(q_shape) + i for i in sorted(axes)))
    return convert(result, dtype)


def _between(ordered: ArrayLike, q: ArrayLike, last: ArrayLike, method: str, q_rank: int) -> Array:
    """Values of the sorted vectors at the fractions q of their lengths, `last` being the place of the last element."""
    work = dtype_of(ordered)
    zero, half, one = (scalar_like(value, work) for value in (0.0, 0.5, 1.0))
    at = lambda place: _at(ordered, convert(op.max(op.min(op.max(place, zero), last), zero), _INT32), q_rank)  # noqa: E731
    if method == "inverted_cdf":
        return at(op.sub(op.ceil(op.mul(q, op.add(last, one))), one))
    position = op.mul(q, last)
    low = op.floor(position)
    weight = op.sub(position, low)
    below, above = at(low), at(op.ceil(position))
    if method == "linear":
        return op.add(op.mul(below, op.sub(one, weight)), op.mul(above, weight))
    if method == "midpoint":
        return op.mul(op.add(below, above), half)
    if method == "nearest":
        return op.select(op.le(weight, half), below, above)
    return below if method == "lower" else above


def _weighted(flat: ArrayLike, weights: ArrayLike, is_nan: ArrayLike, q: ArrayLike, q_rank: int) -> Array:
    """The first of the sorted elements up to which the weights are at least the fraction q of their sum."""
    axis = len(flat.shape) - 1
    zero = scalar_like(0.0, dtype_of(flat))
    weights = op.select(is_nan, shape_ops.full_like(weights, 0), weights)
    ordered, weights = sorting_ops.sort((flat, weights), axis, True, num_keys=1)
    sums = shape_ops.expand_dims(cumulative.cumsum(weights, axis), tuple(range(q_rank)))  # [*(1 for q), *rest, n]
    goal = op.mul(shape_ops.expand_dims(q, (len(q.shape),)), slice_in_dim(sums, -1, None, 1, len(q.shape)))
    passed = op.bitwise_or(op.lt(sums, goal), op.le(sums, zero))  # an element without weight is no candidate, for q = 0 too
    place = reduce_sum(convert(passed, _INT32), (len(q.shape),))
    return _at(ordered, op.min(place, scalar_like(flat.shape[-1] - 1, _INT32)), q_rank)


def _at(ordered: ArrayLike, places: ArrayLike, q_rank: int) -> Array:
    """Elements of the last axis at places of shape [*q, *rest]."""
    rank = len(ordered.shape) - 1
    if q_rank:
        last = moveaxis(places, tuple(range(q_rank)), tuple(range(rank, rank + q_rank)))
        found = _take_along_axis(ordered, last, rank, GatherScatterMode.PROMISE_IN_BOUNDS, None, False)
        return moveaxis(found, tuple(range(rank, rank + q_rank)), tuple(range(q_rank)))
    found = _take_along_axis(ordered, shape_ops.expand_dims(places, (rank,)), rank, GatherScatterMode.PROMISE_IN_BOUNDS, None, False)
    return shape_ops.squeeze(found, (rank,))
