"""Every elementwise operation on every dtype that it takes, on shapes of rank 0 to 5 with empty axes, NaN, infinities, signed
zeros and the extremes of each type.

Oracles: NumPy in float64 (or complex128), rounded once to the dtype; unbounded Python integers; conversions of ml_dtypes.
Which dtypes an operation takes is stated in the tables, and any other is refused.
"""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest
from drawn_arrays import (
    BOOL,
    COMPLEX,
    EVERY,
    FLOATS,
    INTEGERS,
    NUMBERS,
    REALS,
    SIGNED,
    cases,
    covers,
    drawn,
    every_operation_is_covered,
    few,
    in_python,
    more,
    rounded,
    same,
    seeds,
    shapes,
    sizes,
    stored,
    total_order_key,
    wide,
    wrapped,
)
from hypothesis import given
from hypothesis import strategies as st

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.polynomial import polynomial
from laminax_ir.options.config import enable_x64
from laminax_ir.types import dtypes


@pytest.fixture(autouse=True, scope="module")
def x64():
    with enable_x64():
        yield


FUNCTIONS = {"and": op.bitwise_and, "or": op.bitwise_or, "xor": op.bitwise_xor, "not": op.bitwise_not}


def function(name):
    return FUNCTIONS.get(name) or getattr(op, name)


def refuses_other_dtypes(name, kinds, count):
    """The operation on `count` operands takes no dtype but these."""
    for dtype in EVERY:
        if dtype not in kinds:
            with pytest.raises(TypeError, match=f"{name} does not accept dtype {dtypes.dtype_name(dtype)}"):
                function(name)(*[np.zeros(2, dtype)] * count)


def signed_zero(f):
    """Where the operand is a zero, the zero itself."""
    return lambda x: np.where(x == 0, x, f(x))


def log2(x):
    """The logarithm to base 2; of complex numbers part by part, as infinity times an imaginary 0 would be NaN."""
    if not np.iscomplexobj(x):
        return np.log2(x)
    result = np.array(np.log(x))
    result.real, result.imag = result.real / math.log(2), result.imag / math.log(2)
    return result


# Floats

FLOAT_FUNCTIONS = {
    "neg": np.negative, "abs": np.abs, "square": np.square, "sign": signed_zero(np.sign), "floor": np.floor, "ceil": np.ceil,
    "exp": np.exp, "exp2": lambda x: np.power(2.0, x), "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "log2": log2, "sqrt": np.sqrt,
    "one_minus_square": lambda x: (1 - x) * (1 + x),
    "rsqrt": lambda x: 1 / np.sqrt(x), "cbrt": np.cbrt, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin,
    "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh,
    "logistic": lambda x: np.where(x < 0, np.exp(np.minimum(x, 0)) / (1 + np.exp(np.minimum(x, 0))), 1 / (1 + np.exp(-x))),
}


@pytest.mark.parametrize("name", FLOAT_FUNCTIONS)
@covers(*FLOAT_FUNCTIONS, by="name")
@few
@given(sizes=sizes, seed=seeds)
def test_functions_of_floats(name, sizes, seed):
    rng = np.random.default_rng(seed)
    for dtype, shape in cases(FLOATS, sizes):
        x = drawn(rng, dtype, shape)
        with np.errstate(all="ignore"):
            rounded(function(name)(x), FLOAT_FUNCTIONS[name](wide(x)), dtype)


@covers("is_finite", "round")
@few
@given(sizes=sizes, seed=seeds)
def test_finiteness_and_rounding(sizes, seed):
    rng = np.random.default_rng(seed)
    for dtype, shape in cases(FLOATS, sizes):
        x = drawn(rng, dtype, shape)
        values = wide(x)
        same(op.is_finite(x), np.isfinite(values))
        with np.errstate(all="ignore"):
            rounded(op.round(x, op.RoundingMethod.TO_NEAREST_EVEN), np.rint(values), dtype)
            whole = np.trunc(values)
            away = np.where(np.abs(values - whole) >= 0.5, whole + np.copysign(1, values), whole)
            rounded(op.round(x), np.where(np.isfinite(values), away, values), dtype)


PAIRS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "max": np.maximum, "min": np.minimum,
         "rem": np.fmod, "atan2": np.arctan2, "pow": np.power}


