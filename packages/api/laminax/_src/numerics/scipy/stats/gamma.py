"""The gamma distribution of shape a, from `loc` on, stretched by `scale`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.scipy.distributions import documented, exponential, logarithm, standardized, where_supported
from laminax._src.numerics.scipy.entropies import xlogy
from laminax._src.numerics.scipy.gamma_functions import gammainc, gammaincc
from laminax._src.numerics.scipy.special import gammaln

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]

_documented = documented(
    "the gamma distribution",
    "Its density is z**(a - 1) exp(-z) / (gamma(a) scale) for z = (x - loc) / scale >= 0.",
    a="the shape, positive")


@_documented
def logpdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.gamma.logpdf(jnp.array([1., 4.]), 2)
      Array([-1.       , -2.6137056], dtype=float32)
    """
    z, scale, a = standardized("gamma.logpdf", x, loc, scale, a)
    inside = ~(z < 0) | (scale < 0)  # NaN where the scale is negative, by its logarithm
    safe = jnp.where(inside, z, jnp.ones_like(z))
    return where_supported(inside, xlogy(a - 1, safe) - safe - gammaln(a) - jnp.log(scale))


pdf = exponential(logpdf, """Example:
      >>> stats.gamma.pdf(jnp.array([1., 4.]), 2)
      Array([0.36787945, 0.07326256], dtype=float32)
    """)


@_documented
def cdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.gamma.cdf(jnp.array([1., 4.]), 2)
      Array([0.26424113, 0.9084218 ], dtype=float32)
    """
    z, _, a = standardized("gamma.cdf", x, loc, scale, a)
    return gammainc(a, jnp.maximum(z, 0))


@_documented
def sf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.gamma.sf(jnp.array([1., 4.]), 2)
      Array([0.7357589 , 0.09157819], dtype=float32)
    """
    z, _, a = standardized("gamma.sf", x, loc, scale, a)
    return gammaincc(a, jnp.maximum(z, 0))


logcdf = logarithm(cdf, """Example:
      >>> stats.gamma.logcdf(jnp.array([1., 4.]), 2)
      Array([-1.3308933 , -0.09604646], dtype=float32)
    """)
logsf = logarithm(sf, """Example:
      >>> stats.gamma.logsf(jnp.array([1., 4.]), 2)
      Array([-0.30685282, -2.390562  ], dtype=float32)
    """)
