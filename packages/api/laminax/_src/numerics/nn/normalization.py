"""Means of exponentials, softmax, standardisation, one-hot codes."""

from __future__ import annotations

import operator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.ops.elementwise import rsqrt
from laminax_ir.options import config
from laminax_ir.tracing.user_warnings import warn_at_user
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval
from laminax_ir.types.errors import ShapeError, ShardingTypeError
from laminax_transforms import custom_jvp, stop_gradient

from laminax._src.numerics.floor import fused, split_result
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.numpy.arguments import concrete_int, inexact, user_dtype
from laminax._src.numerics.numpy.logarithmic_sums import logsumexp
from laminax._src.numerics.splits import entries_asked_for

if TYPE_CHECKING:
    from laminax_ir.symbolic.symbolic_dims import SymbolicDim
    from laminax_ir.types.annotations import Array, ArrayLike, DTypeLike


def logmeanexp(x: ArrayLike, axis: Any = None, where: ArrayLike | None = None, keepdims: bool = False) -> Array:
    """log(mean(exp(x))): logsumexp minus the logarithm of the number of elements. Arguments as there.

    Example:
      >>> nn.logmeanexp(jnp.array([100.0, 100.0]))
      Array(100., dtype=float32)
    """
    total = logsumexp(x, axis=axis, where=where, keepdims=keepdims)
    count = jnp.sum(jnp.ones_like(x, dtype=total.dtype), axis=axis, where=where, keepdims=keepdims)
    return total - jnp.log(count)


def softmax(x: ArrayLike, axis: int | tuple[int, ...] | None = -1, where: Array | None = None) -> Array:
    """exp(x) / sum(exp(x)) along an axis, without overflow.

    Args:
      x: an array.
      axis: the axis or axes that the result sums to 1 along.
      where: bool mask; elements left out get 0, also where that is all of them.

    Example:
      >>> nn.softmax(jnp.array([[0.0, 0.0], [0.0, 100.0]]))
      Array([[0.5, 0.5],
             [0. , 1. ]], dtype=float32)
    """
    axis = tuple(axis) if isinstance(axis, list) else axis
    return _softmax(x, where, axis=axis)


@fused(static_argnames=("axis",))
def _softmax(x: ArrayLike, where: Any, *, axis: Any) -> Array:
    if config.softmax_custom_jvp.value:
        return _softmax_by_rule(axis, jnp.asarray(inexact("softmax", x)), where)
    return _plain_softmax(axis, jnp.asarray(inexact("softmax", x)), where)


def _plain_softmax(axis: Any, x: Any, where: Any) -> Any:
    _, exponentials, total = _shifted_and_sum(x, where, axis)
    return exponentials / total


def _shifted_and_sum(x: Any, where: Any, axis: Any) -> tuple[Any, ...]:
    """x less its largest element, the exponentials of that, and their sum. What `where` leaves out is -inf, whose exponential and the
    derivative of that are 0; where it leaves out everything the sum is 1, since the derivatives of division and logarithm need a sum."""
    if where is not None:
        x = jnp.where(where, x, -jnp.inf)
        has_any = jnp.any(jnp.broadcast_to(where, x.shape), axis, keepdims=True)
    # -inf is the largest of no elements; asking for it beside others would cost an operation
    largest = jnp.max(stop_gradient(x), axis, keepdims=True, initial=None if x.size else -jnp.inf)
    shifted = x - (largest if where is None else jnp.where(has_any, largest, 0))
    exponentials = jnp.exp(shifted)
    total = jnp.sum(exponentials, axis, keepdims=True)
    return shifted, exponentials, total if where is None else jnp.where(has_any, total, 1)


@partial(custom_jvp, nondiff_argnums=(0,))
def _softmax_by_rule(axis: int, x: Any, where: Array | None) -> Any:
    return _plain_softmax(axis, x, where)


@_softmax_by_rule.defjvp
def _softmax_jvp(axis: int, primals: tuple[Array | None, ...], tangents: tuple[Any, ...]) -> tuple[Array, Array]:
    """The derivative needs the result y only: y * (x_dot - sum(y * x_dot))."""
    (x, where), (x_dot, _) = primals, tangents
    y = _softmax_by_rule(axis, x, where)
    return y, y * (x_dot - (y * x_dot).sum(axis, where=where, keepdims=True))


def log_softmax(x: ArrayLike, axis: int | tuple[int, ...] | None = -1, where: Array | None = None) -> Array:
    """Logarithm of softmax, computed as x - logsumexp(x). Elements left out by `where` get -inf.

    Example:
      >>> nn.log_softmax(jnp.array([0.0, 0.0, 100.0]))
      Array([-100., -100.,    0.], dtype=float32)
    """
    axis = tuple(axis) if isinstance(axis, list) else axis
    return _log_softmax(x, where, axis=axis)


@fused(static_argnames=("axis",))
def _log_softmax(x: ArrayLike, where: Any, *, axis: Any) -> Array:
    x = jnp.asarray(inexact("log_softmax", x))
    shifted, _, total = _shifted_and_sum(x, where, axis)
    return shifted - jnp.log(total)


