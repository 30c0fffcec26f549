"""Special functions, elementwise: gamma and beta, error functions and the normal distribution, Bessel functions, entropies.

Operands are promoted and broadcast; integers are taken as floats. Where a formula has a removable singularity, the
operand is replaced by a harmless one before the formula is computed, so that the derivative has no NaN there either.
"""

from __future__ import annotations

import functools
import math
import operator
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from laminax_ir.ops import elementwise as op
from laminax_ir.ops import special
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval
from laminax_transforms import custom_jvp

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.numpy.arguments import (
    convert,
    dtype_of,
    ensure_array,
    ensure_arrays,
    inexact,
    promote_inexact,
    promote_real_inexact,
    strong,
)
from laminax._src.numerics.scipy.complex_gamma import complex_loggamma

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

# --- functions that are one operation ---


def _function(name: str, operation: Callable, doc: str, at: str, result: str) -> Callable:
    def fun(x: ArrayLike) -> Array:
        return operation(inexact(name, x))
    fun.__name__ = fun.__qualname__ = name
    fun.__doc__ = f"""{doc}, elementwise.

    Args:
      x: a real array or scalar.

    Returns:
      A float array of x's shape.

    Raises:
      TypeError: if x is complex.

    Example:
      >>> {name}(jnp.array([{at}]))
      Array([{result}], dtype=float32)
    """
    return fun


erf = _function("erf", special.erf, "Error function, the integral of 2/sqrt(pi) exp(-t**2) from 0 to x",
                "-1., 0., 0.5", "-0.8427008,  0.       ,  0.5204999")
erfc = _function("erfc", special.erfc, "Complement of the error function, 1 - erf(x), accurate where that is small",
                 "0., 1., 5.", "1.0000000e+00, 1.5729921e-01, 1.5374598e-12")
erfinv = _function("erfinv", special.erf_inv, "Inverse of the error function; infinite at -1 and 1, NaN outside",
                   "-0.5, 0., 0.9", "-0.47693628,  0.        ,  1.1630871 ")
gammaln = _function("gammaln", special.lgamma, "Logarithm of the absolute value of the gamma function",
                    "0.5, 5., 100.", "  0.5723649,   3.1780539, 359.13422  ")
digamma = _function("digamma", special.digamma, "Derivative of the logarithm of the gamma function",
                    "1., 2., 10.", "-0.5772157 ,  0.42278433,  2.2517526 ")
expit = _function("expit", op.logistic, "Logistic function, 1 / (1 + exp(-x))",
                  "-2., 0., 2.", "0.11920292, 0.5       , 0.8807971 ")
i0e = _function("i0e", special.bessel_i0e, "Modified Bessel function of order 0, times exp(-|x|)",
                "0., 1., 100.", "1.        , 0.4657596 , 0.03994438")
i1e = _function("i1e", special.bessel_i1e, "Modified Bessel function of order 1, times exp(-|x|)",
                "0., 1., 100.", "0.        , 0.20791042, 0.03974415")


@fused
def i0(x: ArrayLike) -> Array:
    """Modified Bessel function of the first kind of order 0, elementwise.

    Args:
      x: a real array or scalar.

    Returns:
      A float array of x's shape; infinite where the dtype does not hold the value, `i0e` has it scaled.

    Raises:
      ValueError: if x is complex.

    Example:
      >>> i0(jnp.array([0., 1., -2.]))
      Array([1.       , 1.2660658, 2.2795854], dtype=float32)
    """
    return _i0(*promote_real_inexact("i0", x=x))


@custom_jvp
def _i0(x: Any) -> Any:
    return jnp.exp(jnp.abs(x)) * special.bessel_i0e(x)


@_i0.defjvp
def _i0_jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
    """Not by the rules of its factors: each has a kink at 0."""
    (x,), (x_dot,) = primals, tangents
    return _i0(x), x_dot * _i1(x)


