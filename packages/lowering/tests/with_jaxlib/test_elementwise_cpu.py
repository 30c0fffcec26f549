"""The CPU's kernel for powers with a known exponent: NumPy's in float64, rounded once, at the edges too."""

import numpy as np
import pytest
from stablehlo_runner import run_text

from laminax_ir.ops import elementwise as ops
from laminax_ir.ops.loops import fori_loop
from laminax_ir.options.config import enable_x64
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import get_aval
from laminax_lowering import lower

EDGES = [0.0, -0.0, np.inf, -np.inf, np.nan, -1.0, -1e30, 1.0, 4.0, 1e-30, 1e30, 3e38]
X = np.concatenate([EDGES, np.exp(np.random.default_rng(0).uniform(-40, 40, 2100))]).astype(np.float32)


def texts(fun, x):
    with enable_x64(x.dtype == np.float64):
        closed = stage(lambda x: [fun(x)], [get_aval(x)])
    return lower(closed, cpu_kernels=True).text, lower(closed).text


@pytest.mark.parametrize("exponent", [0.25, 0.75, 1.25, 1.5, 1.75, 2.5, 3.75, -0.25, -0.5, -0.75, -1.5, -2.5, -3.5])
def test_against_numpy(exponent):
    with np.errstate(all="ignore"):
        expected = np.power(X.astype(np.float64), exponent).astype(np.float32)
    is_normal = ~((abs(expected) <= np.finfo(np.float32).tiny) & (expected != 0))  # the compiler's subnormal numbers are zeros
    text, general = texts(lambda x: ops.pow(x, np.float32(exponent)), X)
    assert "stablehlo.power" not in text and "stablehlo.power" in general
    (result,) = run_text(text, [X])
    assert result.dtype == np.float32
    result, expected = result[is_normal], expected[is_normal]
    is_zero = expected == 0
    np.testing.assert_array_equal(np.signbit(result[is_zero]), np.signbit(expected[is_zero]))
    # Both are rounded in float64 first: they differ where that hits a tie, which of 2100 numbers is hardly ever.
    np.testing.assert_array_equal(result, expected)


with np.errstate(over="ignore"):
    HALF = X.astype(np.float16)


@pytest.mark.parametrize("x, exponent", [(X, 2.0), (X, 0.5), (X, 1 / 3), (X, 7.5), (X[:1000], 1.5), (X.astype(np.float64), 1.5),
                                         (HALF, 1.5)],
                         ids=["whole", "root", "third", "large", "few", "float64", "float16"])
def test_what_is_left_to_the_compiler(x, exponent):
    text, general = texts(lambda x: ops.pow(x, x.dtype.type(exponent)), x)
    assert text == general


def test_an_exponent_that_is_not_known():
    closed = stage(lambda x, y: [ops.pow(x, y)], [get_aval(X), get_aval(np.float32(1))])
    assert "stablehlo.power" in lower(closed, cpu_kernels=True).text


def test_few_in_a_loop():
    x = np.float32([4, 16, 81])
    text, general = texts(lambda x: fori_loop(0, 2, lambda i, x: ops.pow(x, np.float32(1.5)), x), x)
    assert "stablehlo.power" not in text and "stablehlo.power" in general
    first = (x.astype(np.float64) ** 1.5).astype(np.float32)
    np.testing.assert_array_equal(run_text(text, [x])[0], (first.astype(np.float64) ** 1.5).astype(np.float32))
