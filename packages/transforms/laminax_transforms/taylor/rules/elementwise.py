"""Taylor series of elementwise operations.

Most functions satisfy a differential equation `y' = d x'` with a d that is a polynomial in y, or a function of x that is known:
`integrated` solves it coefficient by coefficient. At the hard places the conventions are those of the first derivatives:
max and min share the coefficients equally in a tie, abs has its right derivative at a real 0, clamp is constant on its bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Sequence

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.elementwise import add, bitwise_and, convert_element_type, div, eq, ge, gt, lt, mul, neg, select, sub
from laminax_ir.ops.scalar_operands import scalar_like
from laminax_ir.ops.shape import full, full_like
from laminax_ir.programs.primitive import Primitive
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval
from laminax_transforms.base.registry import broadcast_like
from laminax_transforms.base.zeros import ZERO
from laminax_transforms.taylor.series import (
    Series,
    added,
    antiderivative,
    composed,
    convolved,
    define_bilinear,
    define_linear,
    full_terms,
    integrated,
    is_constant,
    minus,
    product,
    quotient,
    real_power,
    reciprocal,
    scaled,
    shifted,
    square_root,
    taylor_rule,
    times,
    times_number,
    total,
    whole_power,
)

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

# Linear operations, and products

for _primitive in (op.neg_p, op.copy_p, op.real_p, op.imag_p, op.conj_p, op.complex_p, op.reduce_precision_p, op.optimization_barrier_p):
    define_linear(_primitive)
define_bilinear(op.mul_p)


@taylor_rule(op.add_p)
def _add(x: Any, y: Any) -> list[Any]:
    return [add(x[0], y[0]), *added(x, y)[1:]]


@taylor_rule(op.sub_p)
def _sub(x: Sequence[Any], y: Sequence[Any]) -> list[Any]:
    return [sub(x[0], y[0]), *[minus(a, b) for a, b in zip(x[1:], y[1:])]]


@taylor_rule(op.convert_element_type_p)
def _convert(x: Sequence[ArrayLike], **params: Any) -> list[Any]:
    value = op.convert_element_type_p.bind(x[0], **params)
    if not dtypes.issubdtype(params["new_dtype"], dtypes.inexact):
        return [value, *[ZERO] * (len(x) - 1)]
    return [value, *[c if c is ZERO else op.convert_element_type_p.bind(c, **params) for c in x[1:]]]


@taylor_rule(op.div_p)
def _div(x: Any, y: Any) -> list[Array]:
    return quotient(x, y)


@taylor_rule(op.square_p)
def _square(x: Any) -> list[Any]:
    return [op.square(x[0]), *product(x, x)[1:]]


@taylor_rule(op.integer_pow_p)
def _integer_pow(x: Any, *, y: int) -> list[Any]:
    return [op.integer_pow(x[0], y), *whole_power(x, y)[1:]]


@taylor_rule(op.rem_p)
def _rem(x: Sequence[Any], y: Sequence[Any]) -> list[Any]:
    """x - n y, where n, the quotient rounded towards zero, does not vary."""
    ratio = div(x[0], y[0])
    count = mul(op.sign(ratio), op.floor(op.abs(ratio)))
    return [op.rem(x[0], y[0]), *[minus(a, times(count, b)) for a, b in zip(x[1:], y[1:])]]


# Functions with a differential equation in their result


def _define(primitive: Primitive, make: Callable) -> None:
    """The rule of a function of one operand: `make(series, value)`. An accuracy is asked for the function's value."""
    @taylor_rule(primitive)
    def rule(x: Sequence[ArrayLike], **params: Any) -> Any:
        return make(x, primitive.bind(x[0], **params))


def exponential(x: Series, first: ArrayLike) -> Series:
    """exp(x): y' = y x'."""
    return integrated(x, first, lambda k, y: y[k])


def _tanh_slope(k: int, y: list[ArrayLike]) -> Array:
    """1 - y**2; at first (1 + y)(1 - y), exact to the last bit near saturation."""
    return mul(sub(1.0, y[0]), add(1.0, y[0])) if k == 0 else minus(ZERO, convolved(y, y, k))


_define(op.exp_p, exponential)
_define(op.exp2_p, lambda x, first: integrated(x, first, lambda k, y: scaled(math.log(2), y[k])))
_define(op.expm1_p, lambda x, first: integrated(x, first, lambda k, y: add(y[0], 1.0) if k == 0 else y[k]))
_define(op.logistic_p, lambda x, first: integrated(
    x, first, lambda k, y: mul(y[0], sub(1.0, y[0])) if k == 0 else minus(y[k], convolved(y, y, k))))
