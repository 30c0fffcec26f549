"""Derivatives and batching of elementwise operations.

Derivatives of the elementary functions are the textbook ones (Abramowitz and Stegun, chapters 4.2 to 4.6).
Conventions at the hard places are JAX's: max and min share the derivative equally in a tie; abs has its right derivative, 1,
at a real 0 (and 0 at a complex one); sign has derivative 0 at 0; clamp has derivative 1 inside the open interval and 0
elsewhere, and passes that of a bound where the bound is the result. Complex functions follow the
convention that grad of a real function of z = x + iy is df/dx - i df/dy.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Callable, Sequence

import numpy as np

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.elementwise import (
    add,
    bitwise_and,
    convert_element_type,
    cos,
    cosh,
    div,
    eq,
    gt,
    integer_pow,
    log,
    lt,
    mul,
    neg,
    pow,
    rsqrt,
    select,
    select_n_p,
    sign,
    sin,
    sinh,
    square,
    sub,
)
from laminax_ir.ops.elementwise_avals import broadcast_avals
from laminax_ir.ops.reduction import reduce_sum
from laminax_ir.ops.scalar_operands import scalar_like
from laminax_ir.ops.shape import full, full_like, reshape
from laminax_ir.programs.primitive import Primitive
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_transforms.base.registry import (
    batching_rule,
    batching_rules,
    broadcast_like,
    define_jvp,
    define_linear,
    define_zero_derivative,
    is_linear,
    jvp_rule,
    transpose_rule,
)
from laminax_transforms.base.zeros import ZERO, cotangent_of_dtype, instantiate, zeros_of
from laminax_transforms.batching.batch_axes import align, define_elementwise_batching, move_axis

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike
    from laminax_transforms.base.zeros import _Zero


def _is_complex(x: ArrayLike) -> bool:
    return dtypes.issubdtype(get_aval(x).dtype, dtypes.complexfloating)


# Derivatives of functions of one operand: partial(tangent, result, operand).

define_linear(op.neg_p)
define_linear(op.copy_p)
define_linear(op.real_p)
define_linear(op.imag_p)
define_linear(op.reduce_precision_p)
define_zero_derivative(op.floor_p, op.ceil_p, op.round_p, op.is_finite_p, op.not_p, op.population_count_p,
                       op.clz_p, op.mulhi_p, op.and_p, op.or_p, op.xor_p, op.shift_left_p, op.shift_right_arithmetic_p,
                       op.shift_right_logical_p, op.eq_p, op.ne_p, op.lt_p, op.le_p, op.gt_p, op.ge_p,
                       op.stop_gradient_p, op.bitcast_convert_type_p, op.eq_to_p, op.lt_to_p, op.le_to_p)

define_jvp(op.nextafter_p, lambda t, y, x1, x2: t, None)  # as far from x1 wherever that has an exponent and x2 a side

# The parameter `accuracy` holds for the function, not for its derivative.
define_jvp(op.exp_p, lambda t, y, x, accuracy=None: mul(t, y))
define_jvp(op.exp2_p, lambda t, y, x, accuracy=None: mul(t, mul(y, float(np.log(2)))))
define_jvp(op.expm1_p, lambda t, y, x, accuracy=None: mul(t, op.exp_p.bind(x, accuracy=accuracy)))  # y + 1 is 0 for x < -17
define_jvp(op.log_p, lambda t, y, x, accuracy=None: div(t, x))
define_jvp(op.log1p_p, lambda t, y, x, accuracy=None: div(t, add(x, 1.0)))
define_jvp(op.log2_p, lambda t, y, x, accuracy=None: div(t, mul(x, float(np.log(2)))))
define_jvp(op.logistic_p, lambda t, y, x, accuracy=None: mul(t, mul(y, sub(1.0, y))))
define_jvp(op.sqrt_p, lambda t, y, x, accuracy=None: mul(t, div(0.5, y)))
define_jvp(op.rsqrt_p, lambda t, y, x, accuracy=None: mul(t, mul(-0.5, div(y, x))))
define_jvp(op.cbrt_p, lambda t, y, x, accuracy=None: mul(t, mul(1 / 3, integer_pow(y, -2))))
define_jvp(op.sin_p, lambda t, y, x, accuracy=None: mul(t, cos(x)))
define_jvp(op.cos_p, lambda t, y, x, accuracy=None: neg(mul(t, sin(x))))
define_jvp(op.tan_p, lambda t, y, x, accuracy=None: mul(t, add(1.0, square(y))))
define_jvp(op.asin_p, lambda t, y, x: mul(t, rsqrt(op.one_minus_square(x))))
define_jvp(op.acos_p, lambda t, y, x: mul(t, neg(rsqrt(op.one_minus_square(x)))))
define_jvp(op.atan_p, lambda t, y, x: div(t, add(1.0, square(x))))
define_jvp(op.sinh_p, lambda t, y, x: mul(t, cosh(x)))
define_jvp(op.cosh_p, lambda t, y, x: mul(t, sinh(x)))
# As (1 + y)(1 - y), which is exact to the last bit near saturation, and one value to keep.
define_jvp(op.tanh_p, lambda t, y, x, accuracy=None: mul(t, op.one_minus_square(y)))
define_jvp(op.asinh_p, lambda t, y, x: mul(t, rsqrt(add(square(x), 1.0))))
define_jvp(op.acosh_p, lambda t, y, x: mul(t, mul(rsqrt(sub(x, 1.0)), rsqrt(add(x, 1.0)))))
define_jvp(op.atanh_p, lambda t, y, x: div(t, op.one_minus_square(x)))
define_jvp(op.square_p, lambda t, y, x: mul(t, mul(2.0, x)))
define_jvp(op.one_minus_square_p, lambda t, y, x: mul(t, mul(-2.0, x)))
define_jvp(op.integer_pow_p, lambda t, y_, x, *, y: ZERO if y == 0 else t if y == 1 else
           mul(t, mul(float(y), integer_pow(x, y - 1) if y != 2 else x)))


def _abs_partial(t: ArrayLike, y: ArrayLike, x: ArrayLike) -> Array:
    if not _is_complex(x):
        return select(op.ge(x, scalar_like(0, get_aval(x).dtype)), t, neg(t))
    # d|z| = Re(conj(z) dz) / |z|, and 0 at z = 0
    return op.real(mul(t, op.conj(sign(x))))


define_jvp(op.abs_p, _abs_partial)


def _sign_partial(t: ArrayLike, y: ArrayLike, x: ArrayLike) -> _Zero:
    if not _is_complex(x):
        return ZERO
    # sign z = z/|z|: d = i Im(dz conj(sign)) sign / |z|, and 0 at z = 0, where sign is
    magnitude = op.abs(x)
    magnitude = select(eq(magnitude, 0.0), full_like(magnitude, 1), magnitude)
    turned = op.imag(mul(t, op.conj(y)))
    return mul(op.complex(full(get_aval(turned).shape, 0, get_aval(turned).dtype), div(turned, magnitude)), y)


define_jvp(op.sign_p, _sign_partial)


# Operations of several operands

define_jvp(op.add_p, lambda t, z, x, y: t, lambda t, z, x, y: t)
define_jvp(op.sub_p, lambda t, z, x, y: t, lambda t, z, x, y: neg(t))
define_jvp(op.mul_p, lambda t, z, x, y: mul(t, y), lambda t, z, x, y: mul(x, t))


def _div_partial_y(t: ArrayLike, z: ArrayLike, x: ArrayLike, y: ArrayLike) -> Array:
    if get_aval(y).shape == z.shape:
        return mul(t, neg(div(z, y)))
    return mul(x, div(div(neg(t), y), y))  # of a smaller y that and x are kept, which often are there, and no z / y; y**2 might overflow


define_jvp(op.div_p, lambda t, z, x, y: div(t, y), _div_partial_y)
define_jvp(op.rem_p, lambda t, z, x, y: broadcast_like(t, z.shape),
           lambda t, z, x, y: mul(neg(t), mul(sign(div(x, y)), op.floor(op.abs(div(x, y))))))
define_jvp(op.atan2_p, lambda t, z, x, y: mul(t, div(y, add(square(x), square(y)))),
           lambda t, z, x, y: mul(t, div(neg(x), add(square(x), square(y)))))
define_jvp(op.complex_p, lambda t, z, x, y: op.complex(t, _zeros_beside(t)),
           lambda t, z, x, y: op.complex(_zeros_beside(t), t))


def _balanced_extremum(is_beyond: Callable[[Any, Any], Any], t: ArrayLike, z: ArrayLike, x: ArrayLike, y: ArrayLike) -> Array:
    """1 where x alone is the extremum z, 1/2 in a tie, 0 elsewhere, also where either is NaN.

    Ordered numbers are compared with each other instead of with z, so that a compiler need not recompute z.
    """
    alone, both = (eq(x, z), eq(y, z)) if _is_complex(x) else (is_beyond(x, y), eq(x, y))
    one, half, zero = (full(z.shape, c, z.dtype) for c in (1, 0.5, 0))
    if _is_complex(x):
        return mul(t, select(_full_shape(alone, z), select(_full_shape(both, z), half, one), zero))
    return mul(t, select(_full_shape(alone, z), one, select(_full_shape(both, z), half, zero)))


def _full_shape(mask: ArrayLike, like: ArrayLike) -> Array:
    return mask if mask.shape == like.shape else broadcast_like(mask, like.shape)


define_jvp(op.max_p, partial(_balanced_extremum, op.gt), lambda t, z, x, y: _balanced_extremum(op.gt, t, z, y, x))
define_jvp(op.min_p, partial(_balanced_extremum, op.lt), lambda t, z, x, y: _balanced_extremum(op.lt, t, z, y, x))


def _pow_partial_x(t: ArrayLike, z: ArrayLike, x: ArrayLike, y: ArrayLike) -> Array:
    # y x**(y-1); an integer y == 0 gives 0 even at x == 0, where x**(y-1) is infinite. It cannot for a y that is differentiated
    # too: the derivative of this in y is 1/x at y == 0.
    y_aval = get_aval(y)
    if not dtypes.issubdtype(y_aval.dtype, dtypes.integer):
        one = scalar_like(1, y_aval.dtype)
        if type(y) is float:  # known: the compiler is told the number, not a difference
            return mul(t, mul(y, pow(x, float(y_aval.dtype.type(y) - one))))
        return mul(t, mul(y, pow(x, sub(y, one))))
    y_typed = convert_element_type(y, get_aval(x).dtype)
    safe = select(eq(y, scalar_like(0, y_aval.dtype)), full(y_aval.shape, 1, y_aval.dtype), y)
    return mul(t, mul(y_typed, op.pow_p.bind(x, sub(safe, scalar_like(1, y_aval.dtype)))))


def _pow_partial_y(t: ArrayLike, z: ArrayLike, x: ArrayLike, y: ArrayLike) -> Array:
    if dtypes.issubdtype(get_aval(y).dtype, dtypes.integer):
        return ZERO
    # log(x) x**y; at x == 0 with y > 0 the product is 0, not 0 * -inf; y == 0 is given 0 too, as JAX does
    x_aval = get_aval(x)
    safe = select(eq(x, scalar_like(0, x_aval.dtype)), full(x_aval.shape, 1, x_aval.dtype), x)
    return mul(t, mul(log(safe), z))


define_jvp(op.pow_p, _pow_partial_x, _pow_partial_y)


@jvp_rule(op.select_n_p, symbolic_zeros=True)
def _select_n_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    which, *cases = primals
    result = select_n_p.bind(which, *cases)
    case_tangents = tangents[1:]
    if all(t is ZERO for t in case_tangents):
        return result, ZERO
    full_tangents = [instantiate(t, get_aval(c)) for t, c in zip(case_tangents, cases)]
    return result, select_n_p.bind(which, *full_tangents)


def _clamp_partial(t: ArrayLike, z: ArrayLike, low: ArrayLike, x: ArrayLike, high: ArrayLike) -> Array:
    inside = bitwise_and(_full_shape(gt(x, low), z), _full_shape(lt(x, high), z))
    return select(inside, t, full(z.shape, 0, z.dtype))


def _clamp_partial_low(t: ArrayLike, z: ArrayLike, low: ArrayLike, x: ArrayLike, high: ArrayLike) -> Array:
    # with the bounds the wrong way round the result is the upper one
    is_result = bitwise_and(_full_shape(gt(low, x), z), _full_shape(lt(low, high), z))
    return select(is_result, broadcast_like(t, z.shape), full(z.shape, 0, z.dtype))


def _clamp_partial_high(t: ArrayLike, z: ArrayLike, low: ArrayLike, x: ArrayLike, high: ArrayLike) -> Array:
    return select(_full_shape(lt(high, x), z), broadcast_like(t, z.shape), full(z.shape, 0, z.dtype))


define_jvp(op.clamp_p, _clamp_partial_low, _clamp_partial, _clamp_partial_high)


@jvp_rule(op.conj_p, symbolic_zeros=True)
def _conj_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    result = op.conj_p.bind(*primals, **params)
    return result, op.conj_p.bind(*tangents, **params)


@jvp_rule(op.convert_element_type_p, symbolic_zeros=True)
def _convert_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    result = op.convert_element_type_p.bind(x, **params)
    if not dtypes.issubdtype(params["new_dtype"], dtypes.inexact):
        return result, ZERO
    return result, op.convert_element_type_p.bind(t, **params)


@jvp_rule(op.optimization_barrier_p, symbolic_zeros=True)
def _optimization_barrier_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    return op.optimization_barrier_p.bind(*primals), _behind_a_barrier(tangents)


def _behind_a_barrier(values: Sequence[Any]) -> list[Any]:
    """Puts the values that are not zero through one optimization barrier together."""
    behind = iter(op.optimization_barrier_p.bind(*[x for x in values if x is not ZERO]))
    return [ZERO if x is ZERO else next(behind) for x in values]


# Transposition: sums over what was broadcast.


def unbroadcast(ct: Any, aval: ShapedArray) -> Any:
    """The cotangent of an operand of shape `aval` that was broadcast to the result: sums over the new extents."""
    shape = ct.shape
    if aval.shape == shape:
        return ct
    if not aval.shape:
        return reduce_sum(ct, axes=tuple(range(len(shape))))
    axes = tuple(i for i, (have, want) in enumerate(zip(shape, aval.shape)) if have != want)
    return reshape(reduce_sum(ct, axes=axes), aval.shape)


@transpose_rule(op.neg_p)
def _neg_transpose(ct: Any, x: Any) -> list[Any]:
    return [neg(ct)]


@transpose_rule(op.copy_p)
def _copy_transpose(ct: Any, x: Any) -> list[Any]:
    return [op.copy_p.bind(ct)]  # who asked for a copy may donate or overwrite the cotangent that came in


@transpose_rule(op.stop_gradient_p)
def _stop_gradient_transpose(ct: Any, x: Any, *, is_discarded: bool = False) -> list[Any]:
    if not is_discarded:
        raise NotImplementedError("stop_gradient of a tangent cannot be transposed: it is the identity on tangents, and zero on "
                                  "cotangents. Apply it to primal values only.")
    return [None]


@transpose_rule(op.reduce_precision_p)
def _reduce_precision_transpose(ct: Any, x: Any, **params: Any) -> list[Any]:
    return [op.reduce_precision_p.bind(ct, **params)]


@transpose_rule(op.add_p)
def _add_transpose(ct: Any, x: Any, y: Any) -> list[Any]:
    return [unbroadcast(ct, x) if is_linear(x) else None, unbroadcast(ct, y) if is_linear(y) else None]


@transpose_rule(op.sub_p)
def _sub_transpose(ct: Any, x: Any, y: Any) -> list[Any]:
    return [unbroadcast(ct, x) if is_linear(x) else None, unbroadcast(neg(ct), y) if is_linear(y) else None]


@transpose_rule(op.mul_p)
def _mul_transpose(ct: Any, x: Any, y: Any) -> list[Any]:
    if is_linear(x):
        if is_linear(y):
            raise TypeError("mul: both operands depend on the tangents, so their product is not linear and cannot be transposed. "
                            "Derivative rules must be linear in the tangents.")
        return [unbroadcast(mul(ct, y), x), None]
    return [None, unbroadcast(mul(x, ct), y)]


@transpose_rule(op.div_p)
def _div_transpose(ct: Any, x: Any, y: Any) -> list[Any]:
    if is_linear(y):
        raise NotImplementedError("div is not linear in its denominator")
    return [unbroadcast(div(ct, y), x), None]


def _zeros_beside(ct: Any) -> Any:
    """Zeros to be put beside a tangent or cotangent: terms of a sum where that is a sum that is left open."""
    split = get_aval(ct)._split
    return full(ct.shape, 0, ct.dtype) if split is None or not split.has_sums else zeros_of(get_aval(ct))


@transpose_rule(op.select_n_p)
def _select_n_transpose(ct: Any, which: Any, *cases: Any) -> list[Any]:
    zeros = _zeros_beside(ct) if ct.shape or get_aval(ct)._split is not None else scalar_like(0, ct.dtype)
    return [None, *[select_n_p.bind(which, *[ct if i == j else zeros for j in range(len(cases))]) if is_linear(case) else None
                    for i, case in enumerate(cases)]]


@transpose_rule(op.convert_element_type_p)
def _convert_transpose(ct: Any, x: Any, *, new_dtype: np.dtype, weak_type: bool, sharding: Any = None) -> list[Any]:
    return [op.in_exact_dtype(cotangent_of_dtype(ct, x.dtype), x.dtype, x.weak_type)]


@transpose_rule(op.real_p)
def _real_transpose(ct: Any, x: Any) -> list[Any]:
    return [op.complex(ct, _zeros_beside(ct))]


@transpose_rule(op.imag_p)
def _imag_transpose(ct: Any, x: Any) -> list[Any]:
    return [op.complex(_zeros_beside(ct), neg(ct))]


@transpose_rule(op.complex_p)
def _complex_transpose(ct: Any, x: Any, y: Any) -> list[Any]:
    return [unbroadcast(op.real(ct), x) if is_linear(x) else None,
            unbroadcast(neg(op.imag(ct)), y) if is_linear(y) else None]


@transpose_rule(op.conj_p)
def _conj_transpose(ct: Any, x: Any, *, input_dtype: np.dtype) -> list[Any]:
    if dtypes.issubdtype(input_dtype, dtypes.complexfloating):
        return [op.conj(ct)]
    return [op.real(ct)]


@transpose_rule(op.optimization_barrier_p)
def _optimization_barrier_transpose(cts: Sequence[Any], *operands: ShapedArray) -> Sequence[Any]:
    return _behind_a_barrier([ct if is_linear(x) else ZERO for ct, x in zip(cts, operands)])


# Batching

define_elementwise_batching(
    op.neg_p, op.sign_p, op.floor_p, op.ceil_p, op.round_p, op.is_finite_p, op.abs_p, op.exp_p, op.exp2_p,
    op.expm1_p, op.log_p, op.log1p_p, op.log2_p, op.logistic_p, op.sqrt_p, op.rsqrt_p, op.cbrt_p, op.sin_p, op.cos_p,
    op.tan_p, op.asin_p, op.acos_p, op.atan_p, op.sinh_p, op.cosh_p, op.tanh_p, op.asinh_p, op.acosh_p,
    op.atanh_p, op.real_p, op.imag_p, op.conj_p, op.complex_p, op.not_p, op.population_count_p, op.clz_p,
    op.square_p, op.one_minus_square_p, op.integer_pow_p, op.copy_p, op.add_p, op.sub_p, op.mul_p, op.mulhi_p, op.div_p, op.rem_p, op.max_p,
    op.min_p, op.atan2_p, op.nextafter_p, op.and_p, op.or_p, op.xor_p, op.shift_left_p,
    op.shift_right_arithmetic_p, op.shift_right_logical_p, op.eq_p, op.ne_p, op.lt_p, op.le_p, op.gt_p,
    op.ge_p, op.pow_p, op.convert_element_type_p, op.reduce_precision_p, op.stop_gradient_p,
    op.eq_to_p, op.lt_to_p, op.le_to_p)


def _batch_same_shapes(primitive: Primitive, scalar_positions: tuple[int, ...]) -> Callable:
    """Batching for operations whose operands must all have the result's shape, but for scalars in some places."""
    def rule(axis: Any, operands: Sequence[Any], batch_axes: Sequence[int | None], params: dict[str, Any]) -> tuple[Any, Any]:
        unmapped_scalars = all(b is not None or not get_aval(x).shape for x, b in zip(operands, batch_axes))
        mapped = {b for b in batch_axes if b is not None}
        ranks = {len(x.shape) for x, b in zip(operands, batch_axes) if b is not None}
        stay = [i for i, b in enumerate(batch_axes) if b is None]
        if unmapped_scalars and len(mapped) == 1 and len(ranks) == 1 and set(stay) <= set(scalar_positions):
            return primitive.bind(*operands, **params), mapped.pop()
        rank = max(len(get_aval(x).shape) - (b is not None) for x, b in zip(operands, batch_axes))
        aligned = [align(x, b, rank) for x, b in zip(operands, batch_axes)]
        avals = [get_aval(x) for x in aligned]
        shape = broadcast_avals(primitive.name, avals)
        return primitive.bind(*[x if aval.shape == shape or (not aval.shape and i in scalar_positions)
                                else broadcast_like(x, shape)
                                for i, (x, aval) in enumerate(zip(aligned, avals))], **params), 0
    return rule


batching_rules.add(op.select_n_p, _batch_same_shapes(op.select_n_p, (0,)))
batching_rules.add(op.clamp_p, _batch_same_shapes(op.clamp_p, (0, 2)))


@batching_rule(op.bitcast_convert_type_p)
def _bitcast_batch(operands: Sequence[Any], batch_axes: Sequence[int], **params: Any) -> tuple[Any, Any]:
    # a change of width touches the last axis; the batch axis goes to the front, out of its way
    x = move_axis(operands[0], batch_axes[0], 0)
    return op.bitcast_convert_type_p.bind(x, **params), 0


@batching_rule(op.optimization_barrier_p)
def _optimization_barrier_batch(operands: Sequence[Any], batch_axes: Sequence[int | None]) -> tuple[Any, Any]:
    return op.optimization_barrier_p.bind(*operands), list(batch_axes)
