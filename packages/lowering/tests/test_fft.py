"""The StableHLO text of Fourier transforms."""

import numpy as np

from laminax_ir.ops.fft import fft
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray
from laminax_lowering import lower


def test_one_operation():
    text = lower(stage(lambda x: [fft(x, "RFFT", (4,))], [ShapedArray((3, 4), np.float32)])).text
    assert ('"stablehlo.fft"(%arg0) {fft_length = array<i64: 4>, fft_type = #stablehlo<fft_type RFFT>} : '
            "(tensor<3x4xf32>) -> tensor<3x3xcomplex<f32>>") in text


def test_real_inverse_in_several_axes_on_gpus():
    closed = stage(lambda x: [fft(x, "IRFFT", (6, 4))], [ShapedArray((2, 6, 3), np.complex64)])
    assert lower(closed, platform="cpu").text.count("stablehlo.fft\"") == 1
    for platform in ("cuda", "rocm"):
        text = lower(closed, platform=platform).text
        assert text.count("stablehlo.fft\"") == 2 and text.count("stablehlo.transpose") == 2
        assert "fft_type IFFT>} : (tensor<2x3x6xcomplex<f32>>)" in text
