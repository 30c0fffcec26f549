"""The CPU's kernels for windows: gradients of max and min pooling, to the bit those of the rule for all platforms, and moving sums."""

import numpy as np
import pytest
from stablehlo_runner import run_text

from laminax_ir.ops import windows as ops
from laminax_ir.ops.elementwise import ge_p, le_p
from laminax_ir.options.config import enable_x64
from laminax_ir.recording.staging import stage
from laminax_ir.reference.evaluate import evaluate
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_lowering import lower


def check(x, prim, window, strides, padding, is_taken=True):
    ones = (1,) * x.ndim
    shape = ops.windowed_shape("test", x.shape, window, strides, padding, ones, ones)
    source = np.random.default_rng(1).normal(size=shape).astype(x.dtype)
    closed = stage(lambda s, x: [ops.select_and_scatter_add(s, x, prim, window, strides, padding)],
                   [ShapedArray(shape, x.dtype), get_aval(x)])
    text, general = lower(closed, cpu_kernels=True).text, lower(closed).text
    assert ("stablehlo.select_and_scatter" not in text) == is_taken and "stablehlo.select_and_scatter" in general
    (result,), (by_rule,) = run_text(text, [source, x]), run_text(general, [source, x])
    assert result.tobytes() == by_rule.tobytes()
    if not np.isnan(x).any():
        np.testing.assert_allclose(result, evaluate(closed, source, x)[0], rtol=1e-6)


@pytest.mark.parametrize("prim", [ge_p, le_p], ids=["max", "min"])
@pytest.mark.parametrize("shape, window, strides, padding", [
    ((12,), (3,), (3,), ((0, 0),)), ((13,), (3,), (2,), ((1, 1),)), ((13,), (2,), (3,), ((0, 0),)),
    ((7, 9), (3, 3), (1, 2), ((1, 1), (0, 2))),
    ((2, 8, 8, 3), (1, 2, 2, 1), (1, 2, 2, 1), ((0, 0),) * 4), ((2, 7, 5, 3), (1, 3, 3, 1), (1, 2, 2, 1), ((0, 0), (1, 1), (1, 1), (0, 0))),
    ((5,), (2,), (2,), ((2, 3),))],
    ids=["disjoint", "padded", "gaps", "overlapping", "pooling", "pooling 3 by 3", "windows of padding"])
def test_windows(shape, window, strides, padding, prim):
    rng = np.random.default_rng(0)
    check(rng.normal(size=shape).astype(np.float32), prim, window, strides, padding)
    check(rng.integers(0, 3, size=shape).astype(np.float32), prim, window, strides, padding)  # the first of equal ones
    check(rng.choice(np.array([np.nan, np.inf, -np.inf, 0, -0.0, 1], np.float32), size=shape), prim, window, strides, padding)


SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0])


def check_moving_sum(x, count, padding, is_taken, of_computed=False):
    window = dict(window_dimensions=(count,), window_strides=(1,), base_dilation=(1,), window_dilation=(1,))

    def fun(x):
        return [ops.reduce_window_sum_p.bind(x + x if of_computed else x, padding=(padding,), **window)]

    with enable_x64(True):
        closed = stage(fun, [get_aval(x)])
        text = lower(closed, cpu_kernels=True).text
        assert ("stablehlo.pad" in text) == is_taken
        (result,) = run_text(text, [x])
    terms = np.pad(x.astype(np.float64) * (1 + of_computed), padding)
    sizes = np.pad(np.abs(x).astype(np.float64) * (1 + of_computed), padding)
    with np.errstate(invalid="ignore"):
        expected, magnitude = (np.lib.stride_tricks.sliding_window_view(y, count).sum(-1) for y in (terms, sizes))
    assert result.dtype == x.dtype and result.shape == expected.shape
    finite = np.isfinite(magnitude)
    # a rounding for each sum, of at most the sum of the absolute values
    assert (np.abs(result[finite] - expected[finite]) <= count * np.finfo(x.dtype).eps * magnitude[finite]).all()
    np.testing.assert_array_equal(result[~finite], expected[~finite].astype(x.dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("count, size, padding, of_computed, is_taken", [
    (51, 40_000, (25, 25), False, True), (16, 125_000, (15, 0), False, True), (51, 39_000, (25, 25), False, False),
    (15, 200_000, (7, 7), False, False), (51, 40_000, (0, 0), False, False), (51, 8_000, (25, 25), True, True),
    (51, 7_000, (25, 25), True, False), (3000, 1000, (2999, 3010), False, True)])
def test_moving_sums(count, size, padding, of_computed, is_taken, dtype):
    rng = np.random.default_rng(0)
    check_moving_sum(rng.normal(size=size).astype(dtype), count, padding, is_taken, of_computed)
    special = np.where(rng.random(size) < 1e-3, rng.choice(SPECIAL, size), rng.normal(size=size)).astype(dtype)
    check_moving_sum(special, count, padding, is_taken, of_computed)


def test_large_windows_are_left_to_the_rule():
    check(np.arange(40, dtype=np.float32), ge_p, (17,), (1,), ((0, 0),), is_taken=False)
