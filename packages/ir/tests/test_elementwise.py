"""Elementwise operations: what they refuse, and what they compute.

Oracles: CPython's `math`, `cmath` and unbounded integers, one element at a time, rounded to the dtype; ml_dtypes and
`struct` for bit patterns.
"""

from __future__ import annotations

import cmath
import inspect
import math
import struct

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laminax_ir.ops import elementwise as op
from laminax_ir.ops import elementwise_primitives, special
from laminax_ir.options.config import enable_x64
from laminax_ir.programs.primitive import Primitive, Trait
from laminax_ir.recording.staging import stage
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.errors import DTypeError, ShapeError


@pytest.fixture(autouse=True)
def x64():
    with enable_x64():
        yield


FLOATS = [np.float16, np.float32, np.float64, ml_dtypes.bfloat16]
NARROW_FLOATS = [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2]
INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64,
            ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.int2, ml_dtypes.uint2]
SPECIAL = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.0, -2.5, 3.25, 7.0, -8.0, 100.0, np.inf, -np.inf, np.nan]


def or_nan(function, overflow=math.inf):
    """A function of `math` with IEEE 754's answers instead of exceptions."""
    def total(*values):
        try:
            return function(*values)
        except OverflowError:
            return overflow(*values) if callable(overflow) else overflow
        except ValueError:
            return math.nan
    return total


def half_away(x):
    return math.copysign(math.floor(abs(x) + 0.5), x) if math.isfinite(x) else x


def keep_special(function):
    """floor and ceil of `math` return ints; of infinities, NaN and zeros the value itself is right."""
    return lambda x: x if not math.isfinite(x) or x == 0 else math.copysign(float(function(x)), x)


def log_or_inf(function, pole=0.0):
    return lambda x: -math.inf if x == pole else or_nan(function)(x)


UNARY = {
    op.neg: lambda x: -x, op.abs: abs, op.square: or_nan(lambda x: x * x),
    op.sign: lambda x: x if x == 0 or math.isnan(x) else math.copysign(1.0, x),
    op.floor: keep_special(math.floor), op.ceil: keep_special(math.ceil), op.round: half_away,
    op.exp: or_nan(math.exp), op.exp2: or_nan(math.exp2), op.expm1: or_nan(math.expm1),
    op.log: log_or_inf(math.log), op.log1p: log_or_inf(math.log1p, -1.0),
    op.logistic: lambda x: 1 / (1 + or_nan(math.exp)(-x)),
    op.sqrt: or_nan(math.sqrt), op.cbrt: math.cbrt,
    op.rsqrt: lambda x: math.copysign(math.inf, x) if x == 0 else 1 / or_nan(math.sqrt)(x),
    op.sin: or_nan(math.sin), op.cos: or_nan(math.cos), op.tan: or_nan(math.tan),
    op.asin: or_nan(math.asin), op.acos: or_nan(math.acos), op.atan: math.atan,
    op.sinh: or_nan(math.sinh, lambda x: math.copysign(math.inf, x)), op.cosh: or_nan(math.cosh), op.tanh: math.tanh,
    op.asinh: math.asinh, op.acosh: or_nan(math.acosh),
    op.atanh: lambda x: math.copysign(math.inf, x) if abs(x) == 1 else or_nan(math.atanh)(x),
}


def rounded(values, dtype):
    with np.errstate(all="ignore"):
        return np.array(values, np.float64).astype(dtype)


def assert_close(got, want, ulps):
    """Equal up to some units in the last place; zeros, infinities and NaNs exactly, signs of zeros included."""
    assert got.dtype == want.dtype and got.shape == want.shape
    dtype = want.dtype
    got, want = got.astype(np.float64), want.astype(np.float64)
    tiny = float(dtypes.finfo(dtype).smallest_subnormal)
    np.testing.assert_allclose(got, want, rtol=ulps * float(dtypes.finfo(dtype).eps), atol=ulps * tiny)
    np.testing.assert_array_equal(np.signbit(got[want == 0]), np.signbit(want[want == 0]))


@pytest.mark.parametrize("dtype", FLOATS + NARROW_FLOATS, ids=lambda t: t.__name__)
@pytest.mark.parametrize("fun", UNARY, ids=lambda f: f.__name__)
def test_unary_floats_follow_math(fun, dtype):
    x = rounded(SPECIAL, dtype)
    want = rounded([UNARY[fun](v) for v in x.astype(np.float64).tolist()], dtype)
    # 2 ulps: NumPy's float32 kernels and libm each err by less than one.
    assert_close(fun(x), want, 2 if dtype in FLOATS else 1)


