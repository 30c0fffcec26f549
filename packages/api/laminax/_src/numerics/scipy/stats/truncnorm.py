"""The normal distribution cut off at a and b standard deviations from `loc`; `scale` is the standard deviation before."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.scipy.distributions import documented, exponential, standardized, where_supported
from laminax._src.numerics.scipy.normal_distribution import log_ndtr

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]

_documented = documented(
    "the truncated normal distribution",
    "Its density is that of the normal distribution of z = (x - loc) / scale for a <= z <= b, over the mass there.",
    a="the lower bound of z", b="the upper bound of z, greater than a")


def _log_mass(a: ArrayLike, b: ArrayLike) -> Array:
    """Logarithm of the normal distribution's mass from a to b, by the tails on their side, which do not cancel."""
    is_right = a > 0
    low, high = jnp.where(is_right, -b, a), jnp.where(is_right, -a, b)
    crosses = high > 0
    safe_low, safe_high = jnp.where(crosses, -1.0, low), jnp.where(crosses, -0.5, high)
    bottom, top = log_ndtr(safe_low), log_ndtr(safe_high)
    one_side = top + jnp.log1p(-jnp.exp(bottom - top))
    both = jnp.log1p(-jnp.exp(log_ndtr(jnp.where(crosses, low, 0.0))) - jnp.exp(log_ndtr(jnp.where(crosses, -high, -1.0))))
    return jnp.where(crosses, both, one_side)


@_documented
def logpdf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.truncnorm.logpdf(jnp.array([-0.5, 1.]), -1, 2)
      Array([-0.84377223, -1.2187723 ], dtype=float32)
    """
    z, scale, a, b = standardized("truncnorm.logpdf", x, loc, scale, a, b)
    value = -z * z / 2 - jnp.log(scale) - math.log(2 * math.pi) / 2 - _log_mass(a, b)
    return _checked(a, b, where_supported(~((z < a) | (z > b)), value))


def _checked(a: ArrayLike, b: ArrayLike, value: ArrayLike) -> Any:
    """NaN where the bounds are not in order."""
    return jnp.where(a < b, value, jnp.full_like(value, math.nan))


pdf = exponential(logpdf, """Example:
      >>> stats.truncnorm.pdf(jnp.array([-0.5, 1.]), -1, 2)
      Array([0.43008506, 0.29559287], dtype=float32)
    """)


@_documented
def logcdf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.truncnorm.logcdf(jnp.array([-0.5, 1.]), -1, 2)
      Array([-1.6977388 , -0.18154885], dtype=float32)
    """
    z, _, a, b = standardized("truncnorm.logcdf", x, loc, scale, a, b)
    inside = (z > a) & (z < b)
    value = _log_mass(a, jnp.where(inside, z, b)) - _log_mass(a, b)
    return _checked(a, b, jnp.where(jnp.isnan(z), z, jnp.where(inside, value, jnp.where(z <= a, -math.inf, 0.0))))


@_documented
def logsf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.truncnorm.logsf(jnp.array([-0.5, 1.]), -1, 2)
      Array([-0.20223501, -1.795632  ], dtype=float32)
    """
    z, _, a, b = standardized("truncnorm.logsf", x, loc, scale, a, b)
    inside = (z > a) & (z < b)
    value = _log_mass(jnp.where(inside, z, a), b) - _log_mass(a, b)
    return _checked(a, b, jnp.where(jnp.isnan(z), z, jnp.where(inside, value, jnp.where(z >= b, -math.inf, 0.0))))


cdf = exponential(logcdf, """Example:
      >>> stats.truncnorm.cdf(jnp.array([-0.5, 1.]), -1, 2)
      Array([0.18309708, 0.8339775 ], dtype=float32)
    """)
sf = exponential(logsf, """Example:
      >>> stats.truncnorm.sf(jnp.array([-0.5, 1.]), -1, 2)
      Array([0.81690294, 0.1660225 ], dtype=float32)
    """)
