"""The CPU's kernels of single precision that are computed in float64: NumPy's in float64, rounded once, at the edges too."""

import math

import ml_dtypes
import numpy as np
import pytest
from stablehlo_runner import run_text

from laminax_ir.ops import elementwise as ops
from laminax_ir.ops import reduction
from laminax_ir.ops.loops import fori_loop
from laminax_ir.options.config import enable_x64
from laminax_ir.recording.staging import stage
from laminax_ir.types.accuracy import AccuracyMode
from laminax_ir.types.avals import get_aval
from laminax_lowering import lower

COUNT = 10_001  # enough for the kernels, and no multiple of a vector
FEW_UNITS = 0.502  # half a unit of the rounding, and what polynomials leave in float64
FUNCTIONS = {"sin": (ops.sin, np.sin, "stablehlo.sine"), "cos": (ops.cos, np.cos, "stablehlo.cosine"),
             "tan": (ops.tan, np.tan, "stablehlo.tan"), "asin": (ops.asin, np.arcsin, "chlo.asin"),
             "acos": (ops.acos, np.arccos, "chlo.acos"), "cbrt": (ops.cbrt, np.cbrt, "stablehlo.cbrt")}
EDGES = np.float32([0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 0.5, -0.5, 2, -2, 6, -6, 3, 3e38, -3e38, 1.2e-38, 1e-10, -1e-10,
                    np.nextafter(np.float32(1), np.float32(2))])


def texts(fun, *operands, **options):
    with enable_x64(operands[0].dtype == np.float64):
        closed = stage(lambda *xs: [fun(*xs)], [get_aval(x) for x in operands])
    return lower(closed, cpu_kernels=True, **options).text, lower(closed, **options).text


def many(x):
    return np.resize(x, max(COUNT, len(x)))


def of_all_sizes(seed=0):
    """Normal float32 of all exponents and both signs."""
    found = np.random.default_rng(seed).integers(0, 1 << 32, 40_000, dtype=np.uint64).astype(np.uint32).view(np.float32)
    return many(found[np.isfinite(found) & (np.abs(found) >= np.finfo(np.float32).tiny)])


def near_quarter_turns():
    """Float32 next to multiples of pi / 2, up to 2**40 of these, and the one of all that is nearest to one (J.-M. Muller, "Elementary
    functions", table 11.1)."""
    rng = np.random.default_rng(0)
    multiples = np.concatenate([np.arange(-1000, 1000), np.floor(2.0 ** rng.uniform(10, 40, COUNT))])
    return np.concatenate([np.float32(multiples * (math.pi / 2)), np.float32([16367173 * 2.0**72, -16367173 * 2.0**72])])


def units(found, expected):
    """The largest error in units in the last place; where the result is no normal number it has to be the same one."""
    with np.errstate(over="ignore"):
        rounded = expected.astype(np.float32)
    is_normal = np.isfinite(rounded) & (np.abs(expected) >= np.finfo(np.float32).tiny)
    is_edge = ~is_normal & ((expected == 0) | ~np.isfinite(rounded))
    np.testing.assert_array_equal(found[is_edge], rounded[is_edge])
    is_zero = expected == 0
    np.testing.assert_array_equal(np.signbit(found[is_zero]), np.signbit(expected[is_zero]))
    distances = np.abs(found[is_normal].astype(np.float64) - expected[is_normal])
    return np.max(distances / np.spacing(np.abs(rounded[is_normal])), initial=0)


NUMBERS = {"of all sizes": of_all_sizes(), "near quarter turns": near_quarter_turns(), "edges": many(EDGES),
           "below 2": np.random.default_rng(1).uniform(-2, 2, COUNT).astype(np.float32),
           "around the second table": many(np.float32(2.0**76) * np.linspace(0.5, 2, 3000, dtype=np.float32)),
           "around tiny ones": many(np.float32(2.0**-14) * np.linspace(-2, 2, 3000, dtype=np.float32))}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("numbers", NUMBERS)
