"""The exponential distribution from `loc` on, of mean `scale`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.scipy.distributions import (
    broadcast,
    documented,
    exponential,
    logarithm,
    standardized,
    where_probability,
    where_supported,
)

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]

_documented = documented(
    "the exponential distribution",
    "Its density is exp(-z) / scale for z = (x - loc) / scale >= 0.",
    loc="where it begins", scale="the mean distance from there, positive")


@_documented
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.expon.logpdf(jnp.array([0.5, 2.]))
      Array([-0.5, -2. ], dtype=float32)
    """
    z, scale = standardized("expon.logpdf", x, loc, scale)
    return where_supported(~(z < 0) | (scale < 0), -z - jnp.log(scale))  # NaN where the scale is negative


pdf = exponential(logpdf, """Example:
      >>> stats.expon.pdf(jnp.array([0.5, 2.]))
      Array([0.60653067, 0.13533528], dtype=float32)
    """)


@_documented
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.expon.cdf(jnp.array([0.5, 2.]))
      Array([0.39346933, 0.86466473], dtype=float32)
    """
    z, _ = standardized("expon.cdf", x, loc, scale)
    return -jnp.expm1(-jnp.maximum(z, 0))


@_documented
def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.expon.logsf(jnp.array([0.5, 2.]))
      Array([-0.5, -2. ], dtype=float32)
    """
    z, _ = standardized("expon.logsf", x, loc, scale)
    return -jnp.maximum(z, 0)


logcdf = logarithm(cdf, """Example:
      >>> stats.expon.logcdf(jnp.array([0.5, 2.]))
      Array([-0.93275213, -0.14541346], dtype=float32)
    """)
sf = exponential(logsf, """Example:
      >>> stats.expon.sf(jnp.array([0.5, 2.]))
      Array([0.60653067, 0.13533528], dtype=float32)
    """)


@_documented
def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.expon.ppf(jnp.array([0.25, 0.9]))
      Array([0.2876821, 2.3025851], dtype=float32)
    """
    q, loc, scale = broadcast("expon.ppf", q, loc, scale)
    return where_probability(q, loc - scale * jnp.log1p(-jnp.where(q <= 1, q, math.nan)))
