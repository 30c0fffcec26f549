"""Fourier transforms against the sum that defines them, and against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laminax_ir.ops.fft import FftType, fft
from laminax_ir.options import config
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray


def by_definition(x, sign):
    n = len(x)
    return np.exp(sign * 2j * np.pi * np.outer(np.arange(n), np.arange(n)) / n) @ x


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_definition(rng_values, n):
    x, y = rng_values(n), rng_values(n) + 1j * rng_values(n)
    with config.enable_x64(True):
        np.testing.assert_allclose(fft(y, "FFT", (n,)), by_definition(y, -1), atol=1e-12)
        np.testing.assert_allclose(fft(y, "IFFT", (n,)), by_definition(y, 1) / n, atol=1e-12)
        half = fft(x, FftType.RFFT, (n,))
        np.testing.assert_allclose(half, by_definition(x, -1)[:n // 2 + 1], atol=1e-12)
        np.testing.assert_allclose(fft(half, FftType.IRFFT, (n,)), x, atol=1e-12)


@pytest.fixture
def rng_values():
    rng = np.random.default_rng(0)
    return lambda *shape: rng.normal(size=shape)


@settings(derandomize=True, deadline=None, max_examples=25)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=4).map(tuple), st.data())
def test_many_axes(shape, data):
    rank = data.draw(st.integers(1, min(3, len(shape))))
    axes, lengths = range(len(shape) - rank, len(shape)), shape[-rank:]
    x = np.random.default_rng(1).normal(size=(2, *shape))
    real, cplx = x[0].astype(np.float32), (x[0] + 1j * x[1]).astype(np.complex64)
    for result, expected in [(fft(cplx, "fft", lengths), np.fft.fftn(cplx, axes=axes)),
                             (fft(cplx, "ifft", lengths), np.fft.ifftn(cplx, axes=axes)),
                             (fft(real, "rfft", lengths), np.fft.rfftn(real, axes=axes)),
                             (fft(np.fft.rfftn(real, axes=axes), "irfft", lengths), real)]:
        assert result.dtype in (np.complex64, np.float32)
        np.testing.assert_allclose(result, expected, atol=1e-4)


def test_empty_and_no_axes():
    assert fft(np.zeros((0, 4), np.complex64), "FFT", (4,)).shape == (0, 4)
    x = np.complex64([1, 2])
    np.testing.assert_array_equal(fft(x, "FFT", ()), x)


def test_operands_are_converted():
    assert fft(np.arange(4), "FFT", (4,)).dtype == np.complex64
    assert fft(np.arange(4), "RFFT", (4,)).dtype == np.complex64
    assert fft(np.arange(4, dtype=np.float16), "RFFT", (4,)).dtype == np.complex64


def test_it_prints_as_in_jax():
    closed = stage(lambda x: [fft(x, "RFFT", (4,))], [ShapedArray((3, 4), np.float32)])
    assert "b:c64[3,3] = fft[fft_lengths=(4,) fft_type=2] a" in str(closed)


c64, f32 = np.zeros((3, 4), np.complex64), np.zeros((3, 4), np.float32)


@pytest.mark.parametrize("call, error, message", [
    (lambda: fft(c64, "DCT", (4,)), ValueError, "unknown FFT type 'DCT'"),
    (lambda: fft(c64, 7, (4,)), TypeError, "unknown FFT type 7"),
    (lambda: fft(c64, "FFT", (5,)), ValueError, r"minor dimensions must be equal to fft_lengths \(5,\); the input is c64\[3,4\]"),
    (lambda: fft(c64, "RFFT", (4,)), ValueError, r"only real valued inputs .* got c64\[3,4\]"),
    (lambda: fft(f32, "RFFT", (2, 3, 4)), ValueError, "must have at least as many input dimensions as fft_lengths"),
    (lambda: fft(np.zeros((1,) * 4), "FFT", (1,) * 4), ValueError, "one to three axes"),
    (lambda: fft(c64, "IRFFT", (2, 6)), ValueError, r"got fft_lengths=\(2, 6\).*\(2, 4\) altogether"),
    (lambda: fft(c64, "FFT", (4.5,)), TypeError, "fft: Shapes must be"),
])
def test_wrong_calls(call, error, message):
    with pytest.raises(error, match=message):
        call()
