"""Exponentials, logarithms, trigonometry, and the parts of complex numbers: functions of one operand.

Those with values between the integers take integers and bools as floats.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Callable

from laminax_ir.ops import elementwise as op
from laminax_ir.ops import shape as shape_ops
from laminax_ir.ops.scalar_operands import scalar_like
from laminax_ir.pytrees.wrapping import alias
from laminax_ir.tracing.trace import Tracer, eval_trace, state, tracing_threads
from laminax_ir.types import dtypes
from laminax_runtime import ArrayImpl

from laminax._src.numerics.floor import compiled_function, fused
from laminax._src.numerics.numpy.arguments import (
    as_array,
    dtype_of,
    ensure_array,
    inexact,
    is_kind,
    promote_inexact,
    strong,
    strong_unless_scalar,
    weak_like,
)

if TYPE_CHECKING:
    from laminax_ir.programs.primitive import Primitive
    from laminax_ir.types.annotations import Array, ArrayLike

# --- functions that are one operation on floats ---

_ARRAYS = (ArrayImpl, Tracer)


def _unary(name: str, primitive: Primitive, text: str, at: str, result: str) -> Callable:
    def promoted(x: Any) -> Any:
        if isinstance(x, _ARRAYS) and x.aval.dtype.kind == "f":
            return state.trace.process(primitive, (x,), {})
        return state.trace.process(primitive, (inexact(name, x),), {})

    compiled = compiled_function(lambda x: [promoted(x)], name)
    current, bottom, threads = state, eval_trace, tracing_threads

    def fun(x: ArrayLike, /) -> Array:
        return compiled(x) if type(x) is ArrayImpl and (not threads or current.trace is bottom) else promoted(x)

    return named(fun, name, f"""{text}, elementwise.

    Args:
      x: an array or scalar of numbers; integers and bools are taken as floats.

    Returns:
      An array of x's shape, floating or complex.

    Raises:
      TypeError: if x is a list or tuple, or not of numbers.

    Example:
      >>> jnp.{name}(jnp.array([{at}]))
      Array([{result}], dtype=float32)
    """)


def named(fun: Callable, name: str, doc: str) -> Callable:
    """The function, which gets this name and documentation."""
    fun.__name__ = fun.__qualname__ = name
    fun.__doc__ = doc
    return fun


exp = _unary("exp", op.exp_p, "Exponential, e**x",
             "0., 1., -2.", "1.        , 2.7182817 , 0.13533528")
exp2 = _unary("exp2", op.exp2_p, "Power of two, 2**x",
              "0., 3., -1.", "1. , 8. , 0.5")
expm1 = _unary("expm1", op.expm1_p, "exp(x) - 1, accurate near 0",
               "0., 1., 1e-6", "0.0000000e+00, 1.7182819e+00, 1.0000005e-06")
log = _unary("log", op.log_p, "Natural logarithm; -inf at 0, NaN for negative numbers",
             "1., 2., 0.", "0.       , 0.6931472,      -inf")
log1p = _unary("log1p", op.log1p_p, "log(1 + x), accurate near 0",
               "0., 1., 1e-6", "0.000000e+00, 6.931472e-01, 9.999995e-07")
sqrt = _unary("sqrt", op.sqrt_p, "Square root; NaN for negative real numbers",
              "4., 2., 0.", "2.       , 1.4142135, 0.       ")
cbrt = _unary("cbrt", op.cbrt_p, "Real cube root",
              "8., -27., 2.", " 2.       , -3.       ,  1.2599211")
sin = _unary("sin", op.sin_p, "Sine; x in radians",
             "0., 0.5, 2.", "0.        , 0.47942555, 0.9092974 ")
cos = _unary("cos", op.cos_p, "Cosine; x in radians",
             "0., 0.5, 2.", " 1.        ,  0.87758255, -0.41614684")
tan = _unary("tan", op.tan_p, "Tangent; x in radians",
             "0., 0.5, 2.", " 0.       ,  0.5463025, -2.1850398")
arcsin = _unary("arcsin", op.asin_p, "Inverse sine in radians, from -pi/2 to pi/2; NaN outside [-1, 1]",
                "0., 0.5, -1.", " 0.       ,  0.5235988, -1.5707964")
arccos = _unary("arccos", op.acos_p, "Inverse cosine in radians, from 0 to pi; NaN outside [-1, 1]",
                "1., 0.5, -1.", "0.       , 1.0471976, 3.1415927")
arctan = _unary("arctan", op.atan_p, "Inverse tangent in radians, from -pi/2 to pi/2",
                "0., 1., -20.", " 0.       ,  0.7853982, -1.5208379")
sinh = _unary("sinh", op.sinh_p, "Hyperbolic sine",
              "0., 1., -2.", " 0.       ,  1.1752012, -3.6268604")
cosh = _unary("cosh", op.cosh_p, "Hyperbolic cosine",
              "0., 1., -2.", "1.       , 1.5430807, 3.7621956")
tanh = _unary("tanh", op.tanh_p, "Hyperbolic tangent",
              "0., 1., -2.", " 0.       ,  0.7615942, -0.9640276")
arcsinh = _unary("arcsinh", op.asinh_p, "Inverse hyperbolic sine",
                 "0., 1., -20.", " 0.       ,  0.8813736, -3.689504 ")
arccosh = _unary("arccosh", op.acosh_p, "Inverse hyperbolic cosine; NaN below 1",
                 "1., 2., 20.", "0.       , 1.316958 , 3.6882539")
arctanh = _unary("arctanh", op.atanh_p, "Inverse hyperbolic tangent; NaN outside [-1, 1]",
                 "0., 0.5, -0.9", " 0.        ,  0.54930615, -1.4722195 ")
asin = alias(arcsin, "asin")
acos = alias(arccos, "acos")
atan = alias(arctan, "atan")
asinh = alias(arcsinh, "asinh")
acosh = alias(arccosh, "acosh")
atanh = alias(arctanh, "atanh")


@fused
def log2(x: ArrayLike, /) -> Array:
    """Logarithm to base 2, elementwise; parameters as for `log`.

    Example:
      >>> jnp.log2(jnp.array([1.0, 8.0]))
      Array([0., 3.], dtype=float32)
    """
    return op.log2(inexact("log2", x))


def _times_real(x: Any, factor: float) -> Any:
    """A real multiple; of complex numbers by their parts, since infinity times the factor's imaginary 0 would be NaN."""
    if is_kind(x, dtypes.complexfloating):
        return op.complex(_times_real(op.real(x), factor), _times_real(op.imag(x), factor))
    return op.mul(x, scalar_like(factor, dtype_of(x)))


