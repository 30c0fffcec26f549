"""The generalised normal distribution, of density proportional to exp(-|x|**beta)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.scipy.distributions import broadcast, documented, exponential
from laminax._src.numerics.scipy.special import gammainc, gammaln

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

__all__ = ["cdf", "logpdf", "pdf"]

_documented = documented("the generalised normal distribution")


@_documented
def logpdf(x: ArrayLike, beta: ArrayLike) -> Array:
    x, beta = broadcast("gennorm.logpdf", x, beta)
    return jnp.log(beta / 2) - gammaln(1 / beta) - jnp.abs(x) ** beta


pdf = exponential(logpdf)


@_documented
def cdf(x: ArrayLike, beta: ArrayLike) -> Array:
    x, beta = broadcast("gennorm.cdf", x, beta)
    return (1 + jnp.sign(x) * gammainc(1 / beta, jnp.abs(x) ** beta)) / 2
