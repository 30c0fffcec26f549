"""The multinomial distribution: how often each of k outcomes, of probabilities p [..., k], occurs in n trials."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.numpy.arguments import ensure_array, promote_inexact
from laminax._src.numerics.scipy.entropies import xlogy
from laminax._src.numerics.scipy.special import gammaln

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

__all__ = ["logpmf", "pmf"]


@fused
def logpmf(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """Logarithm of the probability of counts of the multinomial distribution.

    Args:
      x: [..., k], the counts.
      n: [...], the numbers of trials.
      p: [..., k], the probabilities.

    Returns:
      A float array [...]; -inf where the counts do not add up to n.

    Example:
      >>> stats.multinomial.logpmf(jnp.array([1, 2]), 3, jnp.array([0.25, 0.75]))
      Array(-0.8630462, dtype=float32)
    """
    total = jnp.sum(ensure_array("multinomial.logpmf", x), axis=-1)
    p, = promote_inexact("multinomial.logpmf", p)
    x, n = jnp.asarray(x).astype(p.dtype), jnp.asarray(n)
    n = _of_rank(n, total)
    total = _of_rank(total, n)
    terms = jnp.sum(xlogy(x, p) - gammaln(x + 1), axis=-1)
    value = gammaln(n.astype(p.dtype) + 1) + _of_rank(terms, n)
    return jnp.where(total == n, value, -math.inf)


def _of_rank(x: Array, other: Array) -> Array:
    """x with leading axes of size 1, up to the rank of another array."""
    return jnp.expand_dims(x, tuple(range(other.ndim - x.ndim)))


@fused
def pmf(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """Probability of counts of the multinomial distribution: n! times the product of p**x / x!.

    Args:
      x: [..., k], the counts.
      n: [...], the numbers of trials.
      p: [..., k], the probabilities.

    Returns:
      A float array [...]; 0 where the counts do not add up to n.

    Example:
      >>> stats.multinomial.pmf(jnp.array([1, 2]), 3, jnp.array([0.25, 0.75]))
      Array(0.421875, dtype=float32)
    """
    return jnp.exp(logpmf(x, n, p))
