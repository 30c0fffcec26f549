"""The negative binomial distribution: failures before the n-th success of probability p. `loc` shifts it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.scipy.distributions import broadcast, documented, exponential, where_supported
from laminax._src.numerics.scipy.special import gammaln, xlog1py

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

__all__ = ["logpmf", "pmf"]


@documented("the negative binomial distribution")
def logpmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    k, n, p, loc = broadcast("nbinom.logpmf", k, n, p, loc)
    inside = ~(k < loc)
    y = jnp.where(inside, k - loc, jnp.zeros_like(k))
    choices = gammaln(y + n) - gammaln(n) - gammaln(y + 1)
    return where_supported(inside, choices + n * jnp.log(p) + xlog1py(y, -p))


pmf = exponential(logpmf)