def test_round_to_nearest_even_is_pythons_round():
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 2.4, 1e30], np.float32)
    np.testing.assert_array_equal(op.round(x, op.RoundingMethod.TO_NEAREST_EVEN), [float(round(float(v))) for v in x])


def test_is_finite():
    x = np.array([0, 1, np.inf, -np.inf, np.nan], np.float32)
    assert op.is_finite(x).tolist() == [True, True, False, False, False]


COMPLEX = [0.3 + 0.2j, -1.5 + 2j, 2 - 0.7j, -0.4 - 3j, 1j, -2 + 0.5j]
UNARY_COMPLEX = {
    op.exp: cmath.exp, op.log: cmath.log, op.sqrt: cmath.sqrt, op.sin: cmath.sin, op.cos: cmath.cos, op.tan: cmath.tan,
    op.asin: cmath.asin, op.acos: cmath.acos, op.atan: lambda z: cmath.atan(z) if z != 1j else complex(0, math.inf),
    op.sinh: cmath.sinh, op.cosh: cmath.cosh, op.tanh: cmath.tanh, op.asinh: cmath.asinh, op.acosh: cmath.acosh,
    op.atanh: cmath.atanh, op.exp2: lambda z: 2 ** z, op.expm1: lambda z: cmath.exp(z) - 1,
    op.log1p: lambda z: cmath.log(1 + z), op.logistic: lambda z: 1 / (1 + cmath.exp(-z)),
    op.rsqrt: lambda z: 1 / cmath.sqrt(z), op.neg: lambda z: -z, op.square: lambda z: z * z,
    op.sign: lambda z: z / abs(z), op.conj: lambda z: z.conjugate(),
}


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128], ids=lambda t: t.__name__)
@pytest.mark.parametrize("fun", UNARY_COMPLEX, ids=lambda f: f.__name__)
def test_unary_complex_follow_cmath(fun, dtype):
    x = np.array([z for z in COMPLEX if not (fun is op.atan and z == 1j)], dtype)
    got = fun(x)
    assert got.dtype == dtype
    # relative to the modulus: a component may cancel. 16 eps covers the square roots inside.
    np.testing.assert_allclose(got, [UNARY_COMPLEX[fun](complex(z)) for z in x], rtol=16 * np.finfo(dtype).eps)


def test_parts_of_complex_numbers():
    z = np.array(COMPLEX, np.complex64)
    for fun, want in [(op.real, z.real), (op.imag, z.imag), (op.abs, [abs(complex(v)) for v in z])]:
        assert fun(z).dtype == np.float32
        np.testing.assert_allclose(fun(z), want, rtol=1e-6)
    np.testing.assert_array_equal(op.complex(z.real, z.imag), z)
    np.testing.assert_array_equal(op.conj(np.float32([1, 2])), np.complex64([1, 2]))
    assert op.sign(np.complex64([0]))[0] == 0


# Integers, against Python's


