"""The wrapped Cauchy distribution of angles from 0 to 2 pi, of concentration c between 0 and 1."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.scipy.distributions import broadcast, documented, exponential, where_supported

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

__all__ = ["logpdf", "pdf"]

_documented = documented(
    "the wrapped Cauchy distribution",
    "Its density is (1 - c**2) / (2 pi (1 + c**2 - 2 c cos(x))) for x from 0 to 2 pi.",
    c="the concentration, between 0 and 1")


@_documented
def logpdf(x: ArrayLike, c: ArrayLike) -> Array:
    """Example:
      >>> stats.wrapcauchy.logpdf(jnp.array([0., 1.5]), 0.5)
      Array([-0.7392648, -2.2904487], dtype=float32)
    """
    x, c = broadcast("wrapcauchy.logpdf", x, c)
    value = jnp.log1p(-c * c) - math.log(2 * math.pi) - jnp.log1p(c * c - 2 * c * jnp.cos(x))
    value = where_supported(~((x < 0) | (x > 2 * math.pi)), value)
    return jnp.where((c > 0) & (c < 1), value, jnp.full_like(value, math.nan))


pdf = exponential(logpdf, """Example:
      >>> stats.wrapcauchy.pdf(jnp.array([0., 1.5]), 0.5)
      Array([0.47746482, 0.10122104], dtype=float32)
    """)
