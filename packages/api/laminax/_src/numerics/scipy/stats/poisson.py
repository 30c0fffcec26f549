"""The Poisson distribution of mean mu. `loc` shifts it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.scipy.distributions import broadcast, documented, exponential, where_supported
from laminax._src.numerics.scipy.entropies import xlogy
from laminax._src.numerics.scipy.gamma_functions import gammaincc
from laminax._src.numerics.scipy.special import gammaln

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

__all__ = ["cdf", "entropy", "logpmf", "pmf"]

_documented = documented(
    "the Poisson distribution",
    "The probability of k is mu**k exp(-mu) / k! for k >= 0.",
    mu="the mean, positive")


@_documented
def logpmf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Example:
      >>> stats.poisson.logpmf(jnp.array([0, 2, 5]), 2.5)
      Array([-2.5      , -1.3605657, -2.706038 ], dtype=float32)
    """
    k, mu, loc = broadcast("poisson.logpmf", k, mu, loc)
    inside = ~((k < loc) | (jnp.floor(k) != k)) | jnp.isnan(k)
    x = jnp.where(inside, k - loc, jnp.zeros_like(k))
    return where_supported(inside, xlogy(x, mu) - gammaln(x + 1) - mu)


pmf = exponential(logpmf, """Example:
      >>> stats.poisson.pmf(jnp.array([0, 2, 5]), 2.5)
      Array([0.082085  , 0.25651562, 0.06680094], dtype=float32)
    """)


@_documented
def cdf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Example:
      >>> stats.poisson.cdf(jnp.array([0, 2, 5]), 2.5)
      Array([0.082085  , 0.5438131 , 0.95797896], dtype=float32)
    """
    k, mu, loc = broadcast("poisson.cdf", k, mu, loc)
    counted = (k >= loc) & jnp.isfinite(k)
    x = jnp.where(counted, jnp.floor(k - loc), jnp.zeros_like(k))
    all_counted = where_supported(mu >= 0, jnp.ones_like(k), math.nan)
    none_counted = jnp.where(jnp.isnan(k), k, jnp.zeros_like(k))
    return jnp.where(counted, gammaincc(x + 1, mu), jnp.where(k == math.inf, all_counted, none_counted))


_TERMS = 200  # of the sum, which is used up to a mean of 100: ten standard deviations


@fused
def entropy(mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Entropy of the Poisson distribution, in nats, elementwise.

    Args:
      mu: the mean, not negative.
      loc: shifts the distribution, which leaves the entropy as it is.

    Returns:
      A float array; NaN for a negative mean.

    Example:
      >>> stats.poisson.entropy(jnp.array([0.5, 10.]))
      Array([0.92763746, 2.56141   ], dtype=float32)
    """
    mu, _ = broadcast("poisson.entropy", mu, loc)
    safe = jnp.where(mu > 0, mu, jnp.ones_like(mu))
    k = np.arange(_TERMS).astype(mu.dtype).reshape((1,) * mu.ndim + (_TERMS,))
    small = jnp.minimum(safe, 100.0)[..., None]
    logarithms = xlogy(k, small) - gammaln(k + 1) - small
    summed = -jnp.sum(jnp.exp(logarithms) * logarithms, axis=-1)
    large = jnp.maximum(safe, 100.0)  # the asymptotic series; its next term is below 1e-9 there
    series = 0.5 * jnp.log(2 * math.pi * math.e * large) - 1 / (12 * large) - 1 / (24 * large ** 2) - 19 / (360 * large ** 3)
    value = jnp.where(safe < 100, summed, series)
    return jnp.where(mu > 0, value, jnp.where(mu == 0, jnp.zeros_like(mu), jnp.full_like(mu, math.nan)))
