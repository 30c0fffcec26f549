"""The generalised normal distribution, of density proportional to exp(-|x|**beta)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.scipy.distributions import broadcast, documented, exponential
from laminax._src.numerics.scipy.gamma_functions import gammainc
from laminax._src.numerics.scipy.special import gammaln

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

__all__ = ["cdf", "logpdf", "pdf"]

_documented = documented(
    "the generalised normal distribution",
    "Its density is beta exp(-|x|**beta) / (2 gamma(1 / beta)).",
    beta="the exponent, positive: 1 for the Laplace distribution, 2 for a normal one")


@_documented
def logpdf(x: ArrayLike, beta: ArrayLike) -> Array:
    """Example:
      >>> stats.gennorm.logpdf(jnp.array([0., 1.]), 3)
      Array([-0.5799555, -1.5799556], dtype=float32)
    """
    x, beta = broadcast("gennorm.logpdf", x, beta)
    return jnp.log(beta / 2) - gammaln(1 / beta) - jnp.abs(x) ** beta


pdf = exponential(logpdf, """Example:
      >>> stats.gennorm.pdf(jnp.array([0., 1.]), 3)
      Array([0.55992323, 0.20598425], dtype=float32)
    """)


@_documented
def cdf(x: ArrayLike, beta: ArrayLike) -> Array:
    """Example:
      >>> stats.gennorm.cdf(jnp.array([0., 1.]), 3)
      Array([0.5       , 0.95214427], dtype=float32)
    """
    x, beta = broadcast("gennorm.cdf", x, beta)
    return (1 + jnp.sign(x) * gammainc(1 / beta, jnp.abs(x) ** beta)) / 2
