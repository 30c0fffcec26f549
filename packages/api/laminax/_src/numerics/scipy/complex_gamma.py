"""The logarithm of the gamma function of complex numbers, the branch that is real on the positive axis.

Far from the origin by Stirling's series; nearer by the same after seven steps of the recurrence gamma(z + 1) = z gamma(z), whose
logarithms add up without a jump in the right half plane; in the left half plane by the reflection of the right one; around 1
and 2, where the logarithm is zero, by Taylor's series. Source: D. Hare, "Computing the Principal Branch of log-Gamma", Journal
of Algorithms 25 (1997).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from laminax_ir.ops.elementwise import complex as complex_of

from laminax._src.numerics.numpy import namespace as jnp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from laminax_ir.types.annotations import Array

_FAR = 7  # from here on Stirling's series of eight terms holds to double precision
_STIRLING = [b / (2 * n * (2 * n - 1)) for n, b in enumerate([1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510], 1)]
_NEAR = 0.5


def _zeta_less_one(s: int) -> float:
    """The sum of n**-s from 2 on: forty terms, then what Euler and Maclaurin say of the rest."""
    last = 40
    return math.fsum([n ** -s for n in range(2, last)] + [last ** (1 - s) / (s - 1), last ** -s / 2, s * last ** (-s - 1) / 12,
                                                          -s * (s + 1) * (s + 2) * last ** (-s - 3) / 720])


_TAYLOR = [0.0, 1 - 0.57721566490153286] + [(-1) ** k * _zeta_less_one(k) / k for k in range(2, 28)]  # of loggamma(2 + t), |t| < 2


def complex_loggamma(z: Array) -> Any:
    """The principal branch of loggamma, elementwise; NaN at 0, the negative integers, and where z is not finite."""
    is_lower = jnp.signbit(z.imag)  # both sides of the cut belong to the half planes they bound
    upper = _in_upper_half(z.real, jnp.where(is_lower, -z.imag, z.imag))
    is_pole = (z.imag == 0) & (z.real <= 0) & (z.real == jnp.floor(z.real))
    result = jnp.where(is_lower, jnp.conj(upper), upper)
    return jnp.where(is_pole | ~jnp.isfinite(z), jnp.full_like(z, complex(math.nan, math.nan)), result)


def _in_upper_half(x: Any, y: Any) -> Any:
    """loggamma(x + i y) for y >= 0."""
    is_left = (x < 0.1) & (y <= _FAR)
    right = _in_right_half(jnp.where(is_left, 1 - x, x), y)
    # log gamma(z) + log gamma(1 - z) = log pi - log sin(pi z), and 1 - z is the conjugate of 1 - x + i y
    sine = _log_of_sine_of_pi_times(jnp.where(is_left, x, jnp.full_like(x, -0.5)), jnp.where(is_left, y, jnp.zeros_like(y)))
    return jnp.where(is_left, math.log(math.pi) - sine - jnp.conj(right), right)


def _log_of_sine_of_pi_times(x: Any, y: Any) -> Any:
    """log sin(pi (x + i y)) for y >= 0, without a jump: sin(pi z) = i/2 exp(-i pi z) (1 - exp(2 i pi z)), where the last factor has a
    positive real part."""
    rest = x - jnp.round(x)
    shrink, sine = jnp.expm1(-2 * math.pi * y), jnp.sin(math.pi * rest)
    factor = complex_of(2 * sine * sine - shrink * jnp.cos(2 * math.pi * rest), -(1 + shrink) * jnp.sin(2 * math.pi * rest))
    return complex_of(math.pi * y - math.log(2), math.pi * (0.5 - x)) + jnp.log(factor)


def _in_right_half(x: Any, y: Any) -> Any:
    """loggamma(x + i y) for y >= 0, and x >= 0.1 unless y is large."""
    z = complex_of(x, y)
    is_far = (x > _FAR) | (y > _FAR)
    steps = jnp.where(is_far, jnp.ones_like(z), z)
    logs = sum(jnp.log(steps + k) for k in range(_FAR))
    shifted = jnp.where(is_far, z, z + _FAR)
    inverse = 1 / shifted
    rest = inverse * _polynomial(_STIRLING, inverse * inverse)
    stirling = (shifted - 0.5) * jnp.log(shifted) - shifted + math.log(2 * math.pi) / 2 + rest
    result = jnp.where(is_far, stirling, stirling - logs)
    near_1, near_2 = jnp.abs(z - 1) < _NEAR, jnp.abs(z - 2) < _NEAR
    t = jnp.where(near_1, z - 1, jnp.where(near_2, z - 2, jnp.zeros_like(z)))
    taylor = _polynomial(_TAYLOR, t)
    return jnp.where(near_1, taylor - jnp.log1p(t), jnp.where(near_2, taylor, result))


def _polynomial(coefficients: Sequence[float], x: Any) -> Any:
    """The sum of coefficients[k] x**k."""
    total = jnp.zeros_like(x)
    for c in reversed(coefficients):
        total = total * x + c
    return total
