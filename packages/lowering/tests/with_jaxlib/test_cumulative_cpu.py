"""The CPU's kernels for cumulative reductions: NumPy's accumulation in float64, no further from it than the rule, as one kernel."""

import jaxlib
import ml_dtypes
import numpy as np
import pytest
from stablehlo_runner import run_text

from laminax_ir.ops import cumulative
from laminax_ir.ops.loops import fori_loop
from laminax_ir.options.config import enable_x64
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import get_aval
from laminax_lowering import lower

NEW = tuple(map(int, jaxlib.__version__.split(".")[:2])) >= (0, 12)
RNG = np.random.default_rng(0)
NUMPY = {"cumsum": np.add, "cumprod": np.multiply, "cummax": np.maximum, "cummin": np.minimum, "cumlogsumexp": np.logaddexp}
# Rows and columns, with tiles that overlap, blocks that are cut short, and pieces of long rows with something left.
CASES = [((10,), 0), ((1000,), 0), ((1500,), 0), ((3, 17), 1), ((100, 19), 1), ((129, 3), 0), ((2, 12, 70), 1),
         ((1, 1100), 1)]
LARGE = [((5000,), 0), ((2, 70_001), 1), ((2, 5_001), 1), ((1, 40_000), 1), ((33, 500), 1), ((700, 9), 0), ((11, 2500), 0),
         ((3, 200, 5), 1)]


def texts(fun, x):
    with enable_x64(True):
        closed = stage(lambda x: [fun(x)], [get_aval(x)])
    return lower(closed, cpu_kernels=True, has_new_cpu_compiler=NEW).text, lower(closed).text


def accumulated(name, x, axis, reverse):
    """In float64 if it is floating."""
    wide = x.astype(np.float64) if x.dtype.kind not in "iu" else x
    turned = np.flip(wide, axis) if reverse else wide
    with np.errstate(all="ignore"):
        found = NUMPY[name].accumulate(turned, axis, dtype=wide.dtype)
    return np.flip(found, axis) if reverse else found


@pytest.mark.parametrize("shape, axis, reverse", [(*case, i % 2 == 1) for i, case in enumerate(CASES + LARGE * NEW)])
@pytest.mark.parametrize("name", NUMPY)
def test_against_numpy_and_no_further_than_the_rule(name, shape, axis, reverse):
    x = RNG.normal(size=shape).astype(np.float32)
    if name == "cumprod":
        x = (1 + x / 30).astype(np.float32)
    text, general = texts(lambda x: getattr(cumulative, name)(x, axis, reverse), x)
    assert text.count('xla_cpu_small_call="true"') == 1 and "small_call" not in general
    assert "stablehlo.reduce_window" in general and "reduce_window" not in text
    expected = accumulated(name, x, axis, reverse)
    (result,), (by_rule,) = run_text(text, [x]), run_text(general, [x])
    if name in ("cummax", "cummin"):
        return np.testing.assert_array_equal(result, expected)
    errors = [abs(found - expected).max() for found in (result, by_rule)]
    # A rounding of half a unit for each of three levels of at most 512 sums: random signs, five standard deviations; logarithms have four.
    unit = np.spacing(abs(expected).max().astype(np.float32))
    assert errors[0] <= max(2 * errors[1], 5 * (3 * 512) ** 0.5 / 3.5 * unit * (4 if name == "cumlogsumexp" else 1))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin"])
def test_integers_have_the_rules_bits(name, dtype):
    x = RNG.integers(0, 100, (30, 40)).astype(dtype)
    text, general = texts(lambda x: getattr(cumulative, name)(x, 1, False), x)
    (result,), (by_rule,) = run_text(text, [x]), run_text(general, [x])
    assert result.dtype == dtype and result.tobytes() == by_rule.tobytes() == accumulated(name, x, 1, False).tobytes()


@pytest.mark.parametrize("dtype", ["float16", ml_dtypes.bfloat16])
def test_narrow_floats_are_rounded_once(dtype):
    """Two thousand ones: a running sum in bfloat16 ends at 256."""
    x = np.ones(1500, dtype)
    (result,) = run_text(texts(lambda x: cumulative.cumsum(x, 0, False), x)[0], [x])
    np.testing.assert_array_equal(result, np.arange(1, 1501).astype(dtype))


@pytest.mark.parametrize("name", NUMPY)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite(name, value):
    x = np.ones(1500, np.float32)
    x[[3, 700]] = value
    text, general = texts(lambda x: getattr(cumulative, name)(x, 0, False), x)
    expected = accumulated(name, x, 0, False)
    for found in (*run_text(text, [x]), *run_text(general, [x])):
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_the_sum_of_many_is_near():
    """A million numbers between 0 and 1: one running sum in float32 is a hundred times further away."""
    if not NEW:
        pytest.skip("jaxlib 0.10.2 refuses what several threads work on in small kernels")
    x = RNG.random(1_000_000).astype(np.float32)
    expected = np.cumsum(x.astype(np.float64))
    (result,) = run_text(texts(lambda x: cumulative.cumsum(x, 0, False), x)[0], [x])
    assert abs(result / expected - 1).max() < 2e-6 < abs(np.cumsum(x) / expected - 1).max()


def test_a_kernel_in_a_loop_is_a_part_of_it():
    x = np.ones((5, 30), np.float32)
    text, _ = texts(lambda x: fori_loop(0, 3, lambda i, x: cumulative.cumsum(x, 1, False), x), x)
    assert "small_call" not in text and "reduce_window" not in text
    (result,) = run_text(text, [x])
    expected = x
    for _ in range(3):
        expected = np.cumsum(expected, 1)
    np.testing.assert_array_equal(result, expected)  # integers below 2^24


@pytest.mark.parametrize("x, axis", [(np.ones(9, np.float32), 0), (np.ones((0, 20), np.float32), 1), (np.ones(20, np.complex64), 0),
                                     (np.ones(20, ml_dtypes.float8_e4m3fn), 0)], ids=["short", "empty", "complex", "eight bits"])
def test_what_is_left_to_the_rule(x, axis):
    text, general = texts(lambda x: cumulative.cumsum(x, axis, False), x)
    assert text == general
