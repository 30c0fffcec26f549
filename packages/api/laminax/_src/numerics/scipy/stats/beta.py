"""The beta distribution on [loc, loc + scale], of positive parameters a and b."""

from __future__ import annotations

from typing import TYPE_CHECKING

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.scipy.distributions import documented, exponential, logarithm, standardized, where_positive, where_supported
from laminax._src.numerics.scipy.special import betainc, betaln, xlog1py, xlogy

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]

_documented = documented("the beta distribution")


@_documented
def logpdf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    z, scale, a, b = standardized("beta.logpdf", x, loc, scale, a, b)
    inside = ~((z < 0) | (z > 1))
    safe = jnp.where(inside, z, jnp.full_like(z, 0.5))
    value = xlogy(a - 1, safe) + xlog1py(b - 1, -safe) - betaln(a, b) - jnp.log(scale)
    return where_positive((a, b, scale), where_supported(inside, value))


pdf = exponential(logpdf)


@_documented
def cdf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    z, _, a, b = standardized("beta.cdf", x, loc, scale, a, b)
    return betainc(a, b, jnp.clip(z, 0, 1))


@_documented
def sf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    z, _, a, b = standardized("beta.sf", x, loc, scale, a, b)
    return betainc(b, a, 1 - jnp.clip(z, 0, 1))


logcdf, logsf = logarithm(cdf), logarithm(sf)
