"""The right-skewed Gumbel distribution, of maxima, around `loc` and stretched by `scale`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.scipy.distributions import (
    broadcast,
    documented,
    exponential,
    logarithm,
    standardized,
    where_positive,
    where_probability,
)

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]

_documented = documented(
    "the right-skewed Gumbel distribution",
    "Its density is exp(-z - exp(-z)) / scale for z = (x - loc) / scale.",
    loc="the mode")


@_documented
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.gumbel_r.logpdf(jnp.array([-0.5, 2.]))
      Array([-1.1487212, -2.1353352], dtype=float32)
    """
    z, scale = standardized("gumbel_r.logpdf", x, loc, scale)
    return -z - jnp.exp(-z) - jnp.log(scale)


pdf = exponential(logpdf, """Example:
      >>> stats.gumbel_r.pdf(jnp.array([-0.5, 2.]))
      Array([0.31704193, 0.11820495], dtype=float32)
    """)


@_documented
def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.gumbel_r.logcdf(jnp.array([-0.5, 2.]))
      Array([-1.6487212 , -0.13533528], dtype=float32)
    """
    z, scale = standardized("gumbel_r.logcdf", x, loc, scale)
    return where_positive([scale], -jnp.exp(-z))


@_documented
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.gumbel_r.sf(jnp.array([-0.5, 2.]))
      Array([0.8077043 , 0.12657697], dtype=float32)
    """
    z, scale = standardized("gumbel_r.sf", x, loc, scale)
    return where_positive([scale], -jnp.expm1(-jnp.exp(-z)))


cdf = exponential(logcdf, """Example:
      >>> stats.gumbel_r.cdf(jnp.array([-0.5, 2.]))
      Array([0.19229564, 0.87342304], dtype=float32)
    """)
logsf = logarithm(sf, """Example:
      >>> stats.gumbel_r.logsf(jnp.array([-0.5, 2.]))
      Array([-0.21355918, -2.0669045 ], dtype=float32)
    """)


@_documented
def ppf(p: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.gumbel_r.ppf(jnp.array([0.25, 0.9]))
      Array([-0.32663426,  2.2503674 ], dtype=float32)
    """
    p, loc, scale = broadcast("gumbel_r.ppf", p, loc, scale)
    return where_positive([scale], where_probability(p, loc - scale * jnp.log(-jnp.log(p))))
