"""The Cauchy distribution around `loc`, of half width `scale`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.scipy.distributions import broadcast, documented, exponential, logarithm, standardized

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

__all__ = ["cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]

_documented = documented("the Cauchy distribution")


@_documented
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    z, scale = standardized("cauchy.logpdf", x, loc, scale)
    return -jnp.log(math.pi * scale) - jnp.log1p(z * z)


pdf = exponential(logpdf)


@_documented
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    z, _ = standardized("cauchy.cdf", x, loc, scale)
    return jnp.arctan2(jnp.ones_like(z), -z) / math.pi


@_documented
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    z, _ = standardized("cauchy.sf", x, loc, scale)
    return jnp.arctan2(jnp.ones_like(z), z) / math.pi


logcdf, logsf = logarithm(cdf), logarithm(sf)


@_documented
def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    q, loc, scale = broadcast("cauchy.ppf", q, loc, scale)
    return loc + scale * jnp.tan(math.pi * (q - 0.5))


@_documented
def isf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    q, loc, scale = broadcast("cauchy.isf", q, loc, scale)
    return loc + scale * jnp.tan(math.pi * (0.5 - q))
