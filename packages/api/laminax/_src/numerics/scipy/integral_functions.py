"""Special functions that are integrals: exponential, sine and cosine, Fresnel's, Dawson's, the Faddeeva function; Owen's T.

Each is computed by series and fractions of a fixed number of terms, enough for double precision, and has its derivative in
closed form.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from laminax_ir.ops.elementwise import complex as complex_of
from laminax_ir.ops.elementwise import reduce_precision
from laminax_ir.ops.loops import fori_loop
from laminax_ir.ops.special import digamma, erf, erfc
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval
from laminax_transforms import custom_jvp

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.numpy.arguments import convert, inexact, promote_inexact, promote_real_inexact, strong

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

_EULER = 0.57721566490153286


def _real(name: str, x: Any) -> Any:
    (x,) = promote_real_inexact(name, x=x)
    return jnp.asarray(strong(x))


def _in_single(function: Callable[[Any], tuple[Any, ...]], x: Any) -> tuple[Any, ...]:
    """The results, of the floats of 16 bits and fewer by way of float32: there are no complex numbers of such parts."""
    if x.dtype in (np.float32, np.float64):
        return function(x)
    return tuple(convert(y, x.dtype) for y in function(jnp.asarray(convert(x, np.dtype(np.float32)))))


def _with_derivative(derivative: Callable[[Any, Any], Any]) -> Callable[[Callable], Callable]:
    """Decorator: the derivative is `derivative(x, result)`; of a function with several results a tuple."""
    def decorate(fun: Callable) -> Callable:
        wrapped = custom_jvp(fun)

        @wrapped.defjvp
        def rule(primals: tuple[Any, ...], tangents: tuple[ArrayLike, ...]) -> tuple[Any, Any]:
            (x,), (x_dot,) = primals, tangents
            result = wrapped(x)
            slope = derivative(x, result)
            return result, tuple(x_dot * s for s in slope) if isinstance(slope, tuple) else x_dot * slope
        return wrapped
    return decorate


def _series(x: Any, first: Any, ratio: Callable[[Any], Any], count: int) -> Any:
    """The sum of `count` terms, each of which is the one before times ratio(k), k = 1, 2, ..."""
    def add(k: ArrayLike, state: tuple[ArrayLike, ...]) -> tuple[Array, Array]:
        total, term = state
        term = term * ratio(jnp.asarray(k, dtype=x.real.dtype))
        return total + term, term
    return fori_loop(1, count, add, (first, first))[0]


# --- exponential integrals ---


@fused
def expi(x: ArrayLike) -> Array:
    """Exponential integral Ei, elementwise: the principal value of the integral of exp(t)/t from -inf to x.

    Args:
      x: a real array or scalar.

    Returns:
      A float array of x's shape; -inf at 0.

    Example:
      >>> expi(jnp.array([-1., 0.5, 2.]))
      Array([-0.21938394,  0.4542199 ,  4.954234  ], dtype=float32)
    """
    return _expi(_real("expi", x))


@fused
def exp1(x: ArrayLike) -> Array:
    """Exponential integral E1, elementwise: the integral of exp(-t)/t from x to infinity.

    Args:
      x: a real array or scalar.

    Returns:
      A float array of x's shape; infinite at 0, and NaN for negative numbers, where the integral is a complex number.

    Example:
      >>> exp1(jnp.array([0.5, 1., 4.]))
      Array([0.5597736 , 0.21938394, 0.00377935], dtype=float32)
    """
    x = _real("exp1", x)
    return jnp.where(x < 0, jnp.full_like(x, math.nan), -_expi(-jnp.abs(x)))


@_with_derivative(lambda x, _: jnp.exp(x) / x)
def _expi(x: Any) -> Any:
    size = jnp.abs(x)
    low = jnp.where((x > 0) & (x <= 40) | (x <= 0) & (x >= -2), x, jnp.ones_like(x))

    # the terms x^k / k!, each divided by k: 150 of them for x up to 40
    def add(k: ArrayLike, state: tuple[Any, ...]) -> tuple[Any, Any]:
        term, total = state
        k = jnp.asarray(k, dtype=x.dtype)
        return term * low / k, total + term * low / k / k
    _, total = fori_loop(1, 150, add, (jnp.ones_like(low), jnp.zeros_like(low)))
    near = _EULER + jnp.log(jnp.abs(low)) + total
    high = jnp.where(x > 40, x, jnp.full_like(x, 50.0))
    far = jnp.exp(high) / high * _series(high, jnp.ones_like(high), lambda k: k / high, 25)
    result = jnp.where(x > 40, far, jnp.where(x >= -2, near, -_exp1_by_fraction(jnp.where(x < -2, size, jnp.full_like(x, 3.0)))))
    result = jnp.where(x == math.inf, jnp.full_like(x, math.inf), result)
    return jnp.where(x == 0, jnp.full_like(x, -math.inf), jnp.where(jnp.isnan(x), x, result))


def _exp1_by_fraction(x: Any) -> Any:
    """E1 as exp(-x) times a continued fraction, from its end; for |x| > 2, away from the negative axis."""
    def up(i: ArrayLike, tail: Any) -> Any:
        k = jnp.asarray(80 - i, dtype=x.dtype)
        return k * k / (x + 2 * k + 1 - tail)
    tail = fori_loop(0, 80, up, jnp.zeros_like(x))
    return jnp.exp(-x) / (x + 1 - tail)


@fused
def expn(n: ArrayLike, x: ArrayLike) -> Array:
    """Generalised exponential integral, elementwise: the integral of exp(-x t) / t**n from 1 to infinity.

    Args:
      n: integers not negative.
      x: real, not negative; it broadcasts with n.

    Returns:
      A float array of the joint shape.

    Raises:
      ValueError: if n is not of integer dtype.

    Example:
      >>> expn(2, jnp.array([0., 1., 3.]))
      Array([1.        , 0.14849551, 0.01064193], dtype=float32)
    """
    if not dtypes.issubdtype(get_aval(n).dtype, dtypes.integer):
        raise ValueError(f"expn: n must be of integer dtype, got {get_aval(n).str_short()}")
    n, x = jnp.broadcast_arrays(*promote_real_inexact("expn", n=n, x=x))
    large = jnp.where(x > 1, x, jnp.full_like(x, 2.0))

    def up(i: ArrayLike, tail: Any) -> Any:  # the fraction of E_n, from its end
        k = jnp.asarray(100 - i, dtype=x.dtype)
        return k * (n + k - 1) / (large + n + 2 * k - tail)
    far = jnp.exp(-large) / (large + n - fori_loop(0, 100, up, jnp.zeros_like(x)))
    small = jnp.where((x > 0) & (x <= 1), x, jnp.ones_like(x))

    def add(k: ArrayLike, state: tuple[Any, ...]) -> tuple[Any, Any]:
        # (-x)^k / (k! (n - 1 - k)), and the logarithm in place of the term k = n - 1
        total, power = state
        k = jnp.asarray(k, dtype=x.dtype)
        gap = n - 1 - k
        regular = power / jnp.where(gap == 0, 1, gap)
        special = power * (_digamma_of_integer(n) - jnp.log(small))
        return total + jnp.where(gap == 0, special, regular), power * -small / (k + 1)
    near = fori_loop(0, 30, add, (jnp.zeros_like(x), jnp.ones_like(x)))[0]
    result = jnp.where(n == 0, jnp.exp(-x) / x, jnp.where(x > 1, far, near))
    at_zero = jnp.where(n > 1, 1 / jnp.where(n > 1, n - 1, 1), math.inf)
    result = jnp.where(x == 0, at_zero, result)
    return jnp.where((n < 0) | (x < 0) | jnp.isnan(x), jnp.full_like(x, math.nan), result)


def _digamma_of_integer(n: Any) -> Any:
    return digamma(jnp.maximum(n, 1))


# --- sine, cosine, Fresnel's integrals ---


@fused
def sici(x: ArrayLike) -> tuple[Any, Any]:
    """The sine and cosine integrals: of sin(t)/t from 0 to x, and Euler's constant + log|x| + that of (cos(t) - 1)/t.

    Args:
      x: a real array or scalar.

    Returns:
      The pair of them, float arrays of x's shape; the cosine integral of a negative x is that of -x, its real part, and NaN at -inf.

    Example:
      >>> sine, cosine = sici(jnp.array([0.5, 2.]))
      >>> sine
      Array([0.4931074, 1.605413 ], dtype=float32)
      >>> cosine
      Array([-0.17778409,  0.42298082], dtype=float32)
    """
    return _in_single(_sici, _real("sici", x))


@_with_derivative(lambda x, _: (jnp.sinc(x / math.pi), jnp.cos(x) / x))
def _sici(x: Any) -> tuple[Any, Any]:
    size = jnp.abs(x)
    low = jnp.where(size <= 4, size, jnp.ones_like(x))
    square = low * low
    sine = _series(low, low, lambda k: -square / (2 * k * (2 * k + 1)) * (2 * k - 1) / (2 * k + 1), 30)
    cosine = _series(low, -square / 4, lambda k: -square / ((2 * k + 1) * (2 * k + 2)) * (2 * k) / (2 * k + 2), 30)
    high = jnp.where(size > 4, size, jnp.full_like(x, 5.0))
    tail = _exp1_by_fraction(complex_of(jnp.zeros_like(high), high))
    si = jnp.where(size <= 4, sine, math.pi / 2 + tail.imag)
    ci = jnp.where(size <= 4, _EULER + jnp.log(low) + cosine, -tail.real)
    is_infinite = jnp.isinf(x)
    si = jnp.where(is_infinite, math.pi / 2, si)
    ci = jnp.where(is_infinite, 0.0, jnp.where(x == 0, -math.inf, ci))
    return jnp.where(jnp.isnan(x), x, jnp.copysign(si, x)), jnp.where((x == -math.inf) | jnp.isnan(x), math.nan, ci).astype(x.dtype)


@fused
def fresnel(x: ArrayLike) -> tuple[Any, Any]:
    """Fresnel's integrals, elementwise: of sin(pi t^2 / 2) and of cos(pi t^2 / 2) from 0 to x.

    Args:
      x: a real array or scalar.

    Returns:
      The pair of the sine's and the cosine's, float arrays of x's shape.

    Example:
      >>> sine, cosine = fresnel(jnp.array([0.5, 2.]))
      >>> sine
      Array([0.06473243, 0.34341568], dtype=float32)
      >>> cosine
      Array([0.49234423, 0.4882534 ], dtype=float32)
    """
    return _in_single(_fresnel, _real("fresnel", x))


@_with_derivative(lambda x, _: (jnp.sin(math.pi / 2 * x * x), jnp.cos(math.pi / 2 * x * x)))
def _fresnel(x: Any) -> tuple[Any, Any]:
    size = jnp.abs(x)
    low = jnp.where(size < 1.5, size, jnp.ones_like(x))
    u = (math.pi / 2 * low * low) ** 2
    cosine = _series(low, low, lambda k: -u / (2 * k * (2 * k - 1)) * (4 * k - 3) / (4 * k + 1), 25)
    sine = _series(low, math.pi / 6 * low ** 3, lambda k: -u / (2 * k * (2 * k + 1)) * (4 * k - 1) / (4 * k + 3), 25)
    high = jnp.where((size >= 1.5) & jnp.isfinite(x), size, jnp.full_like(x, 2.0))
    # C + i S = (1 + i)/2 erf(z) for z = (1 - i) sqrt(pi)/2 x, and erf(z) = 1 - exp(-z^2) w(i z)
    phase = math.pi / 2 * (high * high % 4.0)
    z = math.sqrt(math.pi) / 2 * high
    both = (0.5 + 0.5j) * (1 - jnp.exp(complex_of(jnp.zeros_like(phase), phase)) * _faddeeva_above(complex_of(z, z)))
    s, c = jnp.where(size < 1.5, sine, both.imag), jnp.where(size < 1.5, cosine, both.real)
    s, c = (jnp.where(jnp.isinf(x), 0.5, v) for v in (s, c))
    return tuple(jnp.where(jnp.isnan(x), x, jnp.copysign(v, x)) for v in (s, c))


# --- the Faddeeva function, and what is made of it ---

_ORDER = 32


def _weideman_coefficients() -> tuple[np.ndarray, float]:
    size = 2 * _ORDER
    scale = 2.0 ** -0.25 * math.sqrt(_ORDER)
    t = scale * np.tan(np.arange(-size + 1, size) * np.pi / (2 * size))
    values = np.concatenate([[0.0], np.exp(-t * t) * (scale * scale + t * t)])
    return np.real(np.fft.fft(np.fft.fftshift(values)))[1:_ORDER + 1][::-1] / (2 * size), scale


def _faddeeva_above(z: Any) -> Any:
    """w(z) for Im z >= 0. Source: J. Weideman, "Computation of the Complex Error Function", SIAM J. Numer. Anal. 31 (1994)."""
    coefficients, scale = _weideman_coefficients()
    below = scale - 1j * z
    ratio = (scale + 1j * z) / below
    total = jnp.zeros_like(z)
    for c in coefficients.tolist():
        total = total * ratio + c
    is_infinite = jnp.isinf(z.real) | jnp.isinf(z.imag)
    return jnp.where(is_infinite, jnp.zeros_like(z), 2 * total / (below * below) + 1 / math.sqrt(math.pi) / below)


@fused
def wofz(z: ArrayLike) -> Array:
    """Faddeeva function, exp(-z^2) erfc(-i z), elementwise; to 12 digits of its size near the origin.

    Args:
      z: an array or scalar, real or complex.

    Returns:
      A complex array of z's shape.

    Example:
      >>> wofz(jnp.array([0., 1. + 1.j]))
      Array([1.       +0.j        , 0.3047442+0.20821893j], dtype=complex64)
    """
    z = inexact("wofz", z)
    return _wofz(jnp.asarray(convert(z, dtypes.to_complex_dtype(get_aval(z).dtype))))


@_with_derivative(lambda z, w: 2j / math.sqrt(math.pi) - 2 * z * w)
def _wofz(z: Any) -> Any:
    is_above = z.imag >= 0
    above = _faddeeva_above(jnp.where(is_above, z, -z))
    safe = jnp.where(is_above, jnp.zeros_like(z), z)
    power = jnp.exp(-safe * safe)
    return jnp.where(is_above, above, power + power - above)  # twice an infinite number: a product would make NaN of its parts


@fused
def erfcx(x: ArrayLike) -> Array:
    """Scaled complement of the error function, exp(x^2) erfc(x), elementwise.

    Args:
      x: an array or scalar, real or complex.

    Returns:
      An array of x's shape, float or complex; far out it is close to 1 / (sqrt(pi) x), where `erfc` underflows.

    Example:
      >>> erfcx(jnp.array([0., 1., 100.]))
      Array([1.        , 0.42758358, 0.00564161], dtype=float32)
    """
    x = jnp.asarray(strong(inexact("erfcx", x)))
    if dtypes.issubdtype(x.dtype, dtypes.complexfloating):
        return _wofz(complex_of(-x.imag, x.real))  # i x, part by part: a product would make NaN of an infinite part
    return _in_single(lambda y: (_erfcx(y),), x)[0]  # exp(x^2) overflows in float16 for x above 3.3


def _erfcx_derivative(x: Any, y: Any) -> Any:
    """2 x y - 2 / sqrt(pi); far out, where the two nearly cancel, the series of y without its first term."""
    near = jnp.where(x < 8, x, jnp.zeros_like(x))
    far = jnp.where(x >= 8, x, jnp.full_like(x, 10.0))
    square = 0.5 / far / far  # not of far * far, whose derivative is NaN where it is infinite
    rest = _series(far, -square, lambda k: -(2 * k + 1) * square, 19)
    return jnp.where(x < 8, 2 * near * y - 2 / math.sqrt(math.pi), jnp.where(jnp.isnan(x), x, 2 / math.sqrt(math.pi) * rest))


@_with_derivative(_erfcx_derivative)
def _erfcx(x: ArrayLike) -> Any:
    near = jnp.where(x < 8, x, jnp.zeros_like(x))
    far = jnp.where(x >= 8, x, jnp.full_like(x, 10.0))
    square = 1 / (2 * far * far)
    series = _series(far, jnp.ones_like(far), lambda k: -(2 * k - 1) * square, 20) / (far * math.sqrt(math.pi))
    return jnp.where(x < 8, _exp_of_square(near) * erfc(near), jnp.where(jnp.isnan(x), x, series))


def _exp_of_square(x: Any) -> Any:
    """exp(x**2) with the digits that rounding x**2 would lose: the square of x rounded to half of its digits is exact.

    By expm1 of the rest, since the compiler makes the exponential of a sum of a product of two.
    """
    short = reduce_precision(x, 11, 25) if x.dtype == np.float64 else reduce_precision(x, 8, 11)
    power = jnp.exp(short * short)
    rest = jnp.where(jnp.isfinite(power), (x - short) * (x + short), 0)
    return jnp.where(jnp.isfinite(power), power + power * jnp.expm1(rest), power)


@fused
def dawsn(x: ArrayLike) -> Array:
    """Dawson's integral, elementwise: exp(-x^2) times the integral of exp(t^2) from 0 to x.

    Args:
      x: a real array or scalar.

    Returns:
      A float array of x's shape.

    Example:
      >>> dawsn(jnp.array([0., 1., 10.]))
      Array([0.        , 0.5380795 , 0.05025385], dtype=float32)

    Source: G. Rybicki, "Dawson's Integral and the Sampling Theorem", Computers in Physics 3 (1989).
    """
    return _dawsn(_real("dawsn", x))


def _dawsn_derivative(x: Any, y: Any) -> Any:
    """1 - 2 x y; far out, where the two nearly cancel, the series of y without its first term."""
    near = jnp.where(jnp.abs(x) < 12, x, jnp.zeros_like(x))
    far = jnp.where(jnp.abs(x) >= 12, x, jnp.full_like(x, 20.0))
    square = 0.5 / far / far
    rest = _series(far, square, lambda k: (2 * k + 1) * square, 19)
    return jnp.where(jnp.abs(x) < 12, 1 - 2 * near * y, jnp.where(jnp.isnan(x), x, -rest))


@_with_derivative(_dawsn_derivative)
def _dawsn(x: Any) -> Any:
    step, count = 0.2, 30
    safe = jnp.where(jnp.abs(x) < 12, x, jnp.ones_like(x))
    middle = 2 * jnp.round(safe / (2 * step))  # the even multiple of the step nearest to x
    rest = safe - middle * step
    total = jnp.zeros_like(x)
    for odd in range(1 - 2 * count, 2 * count, 2):
        total = total + jnp.exp(-((rest - odd * step) ** 2)) / (middle + odd)
    near = total / math.sqrt(math.pi)
    small = jnp.where(jnp.abs(x) < 0.3, x, jnp.zeros_like(x))
    power_series = _series(small, small, lambda k: -2 * small * small / (2 * k + 1), 11)
    far = jnp.where(jnp.abs(x) >= 12, x, jnp.full_like(x, 20.0))
    series = _series(far, 1 / (2 * far), lambda k: (2 * k - 1) / (2 * far * far), 20)
    value = jnp.where(jnp.abs(x) >= 12, series, jnp.where(jnp.abs(x) < 0.3, power_series, near))
    return jnp.where(jnp.isnan(x), x, value)


_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(64)


@fused
def owens_t(h: ArrayLike, a: ArrayLike) -> Array:
    """Owen's T function, elementwise: the integral of exp(-h^2 (1 + t^2)/2) / (1 + t^2) / (2 pi) from 0 to a.

    Args:
      h: a real array or scalar.
      a: a real array or scalar that broadcasts with h.

    Returns:
      A float array of the joint shape.

    Example:
      >>> owens_t(jnp.array([0., 1.]), 1.)
      Array([0.125     , 0.06674188], dtype=float32)
    """
    return _owens_t(*jnp.broadcast_arrays(*promote_inexact("owens_t", h, a)))


@custom_jvp
def _owens_t(h: Any, a: Any) -> Any:
    h, size = jnp.abs(h), jnp.abs(a)
    inner = _owens_integral(h, jnp.minimum(size, 1))
    steep = jnp.where((size > 1) & jnp.isfinite(size), size, jnp.full_like(size, 2.0))
    root = math.sqrt(0.5)
    tail, steep_tail = erfc(h * root) / 2, erfc(h * steep * root) / 2  # Q(h) and Q(a h): no cancellation for large h
    outer = (tail + steep_tail) / 2 - tail * steep_tail - _owens_integral(steep * h, 1 / steep)
    value = jnp.where(size <= 1, inner, jnp.where(jnp.isinf(size), tail / 2, outer))
    return jnp.where(jnp.isnan(a), a, value * jnp.sign(a))


@_owens_t.defjvp
def _owens_t_jvp(primals: tuple[Any, Any], tangents: tuple[Any, Any]) -> tuple[Any, Any]:
    """dT/dh = -exp(-h^2/2) erf(a h / sqrt(2)) / (2 sqrt(2 pi)) and dT/da = exp(-h^2 (1 + a^2)/2) / (2 pi (1 + a^2)).

    Far out in h both are 0, and so are their derivatives, which would be products of 0 and infinity there.
    """
    (h, a), (h_dot, a_dot) = primals, tangents
    is_near = (jnp.abs(h) < 40) | jnp.isnan(h)
    near = jnp.where(is_near, h, jnp.ones_like(h))
    by_h = -jnp.exp(-near * near / 2) * erf(a * near * math.sqrt(0.5)) / (2 * math.sqrt(2 * math.pi))
    spread = 1 + a * a
    by_a = jnp.exp(-near * near * spread / 2) / (2 * math.pi * spread)
    zero = jnp.zeros_like(h)
    return _owens_t(h, a), h_dot * jnp.where(is_near, by_h, zero) + a_dot * jnp.where(is_near, by_a, zero)


def _owens_integral(h: ArrayLike, a: ArrayLike) -> Array:
    nodes, weights = (jnp.asarray(x, dtype=a.dtype).reshape((1,) * a.ndim + (-1,)) for x in (_NODES, _NODE_WEIGHTS))
    t = (a[..., None] / 2) * (nodes + 1)
    values = jnp.exp(-h[..., None] ** 2 * (1 + t * t) / 2) / (1 + t * t)
    return a / (4 * math.pi) * jnp.sum(values * weights, axis=-1)


# --- the dilogarithm, and numbers of Bernoulli ---


def bernoulli_numbers(n: int) -> list[Fraction]:
    """B_0 to B_n, exactly, with B_1 = -1/2."""
    numbers: list[Fraction] = []
    for m in range(n + 1):
        numbers.append(Fraction(1) if m == 0 else -sum((math.comb(m + 1, k) * b for k, b in enumerate(numbers)), Fraction(0)) / (m + 1))
    return numbers


@fused
def spence(x: ArrayLike) -> Array:
    """Spence's function, the dilogarithm of 1 - x, elementwise: the integral of log(t)/(1 - t) from 1 to x.

    Args:
      x: an array or scalar of real numbers, not negative.

    Returns:
      A float array of x's shape; NaN for negative x.

    Example:
      >>> spence(jnp.array([0., 1., 3.]))  # pi**2 / 6 at 0
      Array([ 1.644934 ,  0.       , -1.4367464], dtype=float32)
    """
    return _spence(_real("spence", x))


@_with_derivative(lambda x, _: jnp.where(x == 1, -jnp.ones_like(x), jnp.log(x) / jnp.where(x == 1, 1, 1 - x)))
def _spence(x: ArrayLike) -> Any:
    inverted = x > 2
    y = jnp.where(inverted, 1 / jnp.where(inverted, x, 1), jnp.where(x > 0, x, jnp.full_like(x, 0.25)))
    reflected = y < 0.5
    z = jnp.where(reflected, 1 - y, y)
    u = -jnp.log(z)  # Li2(1 - z) = sum B_n u^(n+1) / (n+1)!
    total, power = jnp.zeros_like(u), u
    for n, b in enumerate(bernoulli_numbers(24)):
        if b:
            total = total + float(b / math.factorial(n + 1)) * power
        power = power * u
    complement = math.pi ** 2 / 6 - jnp.log(jnp.where(reflected, y, 0.25)) * jnp.log(jnp.where(reflected, 1 - y, 0.75)) - total
    value = jnp.where(reflected, complement, total)
    logarithm = jnp.log(jnp.where(inverted, x, 1))
    value = jnp.where(inverted, -value - logarithm * logarithm / 2, value)
    return jnp.where(x == 0, math.pi ** 2 / 6, jnp.where(x < 0, math.nan, jnp.where(jnp.isnan(x), x, value))).astype(x.dtype)
