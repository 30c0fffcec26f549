"""The multivariate normal distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from laminax_ir.ops import elementwise as e
from laminax_ir.ops.linalg import cholesky, eigh, matmul, svd
from laminax_ir.ops.shape import expand_dims, squeeze
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.floor import fused, takes_out_sharding
from laminax._src.numerics.random.arguments import checked_dtype, converted, shape_of_parameters, to_rank, to_shape
from laminax._src.numerics.random.keys import typed_key
from laminax._src.numerics.random.samplers import normal_real

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike, DTypeLike

_METHODS = ("cholesky", "eigh", "svd")


@takes_out_sharding
def multivariate_normal(key: ArrayLike, mean: ArrayLike, cov: ArrayLike, shape: Sequence[int] | None = None, dtype: DTypeLike | None = None,
                        method: str = "cholesky", *, out_sharding: Any = None) -> Array:
    """Samples of the normal distribution of vectors.

    Args:
      key: a key, typed or raw.
      mean: [..., n].
      cov: the positive definite (for 'eigh' and 'svd' also semidefinite) covariance, [..., n, n].
      shape: the shape of the batch of vectors, to which the leading axes of mean and cov broadcast; by default their
        common one.
      dtype: a float dtype; by default that of mean and cov.
      method: how the covariance is factored: 'cholesky', 'eigh' or 'svd'.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Returns:
      An array of shape `(*shape, n)`.

    Raises:
      ValueError: if shapes do not fit, the dtype is no float one, or the method is unknown.

    Example:
      >>> random.multivariate_normal(random.key(0), jnp.zeros(2), jnp.eye(2), (5,)).shape
      (5, 2)
    """
    typed = typed_key("multivariate_normal", key)
    if method not in _METHODS:
        raise ValueError(f"multivariate_normal: method must be one of {', '.join(map(repr, _METHODS))}, got {method!r}")
    mean_aval, cov_aval = get_aval(mean), get_aval(cov)
    dtype = checked_dtype("multivariate_normal", dtype, default=dtypes.to_inexact_dtype(dtypes.result_type(mean, cov)))
    if mean_aval.ndim < 1:
        raise ValueError(f"multivariate_normal requires mean.ndim >= 1, got mean.ndim == {mean_aval.ndim}")
    if cov_aval.ndim < 2:
        raise ValueError(f"multivariate_normal requires cov.ndim >= 2, got cov.ndim == {cov_aval.ndim}")
    n = mean_aval.shape[-1]
    if cov_aval.shape[-2:] != (n, n):
        raise ValueError(f"multivariate_normal requires cov.shape == (..., n, n) for n={n}, but got cov.shape == {cov_aval.shape}.")
    batches = [np.broadcast_to(np.empty((), bool), s) for s in (mean_aval.shape[:-1], cov_aval.shape[:-2])]
    shape = shape_of_parameters("multivariate_normal", shape, *batches)
    return _multivariate_normal(typed, converted(mean, dtype), converted(cov, dtype), shape=shape, dtype=dtype, method=method)


@fused(static_argnames=("shape", "dtype", "method"))
def _multivariate_normal(key: ArrayLike, mean: ArrayLike, cov: ArrayLike, *, shape: tuple[int, ...], dtype: np.dtype, method: str) -> Array:
    n = mean.shape[-1]
    factor = to_shape(_factor(cov, method), (*shape, n, n))
    samples = expand_dims(normal_real(key, (*shape, n), dtype), (len(shape) + 1,))
    product = squeeze(matmul(factor, samples), (len(shape) + 1,))
    return e.add(to_rank(mean, len(shape) + 1), product)


def _factor(cov: ArrayLike, method: str) -> Array:
    """A matrix whose product with its transpose is the covariance."""
    if method == "cholesky":
        return cholesky(cov)
    vectors, values = svd(cov)[:2] if method == "svd" else eigh(cov)
    return e.mul(vectors, expand_dims(e.sqrt(values), (len(values.shape) - 1,)))
