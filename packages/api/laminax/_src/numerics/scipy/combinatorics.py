"""Special functions made of gamma functions and powers: binomial coefficients, Pochhammer's symbol, Box and Cox's transform."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import numpy as np

from laminax_ir.types import dtypes
from laminax_ir.types.arguments import check_size

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.numpy.arguments import promote_inexact
from laminax._src.numerics.scipy.integral_functions import bernoulli_numbers
from laminax._src.numerics.scipy.special import gammaln, gammasgn

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
      k: the number chosen.
      repetition: whether a thing can be chosen several times.

    Returns:
      A float array; 0 where k is negative or, without repetition, above N, or N is negative.
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
    """Pochhammer's symbol, gamma(z + m) / gamma(z), elementwise."""
    z, m = jnp.broadcast_arrays(*promote_inexact("poch", z, m))
    value = jnp.exp(gammaln(z + m) - gammaln(z)) * gammasgn(z) * gammasgn(z + m)
    return jnp.where(m == 0, jnp.ones_like(value), value)


@fused
def boxcox(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """Box and Cox's transform, (x**lmbda - 1) / lmbda, and log(x) where lmbda is 0, elementwise."""
    x, lmbda = promote_inexact("boxcox", x, lmbda)
    return _power_transform(jnp.log(x), lmbda)


@fused
def boxcox1p(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """Box and Cox's transform of 1 + x, elementwise, accurate for small x; see `boxcox`."""
    x, lmbda = promote_inexact("boxcox1p", x, lmbda)
    return _power_transform(jnp.log1p(x), lmbda)


def _power_transform(logarithm: ArrayLike, lmbda: ArrayLike) -> Array:
    safe = jnp.where(lmbda == 0, jnp.ones_like(lmbda), lmbda)
    return jnp.where(lmbda == 0, logarithm, jnp.expm1(safe * logarithm) / safe)
