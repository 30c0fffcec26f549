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

_documented = documented(
    "the von Mises distribution",
    "Its density is exp(kappa cos(x)) / (2 pi I0(kappa)).",
    kappa="the concentration, not negative; all angles are alike where it is 0")


@_documented
def logpdf(x: ArrayLike, kappa: ArrayLike) -> Array:
    """Example:
      >>> stats.vonmises.logpdf(jnp.array([0., 1.5]), 2)
      Array([-0.6618706, -2.5203962], dtype=float32)
    """
    x, kappa = broadcast("vonmises.logpdf", x, kappa)
    value = kappa * (jnp.cos(x) - 1) - jnp.log(2 * math.pi * i0e(kappa))
    return jnp.where(kappa >= 0, value, jnp.full_like(value, math.nan))


pdf = exponential(logpdf, """Example:
      >>> stats.vonmises.pdf(jnp.array([0., 1.5]), 2)
      Array([0.5158854 , 0.08042774], dtype=float32)
    """)