@pytest.mark.parametrize("name", PAIRS)
@covers(*PAIRS, by="name")
@few
@given(sizes=sizes, seed=seeds)
def test_functions_of_two_floats(name, sizes, seed):
    rng = np.random.default_rng(seed)
    for dtype, shape in cases(FLOATS, sizes):
        x, y = drawn(rng, dtype, shape), drawn(rng, dtype, shape)
        with np.errstate(all="ignore"):
            rounded(function(name)(x, y), PAIRS[name](wide(x), wide(y)), dtype)


@covers("polynomial")
@more
@given(sizes=sizes, seed=seeds, count=st.integers(2, 12))
def test_polynomials(sizes, seed, count):
    """Of whole numbers, and so exactly in float32; an axis of size one or a scalar stands for all of a coefficient."""
    rng = np.random.default_rng(seed)
    for dtype, shape in cases([np.dtype(d) for d in ("int32", "uint8", "float32", "complex64")], sizes):
        x = rng.integers(0, 3, shape).astype(dtype)
        coeffs = [rng.integers(0, 4, [(), shape, (1,) * len(shape)][k % 3]).astype(dtype) for k in range(count)]
        expected = sum((c.astype(wide(x).dtype) * wide(x) ** k for k, c in enumerate(coeffs)), np.zeros(shape, wide(x).dtype))
        same(polynomial(x, coeffs), expected.astype(np.int64).astype(dtype) if dtype.kind in "iu" else expected.astype(dtype))


@covers("nextafter")
@few
@given(sizes=sizes, seed=seeds)
def test_nextafter_is_the_next_bit_pattern(sizes, seed):
    rng = np.random.default_rng(seed)
    for dtype, shape in cases([d for d in FLOATS if d.itemsize > 1], sizes):
        x, y = drawn(rng, dtype, shape), drawn(rng, dtype, shape)
        got = op.nextafter(x, y)
        assert got.dtype == dtype and got.shape == shape
        for a, b, result in zip(x.ravel(), y.ravel(), np.ravel(got)):
            if np.isnan(a) or np.isnan(b):
                assert np.isnan(result)
            elif a == b:
                assert result == b
            elif a == 0:
                assert result == np.copysign(float(ml_dtypes.finfo(dtype).smallest_subnormal), float(b))
            else:
                bits = int.from_bytes(a.tobytes(), "little") + (1 if (b > a) == (a > 0) else -1)
                assert result == np.frombuffer(bits.to_bytes(dtype.itemsize, "little"), dtype)[0]


@covers("reduce_precision")
@more
@given(sizes=sizes, seed=seeds, narrow=st.sampled_from(["float16", "bfloat16", "float32", "float64", "float8_e5m2"]))
def test_reduce_precision(sizes, seed, narrow):
    """As a conversion to the narrower dtype and back, which has no subnormal numbers if it has fewer exponent bits."""
    info = ml_dtypes.finfo(narrow)
    rng = np.random.default_rng(seed)
    for dtype, shape in cases([d for d in FLOATS if ml_dtypes.finfo(d).nexp >= info.nexp and d.itemsize > 1], sizes):
        x = drawn(rng, dtype, shape)
        got = np.asarray(op.reduce_precision(x, info.nexp, info.nmant))
        with np.errstate(all="ignore"):
            expected = wide(x.astype(narrow))
            if ml_dtypes.finfo(dtype).nexp > info.nexp:
                tiny, size = float(info.tiny), np.abs(wide(x))
                expected = np.where(size < tiny, np.copysign(0, expected), expected)
                expected = np.where((size < tiny) & (size > 0.99 * tiny), wide(got), expected)  # may round up to it
            same(got, expected.astype(dtype))
    for dtype, shape in cases(FLOATS, sizes):  # with all bits that a dtype has
        x = drawn(rng, dtype, shape)
        same(op.reduce_precision(x, ml_dtypes.finfo(dtype).nexp, ml_dtypes.finfo(dtype).nmant), x)


# Complex numbers

COMPLEX_FUNCTIONS = {name: FLOAT_FUNCTIONS[name] for name in (
    "neg", "square", "one_minus_square", "sign", "exp", "exp2", "expm1", "log", "log1p", "log2", "sqrt", "rsqrt", "sin", "cos", "tan",
    "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh")}
COMPLEX_FUNCTIONS["logistic"] = lambda z: 1 / (1 + np.exp(-z))
COMPLEX_FUNCTIONS["sign"] = lambda z: np.where(z == 0, z, z / np.where(z == 0, 1, np.abs(z)))
COMPLEX_PAIRS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "pow": np.power}


