"""Special functions made of gamma functions and powers: binomial coefficients, Pochhammer's symbol, Box and Cox's transform."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import numpy as np

from laminax_ir.types import dtypes
from laminax_ir.types.arguments import check_size
from laminax_transforms import stop_gradient

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.numpy.arguments import promote_inexact, promote_real_inexact
from laminax._src.numerics.scipy.gamma_functions import gammasgn
from laminax._src.numerics.scipy.integral_functions import bernoulli_numbers
from laminax._src.numerics.scipy.special import gammaln

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


def bernoulli(n: int) -> Array:
    """The numbers of Bernoulli B_0 to B_n, with B_1 = -1/2.

    Args:
      n: a static integer, not negative.

    Returns:
      A float array [n + 1]; infinite where the numbers are beyond the range of doubles, from B_260 on.

    Raises:
      ValueError: if n is negative.

    Example:
      >>> bernoulli(4)
      Array([ 1.        , -0.5       ,  0.16666667,  0.        , -0.03333334],
            dtype=float32)
    """
    n = operator.index(n)
    if n < 0:
        raise ValueError(f"bernoulli: n must not be negative, got {n}")
    check_size("bernoulli", "n", n)
    last = 258  # B_260 is -6.2e310
    values = np.zeros(n + 1)
    values[:last + 1] = [float(b) for b in bernoulli_numbers(min(n, last))]
    values[last + 2::4], values[last + 4::4] = -np.inf, np.inf
    with np.errstate(over="ignore"):
        return jnp.asarray(values, dtype=dtypes.scalar_dtype(float))


def comb(N: ArrayLike, k: ArrayLike, *, repetition: bool = False) -> Array:
    """Binomial coefficients, the numbers of ways to choose k of N things, elementwise and in floating point.

    Args:
      N: the number of things.
      k: the number chosen; it broadcasts with N.
      repetition: whether a thing can be chosen several times.

    Returns:
      A float array of the joint shape; 0 where k is negative or, without repetition, above N, or N is negative.

    Example:
      >>> comb(5, jnp.array([0, 2, 6]))
      Array([ 1., 10.,  0.], dtype=float32)
      >>> comb(5, jnp.array([0, 2, 6]), repetition=True)
      Array([  1.,  15., 210.], dtype=float32)
    """
    return _comb(N, k, repetition=bool(repetition))


@fused(static_argnames=("repetition",))
def _comb(N: ArrayLike, k: ArrayLike, repetition: bool) -> Array:
    N, k = jnp.broadcast_arrays(*promote_inexact("comb", N, k))
    total = N + k - 1 if repetition else N
    is_possible = (k >= 0) & (N >= 0) & ((k <= total) | (k == 0))
    n, c = jnp.where(is_possible, total, jnp.ones_like(N)), jnp.where(is_possible, k, jnp.zeros_like(k))
    value = jnp.exp(gammaln(n + 1) - gammaln(c + 1) - gammaln(n - c + 1))
    value = jnp.where(c == 0, jnp.ones_like(value), value)
    is_whole = (n == jnp.round(n)) & (c == jnp.round(c)) & (value < 1e6)  # where rounding can be undone
    return jnp.where(is_possible, jnp.where(is_whole, jnp.round(value), value), jnp.zeros_like(value))


@fused
def poch(z: ArrayLike, m: ArrayLike) -> Array:
    """Pochhammer's symbol, gamma(z + m) / gamma(z), elementwise: for whole m the product of z, z + 1, ... of m factors.

    Args:
      z: a real array or scalar.
      m: a real array or scalar that broadcasts with z.

    Returns:
      A float array of the joint shape.

    Raises:
      ValueError: if an argument is complex.

    Example:
      >>> poch(jnp.array([1., 2.5]), 3)
      Array([ 6.   , 39.375], dtype=float32)
    """
    z, m = jnp.broadcast_arrays(*promote_real_inexact("poch", z=z, m=m))
    is_pole = (m == 0) & ~jnp.isfinite(gammaln(z))  # elsewhere the formula gives 1 for m == 0, and its derivative in m
    z, m = jnp.where(is_pole, jnp.ones_like(z), z), jnp.where(is_pole, jnp.zeros_like(m), m)
    return jnp.exp(gammaln(z + m) - gammaln(z)) * stop_gradient(gammasgn(z) * gammasgn(z + m))  # no infinity times the zero of a sign


@fused
def boxcox(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """Box and Cox's transform, (x**lmbda - 1) / lmbda, and log(x) where lmbda is 0, elementwise.

    Args:
      x: a real array or scalar, not negative.
      lmbda: a real array or scalar that broadcasts with x.

    Returns:
      A float array of the joint shape; NaN for negative x.

    Example:
      >>> boxcox(jnp.array([1., 4.]), jnp.array([[0.], [0.5]]))
      Array([[0.       , 1.3862944],
             [0.       , 2.       ]], dtype=float32)

    Source: G. Box and D. Cox, "An Analysis of Transformations", Journal of the Royal Statistical Society B 26 (1964).
    """
    x, lmbda = promote_inexact("boxcox", x, lmbda)
    return _power_transform(jnp.log(x), lmbda)


@fused
def boxcox1p(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """Box and Cox's transform of 1 + x, elementwise, accurate for small x; see `boxcox`.

    Args:
      x: a real array or scalar, at least -1.
      lmbda: a real array or scalar that broadcasts with x.

    Returns:
      A float array of the joint shape; NaN for x below -1.

    Example:
      >>> boxcox1p(jnp.array([1e-6, 3.]), 0.5)
      Array([9.999998e-07, 2.000000e+00], dtype=float32)
    """
    x, lmbda = promote_inexact("boxcox1p", x, lmbda)
    return _power_transform(jnp.log1p(x), lmbda)


def _power_transform(logarithm: ArrayLike, lmbda: ArrayLike) -> Array:
    safe = jnp.where(lmbda == 0, jnp.ones_like(lmbda), lmbda)
    return jnp.where(lmbda == 0, logarithm, jnp.expm1(safe * logarithm) / safe)
