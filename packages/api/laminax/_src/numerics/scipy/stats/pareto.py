"""The Pareto distribution of exponent b, from loc + scale on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.scipy.distributions import (
    broadcast,
    documented,
    exponential,
    standardized,
    where_probability,
    where_supported,
)

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf"]

_documented = documented("the Pareto distribution")


@_documented
def logpdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    z, scale, b = standardized("pareto.logpdf", x, loc, scale, b)
    safe = jnp.maximum(z, 1)
    return where_supported(~(z < 1), jnp.log(b) - jnp.log(scale) - (b + 1) * jnp.log(safe))


pdf = exponential(logpdf)


@_documented
def logsf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    z, _, b = standardized("pareto.logsf", x, loc, scale, b)
    return -b * jnp.log(jnp.maximum(z, 1))


@_documented
def cdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    z, _, b = standardized("pareto.cdf", x, loc, scale, b)
    return -jnp.expm1(-b * jnp.log(jnp.maximum(z, 1)))


@_documented
def logcdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    z, _, b = standardized("pareto.logcdf", x, loc, scale, b)
    inside = ~(z <= 1)
    safe = jnp.where(inside, z, jnp.full_like(z, math.e))
    return where_supported(inside, jnp.log1p(-(safe ** -b)))


sf = exponential(logsf)


@_documented
def ppf(q: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    q, b, loc, scale = broadcast("pareto.ppf", q, b, loc, scale)
    return where_probability(q, loc + scale * (1 - q) ** (-1 / b))