@fused
def i1(x: ArrayLike) -> Array:
    """Modified Bessel function of the first kind of order 1, elementwise.

    Args:
      x: a real array or scalar.

    Returns:
      A float array of x's shape; infinite where the dtype does not hold the value, `i1e` has it scaled.

    Raises:
      ValueError: if x is complex.

    Example:
      >>> i1(jnp.array([0., 1., -2.]))
      Array([ 0.       ,  0.5651591, -1.5906368], dtype=float32)
    """
    return _i1(*promote_real_inexact("i1", x=x))


@custom_jvp
def _i1(x: Any) -> Any:
    return jnp.exp(jnp.abs(x)) * special.bessel_i1e(x)


@_i1.defjvp
def _i1_jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
    """I1' = I0 - I1/x; near 0 by its Taylor series, since the derivatives of the quotient are differences of large numbers there."""
    (x,), (x_dot,) = primals, tangents
    near = jnp.abs(x) < 1
    safe, small = jnp.where(near, jnp.ones_like(x), x), jnp.where(near, x, jnp.zeros_like(x))
    series = jnp.full_like(x, _I1_SLOPE[-1])
    for coefficient in reversed(_I1_SLOPE[:-1]):
        series = coefficient + small * small * series
    return _i1(x), x_dot * jnp.where(near, series, _i0(safe) - _i1(safe) / safe)


_I1_SLOPE = [(2 * k + 1) / (2 ** (2 * k + 1) * math.factorial(k) * math.factorial(k + 1)) for k in range(11)]  # of x**2


@fused
def logit(x: ArrayLike) -> Array:
    """Inverse of `expit`, log(x / (1 - x)), elementwise.

    Args:
      x: an array or scalar of numbers from 0 to 1.

    Returns:
      A float array of x's shape; infinite at 0 and 1, NaN outside.

    Example:
      >>> logit(jnp.array([0.25, 0.5, 0.9]))
      Array([-1.0986123,  0.       ,  2.1972246], dtype=float32)
    """
    return _logit(inexact("logit", x))


@custom_jvp
def _logit(x: Any) -> Any:
    return jnp.log(x / (1 - x))


@_logit.defjvp
def _logit_jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
    """Infinite at 0 and 1, where the rules of the quotient and of its logarithm have a product of 0 and infinity."""
    (x,), (x_dot,) = primals, tangents
    return _logit(x), x_dot * (1 / (x * (1 - x)))


# --- gamma and beta ---


@fused
def gammasgn(x: ArrayLike) -> Array:
    """Sign of the gamma function, elementwise.

    Args:
      x: a real array or scalar.

    Returns:
      A float array of x's shape: 1 or -1; NaN at negative integers, at zeros the sign of the zero.

    Raises:
      ValueError: if x is complex.

    Example:
      >>> gammasgn(jnp.array([2.5, -0.5, -1.5]))
      Array([ 1., -1.,  1.], dtype=float32)
    """
    x = strong(*promote_real_inexact("gammasgn", x=x))
    floor = jnp.floor(x)
    negative = jnp.where(floor % 2 == 0, jnp.ones_like(x), -jnp.ones_like(x))
    negative = jnp.where(x == floor, jnp.full_like(x, math.nan), negative)
    positive = jnp.where(jnp.isnan(x), jnp.full_like(x, math.nan), jnp.ones_like(x))
    return jnp.where(x == 0, jnp.copysign(jnp.ones_like(x), x), jnp.where(x < 0, negative, positive))


@fused
def gamma(x: ArrayLike) -> Array:
    """Gamma function, elementwise: the integral of t**(x - 1) exp(-t) over positive t, continued to the complex plane.

    Args:
      x: an array or scalar, real or complex.

    Returns:
      An array of x's shape, float or complex. Of a real x it is NaN at negative integers, infinite at 0 and where the dtype does not
      hold the value; of a complex x it is NaN at 0 and the negative integers, and where x is not finite.

    Example:
      >>> gamma(jnp.array([0.5, 5., -1.5]))
      Array([ 1.7724539, 24.       ,  2.3632717], dtype=float32)
    """
    x = strong(inexact("gamma", x))
    if _is_complex(x):
        return jnp.exp(complex_loggamma(x))
    return gammasgn(x) * jnp.exp(special.lgamma(x))


