"""The normal distribution of mean `loc` and standard deviation `scale`."""

from __future__ import annotations

import math

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.scipy.distributions import broadcast, documented, exponential, standardized
from laminax._src.numerics.scipy.special import log_ndtr, ndtr, ndtri

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]

_documented = documented("the normal distribution")


@_documented
def logpdf(x, loc=0, scale=1):
    z, scale = standardized("norm.logpdf", x, loc, scale)
    return -z * z / 2 - jnp.log(scale) - math.log(2 * math.pi) / 2


pdf = exponential(logpdf)


@_documented
def cdf(x, loc=0, scale=1):
    z, _ = standardized("norm.cdf", x, loc, scale)
    return ndtr(z)


@_documented
def logcdf(x, loc=0, scale=1):
    z, _ = standardized("norm.logcdf", x, loc, scale)
    return log_ndtr(z)


@_documented
def sf(x, loc=0, scale=1):
    z, _ = standardized("norm.sf", x, loc, scale)
    return ndtr(-z)


@_documented
def logsf(x, loc=0, scale=1):
    z, _ = standardized("norm.logsf", x, loc, scale)
    return log_ndtr(-z)


@_documented
def ppf(q, loc=0, scale=1):
    q, loc, scale = broadcast("norm.ppf", q, loc, scale)
    return loc + scale * ndtri(q)


@_documented
def isf(q, loc=0, scale=1):
    q, loc, scale = broadcast("norm.isf", q, loc, scale)
    return loc - scale * ndtri(q)
