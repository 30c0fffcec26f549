"""Cumulative reductions through XLA against the reference."""

import numpy as np
import pytest
from stablehlo_runner import check

from laminax_ir.ops import cumulative

f32 = np.float32
names = ["cumsum", "cumprod", "cummax", "cummin"]


@pytest.mark.parametrize("name", names)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "int32", "complex64", "bfloat16"])
def test_values(name, reverse, dtype):
    x = np.random.default_rng(0).integers(-2, 3, size=(2, 5, 3)).astype(dtype)
    check(lambda x: [getattr(cumulative, name)(x, axis, reverse) for axis in range(3)], x)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 8, 13])
def test_sizes(size):
    check(lambda x: [cumulative.cumsum(x), cumulative.cummax(x, reverse=True)], np.arange(size, dtype=np.int32))


# float32 exp and log are good to about 1e-6 in XLA and NumPy each.
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_cumlogsumexp(dtype):
    x = np.random.default_rng(0).normal(size=(4, 5)).astype(dtype)
    check(lambda x: [cumulative.cumlogsumexp(x, 1), cumulative.cumlogsumexp(x, 0, True)], x, rtol=1e-5, atol=1e-5)
    hard = np.array([-np.inf, -np.inf, 1000, 1000, np.inf, 0], f32)
    check(lambda x: [cumulative.cumlogsumexp(x)], hard, rtol=1e-6)


def test_nan_stays():
    check(lambda x: [cumulative.cummax(x), cumulative.cummin(x), cumulative.cumlogsumexp(x)], np.array([1, np.nan, 3], f32), rtol=1e-6)
