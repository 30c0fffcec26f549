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


@documented("Student's t distribution")
def logpdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    z, scale, df = standardized("t.logpdf", x, loc, scale, df)
    norm = gammaln((df + 1) / 2) - gammaln(df / 2) - jnp.log(df * math.pi) / 2 - jnp.log(scale)
    return norm - (df + 1) / 2 * jnp.log1p(z * z / df)


pdf = exponential(logpdf)
