"""The geometric distribution: the number of trials of probability p up to the first success. `loc` shifts it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.scipy.distributions import broadcast, documented, exponential, where_supported
from laminax._src.numerics.scipy.entropies import xlog1py

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

__all__ = ["logpmf", "pmf"]

_documented = documented(
    "the geometric distribution",
    "The probability of k is (1 - p)**(k - 1) p for k >= 1.",
    p="the probability of a success")


@_documented
def logpmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Example:
      >>> stats.geom.logpmf(jnp.array([1, 2, 3]), 0.25)
      Array([-1.3862944, -1.6739764, -1.9616585], dtype=float32)
    """
    k, p, loc = broadcast("geom.logpmf", k, p, loc)
    x = k - loc
    return where_supported(~(x <= 0), xlog1py(x - 1, -p) + jnp.log(p))


pmf = exponential(logpmf, """Example:
      >>> stats.geom.pmf(jnp.array([1, 2, 3]), 0.25)
      Array([0.25    , 0.1875  , 0.140625], dtype=float32)
    """)
