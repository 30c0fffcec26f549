"""The gamma distribution of shape a, from `loc` on, stretched by `scale`."""

from __future__ import annotations

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.scipy.distributions import documented, exponential, logarithm, standardized, where_supported
from laminax._src.numerics.scipy.special import gammainc, gammaincc, gammaln, xlogy

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]

_documented = documented("the gamma distribution")


@_documented
def logpdf(x, a, loc=0, scale=1):
    z, scale, a = standardized("gamma.logpdf", x, loc, scale, a)
    inside = ~(z < 0)
    safe = jnp.where(inside, z, jnp.ones_like(z))
    return where_supported(inside, xlogy(a - 1, safe) - safe - gammaln(a) - jnp.log(scale))


pdf = exponential(logpdf)


@_documented
def cdf(x, a, loc=0, scale=1):
    z, _, a = standardized("gamma.cdf", x, loc, scale, a)
    return gammainc(a, jnp.maximum(z, 0))


@_documented
def sf(x, a, loc=0, scale=1):
    z, _, a = standardized("gamma.sf", x, loc, scale, a)
    return gammaincc(a, jnp.maximum(z, 0))


logcdf, logsf = logarithm(cdf), logarithm(sf)
