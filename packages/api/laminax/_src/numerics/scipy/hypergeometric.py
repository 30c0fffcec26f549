"""The hypergeometric function 2F1 of real arguments.

It is summed where its series converges fast, and carried on from there towards 1, where it is singular: each step halves the distance
that is left and sums the Taylor series that the differential equation gives. Other than the formulas with gamma functions for arguments
near 1, this needs no cases for parameters that differ by integers. Pfaff's and Euler's transformations bring every argument below 1 to
[0, 1), and the parameters to those of a function that is bounded there.

Source: NIST Digital Library of Mathematical Functions, 15.2 (series), 15.4.20 (at 1), 15.8.1 (Pfaff, Euler), 15.10.1 (equation).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from laminax_ir.ops.control_flow import cond
from laminax_ir.ops.loops import fori_loop
from laminax_ir.ops.special import lgamma
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.numpy.arguments import ensure_arrays, promote_inexact
from laminax._src.numerics.scipy.gamma_functions import gammasgn

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

_START = 0.25  # the distance from 1 up to which the series is summed
_SERIES_TERMS = 300  # 0.75**300 is 3e-38
_TAYLOR_TERMS = 60  # 0.5**60 is 9e-19
_STEPS = 52
_NEAREST = _START * 2.0 ** -_STEPS


def hyp2f1(a: ArrayLike, b: ArrayLike, c: ArrayLike, x: ArrayLike) -> Array:
    """Gauss' hypergeometric function 2F1(a, b; c; x), elementwise; real arguments.

    Args:
      a, b, c: parameters, at best not larger than some tens.
      x: from -1e16; below, the result is NaN. Above 1, a or b must be an integer from -300 to 0.

    Returns:
      An array of the broadcast shape; infinite above 1, at 1 unless c > a + b, and where c is an integer below 1, but for polynomials,
      for a or b an integer below 1 that is not below c. They have derivatives in x alone in these places. Where the derivative in x
      at 1 is infinite, that of the result is 0.

    Raises:
      TypeError: if an argument is complex.

    Example:
      >>> hyp2f1(1.0, 1.0, 2.0, 0.5)  # -log(1 - x) / x
      Array(1.3862946, dtype=float32)
    """
    a, b, c, x = ensure_arrays("hyp2f1", a, b, c, x)
    for name, value in zip("abcx", (a, b, c, x)):
        if dtypes.issubdtype(get_aval(value).dtype, dtypes.complexfloating):
            raise TypeError(f"hyp2f1: {name} must be real, got {get_aval(value).str_short()}; complex arguments are not supported")
    return _hyp2f1(a, b, c, x)


@fused
def _hyp2f1(a: ArrayLike, b: ArrayLike, c: ArrayLike, x: ArrayLike) -> Array:
    a, b, c, x = jnp.broadcast_arrays(*promote_inexact("hyp2f1", a, b, c, x))
    a, b = jnp.minimum(a, b), jnp.maximum(a, b)
    is_power = _ends(c) & ((a == c) | (b == c)) & (x < 1)  # what SciPy gives there
    power = jnp.power(jnp.where(is_power, 1 - x, 1), -jnp.where(a == c, b, a))
    is_polynomial = (_ends(a) | _ends(b)) & ((x >= 1) | _ends(c)) & ~is_power
    degree = jnp.where(_ends(b), -b, -a)  # the smaller one, if both series end
    value = _below_one(a, b, c, jnp.where(is_polynomial | (~is_power & (x < 1)), x, 0.5), is_polynomial)
    value = jnp.where(is_polynomial, value, jnp.where(x == 1, _at_one(a, b, c, x), jnp.where(x > 1, math.inf, value)))
    value = jnp.where(_ends(c) & ~(is_polynomial & (degree <= -c)), math.inf, value)
    value = jnp.where(is_power, power, value)
    return jnp.where(x == 0, 1 + x * a * b / jnp.where(_ends(c), 1, c), value + 0 * (a + b + c + x))


def _ends(a: ArrayLike) -> Array:
    """Whether the series in the numerator's parameter a is a polynomial, a an integer below 1."""
    return (a <= 0) & (a == jnp.floor(a))


def _at_one(a: Any, b: Any, c: Any, x: ArrayLike) -> Array:
    """The value at 1, by Gauss' formula, and its derivative in x where it is finite."""
    d = c - a - b
    is_zero = _ends(c - a) | _ends(c - b)
    c_a, c_b = jnp.where(is_zero, 1, c - a), jnp.where(is_zero, 1, c - b)
    logs = lgamma(jnp.stack([c, jnp.where(d > 0, d, 1), c_a, c_b]))  # at once: the compiler takes long over each
    sign = gammasgn(c) * gammasgn(c_a) * gammasgn(c_b)
    value = jnp.where(is_zero, 0, sign * jnp.exp(logs[0] + logs[1] - logs[2] - logs[3]))
    slope = value * a * b / jnp.where(d > 1, d - 1, 1)
    return jnp.where(d > 0, value + jnp.where((d > 1) & (x == 1), slope * (x - 1), 0), math.inf)


