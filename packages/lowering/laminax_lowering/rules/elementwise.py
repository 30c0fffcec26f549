"""Elementwise operations: most are one StableHLO or CHLO operation of the same shape."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Callable, Sequence

import numpy as np

import laminax_lowering.rules.elementwise_cpu  # noqa: F401
import laminax_lowering.rules.inverse_trigonometric_cpu  # noqa: F401
import laminax_lowering.rules.remainder_cpu  # noqa: F401
import laminax_lowering.rules.trigonometric_cpu  # noqa: F401
from laminax_ir.key_arrays.extended_arrays import physical_aval
from laminax_ir.ops import elementwise as op
from laminax_ir.ops.shape import full_like
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.programs.primitive import Primitive
from laminax_ir.recording.staging import stage
from laminax_ir.types import dtypes
from laminax_ir.types.accuracy import AccuracyMode, Tolerance
from laminax_ir.types.avals import ShapedArray
from laminax_lowering.writing.comparisons import compare, compare_type, complex_order, select
from laminax_lowering.writing.context import Elementwise, FunctionWriter
from laminax_lowering.writing.registry import lowering_rule, lowering_rules
from laminax_lowering.writing.ssa_values import Value

if TYPE_CHECKING:
    from laminax_ir.ops.elementwise import RoundingMethod
    from laminax_ir.types.annotations import Array, ArrayLike


def _define(primitive: Primitive, name: str) -> None:
    lowering_rules.add(primitive, Elementwise(name, __name__))


def _define_accurate(primitive: Primitive, name: str) -> None:
    def rule(ctx: FunctionWriter, x: Value, accuracy: Any = None) -> Any:
        return ctx.emit_elementwise(name, (x,), "" if accuracy is None else f" {{result_accuracy = {_accuracy_text(accuracy)}}}")
    rule.__module__ = __name__
    lowering_rules.add(primitive, rule)


def _accuracy_text(accuracy: Tolerance | AccuracyMode) -> str:
    if isinstance(accuracy, AccuracyMode):
        return f"#stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<{accuracy.name}>>"
    return (f"#stablehlo.result_accuracy<atol = {float(accuracy.atol):.17e}, rtol = {float(accuracy.rtol):.17e}, "
            f"ulps = {accuracy.ulps}, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>")


for _primitive, _name in [
        (op.exp_p, "stablehlo.exponential"), (op.expm1_p, "stablehlo.exponential_minus_one"), (op.log_p, "stablehlo.log"),
        (op.log1p_p, "stablehlo.log_plus_one"), (op.logistic_p, "stablehlo.logistic"), (op.sqrt_p, "stablehlo.sqrt"),
        (op.rsqrt_p, "stablehlo.rsqrt"), (op.cbrt_p, "stablehlo.cbrt"), (op.tan_p, "stablehlo.tan"),
        (op.tanh_p, "stablehlo.tanh")]:
    _define_accurate(_primitive, _name)


def _define_trigonometric(primitive: Primitive, name: str, of_parts: Callable) -> None:
    """Complex numbers go by their parts: XLA's own expansion loses small imaginary parts to cancellation."""
    def rule(ctx: FunctionWriter, x: Value, accuracy: Any = None) -> Any:
        if dtypes.issubdtype(x.dtype, dtypes.complexfloating):
            return ctx.run(_program_of_parts(of_parts, x.aval.strip_weak_type(), accuracy), [x])[0]
        return ctx.emit_elementwise(name, (x,), "" if accuracy is None else f" {{result_accuracy = {_accuracy_text(accuracy)}}}")
    rule.__module__ = __name__
    lowering_rules.add(primitive, rule)


@functools.lru_cache(maxsize=None)
def _program_of_parts(of_parts: Callable, aval: ShapedArray, accuracy: Any) -> ClosedJaxpr:
    """`of_parts(a, b, sin a, cos a, sinh b, cosh b)`, the parts of the result, as a program of a + ib."""
    def program(x: Value) -> list[Any]:
        a, b = op.real(x), op.imag(x)
        grown, shrunk = op.expm1(b, accuracy=accuracy), op.expm1(op.neg(b), accuracy=accuracy)
        sinh, cosh = op.mul(op.sub(grown, shrunk), 0.5), op.mul(op.add(op.add(grown, shrunk), 2.0), 0.5)
        return [op.complex(*of_parts(a, b, op.sin(a, accuracy=accuracy), op.cos(a, accuracy=accuracy), sinh, cosh))]
    return stage(program, [aval], name="trigonometric")


