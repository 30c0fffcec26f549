"""The primitives of elementwise operations, with their shape rules."""

from __future__ import annotations

from typing import Any

import numpy as np

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
    unary_primitive,
)
from laminax_ir.programs.primitive import Primitive, Trait, shape_rule
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.errors import DTypeError, ShapeError


def _bool_dtype(_dtype: np.dtype) -> np.dtype:
    return _BOOL


_BOOL = np.dtype(bool)


def _component_dtype(dtype: np.dtype) -> Any:
    return COMPONENT_OF.get(dtype, dtype)


neg_p = unary_primitive("neg", NUMBER, traits=(Trait.EXACT_COMPARISON, Trait.ADDITIVE))
sign_p = unary_primitive("sign", NUMBER, traits=(Trait.EXACT_COMPARISON, Trait.ZERO_AT_ZERO))
floor_p = unary_primitive("floor", FLOATING, traits=(Trait.ZERO_AT_ZERO,))
ceil_p = unary_primitive("ceil", FLOATING, traits=(Trait.ZERO_AT_ZERO,))
round_p = unary_primitive("round", FLOATING, traits=(Trait.ZERO_AT_ZERO,))
is_finite_p = unary_primitive("is_finite", FLOATING, _bool_dtype, traits=(Trait.EXACT_COMPARISON,))
abs_p = unary_primitive("abs", (dtypes.signedinteger, *INEXACT), _component_dtype, traits=(Trait.EXACT_COMPARISON, Trait.ZERO_AT_ZERO))
exp_p = unary_primitive("exp", INEXACT)
exp2_p = unary_primitive("exp2", INEXACT)
expm1_p = unary_primitive("expm1", INEXACT, traits=(Trait.ZERO_AT_ZERO,))
log_p = unary_primitive("log", INEXACT)
log1p_p = unary_primitive("log1p", INEXACT, traits=(Trait.ZERO_AT_ZERO,))
log2_p = unary_primitive("log2", INEXACT)
logistic_p = unary_primitive("logistic", INEXACT)
sqrt_p = unary_primitive("sqrt", INEXACT, traits=(Trait.EXACT_ROUNDING, Trait.ZERO_AT_ZERO))
rsqrt_p = unary_primitive("rsqrt", INEXACT)
cbrt_p = unary_primitive("cbrt", FLOATING, traits=(Trait.ZERO_AT_ZERO,))
sin_p = unary_primitive("sin", INEXACT, traits=(Trait.ZERO_AT_ZERO,))
cos_p = unary_primitive("cos", INEXACT)
tan_p = unary_primitive("tan", INEXACT, traits=(Trait.ZERO_AT_ZERO,))
asin_p = unary_primitive("asin", INEXACT, traits=(Trait.ZERO_AT_ZERO,))
acos_p = unary_primitive("acos", INEXACT)
atan_p = unary_primitive("atan", INEXACT, traits=(Trait.ZERO_AT_ZERO,))
sinh_p = unary_primitive("sinh", INEXACT, traits=(Trait.ZERO_AT_ZERO,))
cosh_p = unary_primitive("cosh", INEXACT)
tanh_p = unary_primitive("tanh", INEXACT, traits=(Trait.ZERO_AT_ZERO,))
asinh_p = unary_primitive("asinh", INEXACT, traits=(Trait.ZERO_AT_ZERO,))
acosh_p = unary_primitive("acosh", INEXACT)
atanh_p = unary_primitive("atanh", INEXACT, traits=(Trait.ZERO_AT_ZERO,))
real_p = unary_primitive("real", COMPLEX, _component_dtype, traits=(Trait.ADDITIVE,))
imag_p = unary_primitive("imag", COMPLEX, _component_dtype, traits=(Trait.ADDITIVE,))
conj_p = Primitive("conj", family="elementwise", traits=(Trait.ELEMENTWISE, Trait.ADDITIVE))
not_p = unary_primitive("not", INTEGER_BOOL, traits=(Trait.EXACT_WHOLE,))
population_count_p = unary_primitive("population_count", INTEGER, traits=(Trait.ZERO_AT_ZERO,))
clz_p = unary_primitive("clz", INTEGER)
square_p = unary_primitive("square", NUMBER, traits=(Trait.EXACT_ROUNDING, Trait.ZERO_AT_ZERO))
one_minus_square_p = unary_primitive("one_minus_square", NUMBER)
integer_pow_p = unary_primitive("integer_pow", NUMBER, traits=(Trait.EXACT_ROUNDING,))
copy_p = unary_primitive("copy", ANY, traits=(Trait.EXACT_MOVE, Trait.ADDITIVE))

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
reduce_precision_p = unary_primitive("reduce_precision", FLOATING, traits=(Trait.ZERO_AT_ZERO,))
# `is_discarded=True` says that no result depends on it
stop_gradient_p = unary_primitive("stop_gradient", ANY, traits=(Trait.EXACT_MOVE, Trait.ADDITIVE))
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


@shape_rule(optimization_barrier_p)
def _optimization_barrier_shape(*avals: ShapedArray) -> list[ShapedArray]:
    return list(avals)
