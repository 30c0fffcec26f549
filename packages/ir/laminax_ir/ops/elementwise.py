"""Elementwise operations: one result element per element, operands broadcast against each other.

Operands of one operation have one dtype and one shape, except that a rank-0 operand stands for an array of
any shape, and an axis of size 1 for an axis of any size. A Python scalar takes the dtype of the operand
beside it. Dtype promotion between arrays is not done here; `laminax_ir.functions.operators` and the api do it.

Some functions take an `accuracy`, which asks the compiler for an implementation: a `Tolerance`, an `AccuracyMode`, or
None. The reference computes as exactly as NumPy does, whatever the accuracy.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.ops.conversion import bitcast_convert_type_p, complex_p, convert_element_type_p
from laminax_ir.ops.dtype_kinds import (
    ANY,
    COMPLEX,
    COMPLEX_OF,
    COMPONENT_OF,
    FLOATING,
    INEXACT,
    INTEGER,
    INTEGER_BOOL,
    NUMBER,
    NUMBER_BOOL,
    REAL,
    REAL_BOOL,
    check_dtype,
)
from laminax_ir.ops.elementwise_avals import (
    binary_primitive,
    broadcast_avals,
    check_same_dtype,
    joined_named_shape,
    kinds_of_binary,
    unary_primitive,
)
from laminax_ir.ops.scalar_operands import PYTHON_SCALARS, constant_of, scalar_like, typed
from laminax_ir.programs.primitive import Primitive, Trait, shape_rule
from laminax_ir.tracing.trace import state
from laminax_ir.tracing.user_warnings import warn_at_user
from laminax_ir.types import dtypes
from laminax_ir.types.accuracy import AccuracyMode, Tolerance, check_accuracy
from laminax_ir.types.arguments import as_int, with_name
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_ir.types.errors import DTypeError, ShapeError

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike, DTypeLike

Accuracy = Tolerance | AccuracyMode | None


def _bool_dtype(_dtype: np.dtype) -> np.dtype:
    return _BOOL


_BOOL = np.dtype(bool)


def _component_dtype(dtype: np.dtype) -> Any:
    return COMPONENT_OF.get(dtype, dtype)


# Arithmetic

neg_p = unary_primitive("neg", NUMBER, traits=(Trait.EXACT_COMPARISON,))
sign_p = unary_primitive("sign", NUMBER, traits=(Trait.EXACT_COMPARISON,))
floor_p = unary_primitive("floor", FLOATING)
ceil_p = unary_primitive("ceil", FLOATING)
round_p = unary_primitive("round", FLOATING)
is_finite_p = unary_primitive("is_finite", FLOATING, _bool_dtype, traits=(Trait.EXACT_COMPARISON,))
abs_p = unary_primitive("abs", (dtypes.signedinteger, *INEXACT), _component_dtype, traits=(Trait.EXACT_COMPARISON,))
exp_p = unary_primitive("exp", INEXACT)
exp2_p = unary_primitive("exp2", INEXACT)
expm1_p = unary_primitive("expm1", INEXACT)
log_p = unary_primitive("log", INEXACT)
log1p_p = unary_primitive("log1p", INEXACT)
log2_p = unary_primitive("log2", INEXACT)
logistic_p = unary_primitive("logistic", INEXACT)
sqrt_p = unary_primitive("sqrt", INEXACT, traits=(Trait.EXACT_ROUNDING,))
rsqrt_p = unary_primitive("rsqrt", INEXACT)
cbrt_p = unary_primitive("cbrt", FLOATING)
sin_p = unary_primitive("sin", INEXACT)
cos_p = unary_primitive("cos", INEXACT)
tan_p = unary_primitive("tan", INEXACT)
asin_p = unary_primitive("asin", INEXACT)
acos_p = unary_primitive("acos", INEXACT)
atan_p = unary_primitive("atan", INEXACT)
sinh_p = unary_primitive("sinh", INEXACT)
cosh_p = unary_primitive("cosh", INEXACT)
tanh_p = unary_primitive("tanh", INEXACT)
asinh_p = unary_primitive("asinh", INEXACT)
acosh_p = unary_primitive("acosh", INEXACT)
atanh_p = unary_primitive("atanh", INEXACT)
real_p = unary_primitive("real", COMPLEX, _component_dtype)
imag_p = unary_primitive("imag", COMPLEX, _component_dtype)
conj_p = Primitive("conj", family="elementwise", traits=(Trait.ELEMENTWISE,))
not_p = unary_primitive("not", INTEGER_BOOL, traits=(Trait.EXACT_WHOLE,))
population_count_p = unary_primitive("population_count", INTEGER)
clz_p = unary_primitive("clz", INTEGER)
square_p = unary_primitive("square", NUMBER, traits=(Trait.EXACT_ROUNDING,))
one_minus_square_p = unary_primitive("one_minus_square", NUMBER)
integer_pow_p = unary_primitive("integer_pow", NUMBER, traits=(Trait.EXACT_ROUNDING,))
copy_p = unary_primitive("copy", ANY, traits=(Trait.EXACT_MOVE,))

add_p = binary_primitive("add", NUMBER, traits=(Trait.EXACT_ROUNDING, Trait.FOLLOWS_HASHES))
sub_p = binary_primitive("sub", NUMBER, traits=(Trait.EXACT_ROUNDING, Trait.FOLLOWS_HASHES))
mul_p = binary_primitive("mul", NUMBER, traits=(Trait.PRODUCT, Trait.EXACT_ROUNDING, Trait.FOLLOWS_HASHES))
mulhi_p = binary_primitive("mulhi", INTEGER)
div_p = binary_primitive("div", NUMBER, traits=(Trait.PRODUCT, Trait.EXACT_ROUNDING, Trait.FOLLOWS_HASHES))
rem_p = binary_primitive("rem", REAL)
max_p = binary_primitive("max", NUMBER_BOOL, traits=(Trait.EXACT_CHOICE, Trait.FOLLOWS_HASHES))
min_p = binary_primitive("min", NUMBER_BOOL, traits=(Trait.EXACT_CHOICE, Trait.FOLLOWS_HASHES))
atan2_p = binary_primitive("atan2", INEXACT)
nextafter_p = binary_primitive("nextafter", FLOATING, traits=(Trait.FOLLOWS_HASHES,))
and_p = binary_primitive("and", INTEGER_BOOL, traits=(Trait.EXACT_WHOLE, Trait.FOLLOWS_HASHES))
or_p = binary_primitive("or", INTEGER_BOOL, traits=(Trait.EXACT_WHOLE, Trait.FOLLOWS_HASHES))
xor_p = binary_primitive("xor", INTEGER_BOOL, traits=(Trait.EXACT_WHOLE, Trait.FOLLOWS_HASHES))
shift_left_p = binary_primitive("shift_left", INTEGER, traits=(Trait.EXACT_WHOLE, Trait.FOLLOWS_HASHES))
shift_right_arithmetic_p = binary_primitive("shift_right_arithmetic", INTEGER, traits=(Trait.EXACT_WHOLE,))
shift_right_logical_p = binary_primitive("shift_right_logical", INTEGER, traits=(Trait.EXACT_WHOLE, Trait.FOLLOWS_HASHES))
eq_p = binary_primitive("eq", ANY, _bool_dtype, traits=(Trait.EXACT_COMPARISON,))
ne_p = binary_primitive("ne", ANY, _bool_dtype, traits=(Trait.EXACT_COMPARISON, Trait.FOLLOWS_HASHES))
lt_p = binary_primitive("lt", REAL_BOOL, _bool_dtype, traits=(Trait.EXACT_COMPARISON, Trait.FOLLOWS_HASHES))
le_p = binary_primitive("le", REAL_BOOL, _bool_dtype, traits=(Trait.EXACT_COMPARISON,))
gt_p = binary_primitive("gt", REAL_BOOL, _bool_dtype, traits=(Trait.EXACT_COMPARISON,))
ge_p = binary_primitive("ge", REAL_BOOL, _bool_dtype, traits=(Trait.EXACT_COMPARISON,))
eq_to_p = binary_primitive("eq_to", REAL_BOOL, _bool_dtype)
lt_to_p = binary_primitive("lt_to", REAL_BOOL, _bool_dtype)
le_to_p = binary_primitive("le_to", REAL_BOOL, _bool_dtype)

pow_p = Primitive("pow", family="elementwise", traits=(Trait.ELEMENTWISE,))
select_n_p = Primitive("select_n", family="elementwise", traits=(Trait.ELEMENTWISE, Trait.EXACT_MOVE))
clamp_p = Primitive("clamp", family="elementwise", traits=(Trait.ELEMENTWISE,))
reduce_precision_p = unary_primitive("reduce_precision", FLOATING)
stop_gradient_p = unary_primitive("stop_gradient", ANY, traits=(Trait.EXACT_MOVE,))  # `is_discarded=True` says that no result depends on it
optimization_barrier_p = Primitive("optimization_barrier", multiple_results=True, family="elementwise")


@shape_rule(conj_p)
def _conj_shape(x: ShapedArray, *, input_dtype: np.dtype) -> ShapedArray:
    check_dtype("conj", x.dtype, (np.float32, np.float64, dtypes.complexfloating))
    return x.update(dtype=COMPLEX_OF.get(x.dtype, x.dtype))


@shape_rule(pow_p)
def _pow_shape(x: ShapedArray, y: ShapedArray) -> ShapedArray:
    check_dtype("pow", x.dtype, INEXACT)
    if x.dtype != y.dtype and not dtypes.issubdtype(y.dtype, dtypes.integer):
        raise DTypeError(f"lax.pow: the exponent must be an integer or of the base's dtype {dtypes.dtype_name(x.dtype)}, "
                         f"got {dtypes.dtype_name(y.dtype)}")
    if x is y:
        return x
    weak = x.weak_type and y.weak_type
    return ShapedArray(broadcast_avals("pow", (x, y)), x.dtype, weak, named_shape=joined_named_shape((x, y)))


@shape_rule(select_n_p)
def _select_n_shape(which: ShapedArray, *cases: ShapedArray) -> ShapedArray:
    if not cases:
        raise ShapeError("select_n: at least one case is needed")
    if which.dtype != _BOOL and which.dtype != np.int32 and not dtypes.issubdtype(which.dtype, np.integer):
        raise DTypeError(f"select_n: `which` must be boolean or of an integer type, got {dtypes.dtype_name(which.dtype)}")
    if which.dtype == _BOOL and len(cases) > 2:
        raise ShapeError(f"select_n: with a bool `which` there are at most two cases, got {len(cases)}")
    first = cases[0]
    for case in cases[1:]:
        if case.shape != first.shape:
            raise ShapeError(f"select_n: cases must have the same shapes, got {', '.join(c.str_short() for c in cases)}")
        if case.dtype != first.dtype:
            check_same_dtype("select_n", cases)
    if which.shape not in ((), first.shape):
        raise ShapeError(f"select_n: `which` must be a scalar or have the cases' shape {first.shape}, "
                         f"got {which.str_short()}")
    weak = all(case.weak_type for case in cases)
    return first if weak == first.weak_type and not which._named and len({c._named for c in cases}) == 1 else \
        first.update(weak_type=weak, named_shape=joined_named_shape((which, *cases)))


@shape_rule(clamp_p)
def _clamp_shape(low: ShapedArray, x: ShapedArray, high: ShapedArray) -> ShapedArray:
    check_same_dtype("clamp", (low, x, high))
    check_dtype("clamp", x.dtype, NUMBER_BOOL)
    for name, bound in (("min", low), ("max", high)):
        if bound.shape not in ((), x.shape):
            raise ShapeError(f"clamp: `{name}` must be a scalar or have the operand's shape {x.shape}, got {bound.str_short()}")
    return x.update(named_shape=joined_named_shape((low, x, high)))


@shape_rule(bitcast_convert_type_p)
def _bitcast_shape(x: ShapedArray, *, new_dtype: np.dtype) -> ShapedArray:
    old_bits, new_bits = dtypes.bit_width(x.dtype), dtypes.bit_width(new_dtype)
    if dtypes.is_extended(x.dtype):
        raise DTypeError(f"bitcast_convert_type: random keys have no bits of their own, got {x.str_short()}; use random.key_data")
    if x.dtype != new_dtype and any(dtype == _BOOL or dtypes.issubdtype(dtype, dtypes.complexfloating)
                                    for dtype in (x.dtype, new_dtype)):
        raise DTypeError("bitcast_convert_type: bool and complex dtypes can be bitcast to themselves only, got "
                         f"{x.str_short()} and the new dtype {dtypes.dtype_name(new_dtype)}. The view method of arrays "
                         "reinterprets them")
    if old_bits == new_bits:
        return ShapedArray(x.shape, new_dtype, named_shape=x.named_shape)
    if old_bits > new_bits:
        return ShapedArray((*x.shape, old_bits // new_bits), new_dtype, named_shape=x.named_shape)
    if not x.shape or x.shape[-1] != new_bits // old_bits:
        raise ShapeError(f"bitcast_convert_type: to go from {old_bits} to {new_bits} bits the last axis must have size "
                         f"{new_bits // old_bits}, got {x.str_short()}")
    return ShapedArray(x.shape[:-1], new_dtype, named_shape=x.named_shape)


@shape_rule(optimization_barrier_p)
def _optimization_barrier_shape(*avals: ShapedArray) -> list[ShapedArray]:
    return list(avals)


# The functions


def neg(x: ArrayLike) -> Array:
    """Elementwise negation, -x, of numbers.

    Example:
      >>> neg(np.float32([1, -2]))
      array([-1.,  2.], dtype=float32)
    """
    return neg_p.bind(x)


def sign(x: ArrayLike) -> Array:
    """Elementwise sign: -1, 0 or 1; x/|x| for complex x; NaN for NaN.

    Example:
      >>> sign(np.float32([-3, 0, 2]))
      array([-1.,  0.,  1.], dtype=float32)
    """
    return sign_p.bind(x)


def floor(x: ArrayLike) -> Array:
    """Elementwise largest integer not above x (floating).

    Example:
      >>> floor(np.float32([1.8, -1.2]))
      array([ 1., -2.], dtype=float32)
    """
    return floor_p.bind(x)


def ceil(x: ArrayLike) -> Array:
    """Elementwise smallest integer not below x (floating).

    Example:
      >>> ceil(np.float32([1.2, -1.2]))
      array([ 2., -1.], dtype=float32)
    """
    return ceil_p.bind(x)


class RoundingMethod(enum.IntEnum):
    """How `round` treats halves.

    Example:
      >>> round(np.float32([0.5, 1.5, 2.5]), RoundingMethod.TO_NEAREST_EVEN)
      array([0., 2., 2.], dtype=float32)
    """
    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


def round(x: ArrayLike, rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO) -> Array:
    """Elementwise nearest integer (floating); halves go away from zero or to the even neighbour.

    Example:
      >>> round(np.float32([0.5, 1.5, -2.5]))
      array([ 1.,  2., -3.], dtype=float32)
    """
    return round_p.bind(x, rounding_method=RoundingMethod(rounding_method))


def is_finite(x: ArrayLike) -> bool:
    """Elementwise bool: whether x (floating) is neither infinite nor NaN.

    Example:
      >>> is_finite(np.float32([1, np.inf, np.nan]))
      array([ True, False, False])
    """
    return is_finite_p.bind(x)


def abs(x: ArrayLike) -> Array:
    """Elementwise absolute value of signed integers or floats; of complex input the real magnitude.

    Example:
      >>> abs(np.float32([-1.5, 2]))
      array([1.5, 2. ], dtype=float32)
    """
    return abs_p.bind(x)


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


def real(x: ArrayLike) -> Array:
    """Elementwise real part of a complex array.

    Example:
      >>> real(np.complex64([1 + 2j]))
      array([1.], dtype=float32)
    """
    return real_p.bind(x)


def imag(x: ArrayLike) -> Array:
    """Elementwise imaginary part of a complex array.

    Example:
      >>> imag(np.complex64([1 + 2j]))
      array([2.], dtype=float32)
    """
    return imag_p.bind(x)


def conj(x: ArrayLike) -> Array:
    """Elementwise complex conjugate; a float32 or float64 input becomes complex.

    Example:
      >>> conj(np.complex64([1 + 2j]))
      array([1.-2.j], dtype=complex64)
    """
    return conj_p.bind(x, input_dtype=get_aval(x).dtype)


def complex(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise complex number x + iy from two float32 or two float64 arrays.

    Example:
      >>> complex(np.float32([1, 2]), np.float32([0, -1]))
      array([1.+0.j, 2.-1.j], dtype=complex64)
    """
    return complex_p.bind(*typed(x, y))


