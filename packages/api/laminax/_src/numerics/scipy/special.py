"""Special functions, elementwise, as in `scipy.special`: those that are one operation, Bessel functions of order 0 and 1, `logit`.

Operands are promoted; integers are taken as floats. Beside them `softmax` and its logarithm, under SciPy's names.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Callable

from laminax_ir.ops import elementwise as op
from laminax_ir.ops import special
from laminax_transforms import custom_jvp

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.numpy.arguments import inexact, promote_real_inexact

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
