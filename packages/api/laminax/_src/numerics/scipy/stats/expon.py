"""The exponential distribution from `loc` on, of mean `scale`."""

from __future__ import annotations

import math

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

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]

_documented = documented("the exponential distribution")


@_documented
def logpdf(x, loc=0, scale=1):
    z, scale = standardized("expon.logpdf", x, loc, scale)
    return where_supported(~(z < 0), -z - jnp.log(scale))


pdf = exponential(logpdf)


@_documented
def cdf(x, loc=0, scale=1):
    z, _ = standardized("expon.cdf", x, loc, scale)
    return -jnp.expm1(-jnp.maximum(z, 0))


@_documented
def logsf(x, loc=0, scale=1):
    z, _ = standardized("expon.logsf", x, loc, scale)
    return -jnp.maximum(z, 0)


logcdf, sf = logarithm(cdf), exponential(logsf)


@_documented
def ppf(q, loc=0, scale=1):
    q, loc, scale = broadcast("expon.ppf", q, loc, scale)
    return where_probability(q, loc - scale * jnp.log1p(-jnp.where(q <= 1, q, math.nan)))
