"""The Bernoulli distribution: 1 with probability p, else 0. `loc` shifts it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.scipy.distributions import broadcast, documented, exponential, where_probability, where_supported
from laminax._src.numerics.scipy.entropies import xlog1py, xlogy

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

__all__ = ["cdf", "logpmf", "pmf", "ppf"]

_documented = documented(
    "the Bernoulli distribution",
    "The probability of 1 is p, that of 0 is 1 - p.",
    p="the probability of 1")


@_documented
def logpmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Example:
      >>> stats.bernoulli.logpmf(jnp.array([0, 1, 2]), 0.3)
      Array([-0.35667494, -1.2039728 ,        -inf], dtype=float32)
    """
    k, p, loc = broadcast("bernoulli.logpmf", k, p, loc)
    x = k - loc
    return where_supported((x == 0) | (x == 1) | jnp.isnan(x), xlogy(x, p) + xlog1py(1 - x, -p))


pmf = exponential(logpmf, """Example:
      >>> stats.bernoulli.pmf(jnp.array([0, 1, 2]), 0.3)
      Array([0.7, 0.3, 0. ], dtype=float32)
    """)


@_documented
def cdf(k: ArrayLike, p: ArrayLike) -> Array:
    """Example:
      >>> stats.bernoulli.cdf(jnp.array([0, 1, 2]), 0.3)
      Array([0.7, 1. , 1. ], dtype=float32)
    """
    k, p = broadcast("bernoulli.cdf", k, p)
    value = jnp.where(k < 0, jnp.zeros_like(p), jnp.where(k < 1, 1 - p, jnp.ones_like(p)))
    return where_probability(p, jnp.where(jnp.isnan(k), k, value))


@_documented
def ppf(q: ArrayLike, p: ArrayLike) -> Array:
    """Example:
      >>> stats.bernoulli.ppf(jnp.array([0.25, 0.9]), 0.3)
      Array([0., 1.], dtype=float32)
    """
    q, p = broadcast("bernoulli.ppf", q, p)
    return where_probability(q, where_probability(p, jnp.where(q <= 1 - p, jnp.zeros_like(p), jnp.ones_like(p))))