def _below_one(a: Any, b: Any, c: Any, x: ArrayLike, is_polynomial: Any) -> Array:
    """The function of x below 1, for a <= b, with parameters brought to a + b <= c; of any x, the polynomials that are marked."""
    is_left = (x < 0) & ~is_polynomial
    is_growing = ~is_left & (a + b > c) & ~is_polynomial
    rest = jnp.where(is_polynomial, 0.5, 1 - x)
    distance = jnp.where(is_left, 1 / rest, rest)  # of the argument from 1; exact near 1
    argument = jnp.where(is_left, -x / rest, x)
    exponent = jnp.where(is_left, -a, jnp.where(is_growing, c - a - b, 0))
    a, b = jnp.where(is_growing, c - a, a), jnp.where(is_left | is_growing, c - b, b)
    is_near = (argument > 1 - _START) & ~is_polynomial
    start = jnp.where(is_near, 1 - _START, argument)
    value, slope = _series(a, b, c, start, is_polynomial)
    value = _continue(a, b, c, jnp.where(is_near, distance, _START), value, -slope)
    return jnp.where(distance < _NEAREST, math.nan, jnp.power(rest, exponent) * value)


def _series(a: ArrayLike, b: ArrayLike, c: Any, z: ArrayLike, is_polynomial: Any) -> tuple[Array, Array]:
    """The sum of the power series, and its derivative in z. Polynomials end also where they are differentiated in a and b."""
    def add(n: ArrayLike, state: tuple[ArrayLike, ...]) -> tuple[Array, ...]:
        total, slope, term = state  # term n - 1, with the factor z**(n - 1)
        n = jnp.asarray(n, dtype=z.dtype)
        numerator, denominator = (a + n - 1) * (b + n - 1), (c + n - 1) * n
        ratio = jnp.where(is_polynomial & (numerator == 0), 0, numerator / jnp.where(denominator == 0, 1, denominator))
        return total + term * ratio * z, slope + n * term * ratio, term * ratio * z
    total, slope, _ = fori_loop(1, _SERIES_TERMS + 1, add, (jnp.ones_like(z), jnp.zeros_like(z), jnp.ones_like(z)))
    return total, slope


def _continue(a: ArrayLike, b: ArrayLike, c: Any, target: ArrayLike, value: ArrayLike, slope: ArrayLike) -> Array:
    """Carries the function of 1 - w, and its derivative in w, from w = 1/4 to w = target, by steps that halve w."""
    def step(_: ArrayLike, state: tuple[ArrayLike, ...]) -> tuple[Array, ...]:
        return cond(jnp.any(state[0] > target), advance, lambda *state: state, *state)

    def advance(w: ArrayLike, value: ArrayLike, slope: ArrayLike) -> tuple[Array, ...]:
        following = jnp.maximum(w / 2, target)
        value, slope = _taylor(a, b, c, w, following - w, value, slope)
        return following, value, slope

    return fori_loop(0, _STEPS, step, (jnp.full_like(target, _START), value, slope))[1]


def _taylor(a: ArrayLike, b: ArrayLike, c: Any, w: ArrayLike, t: ArrayLike, value: ArrayLike, slope: ArrayLike) -> tuple[Array, Array]:
    """The solution at w + t of w (1 - w) g'' + (a + b - c + 1 - (a + b + 1) w) g' = a b g with this value and slope at w."""
    p0, p1 = w * (1 - w), 1 - 2 * w
    q0 = a + b - c + 1 - (a + b + 1) * w

    def add(n: ArrayLike, state: tuple[ArrayLike, ...]) -> tuple[Array, ...]:
        total, derivative, term, following = state  # the terms of t**n and t**(n + 1)
        n = jnp.asarray(n, dtype=w.dtype)
        after = ((n + a) * (n + b) * t * t * term - (n + 1) * (p1 * n + q0) * t * following) / (p0 * (n + 1) * (n + 2))
        return total + after, derivative + (n + 2) * after, following, after

    first = slope * t
    state = value + first, first, value, first
    total, derivative, *_ = fori_loop(0, _TAYLOR_TERMS, add, state)
    is_moving = t != 0
    return total, jnp.where(is_moving, derivative / jnp.where(is_moving, t, 1), slope)


__all__ = ["hyp2f1"]
