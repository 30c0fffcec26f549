"""The Pareto distribution of exponent b, from loc + scale on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.scipy.distributions import (
    broadcast,
    documented,
    exponential,
    standardized,
    where_probability,
    where_supported,
)

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]

_documented = documented(
    "the Pareto distribution",
    "Its density is b / (z**(b + 1) scale) for z = (x - loc) / scale >= 1.",
    b="the exponent, positive")


@_documented
def logpdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.pareto.logpdf(jnp.array([1.5, 4.]), 2)
      Array([-0.52324814, -3.465736  ], dtype=float32)
    """
    z, scale, b = standardized("pareto.logpdf", x, loc, scale, b)
    safe = jnp.where(z < 1, jnp.ones_like(z), z)  # the slope at 1 is that to the right of it
    return where_supported(~(z < 1), jnp.log(b) - jnp.log(scale) - (b + 1) * jnp.log(safe))


pdf = exponential(logpdf, """Example:
      >>> stats.pareto.pdf(jnp.array([1.5, 4.]), 2)
      Array([0.5925926, 0.03125  ], dtype=float32)
    """)


@_documented
def logsf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.pareto.logsf(jnp.array([1.5, 4.]), 2)
      Array([-0.8109302, -2.7725887], dtype=float32)
    """
    return _log_survival(*standardized("pareto.logsf", x, loc, scale, b))


def _log_survival(z: Array, _: Array, b: Array) -> Array:
    value = -b * jnp.log(jnp.maximum(z, 1))
    return jnp.where(z < 1, jnp.zeros_like(value), value)  # for an infinite b too


@_documented
def cdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.pareto.cdf(jnp.array([1.5, 4.]), 2)
      Array([0.5555556, 0.9375   ], dtype=float32)
    """
    return -jnp.expm1(_log_survival(*standardized("pareto.cdf", x, loc, scale, b)))


@_documented
def logcdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.pareto.logcdf(jnp.array([1.5, 4.]), 2)
      Array([-0.5877867 , -0.06453852], dtype=float32)
    """
    z, _, b = standardized("pareto.logcdf", x, loc, scale, b)
    inside = ~(z <= 1)
    safe = jnp.where(inside, z, jnp.full_like(z, math.e))
    return where_supported(inside, jnp.log(-jnp.expm1(-b * jnp.log(safe))))


sf = exponential(logsf, """Example:
      >>> stats.pareto.sf(jnp.array([1.5, 4.]), 2)
      Array([0.44444445, 0.0625    ], dtype=float32)
    """)


@_documented
def ppf(q: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.pareto.ppf(jnp.array([0.25, 0.9]), 2)
      Array([1.1547005, 3.1622772], dtype=float32)
    """
    q, b, loc, scale = broadcast("pareto.ppf", q, b, loc, scale)
    return where_probability(q, loc + scale * jnp.exp(-jnp.log1p(-q) / b))