_define(op.tan_p, lambda x, first: integrated(x, first, lambda k, y: add(1.0, op.square(y[0])) if k == 0 else convolved(y, y, k)))
_define(op.tanh_p, lambda x, first: integrated(x, first, _tanh_slope))


# Roots, and functions whose derivative is algebraic


def logarithm(x: Series, first: ArrayLike) -> Series:
    """log(x): y' = x' / x."""
    return antiderivative(x, first, reciprocal(x))


def _inverse_root(x: Series) -> Series:
    return real_power(x, -0.5, op.rsqrt(x[0]))


def _one_minus_square(x: Series) -> Series:
    """1 - x**2, as (1 - x)(1 + x) at its value."""
    return [mul(sub(1.0, x[0]), add(1.0, x[0])), *times_number(product(x, x), -1)[1:]]


def _one_plus_square(x: Series) -> Series:
    return shifted(product(x, x), 1.0)


_define(op.sqrt_p, square_root)
_define(op.rsqrt_p, lambda x, first: real_power(x, -0.5, first))
_define(op.cbrt_p, lambda x, first: real_power(x, 1 / 3, first))
_define(op.log_p, logarithm)
_define(op.log1p_p, lambda x, first: antiderivative(x, first, reciprocal(shifted(x, 1.0))))
_define(op.log2_p, lambda x, first: antiderivative(x, first, times_number(reciprocal(x), 1 / math.log(2))))
_define(op.one_minus_square_p, lambda x, first: [first, *_one_minus_square(x)[1:]])
_define(op.asin_p, lambda x, first: antiderivative(x, first, _inverse_root(_one_minus_square(x))))
_define(op.acos_p, lambda x, first: antiderivative(x, first, times_number(_inverse_root(_one_minus_square(x)), -1)))
_define(op.atan_p, lambda x, first: antiderivative(x, first, reciprocal(_one_plus_square(x))))
_define(op.asinh_p, lambda x, first: antiderivative(x, first, _inverse_root(_one_plus_square(x))))
# A root of each factor: that of their product would be on the wrong branch for negative real parts.
_define(op.acosh_p, lambda x, first: antiderivative(x, first, product(_inverse_root(shifted(x, -1.0)), _inverse_root(shifted(x, 1.0)))))
_define(op.atanh_p, lambda x, first: antiderivative(x, first, reciprocal(_one_minus_square(x))))


# Sine and cosine


def _pair(x: Series, sine: Callable, cosine: Callable, sign: int) -> tuple[Series, Series]:
    """Functions with s' = c x' and c' = sign s x', together."""
    s, c = [sine(x[0])], [cosine(x[0])]
    for k in range(1, len(x)):
        steps = [scaled(j / k, x[j]) for j in range(1, k + 1)]
        next_s = total(times(step, c[k - j]) for j, step in enumerate(steps, 1))
        next_c = total(times(step, s[k - j]) for j, step in enumerate(steps, 1))
        s.append(next_s)
        c.append(next_c if sign > 0 else minus(ZERO, next_c))
    return s, c


for _primitive, _functions, _which in ((op.sin_p, (op.sin, op.cos, -1), 0), (op.cos_p, (op.sin, op.cos, -1), 1),
                                       (op.sinh_p, (op.sinh, op.cosh, 1), 0), (op.cosh_p, (op.sinh, op.cosh, 1), 1)):
    _define(_primitive, lambda x, first, functions=_functions, which=_which: [first, *_pair(x, *functions)[which][1:]])


# Powers and angles


@taylor_rule(op.pow_p)
def _pow(x: Any, y: Any) -> list[Array]:
    first = op.pow_p.bind(x[0], y[0])
    if is_constant(y):
        return _constant_power(x, y[0], first)
    base = x
    if is_constant(x):  # 0**y is 0 for each y > 0, not exp(-inf y)
        value = x[0]
        base = [select(eq(value, scalar_like(0, get_aval(value).dtype)), full_like(value, 1), value), *x[1:]]
    return exponential(product(y, logarithm(base, op.log(base[0]))), first)


def _constant_power(x: Series, exponent: ArrayLike, first: ArrayLike) -> Series:
    """From the binomial series at the value of x: its coefficients for a whole exponent end, which makes them right at 0."""
    aval = get_aval(x[0])
    if getattr(exponent, "dtype", None) != aval.dtype:  # an integer, or a Python scalar
        exponent = convert_element_type(exponent, aval.dtype)
    binomial = full_like(first, 1)
    coefficients = [first]
    for m in range(1, len(x)):
        binomial = mul(binomial, div(sub(exponent, float(m - 1)), float(m)))
        power = mul(binomial, op.pow_p.bind(x[0], sub(exponent, float(m))))
        coefficients.append(select(eq(binomial, full_like(binomial, 0)), full_like(power, 0), power))
    return composed(coefficients, x)