def _unless_zero(a: Value, product: ArrayLike, value: Value) -> Array:
    """The product, but where its factor sin a is 0 because a is, a zero: also times infinity."""
    return op.select(op.eq(a, 0.0), value, product)


def _sin_of_parts(a: Value, b: Value, sin: ArrayLike, cos: ArrayLike, sinh: ArrayLike, cosh: ArrayLike) -> tuple[Any, Any]:
    return _unless_zero(a, op.mul(sin, cosh), a), op.mul(cos, sinh)


def _cos_of_parts(a: Value, b: Value, sin: ArrayLike, cos: ArrayLike, sinh: ArrayLike, cosh: ArrayLike) -> tuple[Any, Any]:
    zero = op.select(op.ne(b, b), op.neg(a), op.mul(a, op.sign(b)))  # also for a NaN, as in C99
    return op.mul(cos, cosh), op.neg(_unless_zero(a, op.mul(sin, sinh), zero))


_define_trigonometric(op.sin_p, "stablehlo.sine", _sin_of_parts)
_define_trigonometric(op.cos_p, "stablehlo.cosine", _cos_of_parts)

for _primitive, _name in [
        (op.neg_p, "stablehlo.negate"), (op.floor_p, "stablehlo.floor"), (op.ceil_p, "stablehlo.ceil"),
        (op.is_finite_p, "stablehlo.is_finite"), (op.asin_p, "chlo.asin"), (op.acos_p, "chlo.acos"),
        (op.atan_p, "chlo.atan"), (op.sinh_p, "chlo.sinh"), (op.cosh_p, "chlo.cosh"), (op.asinh_p, "chlo.asinh"),
        (op.acosh_p, "chlo.acosh"), (op.atanh_p, "chlo.atanh"), (op.real_p, "stablehlo.real"),
        (op.imag_p, "stablehlo.imag"), (op.complex_p, "stablehlo.complex"), (op.not_p, "stablehlo.not"),
        (op.population_count_p, "stablehlo.popcnt"), (op.clz_p, "stablehlo.count_leading_zeros"),
        (op.add_p, "stablehlo.add"), (op.sub_p, "stablehlo.subtract"), (op.mul_p, "stablehlo.multiply"),
        (op.div_p, "stablehlo.divide"), (op.rem_p, "stablehlo.remainder"), (op.atan2_p, "stablehlo.atan2"),
        (op.nextafter_p, "chlo.next_after"), (op.and_p, "stablehlo.and"), (op.or_p, "stablehlo.or"),
        (op.xor_p, "stablehlo.xor"), (op.shift_left_p, "stablehlo.shift_left"),
        (op.shift_right_arithmetic_p, "stablehlo.shift_right_arithmetic"),
        (op.shift_right_logical_p, "stablehlo.shift_right_logical")]:
    _define(_primitive, _name)


@lowering_rule(op.mulhi_p)
def _lower_mulhi(ctx: FunctionWriter, x: Value, y: Value) -> Value:
    (aval,) = ctx.avals_out
    bits = dtypes.bit_width(aval.dtype)
    if bits >= 8:
        return ctx.emit_elementwise("chlo.mulhi", [x, y])
    # Below a byte XLA computes in bytes (seen with jaxlib 0.10.2), which hold the whole product.
    signed = dtypes.issubdtype(aval.dtype, dtypes.signedinteger)
    wide = aval.update(dtype=np.dtype(np.int8 if signed else np.uint8))
    factors = [ctx.convert(v if v.shape == aval.shape else ctx.broadcast_to(v, aval.shape), wide.dtype) for v in (x, y)]
    product = ctx.emit("stablehlo.multiply", factors, results=[wide])
    shift = "stablehlo.shift_right_arithmetic" if signed else "stablehlo.shift_right_logical"
    return ctx.convert(ctx.emit(shift, [product, ctx.constant(bits, wide.dtype, wide.shape)], results=[wide]), aval.dtype)


