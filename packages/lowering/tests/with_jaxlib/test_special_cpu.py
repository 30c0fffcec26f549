"""The CPU's kernel for the logarithm of the gamma function of float32: the standard library's in float64, rounded once."""

import math

import numpy as np
import pytest
from stablehlo_runner import run_text

from laminax_ir.ops import special
from laminax_ir.ops.loops import fori_loop
from laminax_ir.options.config import enable_x64
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import get_aval
from laminax_lowering import lower

BORDERS = np.float32([-0.5, 0.5, 1.5, 2.5, 3.5, 4.5, -4.5, -1.5, -2.5, -3.5])
ZEROS = np.float32([1, 2, -2.4570248, -2.7476826, -3.1435809, -3.9552943, -4.0397673, -5.0082183, -6.0013847])


def texts(fun, x):
    with enable_x64(x.dtype == np.float64):
        closed = stage(lambda x: [fun(x)], [get_aval(x)])
    return lower(closed, cpu_kernels=True).text, lower(closed).text


def log_gamma(x):
    """Of poles, which the standard library refuses, infinity."""
    return np.array([math.inf if v <= 0 and v.is_integer() else math.lgamma(v) for v in x.astype(np.float64).tolist()])


def around(points, count=40):
    """The float32 next to each point on both sides."""
    found = [points]
    for direction in (-np.inf, np.inf):
        last = points
        for _ in range(count):
            last = np.nextafter(last, np.float32(direction))
            found.append(last)
    return np.concatenate(found)


RANGES = [(0.1, 30), (0, 1), (0.9, 2.6), (-0.6, 0), (-10, 0), (-40, -10), (1, 1e6), (1e6, 1e30), (-1e6, -1)]


def drawn(low, high):
    return np.random.default_rng(0).uniform(low, high, 3000).astype(np.float32)


@pytest.mark.parametrize("x", [around(ZEROS), around(BORDERS), *[drawn(*limits) for limits in RANGES]],
                         ids=["zeros", "borders", *[f"{low}..{high}" for low, high in RANGES]])
def test_within_a_rounding_of_float64(x):
    text, general = texts(special.lgamma, x)
    assert "chlo.lgamma" not in text and "chlo.lgamma" in general
    (found,) = run_text(text, [x])
    assert found.dtype == np.float32
    expected = log_gamma(x)
    # half a unit of float32, and what float64's logarithms leave where they cancel: next to the zeros below 0
    is_finite = np.isfinite(expected)
    np.testing.assert_array_equal(found[~is_finite], expected[~is_finite])
    found, expected = found[is_finite], expected[is_finite]
    units = np.abs(found - expected) / np.spacing(np.abs(expected).astype(np.float32))
    assert units.max() < (0.75 if x.min() < -2 else 0.501)


def test_edges():
    """Poles, infinities and NaN; what is too large for float32."""
    x = np.float32([np.inf, -np.inf, np.nan, 0.0, -0.0, -1, -2, -3, -7, -1e8, 3e38, 1e-30, -1e-30, 1, 2])
    (found,) = run_text(texts(special.lgamma, x)[0], [x])
    small = np.float32(30 * math.log(10))
    np.testing.assert_allclose(found, np.float32([np.inf, np.inf, np.nan, *[np.inf] * 8, small, small, 0, 0]), rtol=1e-7)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (2, 3, 4)])
def test_shapes(shape):
    x = np.full(shape, 5, np.float32)
    (found,) = run_text(texts(special.lgamma, x)[0], [x])
    np.testing.assert_allclose(found, np.full(shape, math.log(24), np.float32), rtol=1e-7)


def test_in_a_loop():
    x = np.float32([6, 30, 3.5])
    text, _ = texts(lambda x: fori_loop(0, 2, lambda i, x: special.lgamma(x), x), x)
    assert "chlo.lgamma" not in text
    expected = [math.lgamma(math.lgamma(v)) for v in x.tolist()]
    np.testing.assert_allclose(run_text(text, [x])[0], expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float16])
def test_other_precisions_are_left_to_the_compiler(dtype):
    text, general = texts(special.lgamma, np.ones(3, dtype))
    assert text == general
