"""The Dirichlet distribution of positive parameters alpha [n], on vectors of positive numbers that add up to 1."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.numpy.arguments import promote_inexact
from laminax._src.numerics.scipy.distributions import described
from laminax._src.numerics.scipy.entropies import xlogy
from laminax._src.numerics.scipy.special import gammaln

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

__all__ = ["logpdf", "pdf"]


@fused
def logpdf(x: ArrayLike, alpha: ArrayLike) -> Array:
    """Logarithm of the density of the Dirichlet distribution.

    Args:
      x: [n, ...], the vectors in the first axis; or [n - 1, ...], without the last element, which is what is left to 1.
      alpha: [n].

    Returns:
      An array of x's shape without the first axis; -inf where the elements are not positive or do not add up to 1.

    Raises:
      ValueError: if the shapes do not fit.

    Example:
      >>> stats.dirichlet.logpdf(jnp.array([0.2, 0.3, 0.5]), jnp.array([1., 2., 3.]))
      Array(1.5040774, dtype=float32)
    """
    if jnp.ndim(alpha) != 1 or not jnp.ndim(x) or jnp.shape(alpha)[0] - jnp.shape(x)[0] not in (0, 1):
        raise ValueError(f"dirichlet.logpdf: alpha must be [n] and x [n, ...] or [n - 1, ...], got {described(alpha)} and {described(x)}")
    x, alpha = jnp.asarray(x), jnp.asarray(alpha)
    x, alpha = promote_inexact("dirichlet.logpdf", x, jnp.reshape(alpha, (-1, *[1] * (x.ndim - 1))))
    if x.shape[0] != alpha.shape[0]:
        x = jnp.concatenate([x, 1 - jnp.sum(x, axis=0, keepdims=True)])
    inside = jnp.all(x > 0, axis=0) & (jnp.abs(jnp.sum(x, axis=0) - 1) < 1e-6)
    norm = jnp.sum(gammaln(alpha)) - gammaln(jnp.sum(alpha))
    return jnp.where(inside, jnp.sum(xlogy(alpha - 1, x), axis=0) - norm, -math.inf)


@fused
def pdf(x: ArrayLike, alpha: ArrayLike) -> Array:
    """Density of the Dirichlet distribution: the product of x**(alpha - 1), over the multivariate beta function of alpha.

    Args:
      x: [n, ...], the vectors in the first axis; or [n - 1, ...], without the last element, which is what is left to 1.
      alpha: [n], positive.

    Returns:
      An array of x's shape without the first axis; 0 where the elements are not positive or do not add up to 1.

    Raises:
      ValueError: if the shapes do not fit.

    Example:
      >>> stats.dirichlet.pdf(jnp.array([0.2, 0.3, 0.5]), jnp.array([1., 2., 3.]))
      Array(4.5, dtype=float32)
    """
    return jnp.exp(logpdf(x, alpha))