@lowering_rule(op.square_p)
def _lower_square(ctx: FunctionWriter, x: Value) -> Value:
    if dtypes.issubdtype(x.dtype, dtypes.integer):  # chlo.square has no integers
        return ctx.emit("stablehlo.multiply", [x, x])
    return ctx.emit("chlo.square", [x])


@lowering_rule(op.abs_p)
def _lower_abs(ctx: FunctionWriter, x: Value) -> Value:
    magnitude = ctx.emit("stablehlo.abs", [x])
    if not dtypes.issubdtype(x.dtype, dtypes.complexfloating):
        return magnitude
    return ctx.run(_infinite_magnitude(x.aval.strip_weak_type(), magnitude.aval.strip_weak_type()), [x, magnitude])[0]


@functools.lru_cache(maxsize=None)
def _infinite_magnitude(aval: ShapedArray, magnitude: ShapedArray) -> ClosedJaxpr:
    """The magnitudes of complex numbers: infinity where a part is, also beside a NaN (C99, G.5.1), where XLA has NaN."""
    def program(x: Value, magnitude: Any) -> list[Any]:
        infinite = [op.eq(op.abs(part), np.inf) for part in (op.real(x), op.imag(x))]
        return [op.select(op.bitwise_or(*infinite), full_like(magnitude, np.inf), magnitude)]
    return stage(program, [aval, magnitude], name="magnitude")


@lowering_rule(op.exp2_p)
def _lower_exp2(ctx: FunctionWriter, x: Value, accuracy: Any = None) -> Value:
    scaled = ctx.emit("stablehlo.multiply", [x, ctx.constant(np.log(2), x.dtype, x.shape)], results=[x.aval])
    attributes = {} if accuracy is None else {"result_accuracy": _accuracy_text(accuracy)}
    return ctx.emit("stablehlo.exponential", [scaled], attributes=attributes)


@lowering_rule(op.log2_p)
def _lower_log2(ctx: FunctionWriter, x: Value, accuracy: Any = None) -> Value:
    attributes = {} if accuracy is None else {"result_accuracy": _accuracy_text(accuracy)}
    logarithm = ctx.emit("stablehlo.log", [x], attributes=attributes)
    if not dtypes.issubdtype(x.dtype, dtypes.complexfloating):
        return ctx.emit("stablehlo.multiply", [logarithm, ctx.constant(1 / np.log(2), x.dtype, x.shape)], results=[logarithm.aval])
    return ctx.run(_over_log_2(x.aval.strip_weak_type()), [logarithm])[0]


@functools.lru_cache(maxsize=None)
def _over_log_2(aval: ShapedArray) -> ClosedJaxpr:
    """Complex logarithms over log 2, part by part: infinity times the factor's imaginary 0 would be NaN."""
    def program(x: Value) -> list[Any]:
        return [op.complex(*(op.mul(part, float(1 / np.log(2))) for part in (op.real(x), op.imag(x))))]
    return stage(program, [aval], name="log2")


@lowering_rule(op.one_minus_square_p)
def _lower_one_minus_square(ctx: FunctionWriter, x: Value) -> Value:
    one = ctx.constant(1, x.dtype, x.shape)
    return ctx.emit("stablehlo.multiply", [ctx.emit("stablehlo.add", [one, x]), ctx.emit("stablehlo.subtract", [one, x])])


@lowering_rule(op.sign_p)
def _lower_sign(ctx: FunctionWriter, x: Value) -> Value:
    if not dtypes.issubdtype(x.dtype, dtypes.unsignedinteger):
        return ctx.emit("stablehlo.sign", [x])
    zero, one = ctx.constant(0, x.dtype, x.shape), ctx.constant(1, x.dtype, x.shape)
    return select(ctx, compare(ctx, x, zero, "EQ"), zero, one, x.aval)


