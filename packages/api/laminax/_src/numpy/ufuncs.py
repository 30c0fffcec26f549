"""Elementwise mathematics: arithmetic, exponentials, trigonometry, rounding, and the parts of complex numbers.

Operands are broadcast and promoted as NumPy does, by the promotion lattice. Functions with values between the integers
take integers and bools as floats.
"""

from __future__ import annotations

import builtins
import math
import operator
from typing import Any, Callable

import numpy as np

from laminax_ir import dtypes, operators
from laminax_ir.avals import get_aval
from laminax_ir.ops import elementwise as op
from laminax_ir.ops import shape as shape_ops
from laminax_ir.ops.calls import CustomJVPCall
from laminax_ir.ops.elementwise import scalar_like
from laminax_ir.trace import Tracer, eval_trace, state, tracing_threads
from laminax_runtime import ArrayImpl

from laminax._src.eager import compiled_function
from laminax._src.fusion import fused
from laminax._src.numpy import ufunc_methods as methods
from laminax._src.numpy.arguments import (
    as_array,
    convert,
    dtype_of,
    ensure_array,
    ensure_arrays,
    inexact,
    is_kind,
    promote_arrays,
    promote_inexact,
    promote_numeric,
    refuse_out,
    shape_of,
    strong,
)
from laminax._src.numpy.ufunc import builtin_ufunc

# --- functions that are one operation on floats ---


_ARRAYS = (ArrayImpl, Tracer)


def _unary(name: str, primitive, text: str, detail: str = "") -> Callable:
    def promoted(x):
        if isinstance(x, _ARRAYS) and x.aval.dtype.kind == "f":
            return state.trace.process(primitive, (x,), {})
        return state.trace.process(primitive, (inexact(name, x),), {})

    compiled = compiled_function(lambda x: [promoted(x)], name)
    current, bottom, threads = state, eval_trace, tracing_threads

    def fun(x, /):
        return compiled(x) if type(x) is ArrayImpl and (not threads or current.trace is bottom) else promoted(x)

    return _named(fun, name, f"""{text}, elementwise.

    Args:
      x: an array or scalar of numbers; integers and bools are taken as floats.{detail}

    Returns:
      An array of x's shape, floating or complex.
    """)


def _named(fun: Callable, name: str, doc: str) -> Callable:
    fun.__name__ = fun.__qualname__ = name
    fun.__doc__ = doc
    return fun


exp = _unary("exp", op.exp_p, "Exponential, e**x")
exp2 = _unary("exp2", op.exp2_p, "Power of two, 2**x")
expm1 = _unary("expm1", op.expm1_p, "exp(x) - 1, accurate near 0")
log = _unary("log", op.log_p, "Natural logarithm; -inf at 0, NaN for negative numbers")
log1p = _unary("log1p", op.log1p_p, "log(1 + x), accurate near 0")
sqrt = _unary("sqrt", op.sqrt_p, "Square root; NaN for negative real numbers")
cbrt = _unary("cbrt", op.cbrt_p, "Real cube root")
sin = _unary("sin", op.sin_p, "Sine; x in radians")
cos = _unary("cos", op.cos_p, "Cosine; x in radians")
tan = _unary("tan", op.tan_p, "Tangent; x in radians")
arcsin = _unary("arcsin", op.asin_p, "Inverse sine in radians, from -pi/2 to pi/2; NaN outside [-1, 1]")
arccos = _unary("arccos", op.acos_p, "Inverse cosine in radians, from 0 to pi; NaN outside [-1, 1]")
arctan = _unary("arctan", op.atan_p, "Inverse tangent in radians, from -pi/2 to pi/2")
sinh = _unary("sinh", op.sinh_p, "Hyperbolic sine")
cosh = _unary("cosh", op.cosh_p, "Hyperbolic cosine")
tanh = _unary("tanh", op.tanh_p, "Hyperbolic tangent")
arcsinh = _unary("arcsinh", op.asinh_p, "Inverse hyperbolic sine")
arccosh = _unary("arccosh", op.acosh_p, "Inverse hyperbolic cosine; NaN below 1")
arctanh = _unary("arctanh", op.atanh_p, "Inverse hyperbolic tangent; NaN outside [-1, 1]")
asin, acos, atan = arcsin, arccos, arctan
asinh, acosh, atanh = arcsinh, arccosh, arctanh


