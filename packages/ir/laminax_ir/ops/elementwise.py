"""Elementwise operations: one result element per element, operands broadcast against each other.

Operands of one operation have one dtype and one shape, except that a rank-0 operand stands for an array of
any shape, and an axis of size 1 for an axis of any size. A Python scalar takes the dtype of the operand
beside it. Dtype promotion between arrays is not done here; `laminax_ir.functions.operators` and the api do it.

All functions of the family are found here. Those of two operands are in `elementwise_binary`, those that take an `accuracy` and their
relatives in `elementwise_transcendental`.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.ops.conversion import bitcast_convert_type_p, complex_p, convert_element_type_p
from laminax_ir.ops.elementwise_avals import check_same_dtype
from laminax_ir.ops.elementwise_binary import (  # noqa: F401  (all of the family are found here)
    add,
    atan2,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    div,
    eq,
    eq_to,
    ge,
    gt,
    le,
    le_to,
    lt,
    lt_to,
    max,
    min,
    mulhi,
    ne,
    nextafter,
    rem,
    shift_left,
    shift_right_arithmetic,
    shift_right_logical,
    sub,
)
from laminax_ir.ops.elementwise_primitives import (  # noqa: F401  (all of the family are found here)
    abs_p,
    acos_p,
    acosh_p,
    add_p,
    and_p,
    asin_p,
    asinh_p,
    atan2_p,
    atan_p,
    atanh_p,
    cbrt_p,
    ceil_p,
    clamp_p,
    clz_p,
    conj_p,
    copy_p,
    cos_p,
    cosh_p,
    div_p,
    eq_p,
    eq_to_p,
    exp2_p,
    exp_p,
    expm1_p,
    floor_p,
    ge_p,
    gt_p,
    imag_p,
    integer_pow_p,
    is_finite_p,
    le_p,
    le_to_p,
    log1p_p,
    log2_p,
    log_p,
    logistic_p,
    lt_p,
    lt_to_p,
    max_p,
    min_p,
    mul_p,
    mulhi_p,
    ne_p,
    neg_p,
    nextafter_p,
    not_p,
    one_minus_square_p,
    optimization_barrier_p,
    or_p,
    population_count_p,
    pow_p,
    real_p,
    reduce_precision_p,
    rem_p,
    round_p,
    rsqrt_p,
    select_n_p,
    shift_left_p,
    shift_right_arithmetic_p,
    shift_right_logical_p,
    sign_p,
    sin_p,
    sinh_p,
    sqrt_p,
    square_p,
    stop_gradient_p,
    sub_p,
    tan_p,
    tanh_p,
    xor_p,
)
from laminax_ir.ops.elementwise_transcendental import (  # noqa: F401  (all of the family are found here)
    Accuracy,
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atanh,
    cbrt,
    cos,
    cosh,
    exp,
    exp2,
    expm1,
    log,
    log1p,
    log2,
    logistic,
    rsqrt,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
)
from laminax_ir.ops.extended_dtypes import converted
from laminax_ir.ops.scalar_operands import PYTHON_SCALARS, constant_of, scalar_like, typed
from laminax_ir.tracing.trace import state
from laminax_ir.tracing.user_warnings import warn_at_user
from laminax_ir.types import dtypes
from laminax_ir.types.arguments import as_int
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_ir.types.errors import DTypeError

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike, DTypeLike


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


def clamp(min: ArrayLike, x: ArrayLike, max: ArrayLike) -> Array:  # noqa: F811  (as parameters)
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
        64 bits wraps around in a narrower integer dtype. An extended dtype converts from the arrays that store it, and to these, where
        its rules allow it.
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
    if dtypes.is_extended(new_dtype) or dtypes.is_extended(aval.dtype):
        return operand if aval.dtype == new_dtype else converted(operand, aval.dtype, new_dtype)
    if aval.dtype == new_dtype and aval.weak_type == weak_type and type(operand) not in PYTHON_SCALARS \
            and not isinstance(operand, (np.ndarray, np.generic)):
        return operand
    if aval.dtype != new_dtype and dtypes.issubdtype(aval.dtype, dtypes.complexfloating) \
            and not dtypes.issubdtype(new_dtype, dtypes.complexfloating):
        if new_dtype == np.dtype(bool):  # unlike JAX's lax, which looks at the real part alone
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
