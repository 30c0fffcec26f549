"""Samplers of distributions with parameters, elementwise over a shape, made of uniform, exponential or normal samples.

The order of the arithmetic is part of the contract: it decides the last bits, which are those of JAX.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from laminax_ir.ops import elementwise as e
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.floor import fused, split_result, takes_out_sharding
from laminax._src.numerics.random.arguments import (
    checked_dtype,
    converted,
    shape_of_parameters,
    to_rank,
    to_shape,
)
from laminax._src.numerics.random.keys import typed_key
from laminax._src.numerics.random.samplers import normal_real, sample_exponential, unit_uniform

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike, DTypeLike

_STATIC = ("shape", "dtype")


def _with_parameters(name: str, typed: Any, parameters: Sequence[Any], shape: Any, dtype: Any, out_sharding: Any, run: Callable) -> Any:
    checked = checked_dtype(name, dtype)
    if out_sharding is not None:
        return split_result(name, out_sharding, lambda: _with_parameters(name, typed, parameters, shape, dtype, None, run))
    full = shape_of_parameters(name, shape, *parameters)
    return run(typed, *[converted(p, checked) for p in parameters], shape=full, dtype=checked)


def pareto(key: ArrayLike, b: ArrayLike, shape: Sequence[int] | None = None, dtype: DTypeLike | None = None, *,
           out_sharding: Any = None) -> Array:
    """Samples of the Pareto distribution, with density b / x**(b + 1) on x >= 1.

    Args:
      key: a key, typed or raw.
      b: the positive exponent, broadcast to the shape.
      shape: the result's shape; by default that of b.
      dtype: a float dtype.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Example:
      >>> random.pareto(random.key(0), 3.0, (3,)) >= 1
      Array([ True,  True,  True], dtype=bool)
    """
    return _with_parameters("pareto", typed_key("pareto", key), [b], shape, dtype, out_sharding, _pareto)


@fused(static_argnames=_STATIC)
def _pareto(key: ArrayLike, b: ArrayLike, *, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    return e.exp(e.div(sample_exponential(key, shape, dtype), to_rank(b, len(shape))))


def lognormal(key: ArrayLike, sigma: ArrayLike = np.float32(1), shape: Sequence[int] | None = None, dtype: DTypeLike | None = None, *,
              out_sharding: Any = None) -> Array:
    """Samples of exp(sigma * z), z standard normal.

    Args:
      key: a key, typed or raw.
      sigma: the standard deviation of the logarithm, broadcast to the shape.
      shape: the result's shape; by default that of sigma.
      dtype: a float dtype.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Example:
      >>> random.lognormal(random.key(0), shape=(2,)) > 0
      Array([ True,  True], dtype=bool)
    """
    return _with_parameters("lognormal", typed_key("lognormal", key), [sigma], shape, dtype, out_sharding, _lognormal)


@fused(static_argnames=_STATIC)
def _lognormal(key: ArrayLike, sigma: ArrayLike, *, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    return e.exp(e.mul(normal_real(key, shape, dtype), to_rank(sigma, len(shape))))


def rayleigh(key: ArrayLike, scale: ArrayLike, shape: Sequence[int] | None = None, dtype: DTypeLike | None = None, *,
             out_sharding: Any = None) -> Array:
    """Samples of the Rayleigh distribution, with density x exp(-x²/2) for scale 1.

    Args:
      key: a key, typed or raw.
      scale: a positive factor, broadcast to the shape.
      shape: the result's shape; by default that of scale.
      dtype: a float dtype.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Example:
      >>> random.rayleigh(random.key(0), 1.0, (2,)).shape
      (2,)
    """
    return _with_parameters("rayleigh", typed_key("rayleigh", key), [scale], shape, dtype, out_sharding, _rayleigh)


@fused(static_argnames=_STATIC)
def _rayleigh(key: ArrayLike, scale: ArrayLike, *, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    root = e.sqrt(e.mul(e.log(unit_uniform(key, shape, dtype)), np.array(-2, dtype)[()]))
    return e.mul(to_shape(scale, shape), root)


def weibull_min(key: ArrayLike, scale: ArrayLike, concentration: ArrayLike, shape: Sequence[int] = (), dtype: DTypeLike | None = None, *,
                out_sharding: Any = None) -> Array:
    """Samples of the Weibull distribution: scale * E**(1/concentration), E exponential.

    Args:
      key: a key, typed or raw.
      scale: a positive factor, broadcast to the shape.
      concentration: the positive shape parameter.
      shape: the result's shape.
      dtype: a float dtype.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Example:
      >>> random.weibull_min(random.key(0), 1.0, 2.0, (2,)).shape
      (2,)
    """
    return _with_parameters("weibull_min", typed_key("weibull_min", key), [scale, concentration], shape, dtype, out_sharding,
                            _weibull_min)


@fused(static_argnames=_STATIC)
def _weibull_min(key: ArrayLike, scale: ArrayLike, concentration: ArrayLike, *, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    scale, concentration = to_rank(scale, len(shape)), to_rank(concentration, len(shape))
    return e.mul(e.pow(sample_exponential(key, shape, dtype), e.div(np.array(1, dtype)[()], concentration)), scale)


def triangular(key: ArrayLike, left: ArrayLike, mode: ArrayLike, right: ArrayLike, shape: Sequence[int] | None = None,
               dtype: DTypeLike | None = None, *,
               out_sharding: Any = None) -> Array:
    """Samples of the triangular distribution: the density rises from `left` to `mode` and falls to `right`.

    Args:
      key: a key, typed or raw.
      left, mode, right: broadcast to the shape.
      shape: the result's shape; by default their common one.
      dtype: a float dtype.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Example:
      >>> random.triangular(random.key(0), 0.0, 0.5, 1.0, (2,)).shape
      (2,)
    """
    return _with_parameters("triangular", typed_key("triangular", key), [left, mode, right], shape, dtype, out_sharding,
                            _triangular)


@fused(static_argnames=_STATIC)
def _triangular(key: ArrayLike, left: ArrayLike, mode: ArrayLike, right: ArrayLike, *, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    left, mode, right = (to_shape(x, shape) for x in (left, mode, right))
    width = e.sub(right, left)
    u = unit_uniform(key, shape, dtype)
    rising = e.add(left, e.sqrt(e.mul(e.mul(u, width), e.sub(mode, left))))
    falling = e.sub(right, e.sqrt(e.mul(e.mul(e.sub(np.array(1, dtype)[()], u), width), e.sub(right, mode))))
    return e.select(e.lt(u, e.div(e.sub(mode, left), width)), rising, falling)


@takes_out_sharding
def geometric(key: ArrayLike, p: ArrayLike, shape: Sequence[int] | None = None, dtype: DTypeLike | None = None, *,
              out_sharding: Any = None) -> Array:
    """Numbers of trials up to the first success, of probability p each.

    Args:
      key: a key, typed or raw.
      p: floating probabilities, broadcast to the shape.
      shape: the result's shape; by default that of p.
      dtype: an integer dtype; int32 by default, int64 in x64 mode.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Example:
      >>> random.geometric(random.key(0), 0.5, (10000,)).mean().round(1)
      Array(2., dtype=float32)
    """
    typed = typed_key("geometric", key)
    dtype = checked_dtype("geometric", dtype, dtypes.integer, int)
    p = converted(p, dtypes.to_inexact_dtype(get_aval(p).dtype))
    return _geometric(typed, p, shape=shape_of_parameters("geometric", shape, p), dtype=dtype)


@fused(static_argnames=_STATIC)
def _geometric(key: ArrayLike, p: ArrayLike, *, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    real = get_aval(p).dtype
    one = np.array(1, real)[()]
    u = unit_uniform(key, shape, real)
    u = e.select(e.eq(u, np.array(0, real)[()]), to_shape(one, shape), u)
    log_failure = to_shape(e.log1p(e.neg(p)), shape)
    return e.convert_element_type(e.add(e.floor(e.div(e.log(u), log_failure)), one), dtype)
