"""NumPy meaning of the special functions, computed in float64.

The error functions, lgamma and digamma need NumPy and the standard library alone; the rest comes from SciPy, which
is imported when first needed.
"""

from __future__ import annotations

import importlib
import math
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from laminax_ir.ops import special as op
from laminax_ir.reference.evaluate import reference_rule

if TYPE_CHECKING:
    from laminax_ir.programs.primitive import Primitive
    from laminax_ir.types.annotations import ArrayLike


def _define(primitive: Primitive, function: Callable) -> None:
    def rule(*operands: np.ndarray) -> Any:
        return function(*[x.astype(np.float64) for x in np.broadcast_arrays(*operands)])

    rule.__module__ = __name__
    reference_rule.add(primitive, rule)


def _scalarwise(function: Callable[[float], float]) -> Callable[[np.ndarray], np.ndarray]:
    def apply(x: np.ndarray) -> np.ndarray:
        return np.array([function(value) for value in x.ravel().tolist()]).reshape(x.shape)
    return apply


def _lgamma(value: float) -> float:
    try:
        return math.lgamma(value)
    except (ValueError, OverflowError):  # at a pole, or beyond float64
        return math.inf


erf, erfc, lgamma = _scalarwise(math.erf), _scalarwise(math.erfc), _scalarwise(_lgamma)


def erf_inv(x: np.ndarray) -> np.ndarray:
    """A closed approximation (Winitzki 2008, 2e-3), then Halley's iteration on erfc, where 1 - |x| is exact."""
    tail = 1 - np.abs(x)
    log = np.log(tail * (1 + np.abs(x))) / 2
    c = 2 / (math.pi * 0.147) + log
    y = np.sqrt(np.sqrt(c * c - 2 * log / 0.147) - c)
    for _ in range(4):
        # Near 0 the difference of erf keeps the relative accuracy, in the tail that of erfc does.
        error = np.where(tail > 0.5, np.abs(x) - erf(y), erfc(y) - tail)
        step = error * np.exp(y * y) * (math.sqrt(math.pi) / 2)
        y = y + step / (1 - y * step)
    y = np.where(x == 0, 0.0, np.where(tail == 0, np.inf, y))
    return np.copysign(np.where(tail < 0, np.nan, y), x)


def digamma(x: np.ndarray) -> np.ndarray:
    """Reflection to the right half, recurrence up to 10, asymptotic series (Abramowitz and Stegun 6.3.5, 6.3.7, 6.3.18)."""
    reflected = x < 0.5
    fraction = x - np.floor(x)
    cotangent = np.where(reflected, math.pi / np.tan(math.pi * np.where(fraction > 0.5, fraction - 1, fraction)), 0.0)
    y = np.where(reflected, 1 - x, x)
    shift = np.zeros_like(y)
    for _ in range(10):
        small = y < 10
        shift = shift + np.where(small, 1 / y, 0.0)
        y = np.where(small, y + 1, y)
    z = 1 / (y * y)
    series = z * (1 / 12 - z * (1 / 120 - z * (1 / 252 - z * (1 / 240 - z * (1 / 132 - z * (691 / 32760 - z / 12))))))
    result = np.log(y) - 0.5 / y - series - shift - cotangent
    return np.where((x <= 0) & (fraction == 0) | (x == -np.inf), np.nan, np.where(x == np.inf, np.inf, result))


_define(op.erf_p, erf)
_define(op.erfc_p, erfc)
_define(op.erf_inv_p, erf_inv)
_define(op.lgamma_p, lgamma)
_define(op.digamma_p, digamma)


# With SciPy


def _scipy() -> Any:
    try:
        return importlib.import_module("scipy.special")
    except ImportError:
        raise ImportError("the NumPy reference of this special function needs SciPy; install scipy") from None


def _from_scipy(name: str) -> Callable:
    return lambda *operands: getattr(_scipy(), name)(*operands)


_define(op.bessel_i0e_p, _from_scipy("i0e"))
_define(op.bessel_i1e_p, _from_scipy("i1e"))


