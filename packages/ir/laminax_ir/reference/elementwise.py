"""NumPy meaning of the elementwise operations.

Narrow floats are computed in float32 and rounded once by the evaluator. Division, remainder and shifts follow
StableHLO where NumPy and C leave them undefined: x / 0 is -1 (all bits), x rem 0 is x, and a shift by the
width or more gives 0 (or the sign).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.key_arrays.extended_arrays import stored_in
from laminax_ir.ops import elementwise as op
from laminax_ir.programs.primitive import Primitive
from laminax_ir.reference.evaluate import reference_rule
from laminax_ir.reference.ordering import total_order
from laminax_ir.reference.widening import widened
from laminax_ir.types import dtypes

if TYPE_CHECKING:
    from laminax_ir.ops.elementwise import RoundingMethod
    from laminax_ir.types.annotations import ArrayLike


def _define(primitive: Primitive, function: Any) -> None:
    reference_rule.add(primitive, lambda *operands, **params: function(*map(widened, operands), **params))


def _is_integer(x: np.ndarray) -> bool:
    return dtypes.issubdtype(x.dtype, dtypes.integer)


def _is_complex(x: np.ndarray) -> bool:
    return x.dtype.kind == "c"


def _equal(x: np.ndarray, y: np.ndarray) -> Any:
    """Where elements are equal: those of extended dtypes, which are records here, where all numbers that store them are."""
    if x.dtype.names is None or x.dtype == dtypes.float0:
        return np.equal(x, y)
    x, y = np.broadcast_arrays(x, y)
    are_equal = stored_in(x) == stored_in(y)
    return are_equal.all(axis=tuple(range(x.ndim, are_equal.ndim)))


def _cbrt(x: np.ndarray) -> ArrayLike:
    return np.cbrt(x)


def _sign(x: np.ndarray) -> np.ndarray:
    if _is_complex(x):
        magnitude = np.abs(x)
        return np.where(magnitude == 0, x, x / np.where(magnitude == 0, 1, magnitude))
    return np.where(x == 0, x, np.sign(x))  # keeps the sign of zero, which np.sign drops


def _round_half_away(x: np.ndarray, *, rounding_method: RoundingMethod) -> ArrayLike:
    if rounding_method == op.RoundingMethod.TO_NEAREST_EVEN:
        return np.round(x)
    truncated = np.trunc(x)
    return np.where(np.abs(x - truncated) >= 0.5, truncated + np.sign(x), np.where(x == truncated, x, truncated))


def _logistic(x: np.ndarray) -> ArrayLike:
    small = np.exp(np.where(x.real < 0, x, -x))  # never overflows
    return np.where(x.real < 0, small, 1) / (1 + small)


def _integer_pow(x: np.ndarray, *, y: Any) -> np.ndarray:
    if _is_integer(x):
        result, base, n = np.ones_like(x), x, y
        while n:
            result = result * base if n & 1 else result
            base, n = base * base, n >> 1
        return result
    return x ** y if y >= 0 else 1 / x ** -y


def _log2(x: np.ndarray) -> np.ndarray:
    if not _is_complex(x):
        return np.log2(x)
    logarithm = np.log(x)  # a multiple part by part: infinity times the factor's imaginary 0 would be NaN
    return _complex(logarithm.real / np.log(2), logarithm.imag / np.log(2))


def _define_accurate(primitive: Primitive, function: Any) -> None:
    """Defines a function whose parameter `accuracy`, meant for the compiler, does not change the meaning."""
    reference_rule.add(primitive, lambda x, accuracy=None: function(widened(x)))


for _primitive, _function in [
        (op.exp_p, np.exp), (op.exp2_p, np.exp2), (op.expm1_p, np.expm1), (op.log_p, np.log), (op.log1p_p, np.log1p), (op.log2_p, _log2),
        (op.logistic_p, _logistic), (op.sqrt_p, np.sqrt), (op.rsqrt_p, lambda x: 1 / np.sqrt(x)), (op.cbrt_p, _cbrt),
        (op.sin_p, np.sin), (op.cos_p, np.cos), (op.tan_p, np.tan), (op.tanh_p, np.tanh)]:
    _define_accurate(_primitive, _function)

for _primitive, _function in [
        (op.neg_p, np.negative), (op.sign_p, _sign), (op.floor_p, np.floor), (op.ceil_p, np.ceil),
        (op.round_p, _round_half_away), (op.is_finite_p, np.isfinite), (op.abs_p, np.abs), (op.asin_p, np.arcsin),
        (op.acos_p, np.arccos), (op.atan_p, np.arctan), (op.sinh_p, np.sinh), (op.cosh_p, np.cosh),
        (op.asinh_p, np.arcsinh), (op.acosh_p, np.arccosh), (op.atanh_p, np.arctanh), (op.real_p, np.real),
        (op.imag_p, np.imag), (op.square_p, lambda x: x * x),
        (op.one_minus_square_p, lambda x: (1 + x) * (1 - x)), (op.integer_pow_p, _integer_pow)]:
    _define(_primitive, _function)


@reference_rule(op.conj_p)
def _conj(x: np.ndarray, *, input_dtype: np.dtype) -> ArrayLike:
    return np.conj(x) if _is_complex(x) else _complex(x, np.zeros((), x.dtype))


@reference_rule(op.complex_p)
def _complex(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    x, y = np.broadcast_arrays(x, y)
    result = np.empty(x.shape, np.result_type(x.dtype, np.complex64))
    result.real, result.imag = x, y
    return result


@reference_rule(op.not_p)
def _not(x: np.ndarray) -> ArrayLike:
    return np.invert(widened(x))


@reference_rule(op.copy_p, op.stop_gradient_p)
def _identity(x: np.ndarray, **_params: Any) -> np.ndarray:
    return x


# Arithmetic of two operands


def _div(x: np.ndarray, y: np.ndarray) -> ArrayLike:
    if not _is_integer(x):
        return np.divide(x, y)
    safe = np.where(y == 0, 1, y).astype(y.dtype)
    # rounding towards zero; the most negative integer over -1 wraps around to itself
    quotient = np.where(safe == -1, -x, x) if x.dtype.kind == "i" else x
    safe = np.where(safe == -1, 1, safe) if x.dtype.kind == "i" else safe
    floored = quotient // safe
    truncated = floored + ((quotient % safe != 0) & ((quotient < 0) != (safe < 0))).astype(x.dtype)
    return np.where(y == 0, np.array(-1).astype(x.dtype), truncated)


@reference_rule(op.mulhi_p)
def _mulhi(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """In integers without bounds; the shift rounds towards minus infinity, as the high bits of a negative number do."""
    high = np.asarray(x.astype(object) * y.astype(object) >> dtypes.bit_width(x.dtype))
    return high.astype(np.int64 if x.dtype.kind != "u" else np.uint64)


def _rem(x: np.ndarray, y: np.ndarray) -> ArrayLike:
    if not _is_integer(x):
        return np.fmod(x, y)
    safe = np.where((y == 0) | (y == -1 if x.dtype.kind == "i" else False), 1, y).astype(y.dtype)
    return np.where(y == 0, x, np.fmod(x, safe))


def _atan2(y: np.ndarray, x: np.ndarray) -> ArrayLike:
    if not _is_complex(y):
        return np.arctan2(y, x)
    y, x = y.astype(np.complex128), x.astype(np.complex128)  # the logarithm is of a number near 1
    return -1j * np.log((x + 1j * y) / np.sqrt(x * x + y * y))


def _maximum(x: np.ndarray, y: np.ndarray) -> ArrayLike:
    if _is_complex(x):
        return _lexicographic(x, y, np.greater)
    return np.maximum(x, y)


def _minimum(x: np.ndarray, y: np.ndarray) -> ArrayLike:
    if _is_complex(x):
        return _lexicographic(x, y, np.less)
    return np.minimum(x, y)


def _lexicographic(x: np.ndarray, y: np.ndarray, wins: Callable) -> np.ndarray:
    first = wins(x.real, y.real) | ((x.real == y.real) & wins(x.imag, y.imag))
    chosen = np.where(first, x, y)
    return np.where(np.isnan(x), x, np.where(np.isnan(y), y, chosen))


for _primitive, _function in [
        (op.add_p, np.add), (op.sub_p, np.subtract), (op.mul_p, np.multiply), (op.div_p, _div), (op.rem_p, _rem),
        (op.max_p, _maximum), (op.min_p, _minimum), (op.atan2_p, _atan2), (op.and_p, np.bitwise_and), (op.or_p, np.bitwise_or),
        (op.xor_p, np.bitwise_xor), (op.eq_p, _equal), (op.ne_p, lambda x, y: ~_equal(x, y))]:
    _define(_primitive, _function)


def _define_comparison(primitive: Primitive, compare: Callable) -> None:
    def function(x: np.ndarray, y: np.ndarray) -> Any:
        if _is_complex(x):  # lexicographic, by real part first
            return compare(x.real, y.real) & (x.real != y.real) | ((x.real == y.real) & compare(x.imag, y.imag))
        return compare(x, y)
    _define(primitive, function)


_define_comparison(op.lt_p, np.less)
_define_comparison(op.le_p, np.less_equal)
_define_comparison(op.gt_p, np.greater)
_define_comparison(op.ge_p, np.greater_equal)


def _define_total_order(primitive: Primitive, compare: Callable) -> None:
    reference_rule.add(primitive, lambda x, y: compare(total_order(x), total_order(y)))


_define_total_order(op.eq_to_p, np.equal)
_define_total_order(op.lt_to_p, np.less)
_define_total_order(op.le_to_p, np.less_equal)


@reference_rule(op.nextafter_p)
def _nextafter(x: np.ndarray, y: np.ndarray) -> ArrayLike:
    return np.nextafter(x, y)  # in the operands' own dtype: the next value depends on it


@reference_rule(op.pow_p)
def _pow(x: np.ndarray, y: np.ndarray) -> ArrayLike:
    if _is_integer(y):
        return np.power(widened(x), widened(y).astype(widened(x).dtype))
    return np.power(widened(x), widened(y))


# Bits


def _unsigned(x: np.ndarray) -> tuple[ArrayLike, int]:
    bits = dtypes.bit_width(x.dtype)
    return x.astype(np.int64).astype(np.uint64) & np.uint64((1 << bits) - 1), bits


@reference_rule(op.population_count_p)
def _population_count(x: np.ndarray) -> ArrayLike:
    value, bits = _unsigned(x)
    return sum(((value >> np.uint64(i)) & np.uint64(1)).astype(np.int64) for i in range(bits))


@reference_rule(op.clz_p)
def _clz(x: np.ndarray) -> ArrayLike:
    value, bits = _unsigned(x)
    width = np.zeros(x.shape, np.int64)
    for i in range(bits):
        width = np.where((value >> np.uint64(i)) & np.uint64(1) != 0, i + 1, width)
    return bits - width


@reference_rule(op.shift_left_p)
def _shift_left(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    value, bits = _unsigned(x)
    count, _ = _unsigned(y)
    shifted = value << np.minimum(count, np.uint64(63))
    return np.where(count >= bits, np.uint64(0), shifted).astype(_wrapping(x.dtype))


@reference_rule(op.shift_right_logical_p)
def _shift_right_logical(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    value, bits = _unsigned(x)
    count, _ = _unsigned(y)
    shifted = value >> np.minimum(count, np.uint64(63))
    return np.where(count >= bits, np.uint64(0), shifted).astype(_wrapping(x.dtype))


@reference_rule(op.shift_right_arithmetic_p)
def _shift_right_arithmetic(x: np.ndarray, y: np.ndarray) -> ArrayLike:
    count, bits = _unsigned(y)
    wide = x.astype(np.int64) if x.dtype != np.uint64 else x.view(np.int64)
    if x.dtype.kind == "u" or dtypes.issubdtype(x.dtype, dtypes.unsignedinteger):  # the sign bit is the top bit
        top = np.int64(1) << np.int64(bits - 1)
        wide = wide if bits == 64 else np.where(wide & top, wide - (np.int64(1) << np.int64(bits)), wide)
    shifted = wide >> np.minimum(count, np.uint64(bits - 1)).astype(np.int64)
    return shifted.astype(_wrapping(x.dtype))


def _wrapping(dtype: np.dtype) -> Any:
    """A NumPy dtype whose conversion to `dtype` keeps the low bits."""
    return dtype if dtype.kind in "iu" else np.int32


# Choice and conversion


@reference_rule(op.select_n_p)
def _select_n(which: np.ndarray, *cases: np.ndarray) -> np.ndarray:
    if len(cases) == 1:
        return cases[0]
    last = len(cases) - 1
    index = np.where(which >= last, last, which)  # what is below 0 is none of the others
    result = cases[0]
    for i, case in enumerate(cases[1:], start=1):
        result = np.where(index == i, case, result)
    return result.astype(cases[0].dtype)


@reference_rule(op.clamp_p)
def _clamp(low: np.ndarray, x: np.ndarray, high: np.ndarray) -> ArrayLike:
    low, wide, high = widened(low), widened(x), widened(high)
    if _is_complex(x):  # by the real parts alone, as XLA does it; the specification leaves complex numbers out
        raised = np.where(low.real >= wide.real, low, wide)
        return np.where(raised.real <= high.real, raised, high)
    return np.minimum(np.maximum(wide, low), high)


@reference_rule(op.convert_element_type_p)
def _convert(x: np.ndarray, *, new_dtype: np.dtype, weak_type: bool, sharding: Any = None) -> np.ndarray:
    new_dtype = np.dtype(new_dtype)
    if new_dtype == bool:
        return widened(x) != 0
    if dtypes.issubdtype(new_dtype, dtypes.integer) and not _is_integer(x) and x.dtype != bool:
        return _saturating(widened(x), new_dtype)
    if _is_complex(x) and new_dtype.kind != "c":
        x = x.real
    return widened(x).astype(new_dtype)


def _saturating(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Floats to integers as XLA converts them: towards zero, clamped to the range, NaN to 0."""
    info = dtypes.iinfo(dtype)
    x = np.trunc(np.nan_to_num(x.astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf))
    low, high = int(info.min), int(info.max)
    inside = np.where((x > low) & (x < high), x, 0)
    wide = inside.astype(np.uint64 if high > 2**63 - 1 else np.int64)
    return np.where(x >= high, np.array(high, wide.dtype), np.where(x <= low, np.array(low, wide.dtype), wide)).astype(dtype)


