"""The logistic distribution around `loc`, stretched by `scale`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.scipy.distributions import broadcast, documented, exponential, standardized
from laminax._src.numerics.scipy.special import expit, logit

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

__all__ = ["cdf", "isf", "logpdf", "pdf", "ppf", "sf"]

_documented = documented("the logistic distribution")


@_documented
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    z, scale = standardized("logistic.logpdf", x, loc, scale)
    return -jnp.abs(z) - 2 * jnp.log1p(jnp.exp(-jnp.abs(z))) - jnp.log(scale)


pdf = exponential(logpdf)


@_documented
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    z, _ = standardized("logistic.cdf", x, loc, scale)
    return expit(z)


@_documented
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    z, _ = standardized("logistic.sf", x, loc, scale)
    return expit(-z)


@_documented
def ppf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    x, loc, scale = broadcast("logistic.ppf", x, loc, scale)
    return loc + scale * logit(x)


@_documented
def isf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    x, loc, scale = broadcast("logistic.isf", x, loc, scale)
    return loc - scale * logit(x)
