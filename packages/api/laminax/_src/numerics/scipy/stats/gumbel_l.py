"""The left-skewed Gumbel distribution, of minima, around `loc` and stretched by `scale`."""

from __future__ import annotations

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.scipy.distributions import broadcast, documented, exponential, logarithm, standardized, where_probability

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]

_documented = documented("the left-skewed Gumbel distribution")


@_documented
def logpdf(x, loc=0, scale=1):
    z, scale = standardized("gumbel_l.logpdf", x, loc, scale)
    return z - jnp.exp(z) - jnp.log(scale)


pdf = exponential(logpdf)


@_documented
def cdf(x, loc=0, scale=1):
    z, _ = standardized("gumbel_l.cdf", x, loc, scale)
    return -jnp.expm1(-jnp.exp(z))


@_documented
def logsf(x, loc=0, scale=1):
    z, _ = standardized("gumbel_l.logsf", x, loc, scale)
    return -jnp.exp(z)


logcdf, sf = logarithm(cdf), exponential(logsf)


@_documented
def ppf(p, loc=0, scale=1):
    p, loc, scale = broadcast("gumbel_l.ppf", p, loc, scale)
    return where_probability(p, loc + scale * jnp.log(-jnp.log1p(-p)))