@fused
def loggamma(x: ArrayLike) -> Array:
    """Logarithm of the gamma function, elementwise: the branch that is real on the positive axis and cut along the negative one.

    Args:
      x: an array or scalar, real or complex.

    Returns:
      An array of x's shape, float or complex. Of a real x it is NaN where x is negative, for gamma has either sign there:
      `gammaln` is the logarithm of its size. Of a complex x it is NaN at 0 and the negative integers, and where x is not finite.

    Example:
      >>> loggamma(jnp.array([0.5, 5., -1.5]))
      Array([0.5723649, 3.1780539,       nan], dtype=float32)
    """
    x = inexact("loggamma", x)
    if _is_complex(x):
        return complex_loggamma(x)
    return jnp.where(x < 0, jnp.full_like(x, math.nan), special.lgamma(x))


def _is_complex(x: ArrayLike) -> bool:
    return dtypes.issubdtype(dtype_of(x), dtypes.complexfloating)


def factorial(n: ArrayLike, exact: bool = False) -> Array:
    """Factorial, the gamma function of n + 1, elementwise and in floating point; 0 for negative n.

    Args:
      n: an array or scalar.
      exact: must be False.

    Returns:
      A float array of n's shape.

    Raises:
      NotImplementedError: if exact is True.

    Example:
      >>> factorial(jnp.array([0, 3, 5]))
      Array([  1.,   6., 120.], dtype=float32)
    """
    if exact:
        raise NotImplementedError("factorial: exact=True is not supported, arrays hold no integers of any size; use math.factorial")
    return _factorial(n)


@fused
def _factorial(n: ArrayLike) -> Array:
    n = inexact("factorial", n)
    return jnp.where(n < 0, jnp.zeros_like(n), jnp.exp(special.lgamma(n + 1)))


@fused
def betaln(a: ArrayLike, b: ArrayLike) -> Array:
    """Logarithm of the absolute value of the beta function, elementwise, with little cancellation for large arguments.

    Args:
      a: a real array or scalar.
      b: a real array or scalar that broadcasts with a.

    Returns:
      A float array of the joint shape.

    Example:
      >>> betaln(jnp.array([2., 100.]), jnp.array([3., 200.]))
      Array([  -2.4849067, -192.13419  ], dtype=float32)
    """
    a, b = promote_inexact("betaln", a, b)
    a, b = jnp.minimum(a, b), jnp.maximum(a, b)
    # Far out the gammaln of b and of a + b agree in most digits; Stirling's series gives their difference directly.
    is_far = (b > 8) & (a + b > 8)
    safe = jnp.where(is_far, b, jnp.full_like(b, 9.0))
    total = jnp.where(is_far, a + b, jnp.full_like(b, 9.0))
    ratio = jnp.where(is_far, a / safe, jnp.zeros_like(a))
    far = _stirling_rest(safe) - _stirling_rest(total) + a * (1 - jnp.log(total)) - (safe - 0.5) * jnp.log1p(ratio)
    return special.lgamma(a) + jnp.where(is_far, far, special.lgamma(b) - special.lgamma(a + b))


def _stirling_rest(x: Any) -> Any:
    """gammaln(x) - ((x - 1/2) log x - x + log(2 pi) / 2), by its asymptotic series; for x >= 8 to double precision."""
    z = 1 / x
    w = z * z
    return z * (1 / 12 - w * (1 / 360 - w * (1 / 1260 - w * (1 / 1680 - w * (1 / 1188 - w * (691 / 360360 - w / 156))))))


@fused
def beta(a: ArrayLike, b: ArrayLike) -> Array:
    """Beta function, gamma(a) gamma(b) / gamma(a + b), elementwise.

    Args:
      a: a real array or scalar.
      b: a real array or scalar that broadcasts with a.

    Returns:
      A float array of the joint shape.

    Raises:
      ValueError: if an argument is complex.

    Example:
      >>> beta(jnp.array([2., 0.5]), jnp.array([3., 0.5]))  # 1/12 and pi
      Array([0.08333334, 3.1415927 ], dtype=float32)
    """
    a, b = promote_real_inexact("beta", a=a, b=b)
    return gammasgn(a) * gammasgn(b) * gammasgn(a + b) * jnp.exp(betaln(a, b))