@fused
def log10(x: ArrayLike, /) -> Array:
    """Logarithm to base 10, elementwise; parameters as for `log`.

    Example:
      >>> jnp.log10(jnp.array([1.0, 100.0]))
      Array([0., 2.], dtype=float32)
    """
    return strong(_times_real(op.log(inexact("log10", x)), math.log10(math.e)))


@fused
def reciprocal(x: ArrayLike, /) -> Array:
    """1 / x, elementwise; integers are taken as floats.

    Example:
      >>> jnp.reciprocal(jnp.array([2.0, 4.0]))
      Array([0.5 , 0.25], dtype=float32)
    """
    x = inexact("reciprocal", x)
    return weak_like(op.div(scalar_like(1.0, dtype_of(x)), x), x)


@fused
def degrees(x: ArrayLike, /) -> Array:
    """Converts angles from radians to degrees, elementwise.

    Example:
      >>> jnp.degrees(jnp.array([0.0, jnp.pi]))
      Array([  0., 180.], dtype=float32)
    """
    (x,) = promote_inexact("degrees", x)
    return strong_unless_scalar(op.mul(x, scalar_like(180.0 / math.pi, dtype_of(x))), x)


@fused
def radians(x: ArrayLike, /) -> Array:
    """Converts angles from degrees to radians, elementwise.

    Example:
      >>> jnp.deg2rad(jnp.array([0.0, 180.0]))
      Array([0.       , 3.1415927], dtype=float32)
    """
    (x,) = promote_inexact("radians", x)
    return strong_unless_scalar(op.mul(x, scalar_like(math.pi / 180.0, dtype_of(x))), x)


rad2deg = alias(degrees, "rad2deg")
deg2rad = alias(radians, "deg2rad")


@fused
def sinc(x: ArrayLike, /) -> Array:
    """sin(pi x) / (pi x), elementwise: 1 at 0, exactly 0 at other integers and at infinity.

    Up to a third from 0 it is the Taylor series, of which derivatives of any order are right too; those of the quotient are differences of
    large numbers there.

    Example:
      >>> jnp.sinc(jnp.array([0.0, 0.5]))
      Array([1.        , 0.63661975], dtype=float32)
    """
    x = inexact("sinc", x)
    dtype = dtype_of(x)
    angle = op.mul(scalar_like(math.pi, dtype), x)
    near = op.lt(op.abs(angle), scalar_like(1.0, dtype_of(op.abs(angle))))
    safe = op.select(near, shape_ops.full_like(angle, 1), angle)
    small = op.select(near, angle, shape_ops.full_like(angle, 0))  # elsewhere the series could be infinite, and its derivatives NaN
    square_ = op.mul(small, small)
    series = scalar_like(_SINC_SERIES[-1], dtype)
    for coefficient in reversed(_SINC_SERIES[:-1]):
        series = op.add(scalar_like(coefficient, dtype), op.mul(square_, series))
    sine = _complex_sine if dtypes.issubdtype(dtype, dtypes.complexfloating) else _sine_of_turns
    return strong_unless_scalar(op.select(near, series, op.div(sine(x, safe), safe)), x)


