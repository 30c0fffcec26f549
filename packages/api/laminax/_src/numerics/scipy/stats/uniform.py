"""The uniform distribution from `loc` to loc + scale."""

from __future__ import annotations

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.scipy.distributions import (
    broadcast,
    documented,
    exponential,
    standardized,
    where_probability,
    where_supported,
)

__all__ = ["cdf", "logpdf", "pdf", "ppf"]

_documented = documented("the uniform distribution")


@_documented
def logpdf(x, loc=0, scale=1):
    x, loc, scale = broadcast("uniform.logpdf", x, loc, scale)
    value = jnp.where(jnp.isnan(x), x, -jnp.log(scale))
    return where_supported(~((x < loc) | (x > loc + scale)), value)


pdf = exponential(logpdf)


@_documented
def cdf(x, loc=0, scale=1):
    z, _ = standardized("uniform.cdf", x, loc, scale)
    return jnp.clip(z, 0, 1)


@_documented
def ppf(q, loc=0, scale=1):
    q, loc, scale = broadcast("uniform.ppf", q, loc, scale)
    return where_probability(q, loc + scale * q)