@fused
def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """Regularised incomplete beta function, elementwise: the integral of t**(a - 1) (1 - t)**(b - 1) from 0 to x, over that to 1.

    It can be differentiated in x, not in a and b.

    Args:
      a: positive.
      b: positive.
      x: from 0 to 1; the arguments broadcast.

    Returns:
      A float array of the joint shape, from 0 to 1; NaN where an argument is out of its range.

    Raises:
      ValueError: if an argument is complex.

    Example:
      >>> betainc(2., 3., jnp.array([0., 0.25, 1.]))
      Array([0.        , 0.26171875, 1.        ], dtype=float32)
    """
    a, b, x = promote_real_inexact("betainc", a=a, b=b, x=x)
    return special.betainc(a, b, x)


@fused
def gammainc(a: ArrayLike, x: ArrayLike) -> Array:
    """Regularised lower incomplete gamma function, elementwise: the integral of t**(a - 1) exp(-t) from 0 to x, over gamma(a).

    Args:
      a: positive.
      x: not negative; the arguments broadcast.

    Returns:
      A float array of the joint shape, from 0 to 1; NaN where an argument is out of its range.

    Example:
      >>> gammainc(2., jnp.array([0., 1., 5.]))
      Array([0.        , 0.26424113, 0.9595723 ], dtype=float32)
    """
    return special.igamma(*promote_inexact("gammainc", a, x))


@fused
def gammaincc(a: ArrayLike, x: ArrayLike) -> Array:
    """Regularised upper incomplete gamma function, 1 - gammainc(a, x), elementwise and accurate where that is small.

    Args:
      a: positive.
      x: not negative; the arguments broadcast.

    Returns:
      A float array of the joint shape, from 0 to 1; NaN where an argument is out of its range.

    Example:
      >>> gammaincc(2., jnp.array([0., 1., 5.]))
      Array([1.        , 0.7357589 , 0.04042768], dtype=float32)
    """
    return special.igammac(*promote_inexact("gammaincc", a, x))


def multigammaln(a: ArrayLike, d: int) -> Array:
    """Logarithm of the multivariate gamma function of dimension d, elementwise.

    It is log(pi) d (d - 1) / 4 plus the sum of gammaln(a - j / 2) for j from 0 to d - 1.

    Args:
      a: a real array or scalar, above (d - 1) / 2.
      d: the dimension, a static positive integer.

    Returns:
      A float array of a's shape.

    Raises:
      TypeError: if d is no integer.

    Example:
      >>> multigammaln(jnp.array([2., 3.]), 2)
      Array([0.4515827, 1.550195 ], dtype=float32)
    """
    try:
        d = operator.index(d)
    except TypeError:
        raise TypeError(f"multigammaln: d must be a static integer, got {d!r}") from None
    return _multigammaln(a, d=d)


@fused(static_argnames=("d",))
def _multigammaln(a: ArrayLike, d: int) -> Array:
    a = jnp.asarray(inexact("multigammaln", a))
    halves = np.arange(d).astype(dtype_of(a)) / 2
    terms = special.lgamma(a[..., None] - halves.reshape((1,) * a.ndim + (d,)))
    return jnp.sum(terms, axis=-1) + d * (d - 1) / 4 * math.log(math.pi)


@fused
def polygamma(n: ArrayLike, x: ArrayLike) -> Array:
    """The n-th derivative of `digamma`, elementwise.

    Args:
      n: the order, integers not negative.
      x: a real array; it broadcasts with n.

    Returns:
      A float array of the joint shape.

    Raises:
      ValueError: if n is not of integer dtype.
      ValueError: if x is complex.

    Example:
      >>> polygamma(1, jnp.array([1., 2.]))  # pi**2 / 6, and that - 1
      Array([1.644934  , 0.64493406], dtype=float32)
    """
    n = ensure_array("polygamma", n)
    if not dtypes.issubdtype(dtype_of(n), dtypes.integer):
        raise ValueError(f"polygamma: n must be of integer dtype, got {get_aval(n).str_short()}")
    return special.polygamma(*promote_real_inexact("polygamma", n=n, x=x))