# Of a**2, to the last that third derivatives in double precision need.
_SINC_SERIES = [(-1) ** k / math.factorial(2 * k + 1) for k in range(11)]


def _sine_of_turns(x: Any, _angle: Any) -> Any:
    """sin(pi x) of real x from the distance to the nearest integer, which is exact where the product pi x is not; 0 at infinity."""
    dtype = dtype_of(x)
    nearest = op.round(x, op.RoundingMethod.TO_NEAREST_EVEN)
    rest = op.select(op.eq(op.abs(x), scalar_like(math.inf, dtype)), shape_ops.full_like(x, 0), op.sub(x, nearest))
    half = op.mul(nearest, scalar_like(0.5, dtype))
    is_odd = op.ne(half, op.floor(half))
    sine = _sine_of_quarter(op.mul(scalar_like(math.pi, dtype), rest))
    return op.select(is_odd, op.neg(sine), sine)


def _sine_of_quarter(angle: Any) -> Any:
    """The sine of real angles up to pi / 2, by its Taylor series.

    On the CPU the operation calls the C library for each number: 7 ms for a million float32, which the series does in 1. Narrower floats
    keep the operation, which computes in float32.
    """
    dtype = dtype_of(angle)
    if dtypes.bit_width(dtype) < 32:
        return op.sin(angle)
    square_ = op.mul(angle, angle)
    coefficients = _SINC_SERIES[:7 if dtypes.bit_width(dtype) == 32 else 11]
    series = scalar_like(coefficients[-1], dtype)
    for coefficient in reversed(coefficients[:-1]):
        series = op.add(scalar_like(coefficient, dtype), op.mul(square_, series))
    return op.mul(angle, series)


def _complex_sine(x: Any, angle: Any) -> Any:
    """sin(pi x), and 0 far along the real line, where it is bounded and its quotient by pi x goes to 0."""
    is_far = op.bitwise_and(op.eq(op.abs(op.real(x)), scalar_like(math.inf, dtype_of(op.real(x)))), op.is_finite(op.imag(x)))
    return op.select(is_far, shape_ops.full_like(angle, 0), op.sin(op.select(is_far, shape_ops.full_like(angle, 1), angle)))


# --- complex numbers ---


def real(val: ArrayLike, /) -> Array:
    """The real part, elementwise; a real array is its own.

    Example:
      >>> jnp.real(jnp.array([1 + 2j]))
      Array([1.], dtype=float32)
    """
    val = ensure_array("real", val)
    return op.real(val) if is_kind(val, dtypes.complexfloating) else as_array(val)


def imag(val: ArrayLike, /) -> Array:
    """The imaginary part, elementwise; 0 for a real array.

    Example:
      >>> jnp.imag(jnp.array([1 + 2j]))
      Array([2.], dtype=float32)
    """
    val = ensure_array("imag", val)
    if is_kind(val, dtypes.complexfloating):
        return op.imag(val)
    return shape_ops.full_like(val, 0)


def conjugate(x: ArrayLike, /) -> Array:
    """The complex conjugate, elementwise; a real array is its own.

    Example:
      >>> jnp.conj(jnp.array([1 + 2j]))
      Array([1.-2.j], dtype=complex64)
    """
    x = ensure_array("conjugate", x)
    return op.conj(x) if is_kind(x, dtypes.complexfloating) else as_array(x)


conj = alias(conjugate, "conj")


@fused(static_argnames=("deg",))
def angle(z: ArrayLike, deg: bool = False) -> Array:
    """The angle of complex numbers in radians, from -pi to pi, or in degrees, elementwise.

    Args:
      z: an array or scalar; real numbers have angle 0 or pi.
      deg: whether the result is in degrees.

    Example:
      >>> jnp.angle(jnp.array([1j, -1.0]), deg=True)
      Array([ 90., 180.], dtype=float32)
    """
    z = inexact("angle", z)
    if is_kind(z, dtypes.complexfloating):
        result = op.atan2(op.imag(z), op.real(z))
    else:
        result = strong(op.atan2(shape_ops.full_like(z, 0), z))
    return degrees(result) if deg else result
