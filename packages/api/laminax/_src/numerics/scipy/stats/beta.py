"""The beta distribution on [loc, loc + scale], of positive parameters a and b."""

from __future__ import annotations

from typing import TYPE_CHECKING

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.scipy.distributions import documented, exponential, logarithm, standardized, where_positive, where_supported
from laminax._src.numerics.scipy.entropies import xlog1py, xlogy
from laminax._src.numerics.scipy.gamma_functions import betainc, betaln

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]

_documented = documented(
    "the beta distribution",
    "Its density is z**(a - 1) (1 - z)**(b - 1) / (B(a, b) scale) for z = (x - loc) / scale in [0, 1].",
    a="the first exponent plus 1, positive", b="the second exponent plus 1, positive")


@_documented
def logpdf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.beta.logpdf(jnp.array([0.25, 0.5]), 2, 3)
      Array([0.52324814, 0.4054651 ], dtype=float32)
    """
    z, scale, a, b = standardized("beta.logpdf", x, loc, scale, a, b)
    inside = ~((z < 0) | (z > 1))
    safe = jnp.where(inside, z, jnp.full_like(z, 0.5))
    value = xlogy(a - 1, safe) + xlog1py(b - 1, -safe) - betaln(a, b) - jnp.log(scale)
    return where_positive((a, b, scale), where_supported(inside, value))


pdf = exponential(logpdf, """Example:
      >>> stats.beta.pdf(jnp.array([0.25, 0.5]), 2, 3)
      Array([1.6875, 1.5   ], dtype=float32)
    """)


@_documented
def cdf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.beta.cdf(jnp.array([0.25, 0.5]), 2, 3)
      Array([0.26171875, 0.6875    ], dtype=float32)
    """
    z, _, a, b = standardized("beta.cdf", x, loc, scale, a, b)
    return betainc(a, b, jnp.clip(z, 0, 1))


@_documented
def sf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.beta.sf(jnp.array([0.25, 0.5]), 2, 3)
      Array([0.73828125, 0.3125    ], dtype=float32)
    """
    z, _, a, b = standardized("beta.sf", x, loc, scale, a, b)
    return betainc(b, a, 1 - jnp.clip(z, 0, 1))


logcdf = logarithm(cdf, """Example:
      >>> stats.beta.logcdf(jnp.array([0.25, 0.5]), 2, 3)
      Array([-1.3404849 , -0.37469345], dtype=float32)
    """)
logsf = logarithm(sf, """Example:
      >>> stats.beta.logsf(jnp.array([0.25, 0.5]), 2, 3)
      Array([-0.30343044, -1.1631508 ], dtype=float32)
    """)
