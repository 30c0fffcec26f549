"""Elementwise exponentials, logarithms, roots, and trigonometric and hyperbolic functions.

Some take an `accuracy`, which asks the compiler for an implementation: a `Tolerance`, an `AccuracyMode`, or None. The reference computes as
exactly as NumPy does, whatever the accuracy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from laminax_ir.ops.elementwise_primitives import (
    acos_p,
    acosh_p,
    asin_p,
    asinh_p,
    atan_p,
    atanh_p,
    cbrt_p,
    cos_p,
    cosh_p,
    exp2_p,
    exp_p,
    expm1_p,
    log1p_p,
    log2_p,
    log_p,
    logistic_p,
    rsqrt_p,
    sin_p,
    sinh_p,
    sqrt_p,
    tan_p,
    tanh_p,
)
from laminax_ir.programs.primitive import Primitive
from laminax_ir.tracing.trace import state
from laminax_ir.types.accuracy import AccuracyMode, Tolerance, check_accuracy

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

Accuracy = Tolerance | AccuracyMode | None


def exp(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise exponential (floating or complex).

    Example:
      >>> exp(np.float32([0, 1]))
      array([1.      , 2.718282], dtype=float32)
    """
    return exp_p.bind(x) if accuracy is None else _bind_with_accuracy(exp_p, x, accuracy)