# --- logarithms and entropies ---


@fused
def xlogy(x: ArrayLike, y: ArrayLike) -> Array:
    """x log(y), elementwise, and 0 where x is 0 and y no NaN.

    Args:
      x: an array or scalar, real or complex.
      y: an array or scalar that broadcasts with x.

    Returns:
      A float or complex array of the joint shape.

    Example:
      >>> xlogy(jnp.array([0., 2.]), jnp.array([0., 3.]))
      Array([0.       , 2.1972246], dtype=float32)
    """
    return _xlogy(*promote_inexact("xlogy", x, y))


@custom_jvp
def _xlogy(x: Any, y: Any) -> Any:
    return _zero_times(x, y, jnp.log)


@_xlogy.defjvp
def _xlogy_jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Array]:
    (x, y), (x_dot, y_dot) = primals, tangents
    return _xlogy(x, y), x_dot * jnp.log(y) + y_dot * (x / y)


@fused
def xlog1py(x: ArrayLike, y: ArrayLike) -> Array:
    """x log(1 + y), elementwise and accurate for small y; 0 where x is 0 and y no NaN.

    Args:
      x: an array or scalar, real or complex.
      y: an array or scalar that broadcasts with x.

    Returns:
      A float or complex array of the joint shape.

    Example:
      >>> xlog1py(jnp.array([0., 2.]), jnp.array([-1., 1e-3]))
      Array([0.      , 0.001999], dtype=float32)
    """
    return _xlog1py(*promote_inexact("xlog1py", x, y))


@custom_jvp
def _xlog1py(x: Any, y: Any) -> Any:
    return _zero_times(x, y, jnp.log1p)


@_xlog1py.defjvp
def _xlog1py_jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Array]:
    (x, y), (x_dot, y_dot) = primals, tangents
    return _xlog1py(x, y), x_dot * jnp.log1p(y) + y_dot * (x / (1 + y))


def _zero_times(x: Any, y: Any, function: Callable) -> Any:
    is_zero = (x == 0) & (y == y)
    product = x * function(y)
    return jnp.where(is_zero, jnp.zeros_like(product), product)


@fused
def entr(x: ArrayLike) -> Array:
    """A term of an entropy, -x log(x), elementwise.

    Args:
      x: a real array or scalar.

    Returns:
      A float array of x's shape; 0 at 0 and -inf below.

    Raises:
      ValueError: if x is complex.

    Example:
      >>> entr(jnp.array([0., 0.5, 1.]))
      Array([ 0.       ,  0.3465736, -0.       ], dtype=float32)
    """
    return _entr(*promote_real_inexact("entr", x=x))


@custom_jvp
def _entr(x: Any) -> Any:
    return jnp.where(x < 0, jnp.full_like(x, -math.inf), -_xlogy(x, x))


@_entr.defjvp
def _entr_jvp(primals: tuple[Any, ...], tangents: tuple[ArrayLike, ...]) -> tuple[Any, Array]:
    """Its slope is infinite at 0: as a derivative of xlogy in both arguments it would be inf + 0/0."""
    (x,), (x_dot,) = primals, tangents
    return _entr(x), x_dot * (-1 - jnp.log(x))


@fused
def rel_entr(p: ArrayLike, q: ArrayLike) -> Array:
    """A term of a relative entropy, p log(p / q), elementwise.

    Args:
      p: a real array or scalar.
      q: a real array or scalar that broadcasts with p.

    Returns:
      A float array of the joint shape; 0 where p is 0 and q is not negative, inf where the term has no other value.

    Raises:
      ValueError: if an argument is complex.

    Example:
      >>> rel_entr(jnp.array([0., 0.5, 0.5]), jnp.array([0.5, 0.25, 0.]))
      Array([0.       , 0.3465736,       inf], dtype=float32)
    """
    p, q = jnp.broadcast_arrays(*promote_real_inexact("rel_entr", p=p, q=q))
    is_inside = (p > 0) & (q > 0) | jnp.isnan(p) | jnp.isnan(q)
    is_zero = (p == 0) & (q >= 0)
    safe_p, safe_q = jnp.where(is_inside, p, jnp.ones_like(p)), jnp.where(is_inside, q, jnp.ones_like(q))
    outside = jnp.where(is_zero, jnp.zeros_like(p), jnp.full_like(p, math.inf))
    return jnp.where(is_inside, _times_log_quotient(safe_p, safe_q), outside)