def moderate(rng, dtype, shape):
    """Numbers around the unit circle, none on a cut; a few zeros would lie on one."""
    return np.asarray(2 * (rng.normal(size=shape) + 1j * rng.normal(size=shape)), dtype)


@pytest.mark.parametrize("name", [*COMPLEX_FUNCTIONS, *COMPLEX_PAIRS])
@covers(*COMPLEX_FUNCTIONS, *COMPLEX_PAIRS, by="name")
@few
@given(sizes=sizes, seed=seeds)
def test_functions_of_complex_numbers(name, sizes, seed):
    rng = np.random.default_rng(seed)
    for dtype, shape in cases(COMPLEX, sizes):
        operands = [moderate(rng, dtype, shape) for _ in range(2 if name in COMPLEX_PAIRS else 1)]
        exact = (COMPLEX_PAIRS | COMPLEX_FUNCTIONS)[name](*map(wide, operands))
        # a factor of 30 for the condition of functions such as tan near its poles
        rounded(function(name)(*operands), exact, dtype, ulps=30)


@covers("atan2")
@few
@given(sizes=sizes, seed=seeds)
def test_the_angle_of_complex_numbers(sizes, seed):
    """The arc tangent of the quotient, where the real part of the second operand outweighs all else."""
    rng = np.random.default_rng(seed)
    for dtype, shape in cases(COMPLEX, sizes):
        y, x = np.asarray(moderate(rng, dtype, shape) / 4, dtype), np.asarray(10 + moderate(rng, dtype, shape) / 4, dtype)
        rounded(op.atan2(y, x), np.asarray(np.arctan(wide(y) / wide(x))), dtype, ulps=30, absolute=1e-15)


@covers("abs", "real", "imag", "conj", "complex", "neg", "add", "sub")
@few
@given(sizes=sizes, seed=seeds)
def test_parts_of_complex_numbers(sizes, seed):
    """NaN, infinities and signed zeros included."""
    rng = np.random.default_rng(seed)
    for dtype, shape in cases(COMPLEX, sizes):
        z, w = drawn(rng, dtype, shape), drawn(rng, dtype, shape)
        same(op.real(z), z.real)
        same(op.imag(z), z.imag)
        same(op.complex(z.real, z.imag), z)
        same(op.real(op.conj(z)), z.real)
        same(op.imag(op.conj(z)), -z.imag)
        same(op.imag(op.neg(z)), -z.imag)
        same(op.conj(z.real), z.real.astype(dtype))
        with np.errstate(all="ignore"):
            rounded(op.abs(z), np.hypot(wide(z.real), wide(z.imag)), z.real.dtype)
            same(op.real(op.add(z, w)), z.real + w.real)
            same(op.imag(op.sub(z, w)), z.imag - w.imag)


@covers("max", "min", "eq", "ne")
@few
@given(sizes=sizes, seed=seeds)
def test_complex_numbers_are_ordered_by_real_part_then_imaginary_part(sizes, seed):
    rng = np.random.default_rng(seed)
    for dtype, shape in cases(COMPLEX, sizes):
        z, w = (np.asarray(rng.integers(-1, 2, shape) + 1j * rng.integers(-1, 2, shape), dtype) for _ in range(2))
        pairs = [((a.real, a.imag), (b.real, b.imag)) for a, b in zip(z.ravel(), w.ravel())]
        for name, compare in {"eq": lambda a, b: a == b, "ne": lambda a, b: a != b}.items():
            same(function(name)(z, w), np.array([compare(*pair) for pair in pairs], bool).reshape(shape))
        for name, choose in {"max": max, "min": min}.items():
            same(function(name)(z, w), np.array([complex(*choose(pair)) for pair in pairs], dtype).reshape(shape))


# Integers


def truncated_quotient(x, y):
    return -1 if y == 0 else abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