def interesting(dtype):
    info = dtypes.iinfo(dtype)
    low, high = int(info.min), int(info.max)
    return sorted({v for v in (low, low + 1, -7, -3, -2, -1, 0, 1, 2, 3, 5, 8, high // 2, high - 1, high) if low <= v <= high})


def wrap(value: int, dtype) -> int:
    bits = dtypes.bit_width(np.dtype(dtype))
    value &= (1 << bits) - 1
    return value - (1 << bits) if int(dtypes.iinfo(dtype).min) < 0 and value >> (bits - 1) else value


def pattern(value: int, bits: int) -> int:
    return value & ((1 << bits) - 1)


def truncated_quotient(x: int, y: int) -> int:
    return -1 if y == 0 else (abs(x) // abs(y)) * (1 if (x < 0) == (y < 0) else -1)


def shift_count(y: int, bits: int) -> int:
    return min(pattern(y, bits), bits)  # the count is unsigned: a negative one is large


BINARY_INTEGER = {
    op.add: lambda x, y, bits: x + y, op.sub: lambda x, y, bits: x - y, op.mul: lambda x, y, bits: x * y,
    op.div: lambda x, y, bits: truncated_quotient(x, y),
    op.rem: lambda x, y, bits: x if y == 0 else x - truncated_quotient(x, y) * y,
    op.max: lambda x, y, bits: max(x, y), op.min: lambda x, y, bits: min(x, y),
    op.bitwise_and: lambda x, y, bits: x & y, op.bitwise_or: lambda x, y, bits: x | y,
    op.bitwise_xor: lambda x, y, bits: x ^ y,
    op.shift_left: lambda x, y, bits: x << shift_count(y, bits),
    op.shift_right_logical: lambda x, y, bits: pattern(x, bits) >> shift_count(y, bits),
    op.shift_right_arithmetic: lambda x, y, bits:
        (x if pattern(x, bits) >> (bits - 1) == 0 else pattern(x, bits) - (1 << bits)) >> shift_count(y, bits),
}
COMPARISONS = {op.eq: "__eq__", op.ne: "__ne__", op.lt: "__lt__", op.le: "__le__", op.gt: "__gt__", op.ge: "__ge__"}


def all_pairs(dtype):
    values = interesting(dtype)
    x, y = [v for v in values for _ in values], values * len(values)
    return x, y, np.array(x, dtype=object).astype(dtype), np.array(y, dtype=object).astype(dtype)


@pytest.mark.parametrize("dtype", INTEGERS, ids=lambda t: t.__name__)
@pytest.mark.parametrize("fun", BINARY_INTEGER, ids=lambda f: f.__name__)
def test_integer_arithmetic_wraps_around(fun, dtype):
    xs, ys, x, y = all_pairs(dtype)
    bits = dtypes.bit_width(np.dtype(dtype))
    got = fun(x, y)
    assert got.dtype == dtype
    want = [wrap(BINARY_INTEGER[fun](a, b, bits), dtype) for a, b in zip(xs, ys)]
    assert [int(v) for v in got] == want


@pytest.mark.parametrize("dtype", INTEGERS, ids=lambda t: t.__name__)
@pytest.mark.parametrize("fun", COMPARISONS, ids=lambda f: f.__name__)
def test_integer_comparisons(fun, dtype):
    xs, ys, x, y = all_pairs(dtype)
    assert fun(x, y).tolist() == [getattr(a, COMPARISONS[fun])(b) for a, b in zip(xs, ys)]


@pytest.mark.parametrize("dtype", INTEGERS, ids=lambda t: t.__name__)
def test_unary_integers(dtype):
    values = interesting(dtype)
    x = np.array(values, dtype=object).astype(dtype)
    bits = dtypes.bit_width(np.dtype(dtype))
    table = {
        op.neg: lambda v: -v, op.bitwise_not: lambda v: ~v, op.square: lambda v: v * v,
        op.sign: lambda v: (v > 0) - (v < 0), op.abs: abs, op.population_count: lambda v: pattern(v, bits).bit_count(),
        op.clz: lambda v: bits - pattern(v, bits).bit_length(), (lambda a: op.integer_pow(a, 5)): lambda v: v ** 5,
        (lambda a: op.integer_pow(a, 0)): lambda v: 1,
    }
    if dtypes.issubdtype(dtype, dtypes.unsignedinteger):
        del table[op.abs]  # which takes signed ones only
    for fun, python in table.items():
        got = fun(x)
        assert got.dtype == dtype
        assert [int(v) for v in got] == [wrap(python(v), dtype) for v in values]


def test_booleans():
    x, y = np.array([False, False, True, True]), np.array([False, True, False, True])
    for fun, want in [(op.bitwise_and, x & y), (op.bitwise_or, x | y), (op.bitwise_xor, x ^ y), (op.max, x | y),
                      (op.min, x & y), (op.eq, x == y), (op.lt, ~x & y), (op.ge, x | ~y)]:
        got = fun(x, y)
        assert got.dtype == bool
        np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(op.bitwise_not(x), ~x)


# Floats of two operands


def ieee_div(x, y):
    if y == 0:
        return math.nan if x == 0 or math.isnan(x) else math.copysign(math.inf, x) * math.copysign(1, y)
    return x / y


def ieee_pow(x, y):
    if x == 0 and y < 0:
        odd = y == int(y) and int(y) % 2 if math.isfinite(y) else False
        return math.copysign(math.inf, x) if odd else math.inf
    try:
        return math.pow(x, y)
    except OverflowError:
        return -math.inf if x < 0 and int(y) % 2 else math.inf
    except ValueError:
        return math.nan


def nan_or(function):
    return lambda x, y: math.nan if math.isnan(x) or math.isnan(y) else function(x, y)


BINARY_FLOAT = {
    op.add: lambda x, y: x + y, op.sub: lambda x, y: x - y, op.mul: lambda x, y: x * y, op.div: ieee_div,
    op.rem: or_nan(math.fmod), op.max: nan_or(max), op.min: nan_or(min), op.atan2: math.atan2, op.pow: ieee_pow,
}


@pytest.mark.parametrize("dtype", FLOATS + NARROW_FLOATS, ids=lambda t: t.__name__)
@pytest.mark.parametrize("fun", BINARY_FLOAT, ids=lambda f: f.__name__)
def test_binary_floats_follow_math(fun, dtype):
    values = rounded(SPECIAL, dtype)
    x, y = (v.ravel() for v in np.meshgrid(values, values))
    want = rounded([BINARY_FLOAT[fun](a, b) for a, b in zip(x.astype(float).tolist(), y.astype(float).tolist())], dtype)
    got = fun(x, y)
    if fun in (op.max, op.min):  # which zero wins is not defined
        got, want = got + np.zeros((), dtype), want + np.zeros((), dtype)
    assert_close(got, want, 2)


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda t: t.__name__)
@pytest.mark.parametrize("fun", COMPARISONS, ids=lambda f: f.__name__)
def test_float_comparisons_are_false_for_nan(fun, dtype):
    values = rounded(SPECIAL, dtype)
    x, y = (v.ravel() for v in np.meshgrid(values, values))
    got = fun(x, y)
    assert got.dtype == bool
    assert got.tolist() == [getattr(a, COMPARISONS[fun])(b) for a, b in zip(x.astype(float).tolist(), y.astype(float).tolist())]


@pytest.mark.parametrize("dtype, unsigned", [(np.float16, np.uint16), (np.float32, np.uint32), (np.float64, np.uint64),
                                             (ml_dtypes.bfloat16, np.uint16)], ids=str)
def test_nextafter_is_the_next_bit_pattern(dtype, unsigned):
    x = rounded([1.0, 1.5, 3.0, 0.0, -1.0], dtype)
    up = op.nextafter(x, np.full_like(x, np.inf))
    bits = x.view(unsigned).astype(object)
    want = [bits[0] + 1, bits[1] + 1, bits[2] + 1, 1, bits[4] - 1]  # from 0 to the smallest subnormal number
    assert up.view(unsigned).tolist() == [int(b) for b in want]
    same = op.nextafter(x, x)
    np.testing.assert_array_equal(same.view(unsigned), x.view(unsigned))


def test_pow_with_integer_exponents():
    x = np.array([0.0, -2.0, 1.5, np.inf], np.float32)
    for y in (-3, -1, 0, 1, 2, 7):
        want = rounded([ieee_pow(float(v), float(y)) for v in x], np.float32)
        assert_close(op.pow(x, np.int32(y)), want, 2)
        assert_close(op.integer_pow(x, y), want, 4)


@pytest.mark.parametrize("fun", [op.add, op.sub, op.mul, op.div], ids=lambda f: f.__name__)
def test_complex_arithmetic(fun):
    x, y = np.array(COMPLEX, np.complex64), np.array(COMPLEX[::-1], np.complex64)
    python = {op.add: "__add__", op.sub: "__sub__", op.mul: "__mul__", op.div: "__truediv__"}[fun]
    np.testing.assert_allclose(fun(x, y), [getattr(complex(a), python)(complex(b)) for a, b in zip(x, y)], rtol=1e-6)


def test_the_larger_of_complex_numbers_has_the_larger_real_part_and_then_imaginary_part():
    x = np.array([1 + 5j, 1 + 1j, 2 + 0j], np.complex64)
    y = np.array([1 + 4j, 1 + 1j, 3 - 9j], np.complex64)
    key = lambda z: (z.real, z.imag)  # noqa: E731
    assert op.max(x, y).tolist() == [max(complex(a), complex(b), key=key) for a, b in zip(x, y)]


@pytest.mark.parametrize("compare", [op.lt, op.le, op.gt, op.ge])
def test_complex_numbers_are_not_compared(compare):
    with pytest.raises(DTypeError, match="does not accept dtype complex64"):
        compare(np.complex64(1), np.complex64(2))


def test_clamp_orders_complex_numbers_by_their_real_parts():
    x = np.array([0 + 5j, 1 + 5j, 2 + 9j, 3 + 9j, 4 - 1j], np.complex64)
    low, high = np.complex64(1 + 2j), np.complex64(3 + 1j)
    assert op.clamp(low, x, high).tolist() == [low, low, x[2], x[3], high]


def test_a_python_int_wraps_around_in_a_narrower_dtype():
    assert op.convert_element_type(2 ** 32 + 7, np.int32) == 7 and op.convert_element_type(-2 ** 31 - 1, np.uint32) == 2 ** 31 - 1
    assert op.convert_element_type(2 ** 70, np.float32) == np.float32(2.0 ** 70)
    with pytest.raises(OverflowError):
        op.convert_element_type(2 ** 70, np.int32)


# Choice, conversion, bits


def test_select_n_picks_by_index_and_clips_it():
    cases = [np.full(5, i, np.float32) for i in range(3)]
    np.testing.assert_array_equal(op.select_n(np.array([0, 1, 2, -4, 9], np.int32), *cases), [0, 1, 2, 0, 2])
    np.testing.assert_array_equal(op.select_n(np.array([True, False]), np.float32([1, 2]), np.float32([3, 4])), [3, 2])
    np.testing.assert_array_equal(op.select(np.bool_(True), np.int32([1, 2]), np.int32([3, 4])), [1, 2])
    np.testing.assert_array_equal(op.select_n(np.bool_(False), np.int32([5])), [5])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32", "int4"])
def test_select_n_picks_by_integers_of_any_type(dtype):
    which = np.array([0, 1, 2, 3, 7]).astype(dtype)
    cases = [np.arange(5, dtype=np.float32) + 10 * i for i in range(3)]
    np.testing.assert_array_equal(op.select_n(which, *cases), np.choose([0, 1, 2, 2, 2], cases))
    np.testing.assert_array_equal(op.select(which, cases[1], cases[0]), np.where([0, 1, 1, 1, 1], cases[1], cases[0]))


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint8, ml_dtypes.bfloat16], ids=str)
def test_clamp_is_min_of_max(dtype):
    x = np.array([0, 1, 2, 3, 4, 5]).astype(dtype)
    low, high = np.array(1).astype(dtype), np.array(4).astype(dtype)
    assert op.clamp(low, x, high).astype(float).tolist() == [sorted((1, v, 4))[1] for v in range(6)]
    wide = np.array([2] * 6).astype(dtype)
    assert op.clamp(wide, x, wide).astype(float).tolist() == [2.0] * 6
    assert math.isnan(op.clamp(np.float32(0), np.float32(np.nan), np.float32(1)))


@pytest.mark.parametrize("dtype", INTEGERS, ids=lambda t: t.__name__)
def test_float_to_integer_saturates_towards_zero(dtype):
    info = dtypes.iinfo(dtype)
    values = [0.0, 0.9, -0.9, 1.5, -1.5, 3.0, 1e30, -1e30, np.inf, -np.inf, np.nan]
    want = [0 if math.isnan(v) else max(int(info.min), min(int(info.max), int(v) if math.isfinite(v) else int(math.copysign(1e40, v))))
            for v in values]
    got = op.convert_element_type(np.float64(values), dtype)
    assert got.dtype == dtype and [int(v) for v in got] == want


@pytest.mark.parametrize("source", INTEGERS, ids=lambda t: t.__name__)
def test_integer_to_integer_wraps_and_to_float_rounds(source):
    values = interesting(source)
    x = np.array(values, dtype=object).astype(source)
    for target in INTEGERS:
        assert [int(v) for v in op.convert_element_type(x, target)] == [wrap(v, target) for v in values]
    for target in (np.float32, np.float64):
        assert op.convert_element_type(x, target).tolist() == [float(target(v)) for v in values]
    assert op.convert_element_type(x, bool).tolist() == [v != 0 for v in values]
    assert op.convert_element_type(x, np.complex64).dtype == np.complex64


def test_conversions_of_complex_and_bool():
    z = np.array([1.5 + 2j, 0 + 1j, 0], np.complex64)
    np.testing.assert_array_equal(op.convert_element_type(z, np.float32), np.float32([1.5, 0, 0]))
    np.testing.assert_array_equal(op.convert_element_type(z, np.int32), [1, 0, 0])
    assert op.convert_element_type(z, bool).tolist() == [True, True, False]
    assert op.convert_element_type(np.array([True, False]), ml_dtypes.bfloat16).astype(float).tolist() == [1.0, 0.0]
    assert op.convert_element_type(np.float32([0.0, -0.0, np.nan, 2]), bool).tolist() == [False, False, True, True]


@pytest.mark.parametrize("target", FLOATS + NARROW_FLOATS, ids=lambda t: t.__name__)
def test_float_to_float_rounds_to_nearest(target):
    x = np.float32([0.1, 1 / 3, 2.7182817, -7.77, 0.0, np.nan])
    np.testing.assert_array_equal(op.convert_element_type(x, target).astype(float), x.astype(target).astype(float))


def test_bitcast_keeps_the_bits():
    x = np.float32([1.0, -2.5, np.inf])
    assert op.bitcast_convert_type(x, np.int32).tolist() == list(struct.unpack("<3i", struct.pack("<3f", *x)))
    halves = op.bitcast_convert_type(x, np.uint16)
    assert halves.shape == (3, 2) and halves.ravel().tolist() == list(struct.unpack("<6H", struct.pack("<3f", *x)))
    np.testing.assert_array_equal(op.bitcast_convert_type(halves, np.float32), x)
    assert op.bitcast_convert_type(np.uint32(0x40490FDB), np.float32) == np.float32(np.pi)
    nibbles = op.bitcast_convert_type(np.uint8([0xA3]), ml_dtypes.uint4)
    assert nibbles.astype(int).tolist() == [[0x3, 0xA]]


@pytest.mark.parametrize("bits, dtype", [((8, 7), ml_dtypes.bfloat16), ((5, 10), np.float16)], ids=str)
def test_reduce_precision_is_a_round_trip_through_the_narrow_dtype(bits, dtype):
    x = np.float32([1.0, 1 / 3, -2.71828, 6.1e4, 1e-3, 0.0, np.inf, -np.inf, np.nan, 65519.0, 65520.0])
    with np.errstate(over="ignore"):
        want = x.astype(dtype).astype(np.float32)
    np.testing.assert_array_equal(op.reduce_precision(x, *bits), want)
    assert op.reduce_precision(np.float32(1e-7), 5, 10) == 0  # below the normal range: flushed to zero


# Shapes


@pytest.mark.parametrize("shapes", [((), ()), ((3,), (3,)), ((), (2, 3)), ((1, 3), (2, 1)), ((0, 3), (1, 3)), ((0,), (1,)),
                                    ((2, 1, 4), (1, 3, 1)), ((1, 1, 1, 1, 1), (2, 1, 3, 1, 1))], ids=str)
def test_operands_broadcast(rng, shapes):
    x, y = (rng.normal(size=shape).astype(np.float32) for shape in shapes)
    got = op.add(x, y)
    assert got.shape == np.broadcast_shapes(*shapes)
    np.testing.assert_array_equal(got, x + y)
    staged = stage(lambda a, b: [op.add(a, b)], [ShapedArray(s, np.dtype(np.float32)) for s in shapes])
    assert staged.out_avals[0].shape == got.shape


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1,), (2, 3, 1, 2, 2)], ids=str)
@pytest.mark.parametrize("fun", [op.sin, op.sign, op.is_finite, op.logistic, op.floor, op.copy], ids=lambda f: f.__name__)
def test_unary_operations_keep_the_shape(fun, shape):
    assert fun(np.ones(shape, np.float32)).shape == shape


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def aval(text: str) -> ShapedArray:
    """`f32[2,3]` as an aval."""
    name, _, axes = text.partition("[")
    kinds = {"f32": "float32", "f64": "float64", "i32": "int32", "u8": "uint8", "bool": "bool", "c64": "complex64", "bf16": "bfloat16"}
    return ShapedArray(tuple(int(a) for a in axes.rstrip("]").split(",") if a), dtypes.canonicalize_dtype(kinds[name]))


