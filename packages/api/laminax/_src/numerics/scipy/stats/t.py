"""Student's t distribution of `df` degrees of freedom, around `loc` and stretched by `scale`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.scipy.distributions import documented, exponential, standardized
from laminax._src.numerics.scipy.gamma_functions import betaln

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

__all__ = ["logpdf", "pdf"]

_documented = documented(
    "Student's t distribution",
    "Its density is proportional to (1 + z**2 / df)**(-(df + 1) / 2) for z = (x - loc) / scale.",
    df="the degrees of freedom, positive", loc="the median")


@_documented
def logpdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Example:
      >>> stats.t.logpdf(jnp.array([0., 2.]), 4)
      Array([-0.98082924, -2.7136972 ], dtype=float32)
    """
    z, scale, df = standardized("t.logpdf", x, loc, scale, df)
    is_normal = df == math.inf  # the limit
    finite = jnp.where(is_normal, jnp.ones_like(df), df)
    # The logarithm of gamma((df + 1) / 2) / (gamma(df / 2) sqrt(pi)), whose terms would cancel each other for large df.
    ratio = -betaln(jnp.full_like(finite, 0.5), finite / 2)
    value = ratio - jnp.log(finite) / 2 - (finite + 1) / 2 * jnp.log1p(z * z / finite)
    return jnp.where(is_normal, -(z * z + math.log(2 * math.pi)) / 2, value) - jnp.log(scale)


pdf = exponential(logpdf, """Example:
      >>> stats.t.pdf(jnp.array([0., 2.]), 4)
      Array([0.375     , 0.06629126], dtype=float32)
    """)