INTEGER_FUNCTIONS = {
    "add": lambda bits, x, y: x + y,
    "sub": lambda bits, x, y: x - y,
    "mul": lambda bits, x, y: x * y,
    "mulhi": lambda bits, x, y: (x * y) >> bits,
    "div": lambda bits, x, y: truncated_quotient(x, y),
    "rem": lambda bits, x, y: x if y == 0 else x - y * truncated_quotient(x, y),
    "max": lambda bits, x, y: max(x, y),
    "min": lambda bits, x, y: min(x, y),
    "and": lambda bits, x, y: x & y,
    "or": lambda bits, x, y: x | y,
    "xor": lambda bits, x, y: x ^ y,
    # a shift by a negative number, or by the width or more, shifts everything out
    "shift_left": lambda bits, x, y: x << y if 0 <= y < bits else 0,
    "shift_right_arithmetic": lambda bits, x, y: signed(bits, x) >> (y if 0 <= y < bits else bits),
    "shift_right_logical": lambda bits, x, y: x % 2**bits >> y if 0 <= y < bits else 0,
    "neg": lambda bits, x: -x,
    "not": lambda bits, x: ~x,
    "abs": lambda bits, x: abs(x),
    "sign": lambda bits, x: (x > 0) - (x < 0),
    "square": lambda bits, x: x * x,
    "one_minus_square": lambda bits, x: 1 - x * x,
    "population_count": lambda bits, x: (x % 2**bits).bit_count(),
    "clz": lambda bits, x: bits - (x % 2**bits).bit_length(),
}


def signed(bits, x):
    return (x + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)


@pytest.mark.parametrize("name", INTEGER_FUNCTIONS)
@covers(*INTEGER_FUNCTIONS, by="name")
@few
@given(sizes=sizes, seed=seeds)
def test_functions_of_integers(name, sizes, seed):
    rng = np.random.default_rng(seed)
    count = INTEGER_FUNCTIONS[name].__code__.co_argcount - 1
    for dtype, shape in cases(SIGNED if name == "abs" else INTEGERS, sizes):
        operands = [drawn(rng, dtype, shape) for _ in range(count)]
        if name.startswith("shift"):
            few_bits = np.asarray(rng.integers(0, min(70, 2 ** (dtypes.bit_width(dtype) - 1)), shape)).astype(dtype)
            operands[1] = np.asarray(np.where(rng.random(shape) < 0.7, few_bits, operands[1]), dtype)
        same(function(name)(*operands), in_python(INTEGER_FUNCTIONS[name], dtype, *operands))


@covers("and", "or", "xor", "not", "max", "min")
@few
@given(sizes=sizes, seed=seeds)
def test_functions_of_bools(sizes, seed):
    rng = np.random.default_rng(seed)
    for _, shape in cases(BOOL, sizes):
        x, y = drawn(rng, bool, shape), drawn(rng, bool, shape)
        same(op.bitwise_not(x), np.logical_not(x))
        for name, oracle in {"and": np.logical_and, "or": np.logical_or, "xor": np.not_equal, "max": np.logical_or,
                             "min": np.logical_and}.items():
            same(function(name)(x, y), oracle(x, y))


# Comparisons

COMPARISONS = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}


@pytest.mark.parametrize("name", COMPARISONS)
@covers(*COMPARISONS, by="name")
@few
@given(sizes=sizes, seed=seeds)
def test_comparisons(name, sizes, seed):
    rng = np.random.default_rng(seed)
    for dtype, shape in cases(BOOL + REALS, sizes):
        x, y = drawn(rng, dtype, shape), drawn(rng, dtype, shape)
        y = np.asarray(np.where(rng.random(shape) < 0.3, x, y), dtype)
        values = [a.astype(object) if dtype in INTEGERS else a if dtype == bool else wide(a) for a in (x, y)]
        same(function(name)(x, y), np.asarray(COMPARISONS[name](*values), bool))


@covers("eq_to", "lt_to", "le_to")
@few
@given(sizes=sizes, seed=seeds)
def test_total_order(sizes, seed):
    rng = np.random.default_rng(seed)
    for dtype, shape in cases(BOOL + REALS, sizes):
        x, y = drawn(rng, dtype, shape), drawn(rng, dtype, shape)
        y = np.asarray(np.where(rng.random(shape) < 0.3, x, y), dtype)
        keys = [(total_order_key(a), total_order_key(b)) for a, b in zip(x.ravel(), y.ravel())]
        for name, compare in {"eq_to": lambda a, b: a == b, "lt_to": lambda a, b: a < b, "le_to": lambda a, b: a <= b}.items():
            same(function(name)(x, y), np.array([compare(*k) for k in keys], bool).reshape(shape))


# Powers, choice and conversion


