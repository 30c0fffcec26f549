"""Student's t distribution of `df` degrees of freedom, around `loc` and stretched by `scale`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.scipy.distributions import documented, exponential, standardized
from laminax._src.numerics.scipy.special import gammaln

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
    norm = gammaln((df + 1) / 2) - gammaln(df / 2) - jnp.log(df * math.pi) / 2 - jnp.log(scale)
    return norm - (df + 1) / 2 * jnp.log1p(z * z / df)


pdf = exponential(logpdf, """Example:
      >>> stats.t.pdf(jnp.array([0., 2.]), 4)
      Array([0.375     , 0.06629126], dtype=float32)
    """)