def bitwise_not(x: ArrayLike) -> Array:
    """Elementwise complement of integers or bools.

    Example:
      >>> bitwise_not(np.array([0, 5], np.int32))
      array([-1, -6], dtype=int32)
    """
    return not_p.bind(x)


def population_count(x: ArrayLike) -> Array:
    """Elementwise number of set bits of integers, in the operand's dtype.

    Example:
      >>> population_count(np.array([3, 8], np.int32))
      array([2, 1], dtype=int32)
    """
    return population_count_p.bind(x)


def clz(x: ArrayLike) -> Array:
    """Elementwise number of leading zero bits of integers, in the operand's dtype.

    Example:
      >>> clz(np.array([1, 16], np.int32))
      array([31, 27], dtype=int32)
    """
    return clz_p.bind(x)


def square(x: ArrayLike) -> Array:
    """Elementwise x*x (integer, floating or complex).

    Example:
      >>> square(np.float32([3, -2]))
      array([9., 4.], dtype=float32)
    """
    return square_p.bind(x)


def one_minus_square(x: ArrayLike) -> Array:
    """Elementwise 1 - x*x (integer, floating or complex), as (1 + x)(1 - x): accurate near -1 and 1.

    Example:
      >>> one_minus_square(np.float32([0.5, 2]))
      array([ 0.75, -3.  ], dtype=float32)
    """
    return one_minus_square_p.bind(x)


