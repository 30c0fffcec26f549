"""NumPy meaning of the Fourier transforms."""

from __future__ import annotations

from typing import Any

import numpy as np

from laminax_ir.ops.fft import FftType, fft_p
from laminax_ir.reference.evaluate import reference_rule

_FUNCTIONS: dict[FftType, Any] = {FftType.FFT: np.fft.fftn, FftType.IFFT: np.fft.ifftn, FftType.RFFT: np.fft.rfftn,
                                  FftType.IRFFT: np.fft.irfftn}


@reference_rule(fft_p)
def _fft(x: Any, *, fft_type: Any, fft_lengths: Any) -> np.ndarray:
    axes = range(x.ndim - len(fft_lengths), x.ndim)
    if 0 in x.shape or 0 in fft_lengths:
        kept = x.shape[:x.ndim - len(fft_lengths)]
        lengths = (*fft_lengths[:-1], fft_lengths[-1] // 2 + 1) if fft_type == FftType.RFFT else fft_lengths
        return np.zeros((*kept, *lengths), np.float64 if fft_type == FftType.IRFFT else np.complex128)
    return _FUNCTIONS[fft_type](x, s=fft_lengths, axes=axes)
