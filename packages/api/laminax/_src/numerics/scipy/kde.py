"""Density estimation with Gaussian kernels, as in `scipy.stats`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from laminax_ir.ops import linalg as la
from laminax_ir.pytrees.pytree import register_pytree_node_class
from laminax_ir.types import dtypes

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.numpy.arguments import ensure_arrays, inexact
from laminax._src.numerics.numpy.linalg import equations
from laminax._src.numerics.numpy.logarithmic_sums import logsumexp
from laminax._src.numerics.random import keys as random_keys
from laminax._src.numerics.random import multivariate, selection
from laminax._src.numerics.scipy.distributions import described
from laminax._src.numerics.scipy.normal_distribution import ndtr

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


@register_pytree_node_class
@dataclass(frozen=True, init=False)
class gaussian_kde:
    """The sum of normal distributions around points.

    Args:
      dataset: [d, n], or [n] for one dimension: the points.
      bw_method: the factor between the points' standard deviation and that of the kernels: "scott" (the default) or
        "silverman" for their rules, a number, or a function of the estimate.
      weights: [n], the points' weights; by default equal.

    Raises:
      ValueError: if there is only one number, the weights do not fit, or the method is unknown.
      NotImplementedError: for complex points.

    Example:
      >>> gaussian_kde(numpy.array([1., 2., 4.]))(numpy.array([1.5]))
    """

    neff: Any
    dataset: Any
    weights: Any
    covariance: Any
    inv_cov: Any

    def __init__(self, dataset: ArrayLike, bw_method: Any = None, weights: ArrayLike | None = None) -> None:
        (dataset,) = ensure_arrays("gaussian_kde", dataset)
        if dtypes.issubdtype(dtypes.dtype(dataset), dtypes.complexfloating) or (
                weights is not None and dtypes.issubdtype(dtypes.dtype(weights), dtypes.complexfloating)):
            raise NotImplementedError("gaussian_kde: complex data is not supported; use the real and imaginary parts as two dimensions")
        dataset = jnp.atleast_2d(inexact("gaussian_kde", dataset))
        if dataset.size < 2:
            raise ValueError(f"gaussian_kde: the dataset must have several elements, got {described(dataset)}")
        d, n = dataset.shape
        if weights is None:
            weights = jnp.full((n,), 1 / n, dataset.dtype)
        else:
            weights = jnp.atleast_1d(weights)
            if weights.shape != (n,):
                raise ValueError(f"gaussian_kde: the weights must be [{n}], one for each point, got {described(weights)}")
            weights = (weights / jnp.sum(weights)).astype(dataset.dtype)
        self._set("dataset", dataset)
        self._set("weights", weights)
        self._set("neff", 1 / jnp.sum(weights ** 2))
        factor = self._factor(bw_method)
        covariance = jnp.atleast_2d(jnp.cov(dataset, rowvar=True, bias=False, aweights=weights))
        self._set("covariance", covariance * factor ** 2)
        self._set("inv_cov", equations.inv(covariance) / factor ** 2)

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _factor(self, bw_method: Any) -> Any:
        if bw_method is None or bw_method == "scott":
            return self.neff ** (-1 / (self.d + 4))
        if bw_method == "silverman":
            return (self.neff * (self.d + 2) / 4) ** (-1 / (self.d + 4))
        if isinstance(bw_method, Callable):  # type: ignore[arg-type]
            return bw_method(self)
        if isinstance(bw_method, str) or not jnp.isscalar(bw_method):
            raise ValueError(f"gaussian_kde: bw_method must be 'scott', 'silverman', a scalar, or a callable; got {bw_method!r}")
        return bw_method

    def tree_flatten(self) -> Any:
        return (self.neff, self.dataset, self.weights, self.covariance, self.inv_cov), None

    @classmethod
    def tree_unflatten(cls, aux_data: Any, children: tuple[ArrayLike, ...]) -> gaussian_kde:
        kde = object.__new__(cls)
        for name, child in zip(("neff", "dataset", "weights", "covariance", "inv_cov"), children):
            kde._set(name, child)
        return kde

    @property
    def d(self) -> int:
        """The number of dimensions."""
        return self.dataset.shape[0]

    @property
    def n(self) -> int:
        """The number of points."""
        return self.dataset.shape[1]

    def evaluate(self, points: ArrayLike) -> Array:
        """The density at points.

        Args:
          points: [d, m]; or [m] in one dimension, or [d] for one point.

        Returns:
          [m].
        """
        return jnp.exp(self.logpdf(points))

    __call__ = evaluate

    def pdf(self, x: ArrayLike) -> Array:
        """The density at points, as `evaluate` has it."""
        return self.evaluate(x)

    def logpdf(self, x: ArrayLike) -> Array:
        """The logarithm of the density at points, as `evaluate` takes them."""
        points = self._points(x)
        root = la.cholesky(self.inv_cov)  # kernels have the distance |root^T difference|
        difference = points[:, :, None] - self.dataset[:, None, :]
        scaled = jnp.tensordot(root.T, difference, 1, precision="highest")
        norm = jnp.sum(jnp.log(jnp.diagonal(root))) - self.d / 2 * math.log(2 * math.pi)
        return logsumexp(-jnp.sum(scaled ** 2, axis=0) / 2, axis=1, b=self.weights[None, :]) + norm

    def _points(self, points: ArrayLike) -> Array:
        points = jnp.atleast_2d(inexact("gaussian_kde", points))
        if points.shape[0] != self.d:
            if points.shape != (1, self.d):
                raise ValueError(f"gaussian_kde: points have dimension {points.shape[0]}, dataset has dimension {self.d}")
            points = points.T
        return points.astype(jnp.promote_types(points.dtype, self.dataset.dtype))

    def integrate_gaussian(self, mean: ArrayLike, cov: ArrayLike) -> Array:
        """The integral of the density times that of a normal distribution.

        Args:
          mean: [d], or a number in one dimension.
          cov: [d, d], or a number.
        """
        mean, cov = jnp.atleast_1d(jnp.squeeze(mean)), jnp.atleast_2d(cov)
        if mean.shape != (self.d,):
            raise ValueError(f"gaussian_kde.integrate_gaussian: mean does not have dimension {self.d}, got {described(mean)}")
        if cov.shape != (self.d, self.d):
            raise ValueError(f"gaussian_kde.integrate_gaussian: cov does not have dimension {self.d}, got {described(cov)}")
        return _overlap(self.covariance + cov, self.dataset - mean[:, None], self.weights)

    def integrate_box_1d(self, low: int, high: float) -> Array:
        """The probability between two bounds, in one dimension."""
        if self.d != 1:
            raise ValueError(f"gaussian_kde.integrate_box_1d is for one dimension, the dataset has {self.d}")
        if jnp.ndim(low) or jnp.ndim(high):
            raise ValueError(f"gaussian_kde.integrate_box_1d: the bounds must be scalars, got {described(low)} and {described(high)}")
        sigma = jnp.sqrt(self.covariance[0, 0])
        low, high = ((jnp.asarray(v) - self.dataset[0]) / sigma for v in (low, high))
        return jnp.sum(self.weights * (ndtr(high) - ndtr(low)))

    def integrate_kde(self, other: gaussian_kde) -> Array:
        """The integral of the product of this density and another one."""
        if not isinstance(other, gaussian_kde):
            raise TypeError(f"gaussian_kde.integrate_kde: another gaussian_kde is expected, got {other!r}")
        if other.d != self.d:
            raise ValueError(f"gaussian_kde.integrate_kde: the dimensions differ, {self.d} and {other.d}")
        difference = (self.dataset[:, :, None] - other.dataset[:, None, :]).reshape(self.d, -1)
        return _overlap(self.covariance + other.covariance, difference, jnp.outer(self.weights, other.weights).ravel())

    def resample(self, key: ArrayLike, shape: Any = ()) -> Array:
        """Samples of the density.

        Args:
          key: a random key.
          shape: how many, a tuple of ints.

        Returns:
          [d, *shape].
        """
        index_key, noise_key = random_keys.split(key)
        indices = selection.choice(index_key, self.n, shape=shape, p=self.weights)
        noise = multivariate.multivariate_normal(noise_key, jnp.zeros(self.d, self.covariance.dtype), self.covariance, shape=shape,
                                           dtype=self.dataset.dtype)
        return self.dataset[:, indices] + jnp.moveaxis(noise, -1, 0)

    def integrate_box(self, low_bounds: int, high_bounds: int, maxpts: Any = None) -> None:
        """Not supported: only `integrate_box_1d` is."""
        raise NotImplementedError("gaussian_kde.integrate_box: only 1D box integrations are supported; use integrate_box_1d")

    def set_bandwidth(self, bw_method: int | None = None) -> None:
        """Not supported: estimates do not change."""
        raise NotImplementedError("gaussian_kde.set_bandwidth: an estimate does not change; make another one with bw_method")


def _overlap(covariance: Array, difference: Array, weights: Array) -> Array:
    """The weighted sum of the normal density at differences [d, m]."""
    root = la.cholesky(covariance)
    scaled = la.triangular_solve(root, difference, left_side=True, lower=True)
    norm = len(covariance) / 2 * np.log(2 * np.pi) + jnp.sum(jnp.log(jnp.diagonal(root)))
    return jnp.sum(weights * jnp.exp(-jnp.sum(scaled ** 2, axis=0) / 2 - norm))
