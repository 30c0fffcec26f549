"""The normal distribution of mean `loc` and standard deviation `scale`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.scipy.distributions import broadcast, documented, exponential, standardized
from laminax._src.numerics.scipy.special import log_ndtr, ndtr, ndtri

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]

_documented = documented("the normal distribution")


@_documented
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    z, scale = standardized("norm.logpdf", x, loc, scale)
    return -z * z / 2 - jnp.log(scale) - math.log(2 * math.pi) / 2


pdf = exponential(logpdf)


@_documented
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    z, _ = standardized("norm.cdf", x, loc, scale)
    return ndtr(z)


@_documented
def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    z, _ = standardized("norm.logcdf", x, loc, scale)
    return log_ndtr(z)


@_documented
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    z, _ = standardized("norm.sf", x, loc, scale)
    return ndtr(-z)


@_documented
def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    z, _ = standardized("norm.logsf", x, loc, scale)
    return log_ndtr(-z)


@_documented
def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    q, loc, scale = broadcast("norm.ppf", q, loc, scale)
    return loc + scale * ndtri(q)


@_documented
def isf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    q, loc, scale = broadcast("norm.isf", q, loc, scale)
    return loc - scale * ndtri(q)