def integer_pow(x: ArrayLike, y: int) -> Array:
    """Elementwise x**y for a static integer y; a negative y needs an inexact x.

    Example:
      >>> integer_pow(np.float32([2, 3]), 3)
      array([ 8., 27.], dtype=float32)
    """
    aval, y = get_aval(x), as_int("integer_pow", "y", y)
    if y < 0 and not dtypes.issubdtype(aval.dtype, dtypes.inexact):
        raise DTypeError(f"integer_pow: integers cannot be raised to a negative power; got {aval.str_short()} and y={y}")
    return integer_pow_p.bind(x, y=y)


_KIND_WORDS = {dtypes.number: "integer, floating or complex", dtypes.integer: "integer", dtypes.floating: "floating",
               dtypes.complexfloating: "complex", np.bool_: "bool", dtypes.extended: "random keys"}


def _binary_docstring(primitive: Primitive, text: str, example: str, shown: str) -> str:
    result = "bool" if text.endswith("a bool array") else "the operands' dtype"
    return f"""Elementwise {text}.

    Args:
      x: an array: {" or ".join([_KIND_WORDS[kind] for kind in kinds_of_binary[primitive]])}.
      y: an array of the same dtype and a compatible shape (equal sizes, size 1, or rank 0), or a scalar.

    Returns:
      An array of the joint shape and of {result}.

    Raises:
      TypeError: if dtypes differ or are others, or shapes do not fit.

    Example:
      >>> {example}
      {shown}
    """


