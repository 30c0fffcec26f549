"""The Bernoulli distribution: 1 with probability p, else 0. `loc` shifts it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.scipy.distributions import broadcast, documented, exponential, where_probability, where_supported
from laminax._src.numerics.scipy.special import xlog1py, xlogy

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

__all__ = ["cdf", "logpmf", "pmf", "ppf"]

_documented = documented("the Bernoulli distribution")


@_documented
def logpmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    k, p, loc = broadcast("bernoulli.logpmf", k, p, loc)
    x = k - loc
    return where_supported((x == 0) | (x == 1) | jnp.isnan(x), xlogy(x, p) + xlog1py(1 - x, -p))


pmf = exponential(logpmf)


@_documented
def cdf(k: ArrayLike, p: ArrayLike) -> Array:
    k, p = broadcast("bernoulli.cdf", k, p)
    value = jnp.where(k < 0, jnp.zeros_like(p), jnp.where(k < 1, 1 - p, jnp.ones_like(p)))
    return where_probability(p, jnp.where(jnp.isnan(k), k, value))


@_documented
def ppf(q: ArrayLike, p: ArrayLike) -> Array:
    q, p = broadcast("bernoulli.ppf", q, p)
    return where_probability(q, where_probability(p, jnp.where(q <= 1 - p, jnp.zeros_like(p), jnp.ones_like(p))))