@custom_jvp
def _times_log_quotient(p: Any, q: Any) -> Any:
    return p * jnp.log(p / q)


@_times_log_quotient.defjvp
def _times_log_quotient_jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
    """Without squares and cubes of the numbers, which overflow, and vanish, long before the derivatives do."""
    (p, q), (p_dot, q_dot) = primals, tangents
    return _times_log_quotient(p, q), p_dot * (1 + _log_quotient(p, q)) - q_dot * (p / q)


@custom_jvp
def _log_quotient(p: Any, q: Any) -> Any:
    return jnp.log(p / q)


@_log_quotient.defjvp
def _log_quotient_jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
    (p, q), (p_dot, q_dot) = primals, tangents
    return _log_quotient(p, q), p_dot / p - q_dot / q


@fused
def kl_div(p: ArrayLike, q: ArrayLike) -> Array:
    """A term of the divergence of Kullback and Leibler, p log(p / q) - p + q, elementwise.

    Args:
      p: a real array or scalar.
      q: a real array or scalar that broadcasts with p.

    Returns:
      A float array of the joint shape; inf where p or q is negative or q alone is 0.

    Raises:
      ValueError: if an argument is complex.

    Example:
      >>> kl_div(jnp.array([0., 0.5, 0.5]), jnp.array([0.5, 0.25, 0.]))
      Array([0.5       , 0.09657359,        inf], dtype=float32)
    """
    p, q = promote_real_inexact("kl_div", p=p, q=q)
    return rel_entr(p, q) - p + q


def softmax(x: ArrayLike, /, *, axis: int | tuple[int, ...] | None = None) -> Array:
    """exp(x) / sum(exp(x)) along axes, without overflow; see `nn.softmax`.

    Args:
      x: a real array.
      axis: the axis or axes of the sum; None for all.

    Returns:
      A float array of x's shape whose sum along the axes is 1.

    Example:
      >>> softmax(jnp.array([[0., 1.], [2., 2.]]), axis=1)
      Array([[0.26894143, 0.7310586 ],
             [0.5       , 0.5       ]], dtype=float32)
    """
    from laminax._src.numerics.nn import normalization
    return normalization.softmax(x, axis=axis)


def log_softmax(x: ArrayLike, /, *, axis: int | tuple[int, ...] | None = None) -> Array:
    """Logarithm of `softmax`, without overflow; see `nn.log_softmax`.

    Args:
      x: a real array.
      axis: the axis or axes of the sum; None for all.

    Returns:
      A float array of x's shape.

    Example:
      >>> log_softmax(jnp.array([0., 1., 1000.]))
      Array([-1000.,  -999.,     0.], dtype=float32)
    """
    from laminax._src.numerics.nn import normalization
    return normalization.log_softmax(x, axis=axis)


# --- the normal distribution ---


def _checked_float(name: str, x: Any) -> Any:
    x = ensure_arrays(name, x)[0]
    if dtype_of(x) not in (np.float32, np.float64):
        raise TypeError(f"{name}: x must be float32 or float64, got {get_aval(x).str_short()}. Convert it with astype.")
    return x


@fused
def ndtr(x: ArrayLike) -> Array:
    """Distribution function of the standard normal distribution, elementwise, accurate in the lower tail.

    Args:
      x: float32 or float64.

    Returns:
      An array of x's shape and dtype, from 0 to 1.

    Raises:
      TypeError: if x is not float32 or float64.

    Example:
      >>> ndtr(jnp.array([-3., 0., 1.]))
      Array([0.0013499, 0.5      , 0.8413448], dtype=float32)
    """
    return _ndtr(strong(_checked_float("ndtr", x)))


