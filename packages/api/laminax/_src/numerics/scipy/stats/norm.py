"""The normal distribution of mean `loc` and standard deviation `scale`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.scipy.distributions import broadcast, documented, exponential, standardized
from laminax._src.numerics.scipy.normal_distribution import log_ndtr, ndtr, ndtri

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]

_documented = documented(
    "the normal distribution",
    "Its density is exp(-z**2 / 2) / (sqrt(2 pi) scale) for z = (x - loc) / scale.",
    loc="the mean", scale="the standard deviation, positive")


@_documented
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.norm.logpdf(jnp.array([-1., 0., 2.]))
      Array([-1.4189385, -0.9189385, -2.9189386], dtype=float32)
    """
    z, scale = standardized("norm.logpdf", x, loc, scale)
    return -z * z / 2 - jnp.log(scale) - math.log(2 * math.pi) / 2


pdf = exponential(logpdf, """Example:
      >>> stats.norm.pdf(jnp.array([-1., 0., 2.]))
      Array([0.24197072, 0.3989423 , 0.05399097], dtype=float32)
    """)


@_documented
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.norm.cdf(jnp.array([-1., 0., 2.]))
      Array([0.15865526, 0.5       , 0.97724986], dtype=float32)
    """
    z, _ = standardized("norm.cdf", x, loc, scale)
    return ndtr(z)


@_documented
def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.norm.logcdf(jnp.array([-1., 0., 2.]))
      Array([-1.8410217 , -0.6931472 , -0.02301291], dtype=float32)
    """
    z, _ = standardized("norm.logcdf", x, loc, scale)
    return log_ndtr(z)


@_documented
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.norm.sf(jnp.array([-1., 0., 2.]))
      Array([0.8413448 , 0.5       , 0.02275013], dtype=float32)
    """
    z, _ = standardized("norm.sf", x, loc, scale)
    return ndtr(-z)


@_documented
def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.norm.logsf(jnp.array([-1., 0., 2.]))
      Array([-0.17275378, -0.6931472 , -3.7831843 ], dtype=float32)
    """
    z, _ = standardized("norm.logsf", x, loc, scale)
    return log_ndtr(-z)


@_documented
def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.norm.ppf(jnp.array([0.25, 0.9]))
      Array([-0.67448974,  1.2815516 ], dtype=float32)
    """
    q, loc, scale = broadcast("norm.ppf", q, loc, scale)
    return loc + scale * ndtri(q)


@_documented
def isf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.norm.isf(jnp.array([0.25, 0.9]))
      Array([ 0.67448974, -1.2815516 ], dtype=float32)
    """
    q, loc, scale = broadcast("norm.isf", q, loc, scale)
    return loc - scale * ndtri(q)