@lowering_rule(op.round_p)
def _lower_round(ctx: FunctionWriter, x: Value, *, rounding_method: RoundingMethod) -> Value:
    even = rounding_method == op.RoundingMethod.TO_NEAREST_EVEN
    return ctx.emit("stablehlo.round_nearest_even" if even else "stablehlo.round_nearest_afz", [x])


@lowering_rule(op.conj_p)
def _lower_conj(ctx: FunctionWriter, x: Value, *, input_dtype: np.dtype) -> Value:
    if not dtypes.issubdtype(x.dtype, dtypes.complexfloating):
        return ctx.emit("stablehlo.complex", [x, ctx.constant(0, x.dtype, x.shape)])
    return ctx.emit("chlo.conj", [x])


@lowering_rule(op.integer_pow_p)
def _lower_integer_pow(ctx: FunctionWriter, x: Value, *, y: int) -> Value:
    """Repeated squaring; a negative power is the reciprocal of the positive one."""
    if y == 0:
        return ctx.constant(1, x.dtype, x.shape)

    def multiply(a: Value, b: Value) -> Value:
        return ctx.emit("stablehlo.multiply", [a, b], results=[x.aval])

    result: Value | None = None
    base, n = x, abs(y)
    while n:
        if n & 1:
            result = base if result is None else multiply(result, base)
        n >>= 1
        if n:
            base = multiply(base, base)
    assert result is not None  # the highest bit of y was met
    return ctx.emit("stablehlo.divide", [ctx.constant(1, x.dtype, x.shape), result], results=[x.aval]) if y < 0 else result


@lowering_rule(op.pow_p)
def _lower_pow(ctx: FunctionWriter, x: Value, y: Value) -> Value:
    if y.dtype != x.dtype:
        y = ctx.convert(y, x.dtype)
    return ctx.emit_elementwise("stablehlo.power", [x, y])


def _extremum(name: str, direction: str) -> Callable:
    def rule(ctx: FunctionWriter, x: Value, y: Value) -> Any:
        aval = ctx.avals_out[0]
        if not dtypes.issubdtype(aval.dtype, dtypes.complexfloating):
            return ctx.emit_elementwise(name, [x, y])
        x, y = ctx.broadcast_to(x, aval.shape) if x.shape != aval.shape else x, \
            ctx.broadcast_to(y, aval.shape) if y.shape != aval.shape else y
        return select(ctx, complex_order(ctx, x, y, direction), x, y, aval)
    return rule


lowering_rule(op.max_p)(_extremum("stablehlo.maximum", "GT"))
lowering_rule(op.min_p)(_extremum("stablehlo.minimum", "LT"))


def _comparison(direction: str, is_total: bool = False) -> Callable:
    def rule(ctx: FunctionWriter, x: Value, y: Value) -> Any:
        shape = ctx.avals_out[0].shape
        if dtypes.is_extended(x.dtype):
            return _compare_keys(ctx, x, y, direction, shape)
        x = x if x.shape == shape else ctx.broadcast_to(x, shape)
        y = y if y.shape == shape else ctx.broadcast_to(y, shape)
        if direction not in ("EQ", "NE") and dtypes.issubdtype(x.dtype, dtypes.complexfloating):
            return complex_order(ctx, x, y, direction)
        kind = compare_type(x.dtype)
        return compare(ctx, x, y, direction, "TOTALORDER" if is_total and kind == "FLOAT" else kind)
    return rule


def _compare_keys(ctx: FunctionWriter, x: Value, y: Value, direction: str, shape: Sequence[int]) -> Any:
    """Keys are equal when all words of their data are."""
    x = x if x.shape == shape else ctx.broadcast_to(x, shape)
    y = y if y.shape == shape else ctx.broadcast_to(y, shape)
    data = physical_aval(x.aval)
    words = compare(ctx, Value(x.name, data), Value(y.name, data), direction)
    joined = "stablehlo.and" if direction == "EQ" else "stablehlo.or"
    scalar = ShapedArray((), np.dtype(bool))
    region = ctx.region([scalar, scalar], lambda a, b: ctx.emit(joined, [a, b], results=[scalar]))
    axes = ", ".join(str(i) for i in range(len(shape), data.ndim))
    return ctx.emit("stablehlo.reduce", [words, ctx.constant(direction == "EQ", bool)],
                    attributes={"dimensions": f"array<i64: {axes}>"}, regions=[region])


