"""Derivatives and batching of Fourier transforms, which are linear."""

from __future__ import annotations

import math
from typing import Any, Sequence

import numpy as np

from laminax_ir.ops.elementwise import conj, div, mul
from laminax_ir.ops.fft import FftType, fft_p
from laminax_ir.types.avals import get_aval
from laminax_transforms.base.registry import batching_rule, define_linear, transpose_rule
from laminax_transforms.batching.batch_axes import move_axis

define_linear(fft_p)


@transpose_rule(fft_p)
def _fft_transpose(ct: Any, x: Any, *, fft_type: FftType, fft_lengths: tuple[int, ...]) -> list[Any]:
    if fft_type in (FftType.FFT, FftType.IFFT):  # the matrix is symmetric
        return [fft_p.bind(ct, fft_type=fft_type, fft_lengths=fft_lengths)]
    # A real transform has only half of the coefficients; each inner one stands for two of the full transform.
    aval, n = get_aval(ct), fft_lengths[-1]
    count = np.full((*(1,) * (aval.ndim - 1), n // 2 + 1), 2)
    count[..., 0] = 1
    if n % 2 == 0:
        count[..., -1] = 1
    size = math.prod(fft_lengths)
    if fft_type == FftType.RFFT:
        full = fft_p.bind(div(conj(ct), count.astype(aval.dtype)), fft_type=FftType.IRFFT, fft_lengths=fft_lengths)
        return [mul(full, float(size))]
    half = fft_p.bind(ct, fft_type=FftType.RFFT, fft_lengths=fft_lengths)
    return [conj(mul(half, (count / size).astype(get_aval(half).dtype)))]


@batching_rule(fft_p)
def _fft_batch(operands: Sequence[Any], batch_axes: Sequence[int], **params: Any) -> tuple[Any, Any]:
    return fft_p.bind(move_axis(operands[0], batch_axes[0], 0), **params), 0