def _binary_function(primitive: Primitive, name: str, text: str, args: str, shown: str) -> Callable:
    """The function that binds a primitive of two operands; its docstring shows what the arguments `args` give."""
    def fun(x: Any, y: Any) -> Any:
        if type(y) in PYTHON_SCALARS:
            if type(x) not in PYTHON_SCALARS:
                y = scalar_like(y, get_aval(x).dtype)
        elif type(x) in PYTHON_SCALARS:
            x = scalar_like(x, get_aval(y).dtype)
        return state.trace.process(primitive, (x, y), {})

    fun.__doc__ = _binary_docstring(primitive, text, f"{name}({args})", shown)
    return with_name(fun, name)


add = _binary_function(add_p, "add", "sum, x + y",
                       "np.float32([1, 2]), np.float32([3, 5])", "array([4., 7.], dtype=float32)")
sub = _binary_function(sub_p, "sub", "difference, x - y",
                       "np.float32([1, 2]), np.float32([3, 5])", "array([-2., -3.], dtype=float32)")


def mul(x: ArrayLike, y: ArrayLike, *, out_dtype: DTypeLike | None = None) -> Array:
    """Elementwise product, x * y.

    Args:
      x: an array: integer, floating or complex.
      y: an array of the same dtype and a compatible shape (equal sizes, size 1, or rank 0), or a scalar.
      out_dtype: the dtype that the operands are converted to before they are multiplied; their own by default.

    Returns:
      An array of the joint shape and of out_dtype, by default the operands' dtype.

    Raises:
      TypeError: if dtypes differ or are others, or shapes do not fit.

    Example:
      >>> mul(np.float32([2, 3]), np.float32([4, 5]))
      array([ 8., 15.], dtype=float32)
    """
    if type(y) in PYTHON_SCALARS:  # written out in the form that `_binary_function` makes: one call less on the way of a product
        if type(x) not in PYTHON_SCALARS:
            y = scalar_like(y, get_aval(x).dtype)
    elif type(x) in PYTHON_SCALARS:
        x = scalar_like(x, get_aval(y).dtype)
    if out_dtype is not None:
        check_same_dtype("mul", (get_aval(x), get_aval(y)))
        x, y = convert_element_type(x, out_dtype), convert_element_type(y, out_dtype)
    return state.trace.process(mul_p, (x, y), {})


