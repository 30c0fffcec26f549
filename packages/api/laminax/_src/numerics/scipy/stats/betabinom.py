"""The beta-binomial distribution: successes among n trials whose probability has the beta distribution. `loc` shifts it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.scipy.distributions import broadcast, documented, exponential, where_positive, where_supported
from laminax._src.numerics.scipy.gamma_functions import betaln

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

__all__ = ["logpmf", "pmf"]

_documented = documented(
    "the beta-binomial distribution",
    "The probability of k is C(n, k) B(k + a, n - k + b) / B(a, b).",
    n="the number of trials",
    a="the first parameter of the beta distribution, positive",
    b="the second parameter of the beta distribution, positive")


@_documented
def logpmf(k: ArrayLike, n: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Example:
      >>> stats.betabinom.logpmf(jnp.array([0, 2, 5]), 5, 2, 3)
      Array([-1.7917595, -1.4350846, -3.0445225], dtype=float32)
    """
    k, n, a, b, loc = broadcast("betabinom.logpmf", k, n, a, b, loc)
    inside = ~((k < loc) | (k > loc + n))
    y = jnp.where(inside, k - loc, jnp.zeros_like(k))
    value = betaln(y + a, n - y + b) - betaln(a, b) - jnp.log1p(n) - betaln(n - y + 1, y + 1)
    value = jnp.where((n == 0) & (y == 0), 0, value)  # certain, which the difference of logarithms is only nearly
    return where_positive((a, b, n + 1), where_supported(inside, value))


pmf = exponential(logpmf, """Example:
      >>> stats.betabinom.pmf(jnp.array([0, 2, 5]), 5, 2, 3)
      Array([0.16666667, 0.23809524, 0.04761905], dtype=float32)
    """)
