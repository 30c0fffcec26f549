"""Fourier transforms compiled and run by XLA, against NumPy's."""

import numpy as np
import pytest
from stablehlo_runner import check

from laminax_ir.ops.fft import fft
from laminax_ir.options import config


@pytest.mark.parametrize("dtype, tolerance", [("float32", 1e-5), ("float64", 1e-13)])  # a few eps times log2(n)
@pytest.mark.parametrize("lengths", [(4,), (5,), (3, 4), (2, 3, 5)])
def test_all_kinds(lengths, dtype, tolerance):
    rng = np.random.default_rng(0)
    real = rng.normal(size=(2, *lengths)).astype(dtype)
    half = np.fft.rfftn(real, axes=range(1, real.ndim)).astype(np.result_type(dtype, np.complex64))
    with config.enable_x64(True):
        check(lambda x, y: [fft(x, "RFFT", lengths), fft(x, "FFT", lengths), fft(x, "IFFT", lengths), fft(y, "IRFFT", lengths)],
              real, half, rtol=tolerance, atol=10 * tolerance)
