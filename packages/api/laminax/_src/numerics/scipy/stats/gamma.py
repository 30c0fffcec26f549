"""The gamma distribution of shape a, from `loc` on, stretched by `scale`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.scipy.distributions import documented, exponential, logarithm, standardized, where_supported
from laminax._src.numerics.scipy.special import gammainc, gammaincc, gammaln, xlogy

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]

_documented = documented("the gamma distribution")


@_documented
def logpdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    z, scale, a = standardized("gamma.logpdf", x, loc, scale, a)
    inside = ~(z < 0)
    safe = jnp.where(inside, z, jnp.ones_like(z))
    return where_supported(inside, xlogy(a - 1, safe) - safe - gammaln(a) - jnp.log(scale))


pdf = exponential(logpdf)


@_documented
def cdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    z, _, a = standardized("gamma.cdf", x, loc, scale, a)
    return gammainc(a, jnp.maximum(z, 0))


@_documented
def sf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    z, _, a = standardized("gamma.sf", x, loc, scale, a)
    return gammaincc(a, jnp.maximum(z, 0))


logcdf, logsf = logarithm(cdf), logarithm(sf)
