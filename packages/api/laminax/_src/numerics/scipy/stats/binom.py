"""The binomial distribution: successes among n trials of probability p. `loc` shifts it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.scipy.distributions import broadcast, documented, exponential, where_supported
from laminax._src.numerics.scipy.special import gammaln, xlog1py, xlogy

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

__all__ = ["logpmf", "pmf"]


@documented("the binomial distribution")
def logpmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    k, n, p, loc = broadcast("binom.logpmf", k, n, p, loc)
    inside = ~((k < loc) | (k > loc + n))
    y = jnp.where(inside, k - loc, jnp.zeros_like(k))
    choices = gammaln(n + 1) - gammaln(y + 1) - gammaln(n - y + 1)
    value = choices + xlogy(y, p) + xlog1py(n - y, -p)
    return where_supported(inside, jnp.where((n == 0) & (y == 0), 0, value))  # certain, which lgamma(1) of float32 is not


pmf = exponential(logpmf)