@covers("integer_pow", "pow")
@more
@given(sizes=sizes, seed=seeds, exponent=st.integers(-4, 6))
def test_whole_powers(sizes, seed, exponent):
    rng = np.random.default_rng(seed)
    for i, (dtype, shape) in enumerate(cases(FLOATS + COMPLEX, sizes)):
        x = moderate(rng, dtype, shape) if dtype in COMPLEX else drawn(rng, dtype, shape)
        with np.errstate(all="ignore"):
            positive = np.asarray(wide(x) ** abs(exponent))
            if dtype in FLOATS:
                positive = wide(positive.astype(np.float64 if dtype == np.float64 else np.float32))  # may overflow
            rounded(op.integer_pow(x, exponent), positive if exponent >= 0 else 1 / positive, dtype, ulps=10)
            powers = drawn(rng, INTEGERS[i % len(INTEGERS)], shape)  # of any integer type, but small ones
            powers = np.asarray(np.where(np.abs(powers.astype(np.float64)) < 7, powers, np.ones((), powers.dtype)), powers.dtype)
            rounded(op.pow(x, powers), np.asarray(wide(x) ** powers.astype(np.float64)), dtype, ulps=10)
    for dtype, shape in cases(INTEGERS, sizes):
        x = drawn(rng, dtype, shape)
        same(op.integer_pow(x, abs(exponent)), in_python(lambda bits, v: v ** abs(exponent), dtype, x))


@covers("select_n")
@few
@given(sizes=sizes, seed=seeds, count=st.integers(1, 4), scalar=st.booleans())
def test_select_n(sizes, seed, count, scalar):
    rng = np.random.default_rng(seed)
    for dtype, shape in cases(EVERY, sizes):
        options = [drawn(rng, dtype, shape) for _ in range(count)]
        which = np.asarray(rng.integers(-1, count + 1, () if scalar else shape), np.int32)
        which = np.asarray(which > 0) if count <= 2 else which
        chosen = np.broadcast_to(np.clip(which.astype(int), 0, count - 1), shape)
        expected = np.empty(shape, dtype)
        for i in np.ndindex(shape):
            expected[i] = options[chosen[i]][i]
        same(op.select_n(which, *options), expected)


@covers("clamp")
@few
@given(sizes=sizes, seed=seeds, scalar=st.booleans())
def test_clamp(sizes, seed, scalar):
    rng = np.random.default_rng(seed)
    for dtype, shape in cases(BOOL + REALS, sizes):
        x = drawn(rng, dtype, shape)
        low, high = (drawn(rng, dtype, () if scalar else shape, only_finite=True) for _ in range(2))
        swap = np.asarray(low > high)
        low, high = np.asarray(np.where(swap, high, low), dtype), np.asarray(np.where(swap, low, high), dtype)
        below, above = np.asarray(x < low), np.asarray(x > high)
        got = np.asarray(op.clamp(low, x, high))
        expected = np.where(below, low, np.where(above, high, x)).astype(dtype)
        np.testing.assert_array_equal(wide(got), wide(expected))  # of equal zeros either sign
        assert got.dtype == dtype and got.shape == shape


@covers("convert_element_type")
@few
@given(sizes=sizes, seed=seeds)
def test_convert_element_type(sizes, seed):
    rng = np.random.default_rng(seed)
    for target in EVERY:
        for i, source in enumerate(EVERY):
            shape = sizes[:(i + seed) % 6]
            x = drawn(rng, source, shape)
            got = op.convert_element_type(x, target)
            assert got.dtype == target and got.shape == shape
            if target == bool:
                expected = wide(x) != 0
            elif target in INTEGERS and source in INTEGERS + BOOL:
                expected = np.array([wrapped(int(v), target) for v in x.ravel()], target).reshape(shape)
            elif target in INTEGERS:  # towards zero, to the nearest number of the range, NaN to 0
                info = ml_dtypes.iinfo(target)
                values = [0 if math.isnan(v) else min(max(int(min(max(v, -1e30), 1e30)), int(info.min)), int(info.max))
                          for v in wide(x).real.ravel()]
                expected = np.array(values, target).reshape(shape)
            elif target in COMPLEX:
                expected = np.asarray(wide(x) if source in COMPLEX else x.astype(np.float64) if source not in INTEGERS else x)
                with np.errstate(all="ignore"):
                    expected = expected.astype(target)
            else:
                with np.errstate(all="ignore"):
                    exact = wide(x).real if source not in INTEGERS else x.astype(np.float64)
                    rounded(got, exact, target, ulps=0.5 if target != np.float64 else 1)
                continue
            same(got, expected)


