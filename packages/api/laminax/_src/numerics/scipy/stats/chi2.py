"""The chi-squared distribution of `df` degrees of freedom, from `loc` on, stretched by `scale`."""

from __future__ import annotations

import math
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
    "the chi-squared distribution",
    "Its density is z**(df/2 - 1) exp(-z/2) / (2**(df/2) gamma(df/2) scale) for z = (x - loc) / scale >= 0.",
    df="the degrees of freedom, positive")


@_documented
def logpdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.chi2.logpdf(jnp.array([1., 5.]), 3)
      Array([-1.4189385, -2.6142197], dtype=float32)
    """
    z, scale, df = standardized("chi2.logpdf", x, loc, scale, df)
    half = df / 2
    inside = ~(z < 0) | (scale < 0)  # NaN where the scale is negative, by its logarithm
    safe = jnp.where(inside, z, jnp.ones_like(z))
    return where_supported(inside, xlogy(half - 1, safe) - safe / 2 - gammaln(half) - half * math.log(2) - jnp.log(scale))


pdf = exponential(logpdf, """Example:
      >>> stats.chi2.pdf(jnp.array([1., 5.]), 3)
      Array([0.24197072, 0.07322491], dtype=float32)
    """)


@_documented
def cdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.chi2.cdf(jnp.array([1., 5.]), 3)
      Array([0.19874804, 0.82820284], dtype=float32)
    """
    z, _, df = standardized("chi2.cdf", x, loc, scale, df)
    return gammainc(df / 2, jnp.maximum(z, 0) / 2)


@_documented
def sf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.chi2.sf(jnp.array([1., 5.]), 3)
      Array([0.80125195, 0.17179714], dtype=float32)
    """
    z, _, df = standardized("chi2.sf", x, loc, scale, df)
    return gammaincc(df / 2, jnp.maximum(z, 0) / 2)


logcdf = logarithm(cdf, """Example:
      >>> stats.chi2.logcdf(jnp.array([1., 5.]), 3)
      Array([-1.6157174 , -0.18849716], dtype=float32)
    """)
logsf = logarithm(sf, """Example:
      >>> stats.chi2.logsf(jnp.array([1., 5.]), 3)
      Array([-0.22157983, -1.7614409 ], dtype=float32)
    """)
