"""The negative binomial distribution: failures before the n-th success of probability p. `loc` shifts it."""

from __future__ import annotations

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.scipy.distributions import broadcast, documented, exponential, where_supported
from laminax._src.numerics.scipy.special import gammaln, xlog1py

__all__ = ["logpmf", "pmf"]


@documented("the negative binomial distribution")
def logpmf(k, n, p, loc=0):
    k, n, p, loc = broadcast("nbinom.logpmf", k, n, p, loc)
    inside = ~(k < loc)
    y = jnp.where(inside, k - loc, jnp.zeros_like(k))
    choices = gammaln(y + n) - gammaln(n) - gammaln(y + 1)
    return where_supported(inside, choices + n * jnp.log(p) + xlog1py(y, -p))


pmf = exponential(logpmf)