_mulhi = _binary_function(mulhi_p, "mulhi", "high half of the product x * y: what the dtype does not hold of its bits",
                          "np.int32([2**20, -2**20]), np.int32([2**20, 2**20])", "array([ 256, -256], dtype=int32)")


def mulhi(x: ArrayLike, y: ArrayLike, /) -> Array:
    return _mulhi(x, y)


mulhi.__doc__ = _mulhi.__doc__
div = _binary_function(div_p, "div", "quotient, x / y; of integers rounded towards zero",
                       "np.int32([7, -7]), np.int32([2, 2])", "array([ 3, -3], dtype=int32)")
rem = _binary_function(rem_p, "rem", "remainder of x / y with the sign of x",
                       "np.int32([7, -7]), np.int32([4, 4])", "array([ 3, -3], dtype=int32)")
max = _binary_function(max_p, "max", "maximum; NaN if either is NaN; complex numbers in lexicographic order",
                       "np.float32([1, np.nan]), np.float32([3, 5])", "array([ 3., nan], dtype=float32)")
min = _binary_function(min_p, "min", "minimum; NaN if either is NaN; complex numbers in lexicographic order",
                       "np.float32([1, np.nan]), np.float32([3, 5])", "array([ 1., nan], dtype=float32)")
atan2 = _binary_function(atan2_p, "atan2", "angle of the point (y, x) in radians: arc tangent of x / y with quadrant",
                         "np.float32([1, 1]), np.float32([1, -1])", "array([0.7853981, 2.3561945], dtype=float32)")


