"""The binomial distribution: successes among n trials of probability p. `loc` shifts it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.scipy.distributions import broadcast, documented, exponential, where_supported
from laminax._src.numerics.scipy.entropies import xlog1py, xlogy
from laminax._src.numerics.scipy.special import gammaln

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

__all__ = ["logpmf", "pmf"]

_documented = documented(
    "the binomial distribution",
    "The probability of k is C(n, k) p**k (1 - p)**(n - k).",
    n="the number of trials", p="the probability of a success")


@_documented
def logpmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Example:
      >>> stats.binom.logpmf(jnp.array([0, 2, 5]), 5, 0.5)
      Array([-3.465736 , -1.1631508, -3.465736 ], dtype=float32)
    """
    k, n, p, loc = broadcast("binom.logpmf", k, n, p, loc)
    inside = ~((k < loc) | (k > loc + n))
    y = jnp.where(inside, k - loc, jnp.zeros_like(k))
    choices = gammaln(n + 1) - gammaln(y + 1) - gammaln(n - y + 1)
    value = choices + xlogy(y, p) + xlog1py(n - y, -p)
    return where_supported(inside, jnp.where((n == 0) & (y == 0), 0, value))  # certain, which lgamma(1) of float32 is not


pmf = exponential(logpmf, """Example:
      >>> stats.binom.pmf(jnp.array([0, 2, 5]), 5, 0.5)
      Array([0.03125, 0.3125 , 0.03125], dtype=float32)
    """)
