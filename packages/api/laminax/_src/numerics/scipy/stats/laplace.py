"""The Laplace distribution around `loc`, of mean distance `scale`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.scipy.distributions import documented, exponential, standardized

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

__all__ = ["cdf", "logpdf", "pdf"]

_documented = documented(
    "the Laplace distribution",
    "Its density is exp(-|z|) / (2 scale) for z = (x - loc) / scale.",
    loc="the mean", scale="the mean distance from it, positive")


@_documented
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.laplace.logpdf(jnp.array([-1., 2.]))
      Array([-1.6931472, -2.6931472], dtype=float32)
    """
    z, scale = standardized("laplace.logpdf", x, loc, scale)
    return -jnp.abs(z) - jnp.log(2 * scale)


pdf = exponential(logpdf, """Example:
      >>> stats.laplace.pdf(jnp.array([-1., 2.]))
      Array([0.18393973, 0.06766764], dtype=float32)
    """)


@_documented
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.laplace.cdf(jnp.array([-1., 2.]))
      Array([0.18393973, 0.93233234], dtype=float32)
    """
    z, _ = standardized("laplace.cdf", x, loc, scale)
    tail = jnp.exp(-jnp.abs(z)) / 2
    return jnp.where(z <= 0, tail, 1 - tail)