@fused
def erfcinv(y: ArrayLike) -> Array:
    """Inverse of the complementary error function, elementwise.

    It keeps its digits where y is small, and `erfinv(1 - y)` has none.

    Args:
      y: a real array or scalar, from 0 to 2.

    Returns:
      A float array of y's shape; infinite at 0 and 2, NaN outside.

    Raises:
      ValueError: if y is complex.

    Example:
      >>> erfcinv(jnp.array([1e-10, 0.5, 1.]))
      Array([ 4.572825  ,  0.47693628, -0.        ], dtype=float32)
    """
    (y,) = promote_real_inexact("erfcinv", y=y)
    wide = y if dtype_of(y) in (np.float32, np.float64) else convert(y, np.dtype(np.float32))
    return convert(-math.sqrt(0.5) * _ndtri(0.5 * wide), dtype_of(y))  # erfc(x) = 2 ndtr(-sqrt(2) x)


def _ndtr(x: ArrayLike) -> Array:
    return 0.5 * special.erfc(x * -math.sqrt(0.5))


@fused
def ndtri(p: ArrayLike) -> Array:
    """Inverse of `ndtr`, elementwise: the quantiles of the standard normal distribution.

    Args:
      p: float32 or float64, from 0 to 1.

    Returns:
      An array of p's shape and dtype; infinite at 0 and 1, NaN outside.

    Raises:
      TypeError: if p is not float32 or float64.

    Example:
      >>> ndtri(jnp.array([0.025, 0.5, 0.9]))
      Array([-1.959964 ,  0.       ,  1.2815516], dtype=float32)
    """
    return _ndtri(_checked_float("ndtri", p))


# Rational approximations of Moshier's Cephes library: around 1/2, of the tail above exp(-32), and of the rest of it
_NDTRI_MIDDLE = (
    (-1.23916583867381258016e0, 1.39312609387279679503e1, -5.66762857469070293439e1, 9.80010754185999661536e1, -5.99633501014107895267e1),
    (-1.18331621121330003142e0, 1.59056225126211695515e1, -8.20372256168333339912e1, 2.00260212380060660359e2, -2.25462687854119370527e2,
     8.63602421390890590575e1, 4.67627912898881538453e0, 1.95448858338141759834e0, 1.0))
_NDTRI_TAIL = (
    (-8.57456785154685413611e-4, -3.50424626827848203418e-2, -1.40256079171354495875e-1, 2.18663306850790267539e0, 1.46849561928858024014e1,
     4.40805073893200834700e1, 5.71628192246421288162e1, 3.15251094599893866154e1, 4.05544892305962419923e0),
    (-9.33259480895457427372e-4, -3.80806407691578277194e-2, -1.42182922854787788574e-1, 2.50464946208309415979e0, 1.50425385692907503408e1,
     4.13172038254672030440e1, 4.53907635128879210584e1, 1.57799883256466749731e1, 1.0))
_NDTRI_FAR_TAIL = (
    (6.23974539184983293730e-9, 2.65806974686737550832e-6, 3.01581553508235416007e-4, 1.23716634817820021358e-2, 2.01485389549179081538e-1,
     1.33303460815807542389e0, 3.93881025292474443415e0, 6.91522889068984211695e0, 3.23774891776946035970e0),
    (6.79019408009981274425e-9, 2.89247864745380683936e-6, 3.28014464682127739104e-4, 1.34204006088543189037e-2, 2.16236993594496635890e-1,
     1.37702099489081330271e0, 3.67983563856160859403e0, 6.02427039364742014255e0, 1.0))


def _ratio(polynomials: tuple[tuple[float, ...], ...], x: Array) -> Array:
    """The quotient of two polynomials, whose coefficients go from the constant one up."""
    above, below = (functools.reduce(lambda value, c: value * x + c, reversed(one[:-1]), jnp.full_like(x, one[-1])) for one in polynomials)
    return above / below