@fused
def log2(x, /):
    """Logarithm to base 2, elementwise; parameters as for `log`."""
    x = inexact("log2", x)
    return strong(op.div(op.log(x), scalar_like(math.log(2), dtype_of(x))))


@fused
def log10(x, /):
    """Logarithm to base 10, elementwise; parameters as for `log`."""
    x = inexact("log10", x)
    return strong(op.mul(op.log(x), scalar_like(math.log10(math.e), dtype_of(x))))


@fused
def reciprocal(x, /):
    """1 / x, elementwise; integers are taken as floats."""
    x = inexact("reciprocal", x)
    return op.div(scalar_like(1.0, dtype_of(x)), x)


@fused
def degrees(x, /):
    """Converts angles from radians to degrees, elementwise."""
    (x,) = promote_inexact("degrees", x)
    return op.mul(x, scalar_like(180.0 / math.pi, dtype_of(x)))


@fused
def radians(x, /):
    """Converts angles from degrees to radians, elementwise."""
    (x,) = promote_inexact("radians", x)
    return op.mul(x, scalar_like(math.pi / 180.0, dtype_of(x)))


rad2deg, deg2rad = degrees, radians


@fused
def sinc(x, /):
    """sin(pi x) / (pi x), elementwise, with the value 1 at 0.

    The derivatives at 0 are right too: near 0 they come from the Taylor series, 1 - (pi x)**2/6 + (pi x)**4/120.
    """
    x = inexact("sinc", x)
    dtype = dtype_of(x)
    angle = op.mul(scalar_like(math.pi, dtype), x)
    zero = op.eq(angle, scalar_like(0.0, dtype))
    safe = op.select(zero, shape_ops.full_like(angle, 1), angle)
    square_ = op.mul(angle, angle)
    series = op.add(scalar_like(1.0, dtype), op.mul(square_, op.add(
        scalar_like(-1 / 6, dtype), op.mul(square_, scalar_like(1 / 120, dtype)))))
    return op.select(zero, series, op.div(op.sin(safe), safe))


# --- functions that keep integers ---


@builtin_ufunc()
def negative(x, /):
    """-x, elementwise.

    Args:
      x: an array or scalar of numbers.

    Raises:
      TypeError: for bools; `logical_not` or `~` inverts those.
    """
    return op.neg(ensure_array("negative", x))


def positive(x, /):
    """x itself, as an array."""
    return as_array(ensure_array("positive", x))


@fused
def absolute(x, /):
    """|x|, elementwise; of complex numbers the real magnitude."""
    return as_array(operators.absolute(ensure_array("absolute", x)))


abs = absolute


@fused
def fabs(x, /):
    """|x| of real numbers, elementwise; integers are taken as floats."""
    x = ensure_array("fabs", x)
    if is_kind(x, dtypes.complexfloating):
        raise TypeError(f"fabs: complex numbers are not accepted, got {get_aval(x).str_short()}; numpy.abs gives the magnitude")
    return op.abs(inexact("fabs", x))


@fused
def sign(x, /):
    """-1, 0 or 1 by the sign of x, elementwise; x/|x| for complex numbers, NaN for NaN."""
    return op.sign(ensure_array("sign", x))


@fused
def square(x, /):
    """x * x, elementwise."""
    return op.square(*promote_numeric("square", x))


def floor(x, /):
    """The largest whole number not above x, elementwise; integers stay."""
    return _rounded("floor", op.floor, x)


def ceil(x, /):
    """The smallest whole number not below x, elementwise; integers stay."""
    return _rounded("ceil", op.ceil, x)


def _rounded(name: str, function: Callable, x: Any):
    x = ensure_array(name, x)
    if is_kind(x, dtypes.integer) or is_kind(x, np.bool_):
        return as_array(x)
    return function(x)


@fused
def trunc(x, /):
    """The whole number next to x on the way to 0, elementwise; integers stay."""
    x = ensure_array("trunc", x)
    if is_kind(x, dtypes.integer) or is_kind(x, np.bool_):
        return as_array(x)
    return _truncated(x)


def _truncated(x):
    return op.select(op.lt(x, scalar_like(0.0, dtype_of(x))), op.ceil(x), op.floor(x))


fix = trunc


