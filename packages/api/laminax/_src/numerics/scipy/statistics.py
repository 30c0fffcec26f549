"""Statistics of samples along an axis, as in `scipy.stats`."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any, NamedTuple

from laminax_ir.ops.cumulative import cummax
from laminax_ir.types import dtypes

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.numpy.arguments import dtype_of, ensure_array, inexact, one_axis, positions, shape_of

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

_NAN_POLICIES = ("propagate", "omit", "raise")


class ModeResult(NamedTuple):
    """The most frequent values, and how often they occur."""
    mode: Any
    count: Any


def _check_nan_policy(name: str, nan_policy: str, *supported: str) -> None:
    if nan_policy not in _NAN_POLICIES:
        raise ValueError(f"{name}: nan_policy must be one of {', '.join(map(repr, _NAN_POLICIES))}, got {nan_policy!r}")
    if nan_policy not in supported:
        raise NotImplementedError(f"{name}: nan_policy={nan_policy!r} is not supported, only {', '.join(map(repr, supported))}. Whether "
                                  "there are NaNs is not known while a function is traced; look for them before.")


def mode(a: ArrayLike, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False) -> ModeResult:
    """The most frequent value along an axis, the least of them where several are.

    Args:
      a: an array.
      axis: the axis; None for the flat array.
      nan_policy: must be "propagate": NaNs differ from each other.
      keepdims: whether the axis stays, with size 1.

    Returns:
      The values, of a's dtype, and their counts, integers; NaN and 0 along an empty axis.

    Raises:
      ValueError: for an unknown policy.
      NotImplementedError: for the policies "omit" and "raise".

    Example:
      >>> value, count = mode(jnp.array([1, 3, 3, 2, 2]))
      >>> value, count
      (Array(2, dtype=int32), Array(2, dtype=int32))
    """
    _check_nan_policy("mode", nan_policy, "propagate")
    return ModeResult(*_mode(ensure_array("mode", a), axis=None if axis is None else operator.index(axis), keepdims=bool(keepdims)))


@fused(static_argnames=("axis", "keepdims"))
def _mode(a: ArrayLike, axis: int | None, keepdims: bool) -> tuple[Array, Array]:
    rank = max(len(shape_of(a)), 1)
    a = jnp.atleast_1d(a) if axis is not None else jnp.ravel(a)
    x = jnp.moveaxis(a, 0 if axis is None else one_axis("mode", axis, rank), -1)
    if not x.shape[-1]:
        empty = jnp.full(x.shape[:-1], math.nan, dtypes.to_inexact_dtype(x.dtype))
        value, count = empty, jnp.zeros_like(empty)
    else:
        x = jnp.sort(x, axis=-1)
        places = positions(x.shape[-1])
        is_first = jnp.concatenate([jnp.ones_like(x[..., :1], dtype=bool), x[..., 1:] != x[..., :-1]], axis=-1)
        places = jnp.broadcast_to(places, x.shape)
        start = cummax(jnp.where(is_first, places, 0), x.ndim - 1)
        length = places - start + 1  # of the run of equal values up to each place
        best = jnp.argmax(length, axis=-1)[..., None]
        value, count = (jnp.take_along_axis(v, best, axis=-1)[..., 0] for v in (x, length))
    if keepdims:
        shape = (1,) * rank if axis is None else None
        value, count = ((jnp.reshape(v, shape) if shape else jnp.expand_dims(v, axis)) for v in (value, count))
    return value, count


def rankdata(a: ArrayLike, method: str = "average", *, axis: int | None = None, nan_policy: str = "propagate") -> Array:
    """Ranks of the elements along an axis, from 1.

    Args:
      a: an array.
      method: what equal elements get: the "average", "min" or "max" of their ranks; "dense", where the next element's is
        one more; or "ordinal", in which they have their own, in order.
      axis: the axis; None for the flat array.
      nan_policy: must be "propagate": with a NaN, all ranks are NaN.

    Returns:
      A float array of a's shape, or of one axis.

    Raises:
      ValueError: for an unknown method or policy.
      NotImplementedError: for the policies "omit" and "raise".

    Example:
      >>> rankdata(jnp.array([10, 30, 20, 20]))
      Array([1. , 4. , 2.5, 2.5], dtype=float32)
    """
    _check_nan_policy("rankdata", nan_policy, "propagate")
    if method not in ("average", "min", "max", "dense", "ordinal"):
        raise ValueError(f"rankdata: method must be 'average', 'min', 'max', 'dense' or 'ordinal', got {method!r}")
    return _rankdata(ensure_array("rankdata", a), method=method, axis=axis)


@fused(static_argnames=("method", "axis"))
def _rankdata(a: ArrayLike, method: str, axis: int | None) -> Array:
    x = jnp.ravel(a) if axis is None else jnp.moveaxis(a, axis, -1)
    ranks = (jnp.vectorize(lambda v: _ranks(v, method), signature="(n)->(n)")(x) if x.size
             else jnp.zeros(x.shape, dtypes.scalar_dtype(float)))
    return ranks if axis is None else jnp.moveaxis(ranks, -1, axis)


def _ranks(x: ArrayLike, method: str) -> Array:
    order = jnp.argsort(x)
    inverse = jnp.argsort(order)
    dtype = dtypes.scalar_dtype(float)
    if method == "ordinal":
        ranks = inverse + 1
    else:
        ordered = x[order]
        is_first = jnp.concatenate([jnp.ones(1, bool), ordered[1:] != ordered[:-1]])
        dense = jnp.cumsum(is_first)[inverse]
        if method == "dense":
            ranks = dense
        else:
            firsts = jnp.nonzero(is_first, size=x.shape[0] + 1, fill_value=x.shape[0])[0]  # where each run starts, and the last ends
            low, high = firsts[dense - 1] + 1, firsts[dense]
            ranks = {"min": low, "max": high}[method] if method != "average" else (low.astype(dtype) + high.astype(dtype)) / 2
    ranks = ranks.astype(dtype)
    if dtypes.issubdtype(dtype_of(x), dtypes.inexact):
        ranks = jnp.where(jnp.any(jnp.isnan(x)), jnp.full_like(ranks, math.nan), ranks)
    return ranks


def sem(a: ArrayLike, axis: int | None = 0, ddof: int = 1, nan_policy: str = "propagate", *, keepdims: bool = False) -> Array:
    """Standard error of the mean along an axis: the standard deviation over the root of the number of elements.

    Args:
      a: an array.
      axis: the axis; None for the flat array.
      ddof: what the number of elements is reduced by in the variance.
      nan_policy: "propagate", or "omit", which leaves NaNs out.
      keepdims: whether the axis stays, with size 1.

    Returns:
      A float array.

    Raises:
      ValueError: for another policy.

    Example:
      >>> sem(jnp.array([1., 2., 3., 6.]))
      Array(1.0801234, dtype=float32)
    """
    if nan_policy not in ("propagate", "omit"):
        raise ValueError(f"sem: nan_policy must be 'propagate' or 'omit', got {nan_policy!r}")
    return _sem(a, axis=axis, ddof=ddof, nan_policy=nan_policy, keepdims=bool(keepdims))


@fused(static_argnames=("axis", "ddof", "nan_policy", "keepdims"))
def _sem(a: ArrayLike, axis: int | None, ddof: int, nan_policy: str, keepdims: bool) -> Array:
    a = jnp.asarray(inexact("sem", a))
    if nan_policy == "propagate":
        return jnp.std(a, axis, ddof=ddof, keepdims=keepdims) / math.sqrt(a.size if axis is None else a.shape[axis])
    count = jnp.sum(~jnp.isnan(a), axis, keepdims=keepdims)
    return jnp.nanstd(a, axis, ddof=ddof, keepdims=keepdims) / jnp.sqrt(count.astype(a.dtype))