@fused(static_argnames=("axis", "algorithm"))
def standardize(x: ArrayLike, axis: int | tuple[int, ...] | None = -1, mean: ArrayLike | None = None, variance: ArrayLike | None = None,
                epsilon: ArrayLike = 1e-5, where: ArrayLike | None = None, *, algorithm: str = "fast") -> Array:
    """(x - mean) / sqrt(variance + epsilon) along an axis; mean and variance are computed unless given.

    Args:
      x: an array.
      axis: the axis, axes, or None for all, along which the result has mean 0 and variance 1.
      mean, variance: if given, these are used, not those of x.
      epsilon: added to the variance, against division by zero.
      where: a mask of the elements that count for mean and variance.
      algorithm: of the variance: "fast" is mean(x**2) - mean(x)**2, one pass over x, which loses digits where the mean is large
        beside the deviation; "stable" is mean((x - mean)**2).

    Raises:
      ValueError: for another algorithm.

    Example:
      >>> nn.standardize(jnp.array([1.0, 2.0, 3.0]))
      Array([-1.2247356,  0.       ,  1.2247356], dtype=float32)
    """
    if algorithm not in ("fast", "stable"):
        raise ValueError(f"standardize: Unknown algorithm {algorithm!r}. Expected 'fast' or 'stable'.")
    x = jnp.asarray(inexact("standardize", x))
    if mean is None:
        mean = jnp.mean(x, axis, keepdims=True, where=where)
    if variance is None and algorithm == "stable":
        variance = jnp.mean(jnp.square(jnp.subtract(x, mean)), axis, keepdims=True, where=where)
    elif variance is None:
        # rounding may give less than 0, which a small epsilon does not make up for
        variance = jnp.maximum(jnp.mean(jnp.square(x), axis, keepdims=True, where=where) - jnp.square(mean), 0)
    return jnp.subtract(x, mean) * rsqrt(jnp.asarray(variance + epsilon))


def one_hot(x: ArrayLike, num_classes: int, *, dtype: DTypeLike | None = None, axis: int = -1, out_sharding: Any = None) -> Array:
    """One-hot codes of integers.

    Args:
      x: an integer array; indices outside [0, num_classes) give zeros. Floating indices are deprecated.
      num_classes: the size of the new axis.
      dtype: of the result; float by default.
      axis: where the new axis is put.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Returns:
      An array of x's shape with one axis more, of size num_classes.

    Raises:
      ShapeError: if num_classes is negative.
      ShardingTypeError: if out_sharding splits the axes of x otherwise than x is split.
      ConcretizationTypeError: if it is traced.

    Example:
      >>> nn.one_hot(jnp.array([2, 0]), 3)
      Array([[0., 0., 1.],
             [1., 0., 0.]], dtype=float32)
    """
    if out_sharding is not None:
        _check_split_as_indices(x, out_sharding, operator.index(axis))
        return split_result("one_hot", out_sharding, lambda: one_hot(x, num_classes, dtype=dtype, axis=axis))
    num_classes = concrete_int("one_hot", "the number in jax.nn.one_hot argument `num_classes`", num_classes)
    if isinstance(num_classes, int) and num_classes < 0:
        raise ShapeError(f"one_hot: num_classes must be 0 or more, got {num_classes}, which is no size of an axis")
    x = x if hasattr(x, "dtype") else jnp.asarray(x)
    if not dtypes.issubdtype(x.dtype, dtypes.integer):
        warn_at_user(f"jax.nn.one_hot input should be integer-typed; got dtype={x.dtype}. Other indices are deprecated: convert them "
                     "with x.astype(int).", DeprecationWarning)
    return _one_hot(x, num_classes=num_classes, dtype=user_dtype("one_hot", float if dtype is None else dtype), axis=operator.index(axis))


def _check_split_as_indices(x: ArrayLike, out_sharding: Any, axis: int) -> None:
    """Raises ShardingTypeError unless `out_sharding` splits the indices' axes of the result of `one_hot` as the indices are split."""
    aval = get_aval(x if hasattr(x, "dtype") else jnp.asarray(x))
    entries = None if aval._split is None else aval._split.spec.partitions
    asked = list(entries_asked_for(out_sharding, aval.ndim + 1))
    del asked[axis:axis + 1 or None]  # an axis that is out of range is refused later
    if entries is not None and tuple(asked) != entries:
        raise ShardingTypeError("one_hot: The input part of spec in out_sharding should match the spec of `x`. Got x of type "
                                f"{aval.str_short()} and {out_sharding}, in which it is {tuple(asked)}. "
                                "Use reshard on x or on the result.")


@fused(static_argnames=("num_classes", "dtype", "axis"))
def _one_hot(x: ArrayLike, *, num_classes: SymbolicDim | int, dtype: np.dtype, axis: int) -> Array:
    x = jnp.asarray(x)
    ndim = x.ndim + 1
    if not -ndim <= axis < ndim:
        raise ValueError(f"one_hot: axis {axis} is out of range for a result with {ndim} axes")
    axis %= ndim
    if dtypes.issubdtype(x.dtype, dtypes.integer) and _may_exceed(num_classes, x.dtype):
        x = x.astype(np.int32)  # all the classes' numbers in the dtype would not differ
    classes = jnp.arange(num_classes, dtype=x.dtype).reshape([num_classes if i == axis else 1 for i in range(ndim)])
    return jnp.asarray(jnp.expand_dims(x, axis) == classes, dtype=dtype)


def _may_exceed(num_classes: SymbolicDim | int, dtype: np.dtype) -> bool:
    """Whether the number of the last class may be too large for the dtype."""
    if isinstance(num_classes, int):
        return num_classes - 1 > dtypes.iinfo(dtype).max
    return dtype.itemsize < 4  # a size that is an expression


__all__ = ["log_softmax", "logmeanexp", "one_hot", "softmax", "standardize"]