def exp2(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise power of two, 2**x (floating or complex).

    Example:
      >>> exp2(np.float32([0, 3]))
      array([1., 8.], dtype=float32)
    """
    return exp2_p.bind(x) if accuracy is None else _bind_with_accuracy(exp2_p, x, accuracy)


def expm1(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise exp(x) - 1 (floating or complex), accurate near 0.

    Example:
      >>> expm1(np.float32([0, 1e-6]))
      array([0.0000000e+00, 1.0000005e-06], dtype=float32)
    """
    return expm1_p.bind(x) if accuracy is None else _bind_with_accuracy(expm1_p, x, accuracy)


def log(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise natural logarithm (floating or complex).

    Example:
      >>> log(np.float32([1, np.e]))
      array([0., 1.], dtype=float32)
    """
    return log_p.bind(x) if accuracy is None else _bind_with_accuracy(log_p, x, accuracy)


def log1p(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise log(1 + x) (floating or complex), accurate near 0.

    Example:
      >>> log1p(np.float32([0, 1e-6]))
      array([0.000000e+00, 9.999995e-07], dtype=float32)
    """
    return log1p_p.bind(x) if accuracy is None else _bind_with_accuracy(log1p_p, x, accuracy)


def log2(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise logarithm to base 2 (floating or complex).

    Example:
      >>> log2(np.float32([1, 8]))
      array([0., 3.], dtype=float32)
    """
    return log2_p.bind(x) if accuracy is None else _bind_with_accuracy(log2_p, x, accuracy)


def logistic(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise sigmoid (floating or complex), 1 / (1 + exp(-x)).

    Example:
      >>> logistic(np.float32([0, 2]))
      array([0.5     , 0.880797], dtype=float32)
    """
    return logistic_p.bind(x) if accuracy is None else _bind_with_accuracy(logistic_p, x, accuracy)


def sqrt(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise square root (floating or complex).

    Example:
      >>> sqrt(np.float32([4, 2]))
      array([2.       , 1.4142135], dtype=float32)
    """
    return sqrt_p.bind(x) if accuracy is None else _bind_with_accuracy(sqrt_p, x, accuracy)


def rsqrt(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise reciprocal square root (floating or complex), 1/sqrt(x).

    Example:
      >>> rsqrt(np.float32([4, 16]))
      array([0.5 , 0.25], dtype=float32)
    """
    return rsqrt_p.bind(x) if accuracy is None else _bind_with_accuracy(rsqrt_p, x, accuracy)


def cbrt(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise real cube root (floating).

    Example:
      >>> cbrt(np.float32([8, -1]))
      array([ 2., -1.], dtype=float32)
    """
    return cbrt_p.bind(x) if accuracy is None else _bind_with_accuracy(cbrt_p, x, accuracy)


def sin(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise sine (floating or complex); x in radians.

    Example:
      >>> sin(np.float32([0, 1]))
      array([0.      , 0.841471], dtype=float32)
    """
    return sin_p.bind(x) if accuracy is None else _bind_with_accuracy(sin_p, x, accuracy)


def cos(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise cosine (floating or complex); x in radians.

    Example:
      >>> cos(np.float32([0, 1]))
      array([1.       , 0.5403023], dtype=float32)
    """
    return cos_p.bind(x) if accuracy is None else _bind_with_accuracy(cos_p, x, accuracy)


def tan(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise tangent (floating or complex); x in radians.

    Example:
      >>> tan(np.float32([0, 1]))
      array([0.       , 1.5574077], dtype=float32)
    """
    return tan_p.bind(x) if accuracy is None else _bind_with_accuracy(tan_p, x, accuracy)


def _bind_with_accuracy(primitive: Primitive, x: ArrayLike, accuracy: Tolerance | AccuracyMode) -> Array:
    """The parameter stands in the equation only where it says something; None leaves the choice to the compiler."""
    check_accuracy(primitive.name, accuracy)
    return state.trace.process(primitive, (x,), {"accuracy": accuracy})


def asin(x: ArrayLike) -> Array:
    """Elementwise arc sine (floating or complex), in radians.

    Example:
      >>> asin(np.float32([0, 1]))
      array([0.       , 1.5707964], dtype=float32)
    """
    return asin_p.bind(x)


def acos(x: ArrayLike) -> Array:
    """Elementwise arc cosine (floating or complex), in radians.

    Example:
      >>> acos(np.float32([1, 0]))
      array([0.       , 1.5707964], dtype=float32)
    """
    return acos_p.bind(x)


def atan(x: ArrayLike) -> Array:
    """Elementwise arc tangent (floating or complex), in radians.

    Example:
      >>> atan(np.float32([0, 1]))
      array([0.       , 0.7853982], dtype=float32)
    """
    return atan_p.bind(x)


def sinh(x: ArrayLike) -> Array:
    """Elementwise hyperbolic sine (floating or complex).

    Example:
      >>> sinh(np.float32([0, 1]))
      array([0.       , 1.1752012], dtype=float32)
    """
    return sinh_p.bind(x)


def cosh(x: ArrayLike) -> Array:
    """Elementwise hyperbolic cosine (floating or complex).

    Example:
      >>> cosh(np.float32([0, 1]))
      array([1.       , 1.5430807], dtype=float32)
    """
    return cosh_p.bind(x)


def tanh(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise hyperbolic tangent (floating or complex).

    Example:
      >>> tanh(np.float32([0, 1]))
      array([0.       , 0.7615942], dtype=float32)
    """
    return tanh_p.bind(x) if accuracy is None else _bind_with_accuracy(tanh_p, x, accuracy)


def asinh(x: ArrayLike) -> Array:
    """Elementwise inverse hyperbolic sine (floating or complex).

    Example:
      >>> asinh(np.float32([0, 1]))
      array([0.       , 0.8813736], dtype=float32)
    """
    return asinh_p.bind(x)


def acosh(x: ArrayLike) -> Array:
    """Elementwise inverse hyperbolic cosine (floating or complex).

    Example:
      >>> acosh(np.float32([1, 2]))
      array([0.      , 1.316958], dtype=float32)
    """
    return acosh_p.bind(x)


def atanh(x: ArrayLike) -> Array:
    """Elementwise inverse hyperbolic tangent (floating or complex).

    Example:
      >>> atanh(np.float32([0, 0.5]))
      array([0.        , 0.54930615], dtype=float32)
    """
    return atanh_p.bind(x)
