"""The uniform distribution from `loc` to loc + scale."""

from __future__ import annotations

from typing import TYPE_CHECKING

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.scipy.distributions import (
    broadcast,
    documented,
    exponential,
    standardized,
    where_positive,
    where_probability,
    where_supported,
)

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

__all__ = ["cdf", "logpdf", "pdf", "ppf"]

_documented = documented(
    "the uniform distribution",
    "Its density is 1 / scale from loc to loc + scale.",
    loc="where it begins", scale="its width, positive")


@_documented
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.uniform.logpdf(jnp.array([0.25, 2.]), 0, 4)
      Array([-1.3862944, -1.3862944], dtype=float32)
    """
    x, loc, scale = broadcast("uniform.logpdf", x, loc, scale)
    value = jnp.where(jnp.isnan(x), x, jnp.where(jnp.isnan(loc), loc, -jnp.log(scale)))
    return where_positive([scale], where_supported(~((x < loc) | (x > loc + scale)), value))


pdf = exponential(logpdf, """Example:
      >>> stats.uniform.pdf(jnp.array([0.25, 2.]), 0, 4)
      Array([0.25, 0.25], dtype=float32)
    """)


@_documented
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.uniform.cdf(jnp.array([0.25, 2.]), 0, 4)
      Array([0.0625, 0.5   ], dtype=float32)
    """
    z, _ = standardized("uniform.cdf", x, loc, scale)
    return jnp.clip(z, 0, 1)


@_documented
def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.uniform.ppf(jnp.array([0.25, 0.9]), 0, 4)
      Array([1. , 3.6], dtype=float32)
    """
    q, loc, scale = broadcast("uniform.ppf", q, loc, scale)
    return where_probability(q, loc + scale * q)
