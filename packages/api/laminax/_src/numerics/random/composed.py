"""Samplers made of several others: balls, ratios, orthogonal matrices.

The order in which keys are split is part of the contract: it decides the samples, which are those of JAX.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

from laminax_ir.symbolic.symbolic_dims import max_dim, min_dim, size_of
from laminax_ir.types import dtypes

from laminax._src.numerics.floor import fused, takes_out_sharding
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.numpy.linalg import factorizations
from laminax._src.numerics.random.arguments import checked_dtype, checked_shape, converted, shape_of_parameters, to_shape
from laminax._src.numerics.random.gamma import chisquare, gamma
from laminax._src.numerics.random.keys import split_typed, typed_key
from laminax._src.numerics.random.samplers import exponential, maxwell, normal, rademacher, uniform

if TYPE_CHECKING:
    import numpy as np

    from laminax_ir.types.annotations import Array, ArrayLike, DTypeLike


@takes_out_sharding
def generalized_normal(key: ArrayLike, p: float, shape: Sequence[int] = (), dtype: DTypeLike | None = None, *,
                       out_sharding: Any = None) -> Array:
    """Samples of the generalised normal distribution, with density proportional to exp(-|x|**p).

    Args:
      key: a key, typed or raw.
      p: the positive exponent.
      shape: the result's shape.
      dtype: a float dtype; float32 by default, float64 in x64 mode.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Example:
      >>> random.generalized_normal(random.key(0), 2.0, (2,)).shape
      (2,)
    """
    typed = typed_key("generalized_normal", key)
    return _generalized_normal(typed, p, shape=checked_shape("generalized_normal", shape), dtype=checked_dtype("generalized_normal", dtype))


@fused(static_argnames=("shape", "dtype"))
def _generalized_normal(key: ArrayLike, p: ArrayLike, *, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    sizes, signs = split_typed(key)
    return rademacher(signs, shape, dtype) * gamma(sizes, 1 / p, shape, dtype) ** (1 / p)


@takes_out_sharding
def ball(key: ArrayLike, d: int, p: float = 2, shape: Sequence[int] = (), dtype: DTypeLike | None = None, *,
         out_sharding: Any = None) -> Array:
    """Uniform samples of the ball of radius 1 in the p-norm.

    Args:
      key: a key, typed or raw.
      d: the number of dimensions.
      p: the positive exponent of the norm.
      shape: the shape of the batch.
      dtype: a float dtype; float32 by default, float64 in x64 mode.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Returns:
      [*shape, d].

    Example:
      >>> jnp.linalg.norm(random.ball(random.key(0), 3)) <= 1
      Array(True, dtype=bool)
    """
    typed = typed_key("ball", key)
    return _ball(typed, p, d=size_of(d), shape=checked_shape("ball", shape), dtype=checked_dtype("ball", dtype))


@fused(static_argnames=("d", "shape", "dtype"))
def _ball(key: ArrayLike, p: ArrayLike, *, d: int, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    directions, radii = split_typed(key)
    g = _generalized_normal(directions, p, shape=(*shape, d), dtype=dtype)
    e = exponential(radii, shape, dtype)
    return g / ((jnp.sum(jnp.abs(g) ** p, axis=-1) + e) ** (1 / p))[..., None]


def double_sided_maxwell(key: ArrayLike, loc: ArrayLike, scale: ArrayLike, shape: Sequence[int] = (),
                         dtype: DTypeLike | None = None) -> Array:
    """Samples of the Maxwell distribution with a random sign, stretched by `scale` and shifted by `loc`.

    Args:
      key: a key, typed or raw.
      loc, scale: parameters that broadcast against each other.
      shape: the shape in front of that of the parameters, if one is wanted.
      dtype: a float dtype; float32 by default, float64 in x64 mode.

    Returns:
      [*shape, *parameters]; without a shape, twice that of the parameters, as JAX has it.

    Example:
      >>> random.double_sided_maxwell(random.key(0), 0.0, 1.0, (2,)).shape
      (2,)
    """
    typed = typed_key("double_sided_maxwell", key)
    dtype = checked_dtype("double_sided_maxwell", dtype)
    parameters = shape_of_parameters("double_sided_maxwell", None, loc, scale)
    shape = checked_shape("double_sided_maxwell", shape) or parameters
    return _double_sided_maxwell(typed, converted(loc, dtype), converted(scale, dtype), shape=shape + parameters, dtype=dtype)


@fused(static_argnames=("shape", "dtype"))
def _double_sided_maxwell(key: ArrayLike, loc: ArrayLike, scale: ArrayLike, *, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    lengths, signs = split_typed(key)
    return rademacher(signs, shape, dtype) * maxwell(lengths, shape, dtype) * scale + loc


@takes_out_sharding
def f(key: ArrayLike, dfnum: ArrayLike, dfden: ArrayLike, shape: Sequence[int] | None = None, dtype: DTypeLike | None = None, *,
      out_sharding: Any = None) -> Array:
    """Samples of the F distribution, the ratio of two chi-squared ones over their degrees of freedom.

    Args:
      key: a key, typed or raw.
      dfnum: the positive degrees of freedom of the numerator.
      dfden: those of the denominator.
      shape: the result's shape; by default that of the parameters.
      dtype: a float dtype; float32 by default, float64 in x64 mode.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Example:
      >>> random.f(random.key(0), 3.0, 5.0, (2,)).shape
      (2,)
    """
    typed = typed_key("f", key)
    dtype = checked_dtype("f", dtype)
    shape = shape_of_parameters("f", shape, dfnum, dfden)
    return _f(typed, converted(dfnum, dtype), converted(dfden, dtype), shape=shape, dtype=dtype)


@fused(static_argnames=("shape", "dtype"))
def _f(key: ArrayLike, dfnum: ArrayLike, dfden: ArrayLike, *, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    below, above = split_typed(key)
    dfnum, dfden = to_shape(dfnum, shape), to_shape(dfden, shape)
    return (chisquare(above, dfnum, shape, dtype) / dfnum) / (chisquare(below, dfden, shape, dtype) / dfden)


@takes_out_sharding
def orthogonal(key: ArrayLike, n: int, shape: Sequence[int] = (), dtype: DTypeLike | None = None, m: int | None = None, *,
               out_sharding: Any = None) -> Array:
    """Uniform samples of matrices with orthonormal rows or columns.

    Args:
      key: a key, typed or raw.
      n: the number of rows.
      shape: the shape of the batch.
      dtype: a float or complex dtype; float32 by default, float64 in x64 mode.
      m: the number of columns; by default n.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Returns:
      [*shape, n, m].

    Example:
      >>> q = random.orthogonal(random.key(0), 3)
      >>> jnp.allclose(q @ q.T, jnp.eye(3), atol=1e-5)
      Array(True, dtype=bool)

    Source: F. Mezzadri, "How to Generate Random Matrices from the Classical Compact Groups", Notices of the AMS 54 (2007).
    """
    typed = typed_key("orthogonal", key)
    dtype = checked_dtype("orthogonal", dtype, dtypes.inexact)
    n = size_of(n)
    return _orthogonal(typed, n=n, m=n if m is None else size_of(m), shape=checked_shape("orthogonal", shape), dtype=dtype)


@fused(static_argnames=("n", "m", "shape", "dtype"))
def _orthogonal(key: ArrayLike, *, n: int, m: int, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    q, r = factorizations.qr(normal(key, (*shape, max_dim(n, m), min_dim(n, m)), dtype))
    diagonal = jnp.diagonal(r, axis1=-2, axis2=-1)
    x = q * (diagonal / jnp.abs(diagonal).astype(diagonal.dtype))[..., None, :]
    return jnp.swapaxes(x, -1, -2) if n < m else x


@takes_out_sharding
def wald(key: ArrayLike, mean: ArrayLike, shape: Sequence[int] | None = None, dtype: DTypeLike | None = None, *,
         out_sharding: Any = None) -> Array:
    """Samples of the Wald (inverse Gaussian) distribution of shape 1.

    Args:
      key: a key, typed or raw.
      mean: the positive mean.
      shape: the result's shape; by default that of the mean.
      dtype: a float dtype; float32 by default, float64 in x64 mode.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Example:
      >>> random.wald(random.key(0), 1.0, (2,)).shape
      (2,)

    Source: J. Michael, W. Schucany and R. Haas, "Generating Random Variates Using Transformations with Multiple Roots", The
    American Statistician 30 (1976).
    """
    typed = typed_key("wald", key)
    dtype = checked_dtype("wald", dtype)
    return _wald(typed, converted(mean, dtype), shape=shape_of_parameters("wald", shape, mean), dtype=dtype)


@fused(static_argnames=("shape", "dtype"))
def _wald(key: ArrayLike, mean: ArrayLike, *, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    squares, choices = split_typed(key)
    mean = to_shape(mean, shape)
    y = normal(squares, shape, dtype) ** 2
    u = uniform(choices, shape, dtype)
    square = mean * mean
    x = mean + square * y / 2 - mean / 2 * jnp.sqrt(4 * mean * y + square * y * y)
    return jnp.where(u <= mean / (mean + x), x, square / x)
