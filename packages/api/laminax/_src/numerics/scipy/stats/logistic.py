"""The logistic distribution around `loc`, stretched by `scale`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.scipy.distributions import broadcast, documented, exponential, standardized
from laminax._src.numerics.scipy.special import expit, logit

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

__all__ = ["cdf", "isf", "logpdf", "pdf", "ppf", "sf"]

_documented = documented(
    "the logistic distribution",
    "Its distribution function is 1 / (1 + exp(-z)) for z = (x - loc) / scale.",
    loc="the mean")


@_documented
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.logistic.logpdf(jnp.array([-1., 2.]))
      Array([-1.6265234, -2.253856 ], dtype=float32)
    """
    z, scale = standardized("logistic.logpdf", x, loc, scale)
    return -jnp.abs(z) - 2 * jnp.log1p(jnp.exp(-jnp.abs(z))) - jnp.log(scale)


pdf = exponential(logpdf, """Example:
      >>> stats.logistic.pdf(jnp.array([-1., 2.]))
      Array([0.19661193, 0.10499358], dtype=float32)
    """)


@_documented
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.logistic.cdf(jnp.array([-1., 2.]))
      Array([0.26894143, 0.8807971 ], dtype=float32)
    """
    z, _ = standardized("logistic.cdf", x, loc, scale)
    return expit(z)


@_documented
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.logistic.sf(jnp.array([-1., 2.]))
      Array([0.7310586 , 0.11920292], dtype=float32)
    """
    z, _ = standardized("logistic.sf", x, loc, scale)
    return expit(-z)


@_documented
def ppf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.logistic.ppf(jnp.array([0.25, 0.9]))
      Array([-1.0986123,  2.1972246], dtype=float32)
    """
    x, loc, scale = broadcast("logistic.ppf", x, loc, scale)
    return loc + scale * logit(x)


@_documented
def isf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.logistic.isf(jnp.array([0.25, 0.9]))
      Array([ 1.0986123, -2.1972246], dtype=float32)
    """
    x, loc, scale = broadcast("logistic.isf", x, loc, scale)
    return loc - scale * logit(x)
