"""The left-skewed Gumbel distribution, of minima, around `loc` and stretched by `scale`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.scipy.distributions import broadcast, documented, exponential, logarithm, standardized, where_probability

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]

_documented = documented("the left-skewed Gumbel distribution")


@_documented
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    z, scale = standardized("gumbel_l.logpdf", x, loc, scale)
    return z - jnp.exp(z) - jnp.log(scale)


pdf = exponential(logpdf)


@_documented
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    z, _ = standardized("gumbel_l.cdf", x, loc, scale)
    return -jnp.expm1(-jnp.exp(z))


@_documented
def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    z, _ = standardized("gumbel_l.logsf", x, loc, scale)
    return -jnp.exp(z)


logcdf, sf = logarithm(cdf), exponential(logsf)


@_documented
def ppf(p: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    p, loc, scale = broadcast("gumbel_l.ppf", p, loc, scale)
    return where_probability(p, loc + scale * jnp.log(-jnp.log1p(-p)))