for _primitive, _direction in [(op.eq_p, "EQ"), (op.ne_p, "NE"), (op.lt_p, "LT"), (op.le_p, "LE"), (op.gt_p, "GT"),
                               (op.ge_p, "GE")]:
    lowering_rule(_primitive)(_comparison(_direction))
for _primitive, _direction in [(op.eq_to_p, "EQ"), (op.lt_to_p, "LT"), (op.le_to_p, "LE")]:
    lowering_rule(_primitive)(_comparison(_direction, is_total=True))


@lowering_rule(op.select_n_p)
def _lower_select_n(ctx: FunctionWriter, which: Value, *cases: Value) -> Value:
    """Two cases are one select; more are a binary search on the index."""
    aval = ctx.avals_out[0]
    if len(cases) == 1:
        return cases[0]
    if which.dtype == bool:
        return select(ctx, _predicate(ctx, which, aval), cases[1], cases[0], aval)

    def choose(low: int, high: int) -> Any:
        if high - low == 1:
            return cases[low]
        middle = (low + high) // 2
        below = compare(ctx, which, ctx.constant(middle, which.dtype, which.shape), "LT")
        return select(ctx, _predicate(ctx, below, aval), choose(low, middle), choose(middle, high), aval)

    return choose(0, len(cases))


def _predicate(ctx: FunctionWriter, pred: Value, aval: ShapedArray) -> Value:
    """A scalar predicate serves arrays of any shape, except key arrays, whose data have axes of their own."""
    if not dtypes.is_extended(aval.dtype):
        return pred
    data = physical_aval(aval)
    dims = ", ".join(map(str, range(pred.aval.ndim)))
    return ctx.emit("stablehlo.broadcast_in_dim", [pred], results=[ShapedArray(data.shape, np.dtype(bool))],
                    attributes={"broadcast_dimensions": f"array<i64: {dims}>" if dims else "array<i64>"}) if data.ndim else pred


@lowering_rule(op.clamp_p)
def _lower_clamp(ctx: FunctionWriter, low: Value, x: Value, high: Value) -> Value:
    return ctx.emit("stablehlo.clamp", [low, x, high])


@lowering_rule(op.convert_element_type_p)
def _lower_convert(ctx: FunctionWriter, x: Value, *, new_dtype: np.dtype, weak_type: bool, sharding: Any = None) -> Value:
    aval = ctx.avals_out[0]
    if x.dtype == aval.dtype:
        return type(x)(x.name, aval)
    if aval.dtype == bool:  # StableHLO's convert to i1 keeps the lowest bit of some types; the meaning is x != 0
        return compare(ctx, x, ctx.constant(0, x.dtype, x.shape), "NE")
    return ctx.emit("stablehlo.convert", [x])


@lowering_rule(op.bitcast_convert_type_p)
def _lower_bitcast(ctx: FunctionWriter, x: Value, *, new_dtype: np.dtype) -> Value:
    return ctx.emit("stablehlo.bitcast_convert", [x])


@lowering_rule(op.reduce_precision_p)
def _lower_reduce_precision(ctx: FunctionWriter, x: Value, *, exponent_bits: int, mantissa_bits: int) -> Value:
    return ctx.emit("stablehlo.reduce_precision", [x], attributes={"exponent_bits": f"{exponent_bits} : i32",
                                                                    "mantissa_bits": f"{mantissa_bits} : i32"})


@lowering_rule(op.copy_p, op.stop_gradient_p)
def _lower_identity(ctx: FunctionWriter, x: Value, **_params: Any) -> Value:
    return x


@lowering_rule(op.optimization_barrier_p)
def _lower_optimization_barrier(ctx: FunctionWriter, *operands: Value) -> list[Value]:
    if not operands:
        return []
    result = ctx.emit("stablehlo.optimization_barrier", operands)
    return result if isinstance(result, list) else [result]