def test_logistic_of_very_negative_numbers():
    """It was 0 below -89, where exp(-x) overflows."""
    x = np.array([-100, -89, -20], np.float32)
    np.testing.assert_allclose(op.logistic(x), np.exp(x.astype(np.float64)), rtol=1e-6, atol=2e-45)


MALFORMED = [
    (op.add, ["f32[2]", "f32[3]"], ShapeError, r"add got incompatible shapes for broadcasting: \(2,\), \(3,\)"),
    (op.mul, ["f32[2,3]", "f32[3]"], ShapeError, r"mul: arrays must have the same number of dimensions.*f32\[2,3\], f32\[3\]"),
    (op.add, ["f32[2]", "i32[2]"], DTypeError, r"lax\.add requires arguments to have the same dtypes, got float32, int32.*numpy\.add"),
    (op.rem, ["c64[2]", "c64[2]"], DTypeError, r"rem does not accept dtype complex64"),
    (op.add, ["bool[2]", "bool[2]"], DTypeError, r"add does not accept dtype bool"),
    (op.sin, ["i32[2]"], DTypeError, r"sin does not accept dtype int32\. Accepted dtypes are subtypes of floating, complexfloating"),
    (op.floor, ["c64[]"], DTypeError, r"floor does not accept dtype complex64"),
    (op.bitwise_and, ["f32[]", "f32[]"], DTypeError, r"and does not accept dtype float32"),
    (op.shift_left, ["bool[]", "bool[]"], DTypeError, r"shift_left does not accept dtype bool"),
    (op.real, ["f32[]"], DTypeError, r"real does not accept dtype float32"),
    (op.complex, ["f32[2]", "f64[2]"], DTypeError, r"complex requires arguments to have the same dtypes"),
    (op.complex, ["bf16[2]", "bf16[2]"], DTypeError,
     r"complex does not accept dtype bfloat16\. Accepted dtypes are subtypes of float32, float64"),
    (op.pow, ["i32[]", "i32[]"], DTypeError, r"pow does not accept dtype int32"),
    (op.pow, ["f32[]", "f64[]"], DTypeError, r"pow: the exponent must be an integer or of the base's dtype float32, got float64"),
    (op.pow, ["f32[2]", "i32[3]"], ShapeError, r"pow got incompatible shapes"),
    (op.select_n, ["f32[]", "f32[]"], DTypeError, r"`which` must be boolean or of an integer type, got float32"),
    (op.select_n, ["bool[]", "f32[]", "f32[]", "f32[]"], ShapeError, r"at most two cases, got 3"),
    (op.select_n, ["bool[]"], ShapeError, r"at least one case"),
    (op.select_n, ["bool[2]", "f32[3]", "f32[3]"], ShapeError, r"`which` must be a scalar or have the cases' shape \(3,\), got bool\[2\]"),
    (op.select_n, ["bool[]", "f32[3]", "f32[2]"], ShapeError, r"cases must have the same shapes, got f32\[3\], f32\[2\]"),
    (op.select_n, ["bool[]", "f32[3]", "i32[3]"], DTypeError, r"select_n requires arguments to have the same dtypes"),
    (op.clamp, ["f32[2]", "f32[3]", "f32[]"], ShapeError, r"`min` must be a scalar or have the operand's shape \(3,\), got f32\[2\]"),
    (op.clamp, ["f32[]", "f32[3]", "f32[1]"], ShapeError, r"`max` must be a scalar"),
    (op.clamp, ["f32[]", "i32[3]", "i32[]"], DTypeError, r"clamp requires arguments to have the same dtypes"),
    (lambda x: op.integer_pow(x, -1), ["i32[2]"], DTypeError, r"integers cannot be raised to a negative power; got i32\[2\] and y=-1"),
    (lambda x: op.reduce_precision(x, 0, 3), ["f32[]"], ValueError, r"exponent_bits must be at least 1"),
    (lambda x: op.bitcast_convert_type(x, np.complex64), ["f32[2]"], DTypeError,
     r"bool and complex dtypes can be bitcast to themselves only, got f32\[2\] and the new dtype complex64"),
    (lambda x: op.bitcast_convert_type(x, np.float64), ["f32[3]"], ShapeError,
     r"from 32 to 64 bits the last axis must have size 2, got f32\[3\]"),
    (lambda x: op.bitcast_convert_type(x, np.int64), ["f32[]"], ShapeError, r"the last axis must have size 2"),
    (lambda x: op.add(x, 0.5), ["i32[2]"], DTypeError, r"the float scalar 0\.5 cannot be used beside an array of dtype int32"),
    (lambda x: op.mul(x, 1j), ["f32[2]"], DTypeError, r"the complex scalar 1j cannot be used beside an array of dtype float32"),
]