@custom_jvp
def _ndtri(p: ArrayLike) -> Array:
    """Of the smaller of p and 1 - p, by which 1 - p is exact."""
    is_lower = p < 0.5
    tail = jnp.where(is_lower, p, 1 - p)
    is_inside = (tail > 0) & (tail <= 0.5)
    tail = jnp.where(is_inside, tail, jnp.full_like(tail, 0.25))
    centered = tail - 0.5
    square = centered * centered
    middle = (centered + centered * (square * _ratio(_NDTRI_MIDDLE, square))) * math.sqrt(2 * math.pi)
    r = jnp.sqrt(-2 * jnp.log(tail))
    z = 1 / r
    correction = jnp.where(r < 8, _ratio(_NDTRI_TAIL, z), _ratio(_NDTRI_FAR_TAIL, z))
    x = jnp.where(tail > math.exp(-2), middle, jnp.log(r) * z + z * correction - r)
    x = jnp.where(is_lower, x, -x)
    edge = jnp.where(p == 0, -math.inf, jnp.where(p == 1, math.inf, math.nan)).astype(dtype_of(p))
    return jnp.where(is_inside, x, edge)


@_ndtri.defjvp
def _ndtri_jvp(primals: tuple[ArrayLike, ...], tangents: tuple[ArrayLike, ...]) -> tuple[Array, Array]:
    (p,), (p_dot,) = primals, tangents
    x = _ndtri(p)
    return x, p_dot * math.sqrt(2 * math.pi) * jnp.exp(0.5 * x * x)


def log_ndtr(x: ArrayLike, series_order: int = 3) -> Array:
    """Logarithm of `ndtr`, elementwise, accurate in both tails.

    Args:
      x: float32 or float64.
      series_order: static, from 0 to 30: the terms of the asymptotic series that is used far below 0.

    Returns:
      An array of x's shape and dtype, not positive.

    Raises:
      TypeError: for another dtype of x, or if series_order is no integer.
      ValueError: if series_order is out of range.

    Example:
      >>> log_ndtr(jnp.array([-20., 0., 3.]))
      Array([-2.0391716e+02, -6.9314718e-01, -1.3508099e-03], dtype=float32)
    """
    series_order = operator.index(series_order)
    if not 0 <= series_order <= 30:
        raise ValueError(f"log_ndtr: series_order must be from 0 to 30, got {series_order}")
    return _fused_log_ndtr(x, series_order=series_order)


@fused(static_argnames=("series_order",))
def _fused_log_ndtr(x: ArrayLike, series_order: int) -> Array:
    return _log_ndtr(strong(_checked_float("log_ndtr", x)), series_order)


def _log_ndtr(x: ArrayLike, series_order: int) -> Array:
    lower = -20.0 if dtype_of(x) == np.float64 else -10.0

    @custom_jvp
    def logarithm(x: ArrayLike) -> Array:
        outside = _ndtr(-jnp.abs(jnp.maximum(x, lower)))  # the probability beyond x, which the logarithm of 1 - outside would lose
        middle = jnp.where(x > 0, jnp.log1p(-outside), jnp.log(outside))
        z = jnp.minimum(x, lower)
        series, term, square = jnp.ones_like(z), jnp.ones_like(z), 1 / (z * z)
        for k in range(1, series_order + 1):  # 1 - 1/x^2 + 3/x^4 - 15/x^6 + ...
            term = term * square * -(2.0 * k - 1)
            series = series + term
        tail = -0.5 * z * z - jnp.log(-z) - 0.5 * math.log(2 * math.pi) + jnp.log(series)
        return jnp.where(x > lower, middle, tail)

    @logarithm.defjvp
    def rule(primals: tuple[Any, ...], tangents: tuple[ArrayLike, ...]) -> tuple[Any, Array]:
        """The density over the distribution function, as one exponential, which does not overflow."""
        (x,), (x_dot,) = primals, tangents
        result = logarithm(x)
        return result, x_dot * jnp.exp(-0.5 * x * x - result - 0.5 * math.log(2 * math.pi))

    return logarithm(x)