def zeta(x: Any, q: ArrayLike) -> Any:
    """Hurwitz zeta: where q is negative the sum is over whole powers only."""
    value = _scipy().zeta(x, np.where(q > 0, q, 1.0))
    at_pole, fractional = q == np.floor(q), x != np.floor(x)
    # For negative q, the terms before the first positive one are added by hand.
    pole = np.where(x % 2 == 0, np.inf, np.nan)  # the infinities of odd powers have no sign
    negative = np.where(at_pole, pole, np.where(fractional, np.nan, _negative_zeta(x, q)))
    return np.where(x == 1, np.inf, np.where(~(x > 1), np.nan, np.where(q > 0, value, negative)))


def _negative_zeta(x: np.ndarray, q: np.ndarray) -> np.ndarray:
    result = np.full(x.shape, np.nan)
    for i in np.ndindex(x.shape):
        if -1000 < q[i] < 0:
            terms = np.arange(math.ceil(-q[i])) + q[i]
            result[i] = np.sum(terms ** -x[i]) + _scipy().zeta(x[i], q[i] + len(terms))
    return result


def polygamma(m: Any, x: ArrayLike) -> Any:
    """By the Hurwitz zeta function; Abramowitz and Stegun 6.4.10."""
    valid = (m >= 0) & (m == np.floor(m))
    sign = np.where(m % 2 == 0, -1.0, 1.0)
    higher = sign * np.exp(lgamma(m + 1)) * zeta(m + 1, x)
    return np.where(m == 0, digamma(x), np.where(valid, higher, np.nan))


def _in_domain(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    return (a >= 0) & (x >= 0) & ~((a == 0) & (x == 0)) & ~((a == np.inf) & (x == np.inf))


def igamma(a: Any, x: ArrayLike) -> Any:
    inside = _in_domain(a, x)
    return np.where(inside, _scipy().gammainc(np.where(inside, a, 1.0), np.where(inside, x, 1.0)), np.nan)


def igammac(a: Any, x: ArrayLike) -> Any:
    inside = _in_domain(a, x)
    return np.where(inside, _scipy().gammaincc(np.where(inside, a, 1.0), np.where(inside, x, 1.0)), np.nan)


def igamma_grad_a(a: Any, x: ArrayLike) -> Any:
    """A difference quotient of order 8, of whichever of P and Q is small: both are entire in a."""
    inside, at_zero = (a > 0) & (x > 0), (a > 0) & (x == 0)
    a, x = np.where(inside, a, 1.0), np.where(inside, x, 1.0)
    scale = np.sqrt(1 + a) / (1 + np.abs(np.log(x / a)))
    step = np.minimum(a / 5, 0.03 * scale)
    total = np.zeros_like(a)
    for i, weight in enumerate((4 / 5, -1 / 5, 4 / 105, -1 / 280), 1):
        lower = _scipy().gammainc(a + i * step, x) - _scipy().gammainc(a - i * step, x)
        upper = _scipy().gammaincc(a - i * step, x) - _scipy().gammaincc(a + i * step, x)
        total = total + weight * np.where(x < a, lower, upper)
    return np.where(inside, total / step, np.where(at_zero, 0.0, np.nan))


def random_gamma_grad(a: Any, x: ArrayLike) -> Any:
    density = np.exp((a - 1) * np.log(x) - x - lgamma(a))
    return np.where(x == 0, np.where(a > 0, 0.0, np.nan), -igamma_grad_a(a, x) / density)


def betainc(a: Any, b: ArrayLike, x: ArrayLike) -> Any:
    degenerate = (a == 0) & (b == 0) | (a == np.inf) & (b == np.inf)
    defined = (a >= 0) & (b >= 0) & (x >= 0) & (x <= 1) & ~degenerate
    at_zero, at_one = (a == 0) | (b == np.inf), (b == 0) | (a == np.inf)  # where all of the distribution is
    inside = defined & ~at_zero & ~at_one
    safe = [np.where(inside, value, 0.5) for value in (a, b, x)]
    limit = np.where(at_zero, x > 0, x == 1).astype(np.float64)  # SciPy has had them since 1.15
    return np.where(inside, _scipy().betainc(*safe), np.where(defined, limit, np.nan))


_define(op.zeta_p, zeta)
_define(op.polygamma_p, polygamma)
_define(op.igamma_p, igamma)
_define(op.igammac_p, igammac)
_define(op.igamma_grad_a_p, igamma_grad_a)
_define(op.random_gamma_grad_p, random_gamma_grad)
_define(op.regularized_incomplete_beta_p, betainc)
