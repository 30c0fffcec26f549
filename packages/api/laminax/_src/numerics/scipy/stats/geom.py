"""The geometric distribution: the number of trials of probability p up to the first success. `loc` shifts it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.scipy.distributions import broadcast, documented, exponential, where_supported
from laminax._src.numerics.scipy.special import xlog1py

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

__all__ = ["logpmf", "pmf"]


@documented("the geometric distribution")
def logpmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    k, p, loc = broadcast("geom.logpmf", k, p, loc)
    x = k - loc
    return where_supported(~(x <= 0), xlog1py(x - 1, -p) + jnp.log(p))


pmf = exponential(logpmf)
