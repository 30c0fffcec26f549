"""The normal distribution of vectors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from laminax_ir.ops import linalg as la

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.numpy.arguments import inexact, promote_dtypes
from laminax._src.numerics.scipy.distributions import described

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

__all__ = ["logpdf", "pdf"]


def logpdf(x: ArrayLike, mean: ArrayLike, cov: ArrayLike, allow_singular: None = None) -> Any:
    """Logarithm of the density of the multivariate normal distribution.

    Args:
      x: [..., n], or [...] with a scalar mean.
      mean: [..., n], or a scalar.
      cov: [..., n, n], positive definite; or a scalar, the variance of each element.
      allow_singular: must be None.

    Returns:
      A float array [...].

    Raises:
      ValueError: if the shapes do not fit.
      NotImplementedError: if `allow_singular` is given.

    Example:
      >>> stats.multivariate_normal.logpdf(jnp.array([1., 0.]), jnp.zeros(2), jnp.array([[2., 1.], [1., 2.]]))
      Array(-2.7205164, dtype=float32)
    """
    if allow_singular is not None:
        raise NotImplementedError(f"multivariate_normal.logpdf: allow_singular must be None, got {allow_singular!r}")
    return _logpdf(x, mean, cov)


@fused
def _logpdf(x: ArrayLike, mean: ArrayLike, cov: ArrayLike) -> Array:
    x, mean, cov = (jnp.asarray(inexact("multivariate_normal.logpdf", v))
                    for v in promote_dtypes("multivariate_normal.logpdf", x, mean, cov))
    if not mean.shape:
        return -(x - mean) ** 2 / (2 * cov) - (math.log(2 * math.pi) + jnp.log(cov)) / 2
    n = mean.shape[-1]
    if not cov.shape:
        distance = jnp.sum((x - mean) ** 2, axis=-1) / cov
        return -(distance + n * math.log(2 * math.pi) + n * jnp.log(cov)) / 2
    if cov.ndim < 2 or cov.shape[-2:] != (n, n):
        raise ValueError("multivariate_normal.logpdf: mean and cov must be [..., n] and [..., n, n], or cov a scalar, got "
                         f"{described(mean)} and {described(cov)}")
    factor = la.cholesky(cov)
    y = jnp.vectorize(lambda v, low: la.triangular_solve(low, v, left_side=True, lower=True), signature="(n),(n,n)->(n)")(x - mean, factor)
    logdet = jnp.sum(jnp.log(jnp.diagonal(factor, axis1=-2, axis2=-1)), axis=-1)
    return -jnp.sum(y * y, axis=-1) / 2 - n / 2 * math.log(2 * math.pi) - logdet


@fused
def pdf(x: ArrayLike, mean: ArrayLike, cov: ArrayLike) -> Array:
    """Density of the multivariate normal distribution.

    It is exp(-(x - mean)^T cov^-1 (x - mean) / 2) / sqrt((2 pi)**n det(cov)).

    Args:
      x: [..., n], or [...] with a scalar mean.
      mean: [..., n], or a scalar.
      cov: [..., n, n], positive definite; or a scalar, the variance of each element.

    Returns:
      A float array [...].

    Raises:
      ValueError: if the shapes do not fit.

    Example:
      >>> stats.multivariate_normal.pdf(jnp.array([1., 0.]), jnp.zeros(2), jnp.array([[2., 1.], [1., 2.]]))
      Array(0.06584074, dtype=float32)
    """
    return jnp.exp(logpdf(x, mean, cov))