@pytest.mark.parametrize("fun, operands, error, message", MALFORMED, ids=range(len(MALFORMED)))
def test_malformed_calls_say_what_is_wrong(fun, operands, error, message):
    with pytest.raises(error, match=message):
        stage(lambda *xs: [fun(*xs)], [aval(text) for text in operands])


def test_weak_types_meet():
    weak, strong = ShapedArray((), np.dtype(np.float32), True), ShapedArray((2,), np.dtype(np.float32))
    closed = stage(lambda w, s: [op.add(w, w), op.add(w, s), op.sin(w), op.lt(w, w), op.select_n(True, w, w)], [weak, strong])
    assert [a.weak_type for a in closed.out_avals] == [True, False, True, True, True]


floats = st.floats(width=32, allow_nan=True, allow_infinity=True)


@settings(max_examples=40, derandomize=True, deadline=None)
@given(st.lists(st.tuples(floats, floats), min_size=0, max_size=6))
def test_division_is_undone_by_quotient_and_remainder(pairs):
    """x == trunc(x / y) * y + rem(x, y), checked exactly with fractions."""
    from fractions import Fraction
    x, y = (np.array([p[i] for p in pairs], np.float32) for i in range(2))
    for a, b, r in zip(x.tolist(), y.tolist(), op.rem(x, y).tolist()):
        if b == 0 or not math.isfinite(a) or math.isnan(b):
            assert math.isnan(r)
        elif math.isinf(b):
            assert r == a
        else:
            assert (Fraction(a) - Fraction(r)) / Fraction(b) == math.trunc(Fraction(a) / Fraction(b))


