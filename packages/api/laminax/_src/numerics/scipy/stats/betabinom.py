"""The beta-binomial distribution: successes among n trials whose probability has the beta distribution. `loc` shifts it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.scipy.distributions import broadcast, documented, exponential, where_positive, where_supported
from laminax._src.numerics.scipy.special import betaln

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

__all__ = ["logpmf", "pmf"]


@documented("the beta-binomial distribution")
def logpmf(k: ArrayLike, n: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0) -> Array:
    k, n, a, b, loc = broadcast("betabinom.logpmf", k, n, a, b, loc)
    inside = ~((k < loc) | (k > loc + n))
    y = jnp.where(inside, k - loc, jnp.zeros_like(k))
    value = betaln(y + a, n - y + b) - betaln(a, b) - jnp.log1p(n) - betaln(n - y + 1, y + 1)
    value = jnp.where((n == 0) & (y == 0), 0, value)  # certain, which the difference of logarithms is only nearly
    return where_positive((a, b, n + 1), where_supported(inside, value))


pmf = exponential(logpmf)
