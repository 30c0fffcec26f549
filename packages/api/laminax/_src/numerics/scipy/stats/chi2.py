"""The chi-squared distribution of `df` degrees of freedom, from `loc` on, stretched by `scale`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.scipy.distributions import documented, exponential, logarithm, standardized, where_supported
from laminax._src.numerics.scipy.special import gammainc, gammaincc, gammaln, xlogy

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]

_documented = documented("the chi-squared distribution")


@_documented
def logpdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    z, scale, df = standardized("chi2.logpdf", x, loc, scale, df)
    half = df / 2
    inside = ~(z < 0)
    safe = jnp.where(inside, z, jnp.ones_like(z))
    return where_supported(inside, xlogy(half - 1, safe) - safe / 2 - gammaln(half) - half * math.log(2) - jnp.log(scale))


pdf = exponential(logpdf)


@_documented
def cdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    z, _, df = standardized("chi2.cdf", x, loc, scale, df)
    return gammainc(df / 2, jnp.maximum(z, 0) / 2)


@_documented
def sf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    z, _, df = standardized("chi2.sf", x, loc, scale, df)
    return gammaincc(df / 2, jnp.maximum(z, 0) / 2)


logcdf, logsf = logarithm(cdf), logarithm(sf)