def nextafter(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Elementwise next representable value after x1 in the direction of x2.

    Args:
      x1: a floating array.
      x2: an array of the same dtype and a compatible shape (equal sizes, size 1, or rank 0), or a scalar.

    Returns:
      An array of the joint shape and of the operands' dtype.

    Raises:
      TypeError: if dtypes differ or are others, or shapes do not fit.

    Example:
      >>> nextafter(np.float32([1]), np.float32([2]))
      array([1.0000001], dtype=float32)
    """
    return nextafter_p.bind(*typed(x1, x2))


bitwise_and = _binary_function(and_p, "bitwise_and", "and of integers or bools",
                               "np.int32([0b1100, -1]), np.int32([0b1010, 5])", "array([8, 5], dtype=int32)")
bitwise_or = _binary_function(or_p, "bitwise_or", "or of integers or bools",
                              "np.int32([0b1100, -1]), np.int32([0b1010, 5])", "array([14, -1], dtype=int32)")
bitwise_xor = _binary_function(xor_p, "bitwise_xor", "exclusive or of integers or bools",
                               "np.int32([0b1100, -1]), np.int32([0b1010, 5])", "array([ 6, -6], dtype=int32)")
shift_left = _binary_function(shift_left_p, "shift_left", "x * 2**y in integers of fixed width",
                              "np.int32([1, -3]), np.int32([4, 1])", "array([16, -6], dtype=int32)")
shift_right_arithmetic = _binary_function(shift_right_arithmetic_p, "shift_right_arithmetic",
                                          "right shift of integers that repeats the sign bit",
                                          "np.int32([20, -8]), np.int32([2, 1])", "array([ 5, -4], dtype=int32)")
shift_right_logical = _binary_function(shift_right_logical_p, "shift_right_logical",
                                       "right shift of integers that fills with zeros",
                                       "np.int32([20, -8]), np.int32([2, 1])", "array([         5, 2147483644], dtype=int32)")
eq = _binary_function(eq_p, "eq", "comparison x == y, a bool array",
                      "np.float32([1, 2, 3]), np.float32([2, 2, 2])", "array([False,  True, False])")
ne = _binary_function(ne_p, "ne", "comparison x != y, a bool array",
                      "np.float32([1, 2, 3]), np.float32([2, 2, 2])", "array([ True, False,  True])")
lt = _binary_function(lt_p, "lt", "comparison x < y, a bool array",
                      "np.float32([1, 2, 3]), np.float32([2, 2, 2])", "array([ True, False, False])")
le = _binary_function(le_p, "le", "comparison x <= y, a bool array",
                      "np.float32([1, 2, 3]), np.float32([2, 2, 2])", "array([ True,  True, False])")
gt = _binary_function(gt_p, "gt", "comparison x > y, a bool array",
                      "np.float32([1, 2, 3]), np.float32([2, 2, 2])", "array([False, False,  True])")
ge = _binary_function(ge_p, "ge", "comparison x >= y, a bool array",
                      "np.float32([1, 2, 3]), np.float32([2, 2, 2])", "array([False,  True,  True])")

# IEEE 754 totalOrder: -NaN < -inf < ... < -0.0 < 0.0 < ... < inf < NaN; integers and bools as usual
_TOTAL_ORDER = "in the total order of IEEE 754, where -0.0 < 0.0 and NaN equals itself and comes last, a bool array"
eq_to = _binary_function(eq_to_p, "eq_to", f"comparison x == y {_TOTAL_ORDER}",
                         "np.float32([-0.0, np.nan]), np.float32([0.0, np.nan])", "array([False,  True])")
lt_to = _binary_function(lt_to_p, "lt_to", f"comparison x < y {_TOTAL_ORDER}",
                         "np.float32([-0.0, np.nan]), np.float32([0.0, np.nan])", "array([ True, False])")
le_to = _binary_function(le_to_p, "le_to", f"comparison x <= y {_TOTAL_ORDER}",
                         "np.float32([-0.0, np.nan]), np.float32([0.0, np.nan])", "array([ True,  True])")


def pow(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise power x**y: x inexact, y of x's dtype or an integer array.

    Example:
      >>> pow(np.float32([2, 9]), np.float32([3, 0.5]))
      array([8., 3.], dtype=float32)
    """
    if type(x) in PYTHON_SCALARS and type(y) not in PYTHON_SCALARS:
        dtype = get_aval(y).dtype
        if isinstance(x, int) or not dtypes.issubdtype(dtype, dtypes.integer):
            x = scalar_like(x, dtype)
    elif type(y) is not int and type(y) in PYTHON_SCALARS:
        x, y = typed(x, y)
    return pow_p.bind(x, y)


def select_n(which: Any, *cases: ShapedArray) -> Array:
    """Elementwise choice between cases.

    Args:
      which: bool or an integer, rank 0 or of the cases' shape; False picks case 0, True case 1, i case i.
      *cases: arrays of one shape and dtype.

    Returns:
      An array of the cases' shape and dtype. An index out of range picks the nearest case.

    Example:
      >>> select_n(np.array([0, 1, 0], np.int32), np.float32([1, 2, 3]), np.float32([-1, -2, -3]))
      array([ 1., -2.,  3.], dtype=float32)
    """
    return select_n_p.bind(which, *cases)


def select(pred: ArrayLike, on_true: Any, on_false: Any) -> Array:
    """Elementwise choice: `on_true` where pred (bool) holds, `on_false` elsewhere.

    Example:
      >>> select(np.array([True, False]), np.float32([1, 2]), np.float32([-1, -2]))
      array([ 1., -2.], dtype=float32)
    """
    return select_n_p.bind(pred, on_false, on_true)


def clamp(min: ArrayLike, x: ArrayLike, max: ArrayLike) -> Array:
    """Elementwise x limited to [min, max]; bounds are scalars or of x's shape, all of one dtype.

    Example:
      >>> clamp(np.float32(0), np.float32([-1, 0.5, 7]), np.float32(1))
      array([0. , 0.5, 1. ], dtype=float32)
    """
    return clamp_p.bind(*typed(min, x, max))


def convert_element_type(operand: ArrayLike, new_dtype: DTypeLike, weak_type: bool = False) -> Array:
    """Converts each element to another dtype.

    Args:
      operand: an array or scalar.
      new_dtype: the dtype, canonicalised to 32 bits unless x64 is enabled. Float to integer rounds towards
        zero; complex to real drops the imaginary part, with a `ComplexWarning`; anything to bool tests for non-zero. A Python int of up to
        64 bits wraps around in a narrower integer dtype.
      weak_type: whether the result is weakly typed.

    Example:
      >>> convert_element_type(np.float32([1.7, -1.7]), np.int32)
      array([ 1, -1], dtype=int32)
    """
    new_dtype = dtypes.requested_dtype(new_dtype, True, "convert_element_type")
    if type(operand) in PYTHON_SCALARS and not weak_type and dtypes.is_kept_wide(new_dtype):
        return constant_of(np.asarray(operand).astype(new_dtype))
    if type(operand) is int and not -2147483648 <= operand <= 2147483647:
        operand = np.asarray(operand).astype(new_dtype)
    aval = get_aval(operand)
    if aval.dtype == new_dtype and aval.weak_type == weak_type and type(operand) not in PYTHON_SCALARS \
            and not isinstance(operand, (np.ndarray, np.generic)):
        return operand
    if aval.dtype != new_dtype and dtypes.issubdtype(aval.dtype, dtypes.complexfloating) \
            and not dtypes.issubdtype(new_dtype, dtypes.complexfloating):
        if new_dtype == _BOOL:  # unlike JAX's lax, which looks at the real part alone
            return ne(operand, np.zeros((), aval.dtype)[()])  # of a strong dtype, as bools are
        warn_at_user("Casting complex values to real discards the imaginary part", np.exceptions.ComplexWarning)
        operand = operand.real if isinstance(operand, np.generic | np.ndarray) or type(operand) in PYTHON_SCALARS \
            else real(operand)
    return convert_element_type_p.bind(operand, new_dtype=new_dtype, weak_type=bool(weak_type))


def in_exact_dtype(operand: Any, dtype: np.dtype, weak_type: bool = False) -> Any:
    """A value in the dtype of another one that is there: of 64 bits, where that is, even if x64 is disabled now.

    Derivatives are computed under the settings of their call, and values may have been made under others.
    """
    if not dtypes.is_kept_wide(dtype):
        return convert_element_type(operand, dtype, weak_type)
    aval = get_aval(operand)
    if aval.dtype == dtype and aval.weak_type == weak_type:
        return operand
    return convert_element_type_p.bind(operand, new_dtype=dtype, weak_type=weak_type)


def bitcast_convert_type(operand: ArrayLike, new_dtype: DTypeLike) -> Array:
    """Reinterprets the bits of each element as another dtype; a change of width adds or removes a last axis.

    Args:
      operand: an array of any shape and dtype; bool and complex stay as they are.
      new_dtype: the dtype, neither bool nor complex unless the operand's, canonicalised to 32 bits unless x64 is enabled.

    Returns:
      An array of new_dtype: of the operand's shape, with a last axis more of size old width / new width, or without the
      last axis, which must have size new width / old width.

    Raises:
      TypeError: if a dtype is bool or complex and the other one is not the same, or the last axis does not fit.

    Example:
      >>> bitcast_convert_type(np.float32([1, -2]), np.int32)
      array([ 1065353216, -1073741824], dtype=int32)
    """
    return bitcast_convert_type_p.bind(operand, new_dtype=dtypes.requested_dtype(new_dtype, fun_name="bitcast_convert_type"))


def reduce_precision(operand: ArrayLike, exponent_bits: int, mantissa_bits: int) -> Array:
    """Rounds to a float format with the given numbers of exponent and mantissa bits; the dtype stays.

    Example:
      >>> reduce_precision(np.float32([1.2345678]), 8, 7)
      array([1.234375], dtype=float32)
    """
    exponent_bits = as_int("reduce_precision", "exponent_bits", exponent_bits)
    mantissa_bits = as_int("reduce_precision", "mantissa_bits", mantissa_bits)
    if exponent_bits < 1 or mantissa_bits < 0:
        raise ValueError(f"reduce_precision: exponent_bits must be at least 1 and mantissa_bits at least 0, got "
                         f"{exponent_bits} and {mantissa_bits}")
    return reduce_precision_p.bind(operand, exponent_bits=exponent_bits, mantissa_bits=mantissa_bits)


def copy(x: ArrayLike) -> Array:
    """A copy of the array (any dtype).

    Example:
      >>> copy(np.float32([1, 2]))
      array([1., 2.], dtype=float32)
    """
    return copy_p.bind(x)


def stop_gradient_one(x: Any) -> Any:
    """The identity, with derivative zero, on one array; see `stop_gradient` of the api for pytrees."""
    return stop_gradient_p.bind(x)


def optimization_barrier_flat(*operands: Any) -> Any:
    """The identity on its operands, which the compiler may not move computations across; returns a list."""
    return optimization_barrier_p.bind(*operands)