@taylor_rule(op.atan2_p)
def _atan2(y: list[Any], x: Any) -> list[Any]:
    """The angle's derivative is (y' x - y x') / (x**2 + y**2)."""
    angle = op.atan2(y[0], x[0])
    count = len(x) - 1
    y_dot, x_dot = ([scaled(k + 1, z[k + 1]) for k in range(count)] for z in (y, x))
    norm = added(product(x, x), product(y, y))
    numerator = [minus(convolved(y_dot, x, k), convolved(x_dot, y, k)) for k in range(count)]
    slope: Series = []
    for k in range(count):
        rest = minus(numerator[k], convolved(norm, slope, k, first=1))
        slope.append(ZERO if rest is ZERO else div(rest, norm[0]))
    return [angle, *[scaled(1 / (k + 1), slope[k]) for k in range(count)]]


# Choices


@taylor_rule(op.abs_p)
def _abs(x: Sequence[ArrayLike]) -> list[Array]:
    value = x[0]
    aval = get_aval(value)
    if dtypes.issubdtype(aval.dtype, dtypes.complexfloating):
        real, imag = ([c if c is ZERO else part(c) for c in x] for part in (op.real, op.imag))
        return square_root(added(product(real, real), product(imag, imag)), op.abs(value))
    is_positive = ge(value, scalar_like(0, aval.dtype))
    return [op.abs(value), *[c if c is ZERO else select(is_positive, c, neg(c)) for c in x[1:]]]


@taylor_rule(op.sign_p)
def _sign(x: Any) -> list[Any]:
    if dtypes.issubdtype(get_aval(x[0]).dtype, dtypes.complexfloating):
        size = _abs(x)
        as_complex = [c if c is ZERO else convert_element_type(c, get_aval(x[0]).dtype) for c in size]
        return quotient(x, as_complex, first=op.sign(x[0]))
    return [op.sign(x[0]), *[ZERO] * (len(x) - 1)]


def _full_mask(mask: ArrayLike, shape: Sequence[int]) -> Array:
    return mask if get_aval(mask).shape == shape else broadcast_like(mask, shape)


def chosen(choose: Callable, x: Series, y: Series) -> Series:
    """The maximum or minimum of two series; a tie shares the coefficients equally."""
    first = choose(x[0], y[0])
    if is_constant(x) and is_constant(y):
        return [first, *[ZERO] * (len(x) - 1)]
    shape = get_aval(first).shape
    from_x, from_y = (_full_mask(eq(z[0], first), shape) for z in (x, y))
    tie = bitwise_and(from_x, from_y)
    result = [first]
    for a, b in zip(full_terms(x, shape)[1:], full_terms(y, shape)[1:]):
        result.append(select(tie, mul(add(a, b), 0.5), select(from_x, a, b)))
    return result


@taylor_rule(op.max_p)
def _max(x: Any, y: Any) -> list[Array]:
    return chosen(op.max, x, y)


@taylor_rule(op.min_p)
def _min(x: Any, y: Any) -> list[Array]:
    return chosen(op.min, x, y)


@taylor_rule(op.select_n_p)
def _select_n(which: Sequence[Any], *cases: list[Any]) -> list[Array]:
    result = [op.select_n_p.bind(which[0], *[c[0] for c in cases])]
    shape = result[0].shape
    terms = [full_terms(c, shape)[1:] for c in cases]
    for k in range(len(which) - 1):
        varies = any(c[k + 1] is not ZERO for c in cases)
        result.append(op.select_n_p.bind(which[0], *[t[k] for t in terms]) if varies else ZERO)
    return result


@taylor_rule(op.clamp_p)
def _clamp(low: Sequence[ArrayLike], x: Sequence[ArrayLike], high: Sequence[Any]) -> list[Array]:
    first = op.clamp_p.bind(low[0], x[0], high[0])
    shape = first.shape
    above, below, ordered = gt(x[0], low[0]), lt(x[0], high[0]), lt(low[0], high[0])
    inside = _full_mask(bitwise_and(_full_mask(above, shape), _full_mask(below, shape)), shape)
    is_low = bitwise_and(_full_mask(gt(low[0], x[0]), shape), _full_mask(ordered, shape))
    is_high = _full_mask(lt(high[0], x[0]), shape)
    result = [first]
    for k in range(1, len(x)):
        parts = ((inside, x[k]), (is_low, low[k]), (is_high, high[k]))
        result.append(total(_where(mask, c, shape) for mask, c in parts if c is not ZERO))
    return result


def _where(mask: ArrayLike, c: ArrayLike, shape: Sequence[int]) -> Array:
    c = _full_mask(c, shape)
    return select(mask, c, full(shape, 0, c.dtype))


