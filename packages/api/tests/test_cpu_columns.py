"""Columns that are joined to rows on one CPU device: the bits of NumPy's, with the kernel and without."""

import ml_dtypes
import numpy as np
import pytest

from laminax_ir.options import config

import laminax
from laminax import numpy as jnp

OF_KERNEL = "stablehlo.transpose"
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40])


def columns(count, rows, dtype=np.float32):
    rng = np.random.default_rng(0)
    return [np.where(rng.random(rows) < 0.1, rng.choice(SPECIAL, rows), rng.normal(size=rows)).astype(dtype)
            if np.dtype(dtype).kind not in "iub" else rng.integers(0, 100, rows).astype(dtype) for _ in range(count)]


def text(f, *args):
    return laminax.jit(f).lower(*args).as_text()


def stacked(*xs):
    return jnp.stack(xs, -1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, ml_dtypes.bfloat16, np.float16, np.int32, np.uint16, np.complex64])
@pytest.mark.parametrize("count, rows", [(2, 8000), (3, 10_001), (16, 8192)])
def test_columns_are_joined_to_the_bit(count, rows, dtype):
    with config.enable_x64(True):
        xs = columns(count, rows, dtype)
        assert OF_KERNEL in text(lambda *xs: stacked(*xs), *xs)
        with config.cpu_kernels(False):
            assert OF_KERNEL not in text(lambda *xs: stacked(*xs), *xs)
        assert np.asarray(laminax.jit(stacked)(*xs)).tobytes() == np.stack(xs, -1).tobytes()
        moved = laminax.jit(lambda *xs: stacked(*[x[::-1] for x in xs])[5:, 1:])  # fused with what is before and after it
        assert np.asarray(moved(*xs)).tobytes() == np.stack([x[::-1] for x in xs], -1)[5:, 1:].tobytes()


@pytest.mark.parametrize("xs, axis", [
    (columns(2, 7999), -1), (columns(17, 8000), -1), (columns(2, 8000), 0), (columns(2, 8000, np.bool_), -1),
    ([x.reshape(4000, 2) for x in columns(2, 8000)], 1)], ids=["few rows", "many columns", "rows", "bytes", "middle axis"])
def test_others_are_left_to_the_rule(xs, axis):
    f = laminax.jit(lambda *xs: jnp.stack(xs, axis))
    assert OF_KERNEL not in f.lower(*xs).as_text()
    assert np.asarray(f(*xs)).tobytes() == np.stack(xs, axis).tobytes()


def test_wider_pieces_are_left_to_the_rule():
    a, b = (x.reshape(8000, 2) for x in columns(2, 16_000))
    f = laminax.jit(lambda a, b: jnp.concatenate([a, b], 1))
    assert OF_KERNEL not in f.lower(a, b).as_text()
    assert np.asarray(f(a, b)).tobytes() == np.concatenate([a, b], 1).tobytes()


def test_under_vmap_and_with_derivatives():
    a, b, c = (np.nan_to_num(x, posinf=1, neginf=2).reshape(100, 100) for x in columns(3, 10_000))
    by_rows = laminax.jit(laminax.vmap(stacked))
    assert OF_KERNEL in by_rows.lower(a, b, c).as_text()
    assert np.asarray(by_rows(a, b, c)).tobytes() == np.stack([a, b, c], -1).tobytes()
    weights = np.random.default_rng(1).normal(size=(100, 100, 3)).astype(np.float32)
    gradients = laminax.jit(laminax.grad(lambda a, b, c: (stacked(a, b, c) ** 2 * weights).sum(), (0, 1, 2)))(a, b, c)
    for i, (gradient, x) in enumerate(zip(gradients, (a, b, c))):
        np.testing.assert_allclose(gradient, 2.0 * x * weights[..., i], rtol=1e-6, atol=1e-37)  # subnormals become 0


def test_cross_products():
    x, y = np.random.default_rng(0).normal(size=(2, 20_000, 3)).astype(np.float32)
    np.testing.assert_allclose(laminax.jit(jnp.cross)(x, y), np.cross(x.astype(np.float64), y), rtol=1e-4, atol=1e-5)