@covers("bitcast_convert_type")
@few
@given(sizes=sizes, seed=seeds)
def test_bitcast_convert_type(sizes, seed):
    """The bits, least significant first, are the same sequence whatever their grouping."""
    rng = np.random.default_rng(seed)

    def bits(x):
        width = dtypes.bit_width(x.dtype)
        bytes_ = np.frombuffer(stored(x), np.uint8).reshape(x.size, x.dtype.itemsize)
        return np.unpackbits(bytes_, axis=-1, bitorder="little")[:, :width].ravel()

    for source in REALS:
        for i, target in enumerate(REALS):
            old, new = dtypes.bit_width(source), dtypes.bit_width(target)
            if max(old, new) % min(old, new):
                continue
            shape = (*sizes[:(i + seed) % 5], *([new // old] if old < new else []))
            x = drawn(rng, source, shape)
            got = np.asarray(op.bitcast_convert_type(x, target))
            assert got.dtype == target
            assert got.shape == (shape if old == new else shape[:-1] if old < new else (*shape, old // new))
            np.testing.assert_array_equal(bits(got), bits(x))


@covers("copy", "stop_gradient", "optimization_barrier")
@few
@given(sizes=sizes, seed=seeds)
def test_identities(sizes, seed):
    rng = np.random.default_rng(seed)
    for dtype, shape in cases(EVERY, sizes):
        x, y = drawn(rng, dtype, shape), drawn(rng, dtype, shape[::-1])
        same(op.copy(x), x)
        same(op.stop_gradient_one(x), x)
        for got, expected in zip(op.optimization_barrier_flat(x, y), (x, y)):
            same(got, expected)


# Broadcasting and dtypes


@covers("add", "lt")
@more
@given(shape=shapes, other=st.lists(st.booleans(), min_size=5, max_size=5), seed=seeds)
def test_scalars_and_axes_of_size_one_broadcast(shape, other, seed):
    rng = np.random.default_rng(seed)
    x = drawn(rng, np.int32, tuple(1 if flag else size for size, flag in zip(shape, other)))
    y, scalar = drawn(rng, np.int32, shape), drawn(rng, np.int32, ())
    same(op.add(x, y), np.add(x, y))
    same(op.lt(y, x), np.less(y, x))
    same(op.add(scalar, y), np.add(scalar, y))


TAKEN = {
    **{name: FLOATS + COMPLEX for name in COMPLEX_FUNCTIONS},
    **{name: FLOATS for name in ("floor", "ceil", "round", "is_finite", "cbrt")},
    "neg": NUMBERS, "sign": NUMBERS, "square": NUMBERS, "one_minus_square": NUMBERS,
    "abs": SIGNED + FLOATS + COMPLEX, "real": COMPLEX, "imag": COMPLEX,
    "conj": [np.dtype("float32"), np.dtype("float64"), *COMPLEX], "not": INTEGERS + BOOL, "population_count": INTEGERS,
    "clz": INTEGERS,
}
TAKEN_BY_PAIRS = {
    **{name: NUMBERS for name in ("add", "sub", "mul", "div")}, "rem": REALS, "max": NUMBERS + BOOL, "min": NUMBERS + BOOL,
    "atan2": FLOATS + COMPLEX, "nextafter": FLOATS, "pow": FLOATS + COMPLEX, "complex": [np.dtype("float32"), np.dtype("float64")],
    **{name: INTEGERS + BOOL for name in ("and", "or", "xor")},
    **{name: INTEGERS for name in ("mulhi", "shift_left", "shift_right_arithmetic", "shift_right_logical")},
    **{name: REALS + BOOL for name in ("lt", "le", "gt", "ge", "eq_to", "lt_to", "le_to")},
}


@pytest.mark.parametrize("name", [*TAKEN, *TAKEN_BY_PAIRS])
def test_other_dtypes_are_refused(name):
    count = 1 if name in TAKEN else 2
    taken = (TAKEN | TAKEN_BY_PAIRS)[name]
    refuses_other_dtypes(name, taken, count)
    for dtype in taken:
        assert function(name)(*[np.ones(2, dtype)] * count).shape == (2,)


def test_every_operation_of_the_family_is_drawn():
    every_operation_is_covered(__name__)