def rint(x, /):
    """The nearest whole number, elementwise; halves go to the even neighbour. Integers become the default float."""
    x = ensure_array("rint", x)
    if is_kind(x, dtypes.complexfloating):
        return op.complex(rint(op.real(x)), rint(op.imag(x)))
    if not is_kind(x, dtypes.floating):
        return strong(convert(x, dtypes.scalar_dtype(float)))
    return op.round(x, op.RoundingMethod.TO_NEAREST_EVEN)


def round(a, decimals: int = 0, out: None = None):
    """Rounds to a number of decimals, elementwise; halves go to the even neighbour.

    Args:
      a: an array or scalar of numbers.
      decimals: how many digits after the point are kept; negative ones round to tens, hundreds, ...
      out: must be None.

    Raises:
      NotImplementedError: for integers and negative decimals.
    """
    refuse_out("round", out)
    return _round(a, decimals=int(decimals))


around = round


@fused(static_argnames=("decimals",))
def _round(a, decimals):
    a = ensure_array("round", a)
    dtype = dtype_of(a)
    if dtypes.issubdtype(dtype, dtypes.integer) or dtype == np.bool_:
        if decimals < 0:
            raise NotImplementedError(f"round: integers cannot be rounded to negative decimals, got {get_aval(a).str_short()} "
                                      f"and decimals={decimals}; convert them to floats first")
        return as_array(a)
    if dtypes.issubdtype(dtype, dtypes.complexfloating):
        return op.complex(_round_float(op.real(a), decimals), _round_float(op.imag(a), decimals))
    return _round_float(a, decimals)


def _round_float(x, decimals: int):
    if decimals == 0:
        return op.round(x, op.RoundingMethod.TO_NEAREST_EVEN)
    dtype = dtype_of(x)
    work = np.dtype(np.float32) if dtype.itemsize < 4 else dtype  # 10**5 is no float16
    wide = convert(x, work) if work != dtype else x
    factor = scalar_like(10.0 ** builtins.abs(decimals), work)
    scaled = op.mul(wide, factor) if decimals > 0 else op.div(wide, factor)
    rounded = op.round(scaled, op.RoundingMethod.TO_NEAREST_EVEN)
    result = op.div(rounded, factor) if decimals > 0 else op.mul(rounded, factor)
    return convert(result, dtype) if work != dtype else result


# --- arithmetic of two operands ---


def _binary(name: str, function: Callable, text: str, raises: str = "") -> Callable:
    def fun(x, y, /):
        x, y = ensure_arrays(name, x, y)
        return function(x, y)

    fun.__module__ = __name__
    return _named(fun, name, f"""{text}, elementwise.

    Args:
      x: an array or scalar.
      y: an array or scalar; shapes are broadcast and dtypes promoted.{raises}
    """)


add = builtin_ufunc(0, on_tracers=operators.add, reduce=methods.sum_, accumulate=methods.cumsum, at=methods.update("add"))(
    _binary("add", operators.add, "x + y; of bools, or"))
subtract = builtin_ufunc(on_tracers=operators.subtract, at=methods.update("subtract"))(
    _binary("subtract", operators.subtract, "x - y", "\n\n    Raises:\n      TypeError: for bools."))
multiply = builtin_ufunc(1, on_tracers=operators.multiply, reduce=methods.prod, accumulate=methods.cumprod, at=methods.update("multiply"))(
    _binary("multiply", operators.multiply, "x * y; of bools, and"))
true_divide = fused(_binary("true_divide", operators.true_divide, "x / y; integers are taken as floats"))
divide = true_divide


@fused
def floor_divide(x, y, /):
    """The largest whole number not above x / y, elementwise; bools are taken as integers."""
    return operators.floor_divide(*promote_numeric("floor_divide", x, y))


@fused
def remainder(x, y, /):
    """x - floor(x / y) * y, with the sign of y, elementwise; bools are taken as integers."""
    return operators.remainder(*promote_numeric("remainder", x, y))


mod = remainder


def divmod(x, y, /):
    """The pair (floor_divide(x, y), remainder(x, y))."""
    return operators.divmod_(*promote_numeric("divmod", x, y))


@fused
def fmod(x, y, /):
    """Remainder of x / y with the sign of x, elementwise; of integers and 0 it is 0."""
    from laminax._src.numpy.selection import _where
    x, y = promote_arrays("fmod", *promote_numeric("fmod", x, y))
    dtype = dtype_of(x)
    if dtypes.issubdtype(dtype, dtypes.integer):
        y = _where(op.eq(y, scalar_like(0, dtype)), scalar_like(1, dtype), y)
    return op.rem(x, y)


