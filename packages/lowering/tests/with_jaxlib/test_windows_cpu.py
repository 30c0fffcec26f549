"""The CPU's kernel for gradients of max and min pooling: to the bit what the rule for all platforms gives, and what the operation means."""

import numpy as np
import pytest
from stablehlo_runner import run_text

from laminax_ir.ops import windows as ops
from laminax_ir.ops.elementwise import ge_p, le_p
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


def test_large_windows_are_left_to_the_rule():
    check(np.arange(40, dtype=np.float32), ge_p, (17,), (1,), ((0, 0),), is_taken=False)
