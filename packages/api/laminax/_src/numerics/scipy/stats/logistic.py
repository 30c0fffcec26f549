"""The logistic distribution around `loc`, stretched by `scale`."""

from __future__ import annotations

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.scipy.distributions import broadcast, documented, exponential, standardized
from laminax._src.numerics.scipy.special import expit, logit

__all__ = ["cdf", "isf", "logpdf", "pdf", "ppf", "sf"]

_documented = documented("the logistic distribution")


@_documented
def logpdf(x, loc=0, scale=1):
    z, scale = standardized("logistic.logpdf", x, loc, scale)
    return -jnp.abs(z) - 2 * jnp.log1p(jnp.exp(-jnp.abs(z))) - jnp.log(scale)


pdf = exponential(logpdf)


@_documented
def cdf(x, loc=0, scale=1):
    z, _ = standardized("logistic.cdf", x, loc, scale)
    return expit(z)


@_documented
def sf(x, loc=0, scale=1):
    z, _ = standardized("logistic.sf", x, loc, scale)
    return expit(-z)


@_documented
def ppf(x, loc=0, scale=1):
    x, loc, scale = broadcast("logistic.ppf", x, loc, scale)
    return loc + scale * logit(x)


@_documented
def isf(x, loc=0, scale=1):
    x, loc, scale = broadcast("logistic.isf", x, loc, scale)
    return loc - scale * logit(x)
