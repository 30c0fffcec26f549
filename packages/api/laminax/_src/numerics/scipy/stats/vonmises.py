"""The von Mises distribution of angles, around 0, of concentration kappa."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.scipy.distributions import broadcast, documented, exponential
from laminax._src.numerics.scipy.special import i0e

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

__all__ = ["logpdf", "pdf"]


@documented("the von Mises distribution")
def logpdf(x: ArrayLike, kappa: ArrayLike) -> Array:
    x, kappa = broadcast("vonmises.logpdf", x, kappa)
    value = kappa * (jnp.cos(x) - 1) - jnp.log(2 * math.pi * i0e(kappa))
    return jnp.where(kappa > 0, value, jnp.full_like(value, math.nan))


pdf = exponential(logpdf)
