"""The left-skewed Gumbel distribution, of minima, around `loc` and stretched by `scale`."""

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
    "the left-skewed Gumbel distribution",
    "Its density is exp(z - exp(z)) / scale for z = (x - loc) / scale.",
    loc="the mode")


@_documented
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.gumbel_l.logpdf(jnp.array([-1., 0.5]))
      Array([-1.3678794, -1.1487212], dtype=float32)
    """
    z, scale = standardized("gumbel_l.logpdf", x, loc, scale)
    return z - jnp.exp(z) - jnp.log(scale)


pdf = exponential(logpdf, """Example:
      >>> stats.gumbel_l.pdf(jnp.array([-1., 0.5]))
      Array([0.2546464 , 0.31704193], dtype=float32)
    """)


@_documented
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.gumbel_l.cdf(jnp.array([-1., 0.5]))
      Array([0.30779937, 0.8077043 ], dtype=float32)
    """
    z, scale = standardized("gumbel_l.cdf", x, loc, scale)
    return where_positive([scale], -jnp.expm1(-jnp.exp(z)))


@_documented
def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.gumbel_l.logsf(jnp.array([-1., 0.5]))
      Array([-0.36787945, -1.6487212 ], dtype=float32)
    """
    z, scale = standardized("gumbel_l.logsf", x, loc, scale)
    return where_positive([scale], -jnp.exp(z))


logcdf = logarithm(cdf, """Example:
      >>> stats.gumbel_l.logcdf(jnp.array([-1., 0.5]))
      Array([-1.178307  , -0.21355918], dtype=float32)
    """)
sf = exponential(logsf, """Example:
      >>> stats.gumbel_l.sf(jnp.array([-1., 0.5]))
      Array([0.6922006 , 0.19229564], dtype=float32)
    """)


@_documented
def ppf(p: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.gumbel_l.ppf(jnp.array([0.25, 0.9]))
      Array([-1.2458993,  0.8340324], dtype=float32)
    """
    p, loc, scale = broadcast("gumbel_l.ppf", p, loc, scale)
    return where_positive([scale], where_probability(p, loc + scale * jnp.log(-jnp.log1p(-p))))