_NOT_CONCRETE = (Tracer, int, float, complex)


def power(x, y, /):
    """x ** y, elementwise.

    Args:
      x: an array or scalar.
      y: an array or scalar; shapes are broadcast and dtypes promoted.

    Raises:
      TypeError: for integers and a negative Python int as the exponent.
    """
    x, y = promote_numeric("power", x, y)
    if type(y) is int and y < 0 and type(x) is not float and is_kind(x, dtypes.integer):
        raise TypeError(f"power: integers cannot be raised to a negative power, got {get_aval(x).str_short()} and {y}. "
                        "Make the base a float.")
    if type(x) is int and type(y) is int:
        return op.integer_pow(x, y)
    if not isinstance(y, _NOT_CONCRETE) and not shape_of(y) and is_kind(y, dtypes.integer) and dtypes.result_type(x, y) == dtype_of(x):
        y = operator.index(y)  # a number known now is a repeated product
    return operators.power(x, y)


pow = power


def float_power(x, y, /):
    """x ** y computed in floats, elementwise."""
    return op.pow(*promote_inexact("float_power", x, y))


@builtin_ufunc(reduce=methods.extreme("max"), at=methods.update("max"))
def maximum(x, y, /):
    """The greater of x and y, elementwise; NaN if either is NaN; complex numbers in lexicographic order."""
    return op.max(*promote_arrays("maximum", x, y))


@builtin_ufunc(reduce=methods.extreme("min"), at=methods.update("min"))
def minimum(x, y, /):
    """The lesser of x and y, elementwise; NaN if either is NaN; complex numbers in lexicographic order."""
    return op.min(*promote_arrays("minimum", x, y))


@fused
def fmax(x1, x2):
    """The greater of x1 and x2, elementwise; of a number and NaN the number."""
    return _ignoring_nan("fmax", operators.greater, x1, x2)


@fused
def fmin(x1, x2):
    """The lesser of x1 and x2, elementwise; of a number and NaN the number."""
    return _ignoring_nan("fmin", operators.less, x1, x2)


def _ignoring_nan(name: str, better: Callable, x1, x2):
    from laminax._src.numpy.logic import isnan
    from laminax._src.numpy.selection import where
    x1, x2 = promote_arrays(name, x1, x2)
    return where(op.bitwise_or(better(x1, x2), isnan(x2)), x1, x2)


def arctan2(x1, x2, /):
    """The angle of the point (x2, x1) in radians, from -pi to pi, elementwise."""
    return op.atan2(*promote_inexact("arctan2", x1, x2))


atan2 = arctan2


@fused
def hypot(x1, x2, /):
    """sqrt(x1**2 + x2**2), elementwise, without overflow on the way; inf if either is infinite.

    Raises:
      ValueError: for complex numbers.
    """
    x1, x2 = promote_inexact("hypot", x1, x2)
    dtype = dtype_of(x1)
    if dtypes.issubdtype(dtype, dtypes.complexfloating):
        raise ValueError("jnp.hypot is not well defined for complex-valued inputs; numpy.abs gives the magnitude of a complex number")
    from laminax._src.numpy.selection import where
    x1, x2 = op.abs(x1), op.abs(x2)
    infinite = op.bitwise_or(op.eq(x1, scalar_like(math.inf, dtype)), op.eq(x2, scalar_like(math.inf, dtype)))
    large, small = op.max(x1, x2), op.min(x1, x2)
    zero = op.eq(large, scalar_like(0.0, dtype))
    one = scalar_like(1.0, dtype)
    ratio = op.div(small, where(zero, one, large))
    length = op.mul(large, op.sqrt(op.add(one, op.square(ratio))))
    return where(infinite, scalar_like(math.inf, dtype), where(zero, large, length))


@builtin_ufunc(-math.inf, reduce=methods.logsumexp)
def logaddexp(x1, x2, /):
    """log(exp(x1) + exp(x2)), elementwise, without overflow; the derivative at (-inf, -inf) is NaN, as JAX has it."""
    x1, x2 = promote_inexact("logaddexp", x1, x2)
    return CustomJVPCall(_logaddexp, _logaddexp_jvp, (x1, x2), "logaddexp").bind()[0]