def test_within_a_rounding_of_float64(name, numbers):
    fun, reference, operation = FUNCTIONS[name]
    x = NUMBERS[numbers]
    text, general = texts(fun, x)
    assert operation not in text and operation in general
    (found,) = run_text(text, [x])
    with np.errstate(invalid="ignore"):
        expected = reference(x.astype(np.float64))
    assert found.dtype == np.float32 and units(found, expected) < FEW_UNITS


def test_against_the_standard_library():
    """Not of NumPy: what it has for sines of large float64 depends on the processor."""
    x = np.concatenate([of_all_sizes(2), near_quarter_turns()])
    for fun, reference in [(ops.sin, math.sin), (ops.cos, math.cos), (ops.tan, math.tan)]:
        (found,) = run_text(texts(fun, x)[0], [x])
        assert units(found, np.array([reference(v) for v in x.tolist()])) < FEW_UNITS


PAIRS = {"of all sizes": (of_all_sizes(3), of_all_sizes(4)), "edges": (many(np.repeat(EDGES, 20)), many(np.tile(EDGES, 20))),
         "alike": (of_all_sizes(5), np.where(np.abs(of_all_sizes(5)) < 1e-37, 1, 0.75).astype(np.float32) * of_all_sizes(5)),
         "small": tuple(np.random.default_rng(6).uniform(-10, 10, (2, COUNT)).astype(np.float32)),
         "whole": tuple(np.random.default_rng(7).integers(-20, 20, (2, COUNT)).astype(np.float32))}


@pytest.mark.parametrize("numbers", PAIRS)
def test_angles(numbers):
    y, x = PAIRS[numbers]
    y, x = y[:len(x)], x[:len(y)]
    text, general = texts(ops.atan2, y, x)
    assert "stablehlo.atan2" not in text and "stablehlo.atan2" in general
    assert units(run_text(text, [y, x])[0], np.arctan2(y.astype(np.float64), x.astype(np.float64))) < FEW_UNITS


@pytest.mark.parametrize("numbers", PAIRS)
def test_remainders_are_exact(numbers):
    x, y = PAIRS[numbers]
    x, y = x[:len(y)], y[:len(x)]
    text, general = texts(ops.rem, x, y)
    assert "stablehlo.remainder" not in text and "stablehlo.remainder" in general
    with np.errstate(invalid="ignore"):
        assert units(run_text(text, [x, y])[0], np.fmod(x.astype(np.float64), y.astype(np.float64))) == 0


@pytest.mark.parametrize("divisor", [2 * math.pi, 1, -0.3, 3e38, 2e-38, np.inf, np.nan, 0.0])
def test_remainders_by_a_known_number(divisor):
    divisor = np.float32(divisor)
    x = np.concatenate([of_all_sizes(), EDGES])
    text, _ = texts(lambda x: ops.rem(x, divisor), x)
    assert "stablehlo.remainder" not in text
    with np.errstate(invalid="ignore"):
        assert units(run_text(text, [x])[0], np.fmod(x.astype(np.float64), np.float64(divisor))) == 0


def test_a_known_divisor_takes_fewer_steps():
    x = np.ones(COUNT, np.float32)
    by_known, _ = texts(lambda x: ops.rem(x, np.float32(6.28)), x)
    by_any, _ = texts(ops.rem, x, x)
    assert (by_known.count("round_nearest_even"), by_any.count("round_nearest_even")) == (5, 10)  # of 28 bits: 2**126 and 2**254


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_halves(dtype):
    """As of float32, rounded to the narrow dtype."""
    edges = EDGES[np.abs(EDGES.astype(np.float64)) != np.float32(3e38)]
    x = many(np.concatenate([edges, np.random.default_rng(0).uniform(-30, 30, 3000)]).astype(dtype))
    for fun, reference in [(f, r) for f, r, _ in FUNCTIONS.values()]:
        text, _ = texts(fun, x)
        (found,) = run_text(text, [x])
        assert found.dtype == dtype and "f64" in text
        with np.errstate(invalid="ignore"):
            expected = reference(x.astype(np.float64)).astype(np.float32).astype(dtype)
        # Rounded twice, as the expected: they differ where float32 has a tie of the narrow dtype, and float64 none.
        np.testing.assert_array_equal(found.astype(np.float32), expected.astype(np.float32))


