"""The negative binomial distribution: failures before the n-th success of probability p. `loc` shifts it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.scipy.distributions import broadcast, documented, exponential, where_supported
from laminax._src.numerics.scipy.entropies import xlog1py
from laminax._src.numerics.scipy.special import gammaln

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

__all__ = ["logpmf", "pmf"]

_documented = documented(
    "the negative binomial distribution",
    "The probability of k is C(k + n - 1, k) p**n (1 - p)**k for k >= 0.",
    n="the number of successes", p="the probability of a success")


@_documented
def logpmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Example:
      >>> stats.nbinom.logpmf(jnp.array([0, 1, 4]), 2, 0.5)
      Array([-1.3862944, -1.3862944, -2.5494452], dtype=float32)
    """
    k, n, p, loc = broadcast("nbinom.logpmf", k, n, p, loc)
    inside = ~(k < loc)
    y = jnp.where(inside, k - loc, jnp.zeros_like(k))
    choices = gammaln(y + n) - gammaln(n) - gammaln(y + 1)
    return where_supported(inside, choices + n * jnp.log(p) + xlog1py(y, -p))


pmf = exponential(logpmf, """Example:
      >>> stats.nbinom.pmf(jnp.array([0, 1, 4]), 2, 0.5)
      Array([0.25    , 0.25    , 0.078125], dtype=float32)
    """)