# The total order of IEEE 754

TOTALLY_ORDERED = [-np.nan, -np.inf, -2.5, -1e-3, -0.0, 0.0, 1e-3, 2.5, np.inf, np.nan]


@pytest.mark.parametrize("dtype", FLOATS + [ml_dtypes.float8_e5m2, np.int8, np.uint32, bool])
def test_comparisons_in_the_total_order(dtype):
    if dtypes.issubdtype(np.dtype(dtype), dtypes.floating):
        values = np.array(TOTALLY_ORDERED, np.float64)
        values = np.copysign(values, [-1] * 5 + [1] * 5).astype(dtype)
    else:
        values = np.array([0, 1] if dtype is bool else [np.iinfo(dtype).min, 1, np.iinfo(dtype).max], dtype)
    places = np.arange(len(values))
    left, right = np.meshgrid(places, places)
    np.testing.assert_array_equal(op.eq_to(values[left], values[right]), left == right)
    np.testing.assert_array_equal(op.lt_to(values[left], values[right]), left < right)
    np.testing.assert_array_equal(op.le_to(values[left], values[right]), left <= right)


def test_the_total_order_is_one_of_real_numbers():
    with pytest.raises(DTypeError, match="lt_to"):
        op.lt_to(np.complex64(1), np.complex64(2))