def _logaddexp(x1, x2):
    if is_kind(x1, dtypes.complexfloating):
        return [_complex_logaddexp(x1, x2)]
    larger, difference = op.max(x1, x2), op.sub(x1, x2)
    # inf - inf is NaN; the sum is right where both are the same infinity, and NaN where an operand is.
    return [op.select(op.ne(difference, difference), op.add(x1, x2),
                      op.add(larger, op.log1p(op.exp(op.neg(op.abs(difference))))))]


def _complex_logaddexp(x1, x2):
    larger, difference = op.max(x1, x2), op.sub(x1, x2)
    down = op.select(op.eq(larger, x1), op.neg(difference), difference) if larger.shape == get_aval(x1).shape \
        else op.sub(op.min(x1, x2), larger)
    result = op.select(op.ne(difference, difference), op.add(x1, x2), op.add(larger, op.log1p(op.exp(down))))
    # The imaginary part in (-pi, pi], where the principal logarithm has it.
    angle = op.imag(result)
    turn = scalar_like(2 * math.pi, dtype_of(angle))
    half = scalar_like(math.pi, dtype_of(angle))
    return op.complex(op.real(result), op.sub(half, operators.remainder(op.sub(half, angle), turn)))


def _logaddexp_jvp(primals, tangents):
    return _weighted_tangents(logaddexp, op.exp, primals, tangents)


def _weighted_tangents(function, power, primals, tangents):
    """The derivative of log(sum of powers): the weight of each operand is its power over the sum."""
    from laminax_transforms.zeros import ZERO
    out = function(*primals)
    total = ZERO
    for x, x_dot in zip(primals, tangents):
        if x_dot is ZERO:
            continue
        difference = op.sub(_without_infinity(x), _without_infinity(out))
        term = op.mul(x_dot, power(difference))
        total = term if total is ZERO else op.add(total, term)
    return [out], [total]


def _without_infinity(x):
    """x with 0 in place of inf, so that a difference is no NaN; a -inf that stays gives exp its 0."""
    dtype = dtype_of(x)
    if dtypes.issubdtype(dtype, dtypes.complexfloating):
        return x
    return op.select(op.eq(x, scalar_like(math.inf, dtype)), shape_ops.full(get_aval(x).shape, 0, dtype), x)


@builtin_ufunc(-math.inf, reduce=methods.logsumexp2)
def logaddexp2(x1, x2, /):
    """log2(2**x1 + 2**x2), elementwise, without overflow; the derivative at (-inf, -inf) is NaN, as JAX has it."""
    x1, x2 = promote_inexact("logaddexp2", x1, x2)
    if is_kind(x1, dtypes.complexfloating):
        log_2 = scalar_like(math.log(2), dtype_of(x1))
        return op.div(logaddexp(op.mul(x1, log_2), op.mul(x2, log_2)), log_2)
    return CustomJVPCall(_logaddexp2, _logaddexp2_jvp, (x1, x2), "logaddexp2").bind()[0]


def _logaddexp2(x1, x2):
    larger, difference = op.max(x1, x2), op.sub(x1, x2)
    logarithm = op.mul(scalar_like(math.log2(math.e), dtype_of(x1)), op.log1p(op.exp2(op.neg(op.abs(difference)))))
    return [op.select(op.ne(difference, difference), op.add(x1, x2), op.add(larger, logarithm))]


def _logaddexp2_jvp(primals, tangents):
    return _weighted_tangents(logaddexp2, op.exp2, primals, tangents)


@fused
def copysign(x1, x2, /):
    """|x1| with the sign of x2, elementwise; signed zeros count."""
    from laminax._src.numpy.logic import signbit
    from laminax._src.numpy.selection import where
    x1, x2 = promote_inexact("copysign", x1, x2)
    if is_kind(x1, dtypes.complexfloating):
        raise TypeError("copysign: complex numbers are not accepted")
    magnitude = op.abs(x1)
    return where(signbit(x2), op.neg(magnitude), magnitude)


def nextafter(x, y, /):
    """The next representable number after x in the direction of y, elementwise."""
    return op.nextafter(*promote_inexact("nextafter", x, y))


