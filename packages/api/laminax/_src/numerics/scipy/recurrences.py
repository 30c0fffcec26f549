"""Special functions by recurrences and series: Bessel functions, the confluent hypergeometric one, zeta, spherical harmonics."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.ops.elementwise import complex as complex_of
from laminax_ir.ops.loops import fori_loop
from laminax_ir.ops.special import lgamma
from laminax_ir.ops.special import zeta as lax_zeta
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval
from laminax_transforms import custom_jvp, jvp

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.numpy.arguments import concrete_numpy, ensure_arrays, inexact, promote_inexact, promote_real_inexact

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


def bessel_jn(z: ArrayLike, *, v: int, n_iter: int = 50) -> Array:
    """Bessel functions of the first kind of the orders 0 to v.

    Args:
      z: a real array.
      v: the highest order, a static integer, not negative.
      n_iter: where the recurrence starts, a static integer; it must exceed v and |z| by some tens for all digits.

    Returns:
      [v + 1, *z.shape].

    Raises:
      TypeError: if z is complex.
      ValueError: if v is negative or not below n_iter.

    Example:
      >>> bessel_jn(jnp.array([0., 1.]), v=2)
      Array([[1.        , 0.7651977 ],
             [0.        , 0.44005057],
             [0.        , 0.11490349]], dtype=float32)

    Source: J. Miller's algorithm, F. Olver et al., "NIST Handbook of Mathematical Functions" (2010), section 10.74(iv).
    """
    v, n_iter = operator.index(v), operator.index(n_iter)
    if not 0 <= v < n_iter:
        raise ValueError(f"bessel_jn: v must be from 0 to less than n_iter, got v={v} and n_iter={n_iter}")
    return _bessel_jn(z, v=v, n_iter=n_iter)


_SMALL = 1e-4  # below, the third term of the power series is less than a unit in the last place of float64


@fused(static_argnames=("v", "n_iter"))
def _bessel_jn(z: ArrayLike, v: int, n_iter: int) -> Array:
    z = jnp.asarray(inexact("bessel_jn", z))
    if dtypes.issubdtype(z.dtype, dtypes.complexfloating):
        raise TypeError(f"bessel_jn: z must be real, got {get_aval(z).str_short()}")
    is_small = jnp.abs(z) < _SMALL
    x = jnp.where(is_small, jnp.ones_like(z), z)
    twice_inverse = 2 / x  # once, and not a quotient in each step, which is an eighth of its time
    limit = math.sqrt(float(dtypes.finfo(z.dtype).max)) / 1e6

    def down(i: ArrayLike, state: tuple[ArrayLike, ...]) -> tuple[Array, ...]:
        """From orders k + 1 and k to k - 1; both and the sum are scaled down before they overflow, by the factor that comes last."""
        following, current, total = state
        k = n_iter - i
        before = jnp.asarray(k, dtype=z.dtype) * twice_inverse * current - following
        is_large = jnp.abs(before) > limit
        factor = jnp.where(is_large, 1 / limit, 1.0).astype(z.dtype)
        current, before, total = current * factor, before * factor, total * factor
        total = total + jnp.where((k - 1) % 2 == 0, jnp.where(k == 1, 1.0, 2.0), 0.0).astype(z.dtype) * before
        return current, before, total, factor

    def down_and_keep(i: ArrayLike, state: tuple[ArrayLike, ...]) -> tuple[Array, ...]:
        """The same down to the orders that are asked for, which are kept."""
        current, before, total, factor = down(i, state[:3])
        return current, before, total, (state[3] * factor[None]).at[n_iter - i - 1].set(before)

    tiny = jnp.full_like(x, float(dtypes.finfo(z.dtype).tiny) * 1e6)
    higher = fori_loop(0, n_iter - v - 1, lambda i, state: down(i, state)[:3], (jnp.zeros_like(x), tiny, jnp.zeros_like(x)))
    _, _, total, kept = fori_loop(n_iter - v - 1, n_iter, down_and_keep, (*higher, jnp.zeros((v + 1, *x.shape), z.dtype)))
    near_zero = _two_terms(jnp.where(is_small, z, jnp.zeros_like(z)), v)
    return jnp.where(is_small[None], near_zero, kept / total[None])  # J_0 + 2 J_2 + 2 J_4 + ... is 1


def _two_terms(z: Array, v: int) -> Array:
    """Of the orders 0 to v, the first two terms of the power series (section 10.2(ii) there)."""
    half = z[None] / 2
    orders = jnp.reshape(jnp.arange(1, v + 2, dtype=z.dtype), (-1, *[1] * z.ndim))
    first = jnp.cumprod(jnp.concatenate([jnp.ones_like(half), half / orders[:-1]]), axis=0)
    return first * (1 - half * half / orders)


_TERMS = 500


@fused
def hyp1f1(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """Confluent hypergeometric function 1F1(a; b; x), elementwise; real arguments, b no integer below 1.

    By its power series, for negative x by Kummer's transformation, with 500 terms: for |x| up to about 300, and a and b that
    are not much larger.

    Args:
      a: a real array or scalar.
      b: a real array or scalar, no integer below 1.
      x: a real array or scalar; the arguments broadcast.

    Returns:
      A float array of the joint shape.

    Raises:
      ValueError: if an argument is complex.

    Example:
      >>> hyp1f1(1., 2., jnp.array([-1., 0., 1.]))  # (exp(x) - 1) / x
      Array([0.63212055, 1.        , 1.7182819 ], dtype=float32)
    """
    a, b, x = jnp.broadcast_arrays(*promote_real_inexact("hyp1f1", a=a, b=b, x=x))
    is_negative = x < 0
    top, size = jnp.where(is_negative, b - a, a), jnp.abs(x)

    def add(k: ArrayLike, state: tuple[ArrayLike, ...]) -> tuple[Array, Array]:
        total, term = state
        k = jnp.asarray(k, dtype=x.dtype)
        term = term * (top + k - 1) / (b + k - 1) * size / k
        return total + term, term
    total, _ = fori_loop(1, _TERMS, add, (jnp.ones_like(x), jnp.ones_like(x)))
    return jnp.where(is_negative, jnp.exp(x) * total, total)


def zeta(x: ArrayLike, q: ArrayLike | None = None) -> Array:
    """Hurwitz zeta function, the sum of (n + q)**-x over n >= 0, elementwise; differentiable in both.

    Args:
      x: the exponent, above 1.
      q: the shift; must be given, 1 for Riemann's zeta function. It broadcasts with x.

    Returns:
      A float array of the joint shape.

    Raises:
      NotImplementedError: without q.

    Example:
      >>> zeta(jnp.array([2., 4.]), 1.)  # pi**2 / 6, pi**4 / 90
      Array([1.644934 , 1.0823232], dtype=float32)
    """
    if q is None:
        raise NotImplementedError("zeta: Riemann's function is not implemented without q; give q=1, which is the same")
    return _zeta(x, q)


@fused
def _zeta(x: ArrayLike, q: ArrayLike) -> Array:
    return _hurwitz(*promote_inexact("zeta", x, q))


@custom_jvp
def _hurwitz(x: Any, q: Any) -> Any:
    return lax_zeta(x, q)


@_hurwitz.defjvp
def _hurwitz_jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Array]:
    return _hurwitz(*primals), jvp(_hurwitz_by_sum, primals, tangents)[1]


_SUMMED = 16  # terms before Euler's and Maclaurin's formula takes the rest
_EULER_MACLAURIN = (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600)  # B_2j / (2j)!


def _hurwitz_by_sum(x: ArrayLike, q: ArrayLike) -> Array:
    """The zeta function in operations that can be differentiated, also in x; to double precision for positive q.

    Source: F. Olver et al., "NIST Handbook of Mathematical Functions" (2010), formula 25.11.28.
    """
    x, q = jnp.broadcast_arrays(x, q)
    shifted = q[..., None] + jnp.reshape(jnp.arange(_SUMMED, dtype=q.dtype), (*[1] * q.ndim, _SUMMED))
    end = q + _SUMMED
    power = jnp.power(end, -x)
    total = jnp.sum(jnp.power(shifted, -x[..., None]), axis=-1) + power * end / (x - 1) + power / 2
    for j, coefficient in enumerate(_EULER_MACLAURIN):
        power = power / end * (x if j == 0 else (x + (2 * j - 1)) * (x + 2 * j) / end)
        total = total + coefficient * power
    return total


def sph_harm_y(n: ArrayLike, m: ArrayLike, theta: ArrayLike, phi: ArrayLike, diff_n: int | None = None, n_max: int | None = None) -> Array:
    """Spherical harmonics of degree n and order m, elementwise.

    Args:
      n: integers not negative.
      m: integers.
      theta: the polar angle, from 0 to pi; elsewhere the function of cos(theta), whose square root is not negative, as in SciPy.
      phi: the azimuth.
      diff_n: must be None.
      n_max: the greatest degree, a static integer; by default that of n, whose values must be known then.

    Returns:
      A complex array of the broadcast shape; 0 where |m| > n, NaN where n is negative. Degrees above n_max are taken for it.

    Raises:
      NotImplementedError: if diff_n is given.
      TypeError: if n and m are no integers, or n is traced and n_max not given.

    Example:
      >>> sph_harm_y(jnp.array([0, 1]), jnp.array([0, 1]), 0.5, 1.)
      Array([ 0.2820948 +0.j        , -0.08949498-0.13938017j], dtype=complex64)

    Source: W. Press et al., "Numerical Recipes" (2007), section 6.7.
    """
    if diff_n is not None:
        raise NotImplementedError(f"sph_harm_y: diff_n is not supported, got {diff_n!r}; differentiate in theta and phi with grad")
    n, m, theta, phi = ensure_arrays("sph_harm_y", n, m, theta, phi)
    for name, value in (("n", n), ("m", m)):
        if not dtypes.issubdtype(get_aval(value).dtype, dtypes.integer):
            raise TypeError(f"sph_harm_y: {name} must be integers, got {get_aval(value).str_short()}")
    if n_max is None:
        n_max = int(np.max(concrete_numpy("sph_harm_y", "n_max, by default from n,", n), initial=0))
    return _sph_harm_y(n, m, theta, phi, n_max=operator.index(n_max))


@fused(static_argnames=("n_max",))
def _sph_harm_y(n: ArrayLike, m: ArrayLike, theta: ArrayLike, phi: ArrayLike, n_max: int) -> Array:
    theta, phi = promote_inexact("sph_harm_y", theta, phi)
    n, m, theta, phi = jnp.broadcast_arrays(n, m, theta, phi)
    n = jnp.minimum(n, n_max).astype(theta.dtype)
    order = jnp.minimum(jnp.abs(m), n_max).astype(theta.dtype)
    x, sine = jnp.cos(theta), jnp.sin(theta)
    # the Legendre functions have sqrt(1 - x * x); at the poles, to rounding, the derivative stays that of angles from 0 to pi
    sine = jnp.where(sine < -4 * float(np.finfo(theta.dtype).eps), -sine, sine)
    # P_m^m = (-1)^m sqrt((2m+1)/(4 pi) (2m-1)!!/(2m)!!) sin^m, and (2m-1)!!/(2m)!! = gamma(m+1/2)/(gamma(m+1) sqrt(pi))
    size = jnp.exp((lgamma(order + 0.5) - lgamma(order + 1)) / 2) * jnp.sqrt((2 * order + 1) / (4 * math.pi ** 1.5))
    powers = jnp.ones_like(sine)
    for k in range(1, n_max + 1):  # a power without a derivative of 0**0
        powers = jnp.where(order >= k, powers * sine, powers)
    current = jnp.where(order % 2 == 0, size, -size) * powers
    before, result = jnp.zeros_like(current), jnp.where(n == order, current, 0)
    for step in range(1, n_max + 1):
        degree = order + step
        gap = degree * degree - order * order
        factor = jnp.sqrt((4 * degree * degree - 1) / gap)
        rest = jnp.sqrt(((degree - 1) ** 2 - order * order) / (4 * (degree - 1) ** 2 - 1))
        current, before = factor * (x * current - rest * before), current
        result = jnp.where(n == degree, current, result)
    angle = jnp.abs(m).astype(phi.dtype) * phi
    value = complex_of(result * jnp.cos(angle), result * jnp.sin(angle))
    value = jnp.where(m < 0, jnp.where(m % 2 == 0, jnp.conj(value), -jnp.conj(value)), value)
    return jnp.where(n < 0, jnp.full_like(value, math.nan), jnp.where(jnp.abs(m).astype(n.dtype) > n, 0, value))
