"""Fourier transforms: adjoints, derivatives and vmap."""

from __future__ import annotations

import numpy as np
import pytest

from laminax_ir.ops.fft import fft
from laminax_ir.options import config
from laminax_transforms import jvp, vjp, vmap


@pytest.fixture(autouse=True)
def x64():
    with config.enable_x64(True):
        yield


def operand(kind: str, shape, lengths, seed: int = 0):
    rng = np.random.default_rng(seed)
    if kind == "RFFT":
        return rng.normal(size=shape)
    if kind == "IRFFT":
        shape = (*shape[:-1], lengths[-1] // 2 + 1)
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


CASES = [(kind, shape, lengths) for kind in ("FFT", "IFFT", "RFFT", "IRFFT")
         for shape, lengths in [((5,), (5,)), ((3, 4), (4,)), ((2, 3, 4), (3, 4)), ((2, 3, 5), (2, 3, 5)), ((1,), (1,))]]


@pytest.mark.parametrize("kind, shape, lengths", CASES)
def test_vjp_is_the_transpose_of_jvp(kind, shape, lengths):
    def f(x):
        return fft(x, kind, lengths)

    x, x_dot = operand(kind, shape, lengths), operand(kind, shape, lengths, 1)
    y, y_dot = jvp(f, (x,), (x_dot,))
    np.testing.assert_allclose(y_dot, f(x_dot), atol=1e-12)
    ct = np.random.default_rng(2).normal(size=y.shape)
    if np.iscomplexobj(y):
        ct = ct + 1j * np.random.default_rng(3).normal(size=y.shape)
    (x_ct,) = vjp(f, x)[1](ct)
    # The convention for complex numbers: Re(ct . dy) = Re(x_ct . dx), without conjugation.
    np.testing.assert_allclose(np.sum(ct * y_dot).real, np.sum(x_ct * x_dot).real, atol=1e-12)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("kind", ["FFT", "IFFT", "RFFT", "IRFFT"])
def test_vmap_is_the_loop(kind, axis):
    lengths = (4,)
    x = np.moveaxis(operand(kind, (3, 2, 4), lengths), 0, axis)
    got = vmap(lambda x: fft(x, kind, lengths), in_axes=axis)(x)
    np.testing.assert_array_equal(got, np.stack([fft(v, kind, lengths) for v in np.moveaxis(x, axis, 0)]))