@fused
def spacing(x, /):
    """The distance between x and the next number of greater magnitude, with x's sign, elementwise.

    Raises:
      ValueError: for complex numbers.
    """
    from laminax._src.numpy.selection import where
    x = inexact("spacing", x)
    dtype = dtype_of(x)
    if dtypes.issubdtype(dtype, dtypes.complexfloating):
        raise ValueError("spacing: complex numbers are not accepted")
    outward = op.nextafter(x, copysign(scalar_like(math.inf, dtype), x))
    distance = op.sub(outward, x)
    # Next to 0 the distance is subnormal, which compilers take for 0 in arithmetic; the neighbour itself keeps its bits.
    distance = where(op.eq(x, scalar_like(0.0, dtype)), outward, distance)
    return strong(where(op.is_finite(x), distance, scalar_like(math.nan, dtype)))


@fused
def ldexp(x1, x2, /):
    """x1 * 2**x2, elementwise.

    Args:
      x1: an array or scalar of real numbers.
      x2: an array or scalar of integers.
    """
    x1, x2 = ensure_arrays("ldexp", x1, x2)
    if is_kind(x1, dtypes.complexfloating) or is_kind(x2, dtypes.inexact):
        raise ValueError(f"ldexp: x1 must be real and x2 integers, got {get_aval(x1).str_short()} and {get_aval(x2).str_short()}")
    x1 = inexact("ldexp", x1)
    dtype = dtype_of(x1)
    work = np.dtype(np.float32) if dtype.itemsize < 4 else dtype
    value, exponent = convert(x1, work), convert(x2, np.dtype(np.int32))
    # In steps, because 2**x2 alone can be out of range where the result is not.
    top = dtypes.finfo(work).maxexp - 1
    for _ in range(3):
        step = op.clamp(np.int32(1 - top), exponent, np.int32(top))
        value = operators.multiply(value, _power_of_two(step, work))
        exponent = op.sub(exponent, step)
    return convert(value, dtype)


def _power_of_two(exponent, dtype):
    """2**exponent, exactly, for int32 exponents of normal numbers: written into the exponent's bits."""
    info = dtypes.finfo(dtype)
    integer = np.dtype(f"int{info.bits}")
    biased = op.add(convert(exponent, integer), scalar_like(1 - info.minexp, integer))
    return op.bitcast_convert_type(op.shift_left(biased, scalar_like(info.nmant, integer)), dtype)


@fused
def frexp(x, /):
    """Splits x into a mantissa in [0.5, 1) and an exponent: x == mantissa * 2**exponent, elementwise.

    Returns:
      (mantissa, exponent): floating, and int32.

    Raises:
      TypeError: for complex numbers.
    """
    x = inexact("frexp", x)
    if is_kind(x, dtypes.complexfloating):
        raise TypeError("frexp: complex numbers are not accepted")
    return tuple(CustomJVPCall(_frexp, _frexp_jvp, (x,), "frexp").bind())


def _frexp_jvp(primals, tangents):
    from laminax_transforms.zeros import ZERO
    mantissa, exponent = frexp(*primals)
    (x_dot,) = tangents
    return [mantissa, exponent], [ZERO if x_dot is ZERO else ldexp(x_dot, op.neg(exponent)), ZERO]


def _frexp(x):
    from laminax._src.numpy.selection import where
    dtype = dtype_of(x)
    info = dtypes.finfo(dtype)
    integer = np.dtype(f"int{info.bits}")
    mask, bias = (1 << (info.bits - info.nmant - 1)) - 1, 1 - info.minexp
    normal = op.mul(x, scalar_like(2.0 ** info.nmant, dtype))  # subnormal numbers become normal by this factor
    subnormal = op.lt(op.abs(x), scalar_like(float(info.tiny), dtype))
    scaled = where(subnormal, normal, x)
    raw = op.bitcast_convert_type(scaled, integer)
    field = op.bitwise_and(op.shift_right_logical(raw, scalar_like(info.nmant, integer)), scalar_like(mask, integer))
    exponent = op.sub(field, scalar_like(bias - 1, integer))
    exponent = op.sub(exponent, where(subnormal, scalar_like(info.nmant, integer), scalar_like(0, integer)))
    cleared = op.bitwise_and(raw, scalar_like(~(mask << info.nmant), integer))
    mantissa = op.bitcast_convert_type(op.bitwise_or(cleared, scalar_like((bias - 1) << info.nmant, integer)), dtype)
    special = op.bitwise_or(op.bitwise_not(op.is_finite(x)), op.eq(x, scalar_like(0.0, dtype)))
    return [where(special, x, mantissa), convert(where(special, scalar_like(0, integer), exponent), np.dtype(np.int32))]


