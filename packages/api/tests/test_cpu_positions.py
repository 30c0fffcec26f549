"""argmax and argmin on one CPU device, by two reductions: the positions are NumPy's, with ties, NaNs and zeros of both signs."""

import numpy as np
import pytest

from laminax_ir.options import config

import laminax
from laminax import numpy as jnp


def _drawn(dtype):
    rng = np.random.default_rng(0)
    x = rng.integers(-3, 4, (80, 60, 25)).astype(dtype)  # most values are there several times
    if np.issubdtype(dtype, np.floating):
        x[x == 0] = np.where(rng.random(np.count_nonzero(x == 0)) < 0.5, -0.0, 0.0)
        x[rng.random(x.shape) < 0.02] = np.nan
        x[3], x[:, 4] = -np.inf, np.inf
    return x


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.uint16])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_positions_are_those_of_numpy(name, axis, dtype):
    x = _drawn(dtype)
    found = laminax.jit(lambda x: getattr(jnp, name)(x, axis))(x)
    np.testing.assert_array_equal(found, getattr(np, name)(x, axis))
    with config.cpu_kernels(False):
        np.testing.assert_array_equal(found, laminax.jit(lambda x: getattr(jnp, name)(x, axis))(x))


def test_the_choice_is_in_the_text():
    f = lambda x: x.argmax(0)  # noqa: E731
    assert "stablehlo.maximum" in laminax.jit(f).lower(np.zeros((400, 400), np.float32)).as_text()
    assert "stablehlo.maximum" not in laminax.jit(f).lower(np.zeros((4, 4), np.float32)).as_text()
    with config.cpu_kernels(False):
        assert "stablehlo.maximum" not in laminax.jit(lambda x: f(x)).lower(np.zeros((400, 400), np.float32)).as_text()


def test_narrow_positions():
    x = np.random.default_rng(0).normal(size=(127, 1000)).astype(np.float32)
    found = laminax.lax.argmax(x, 0, np.int8)
    assert found.dtype == np.int8
    np.testing.assert_array_equal(found, x.argmax(0))
