"""The Cauchy distribution around `loc`, of half width `scale`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.scipy.distributions import broadcast, documented, exponential, logarithm, standardized, where_probability

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]

_documented = documented(
    "the Cauchy distribution",
    "Its density is 1 / (pi scale (1 + z**2)) for z = (x - loc) / scale.",
    loc="the median", scale="half the width at half the height, positive")


@_documented
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.cauchy.logpdf(jnp.array([-1., 0., 3.]))
      Array([-1.837877 , -1.1447299, -3.447315 ], dtype=float32)
    """
    z, scale = standardized("cauchy.logpdf", x, loc, scale)
    return -jnp.log(math.pi * scale) - jnp.log1p(z * z)


pdf = exponential(logpdf, """Example:
      >>> stats.cauchy.pdf(jnp.array([-1., 0., 3.]))
      Array([0.15915494, 0.31830987, 0.03183099], dtype=float32)
    """)


@_documented
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.cauchy.cdf(jnp.array([-1., 0., 3.]))
      Array([0.25     , 0.5      , 0.8975836], dtype=float32)
    """
    z, _ = standardized("cauchy.cdf", x, loc, scale)
    return jnp.arctan2(jnp.ones_like(z), -z) / math.pi


@_documented
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.cauchy.sf(jnp.array([-1., 0., 3.]))
      Array([0.75      , 0.5       , 0.10241638], dtype=float32)
    """
    z, _ = standardized("cauchy.sf", x, loc, scale)
    return jnp.arctan2(jnp.ones_like(z), z) / math.pi


logcdf = logarithm(cdf, """Example:
      >>> stats.cauchy.logcdf(jnp.array([-1., 0., 3.]))
      Array([-1.3862944, -0.6931472, -0.108049 ], dtype=float32)
    """)
logsf = logarithm(sf, """Example:
      >>> stats.cauchy.logsf(jnp.array([-1., 0., 3.]))
      Array([-0.2876821, -0.6931472, -2.2787087], dtype=float32)
    """)


@_documented
def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.cauchy.ppf(jnp.array([0.25, 0.9]))
      Array([-1.       ,  3.0776823], dtype=float32)
    """
    q, loc, scale = broadcast("cauchy.ppf", q, loc, scale)
    return where_probability(q, loc + scale * _quantile(q))


def _quantile(q: Array) -> Array:
    """tan(pi (q - 1/2)), to full precision near 0 and 1 too."""
    is_low, is_high = q < 0.25, q > 0.75
    half = jnp.full_like(q, 0.5)
    middle = jnp.tan(math.pi * (jnp.where(is_low | is_high, half, q) - 0.5))
    low = -1 / jnp.tan(math.pi * jnp.where(is_low, q, half))
    high = 1 / jnp.tan(math.pi * jnp.where(is_high, 1 - q, half))
    return jnp.where(is_low, low, jnp.where(is_high, high, middle))


@_documented
def isf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.cauchy.isf(jnp.array([0.25, 0.9]))
      Array([ 1.       , -3.0776823], dtype=float32)
    """
    q, loc, scale = broadcast("cauchy.isf", q, loc, scale)
    return where_probability(q, loc - scale * _quantile(q))