@fused
def modf(x, /, out: None = None):
    """Splits x into its fraction and its whole part, both with x's sign, elementwise.

    Returns:
      (fraction, whole).
    """
    refuse_out("modf", out)
    x = inexact("modf", x)
    whole = _truncated(x)
    return op.sub(x, whole), whole


@fused
def heaviside(x1, x2, /):
    """The step function: 0 below 0, x2 at 0, 1 above, elementwise."""
    from laminax._src.numpy.selection import where
    x1, x2 = promote_inexact("heaviside", x1, x2)
    dtype = dtype_of(x1)
    if dtypes.issubdtype(dtype, dtypes.complexfloating):
        raise TypeError("heaviside: complex numbers have no order")
    zero = scalar_like(0.0, dtype)
    step = where(op.gt(x1, zero), scalar_like(1.0, dtype), where(op.lt(x1, zero), zero, x1))
    return where(op.eq(x1, zero), x2, step)


@fused
def gcd(x1, x2):
    """Greatest common divisor of integers, elementwise, by Euclid's algorithm; gcd(0, 0) is 0."""
    from laminax._src.numpy.reshaping import broadcast_arrays
    x1, x2 = _integers("gcd", x1, x2)
    x1, x2 = broadcast_arrays(operators.absolute(x1), operators.absolute(x2))
    dtype = dtype_of(x1)
    zero = scalar_like(0, dtype)

    def step(pair):
        a, b = pair
        nonzero = op.ne(b, zero)
        safe = op.select(nonzero, b, shape_ops.full(b.shape, 1, dtype))
        return op.select(nonzero, b, a), op.select(nonzero, op.rem(a, safe), b)

    from laminax_ir.ops.control_flow import while_loop
    from laminax_ir.ops.reduction import reduce_or
    return while_loop(lambda pair: reduce_or(op.ne(pair[1], zero), tuple(range(len(pair[1].shape)))), step, (x1, x2))[0]


@fused
def lcm(x1, x2):
    """Least common multiple of integers, elementwise; 0 if either is 0."""
    from laminax._src.numpy.selection import where
    x1, x2 = _integers("lcm", x1, x2)
    x1, x2 = operators.absolute(x1), operators.absolute(x2)
    zero = scalar_like(0, dtype_of(x1))
    divisor = gcd(x1, x2)
    empty = op.eq(divisor, zero)
    one = scalar_like(1, dtype_of(x1))
    return where(empty, zero, op.mul(x1, op.div(x2, where(empty, one, divisor))))


def _integers(name: str, *args):
    args = promote_arrays(name, *args)
    if not is_kind(args[0], dtypes.integer):
        raise ValueError(f"{name}: arguments must be integers, got {', '.join(get_aval(x).str_short() for x in args)}")
    return args


# --- complex numbers ---


def real(val, /):
    """The real part, elementwise; a real array is its own."""
    val = ensure_array("real", val)
    return op.real(val) if is_kind(val, dtypes.complexfloating) else as_array(val)


def imag(val, /):
    """The imaginary part, elementwise; 0 for a real array."""
    val = ensure_array("imag", val)
    if is_kind(val, dtypes.complexfloating):
        return op.imag(val)
    return shape_ops.full_like(val, 0)


def conjugate(x, /):
    """The complex conjugate, elementwise; a real array is its own."""
    x = ensure_array("conjugate", x)
    return op.conj(x) if is_kind(x, dtypes.complexfloating) else as_array(x)


conj = conjugate


@fused(static_argnames=("deg",))
def angle(z, deg: bool = False):
    """The angle of complex numbers in radians, from -pi to pi, or in degrees, elementwise.

    Args:
      z: an array or scalar; real numbers have angle 0 or pi.
      deg: whether the result is in degrees.
    """
    z = inexact("angle", z)
    if is_kind(z, dtypes.complexfloating):
        result = op.atan2(op.imag(z), op.real(z))
    else:
        result = strong(op.atan2(shape_ops.full_like(z, 0), z))
    return degrees(result) if deg else result