def test_a_scalar_beside_an_array():
    y = many(np.random.default_rng(0).uniform(0.5, 9, COUNT).astype(np.float32))
    for fun, reference in [(ops.rem, np.fmod), (ops.atan2, np.arctan2)]:
        text, _ = texts(lambda x, y: fun(x, y), np.float32(7.5), y)
        assert "f64" in text
        assert units(run_text(text, [np.float32(7.5), y])[0], reference(np.float64(7.5), y.astype(np.float64))) < FEW_UNITS


def test_the_place_in_an_array_does_not_matter():
    numbers = of_all_sizes()[:13]
    for fun, _, _ in FUNCTIONS.values():
        x = np.tile(numbers, 1000)
        (found,) = run_text(texts(fun, x)[0], [x])
        rows = np.where(np.isnan(found), np.float32(np.nan), found).view(np.uint32).reshape(1000, 13)  # NaNs have signs
        np.testing.assert_array_equal(rows, np.broadcast_to(rows[0], rows.shape))


def test_in_a_loop():
    x = np.random.default_rng(0).uniform(-3, 3, 32).astype(np.float32)
    text, general = texts(lambda x: fori_loop(0, 3, lambda i, x: ops.sin(ops.add(x, x)), x), x)
    assert "stablehlo.sine" not in text and "stablehlo.sine" in general
    expected = x
    for _ in range(3):
        expected = np.sin(2 * expected.astype(np.float64)).astype(np.float32)
    np.testing.assert_allclose(run_text(text, [x])[0], expected, rtol=1e-6)


@pytest.mark.parametrize("fun, x", [
    (ops.sin, np.ones(9_999, np.float32)), (ops.sin, np.ones(COUNT, np.float64)),
    (lambda x: ops.tan(x, accuracy=AccuracyMode.HIGHEST), np.ones(COUNT, np.float32)),
    (lambda x: fori_loop(0, 3, lambda i, x: ops.sin(x), x), np.ones(31, np.float32)),
    (lambda x: ops.rem(x, np.int32(7)), np.ones(COUNT, np.int32)), (lambda x: ops.atan2(x, x), np.ones(COUNT, np.float64)),
], ids=["few", "float64", "accuracy", "few in a loop", "integers", "pairs of float64"])
def test_what_is_left_to_the_compiler(fun, x):
    text, general = texts(fun, x)
    assert text == general


SUMMED = {  # whether the result goes only into a reduction, through what the library of jaxlib 0.12 has
    "sum": (lambda x: reduction.reduce_sum(ops.sin(x), (0,)), True),
    "squares": (lambda x: reduction.reduce_max(ops.square(ops.sub(ops.sin(x), np.float32(0.5))), (0,)), True),
    "with itself": (lambda x: (lambda y: reduction.reduce_sum(ops.mul(y, y), (0,)))(ops.sin(x)), True),
    "selected": (lambda x: reduction.reduce_sum(ops.select(ops.gt(x, np.float32(0)), ops.sin(x), x), (0,)), False),
    "read twice": (lambda x: (lambda y: ops.add(reduction.reduce_sum(y, (0,)), y))(ops.sin(x)), False),
    "a result": (ops.sin, False),
}


@pytest.mark.parametrize("name", SUMMED)
def test_what_the_librarys_sums_have_is_left_to_it(name):
    fun, is_left = SUMMED[name]
    x = np.ones(COUNT, np.float32)
    assert ("stablehlo.sine" in texts(fun, x, has_new_cpu_compiler=True)[0]) == is_left
    assert "stablehlo.sine" not in texts(fun, x)[0]