def test_atan2_of_complex_numbers():
    """Its tangent is the quotient; on real numbers it is the real function, all four quadrants included."""
    rng = np.random.default_rng(0)
    with enable_x64():
        y, x = (rng.normal(size=20) + 1j * rng.normal(size=20) for _ in range(2))
        np.testing.assert_allclose(np.tan(op.atan2(y, x)), y / x, rtol=1e-12)
        np.testing.assert_allclose(op.atan2(y.real + 0j, x.real + 0j), np.arctan2(y.real, x.real), atol=1e-12)


_POSITIONAL = inspect.Parameter.POSITIONAL_OR_KEYWORD
OF_ONE_OPERAND = [
    *(p for p in vars(elementwise_primitives).values() if isinstance(p, Primitive) and p.name != "select_n"
      and [parameter.kind for parameter in inspect.signature(p.shape_rule).parameters.values()].count(_POSITIONAL) == 1),
    *(getattr(special, f"{name}_p") for name in ("erf", "erfc", "erf_inv", "lgamma", "digamma", "bessel_i0e", "bessel_i1e"))]
PARAMETERS = {"integer_pow": {"y": 2}, "reduce_precision": {"exponent_bits": 8, "mantissa_bits": 7},
              "round": {"rounding_method": op.RoundingMethod.TO_NEAREST_EVEN}}


@pytest.mark.parametrize("primitive", OF_ONE_OPERAND, ids=str)
def test_traits_say_what_is_0_at_0_and_what_is_additive(primitive):
    dtype = {"real": np.complex64, "imag": np.complex64, "conj": np.complex64, "not": np.int32, "population_count": np.int32,
             "clz": np.int32}.get(primitive.name, np.float32)
    params = {"input_dtype": np.dtype(dtype)} if primitive.name == "conj" else PARAMETERS.get(primitive.name, {})

    def value(x):
        return complex(primitive.bind(np.asarray(x, dtype), **params))

    known = {Trait.ZERO_AT_ZERO, Trait.ADDITIVE} & primitive.traits
    assert (value(0) == 0) == bool(known) or primitive.name == "integer_pow"  # whose parameter decides
    pairs = ((1, 2), (2, -1), (1, 1)) if dtype is np.int32 else ((0.75, 0.5), (0.5, -0.25), (0.375, 0.25))
    sums = [value(x) + value(y) == value(x + y) for x, y in pairs]
    assert all(sums) == (Trait.ADDITIVE in known) or primitive.name == "reduce_precision"  # which keeps these as they are
