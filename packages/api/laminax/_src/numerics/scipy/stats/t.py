"""Student's t distribution of `df` degrees of freedom, around `loc` and stretched by `scale`."""

from __future__ import annotations

import math

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.scipy.distributions import documented, exponential, standardized
from laminax._src.numerics.scipy.special import gammaln

__all__ = ["logpdf", "pdf"]


@documented("Student's t distribution")
def logpdf(x, df, loc=0, scale=1):
    z, scale, df = standardized("t.logpdf", x, loc, scale, df)
    norm = gammaln((df + 1) / 2) - gammaln(df / 2) - jnp.log(df * math.pi) / 2 - jnp.log(scale)
    return norm - (df + 1) / 2 * jnp.log1p(z * z / df)


pdf = exponential(logpdf)