@reference_rule(op.bitcast_convert_type_p)
def _bitcast(x: np.ndarray, *, new_dtype: np.dtype) -> np.ndarray:
    new_dtype = np.dtype(new_dtype)
    if min(dtypes.bit_width(x.dtype), dtypes.bit_width(new_dtype)) < 8:
        return _bitcast_subbyte(x, new_dtype)
    x = np.ascontiguousarray(x).reshape(x.shape)
    if new_dtype.itemsize == x.dtype.itemsize:
        return x.view(new_dtype)
    if new_dtype.itemsize < x.dtype.itemsize:
        return x.reshape(*x.shape, 1).view(new_dtype)
    return x.view(new_dtype).reshape(x.shape[:-1])


def _bitcast_subbyte(x: np.ndarray, new_dtype: np.dtype) -> np.ndarray:
    """By way of the bits, least significant first."""
    old_bits, new_bits = dtypes.bit_width(x.dtype), dtypes.bit_width(new_dtype)
    source = np.ascontiguousarray(x).view(np.uint8).reshape(*x.shape, x.dtype.itemsize)
    bits = np.unpackbits(source, axis=-1, bitorder="little")[..., :old_bits]
    bits = bits.reshape(*x.shape, old_bits // new_bits, new_bits) if old_bits >= new_bits else \
        bits.reshape(*x.shape[:-1], 1, new_bits)
    padded = np.zeros((*bits.shape[:-1], new_dtype.itemsize * 8), np.uint8)
    padded[..., :new_bits] = bits
    packed = np.ascontiguousarray(np.packbits(padded, axis=-1, bitorder="little")).view(new_dtype)[..., 0]
    return packed[..., 0] if old_bits <= new_bits else packed


@reference_rule(op.reduce_precision_p)
def _reduce_precision(x: np.ndarray, *, exponent_bits: int, mantissa_bits: int) -> np.ndarray:
    """Rounds the significand to nearest even, a subnormal number's at the same bit as the least normal one's. Fewer exponent
    bits than the dtype has make what is too large infinite, and what is too small for a normal number zero."""
    info = dtypes.finfo(x.dtype)
    wide = x.astype(np.float64)
    exponent = np.maximum(np.frexp(wide)[1], info.minexp + 1)
    rounded = np.ldexp(np.rint(np.ldexp(wide, mantissa_bits + 1 - exponent)), exponent - mantissa_bits - 1)
    if exponent_bits < info.nexp:
        highest = 2.0 ** (2 ** (exponent_bits - 1) - 1) * (2 - 2.0 ** -mantissa_bits)
        lowest = 2.0 ** (2 - 2 ** (exponent_bits - 1))
        rounded = np.where(np.abs(rounded) > highest, np.copysign(np.inf, wide), rounded)
        rounded = np.where(np.abs(rounded) < lowest, np.copysign(0.0, wide), rounded)
    return np.where(np.isfinite(wide), rounded, wide)


@reference_rule(op.optimization_barrier_p)
def _optimization_barrier(*operands: np.ndarray) -> list[np.ndarray]:
    return list(operands)
