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

_documented = documented("the exponential distribution")


@_documented
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    z, scale = standardized("expon.logpdf", x, loc, scale)
    return where_supported(~(z < 0), -z - jnp.log(scale))


pdf = exponential(logpdf)


@_documented
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    z, _ = standardized("expon.cdf", x, loc, scale)
    return -jnp.expm1(-jnp.maximum(z, 0))


@_documented
def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    z, _ = standardized("expon.logsf", x, loc, scale)
    return -jnp.maximum(z, 0)


logcdf, sf = logarithm(cdf), exponential(logsf)


@_documented
def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    q, loc, scale = broadcast("expon.ppf", q, loc, scale)
    return where_probability(q, loc - scale * jnp.log1p(-jnp.where(q <= 1, q, math.nan)))
