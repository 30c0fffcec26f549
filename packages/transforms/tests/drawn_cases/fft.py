"""Fourier transforms over the last axis."""

from __future__ import annotations

from laminax_ir.ops.elementwise import mul
from laminax_ir.ops.fft import fft

from .case import COMPLEX, WIDE, Case


def matrices(numbers, size):
    return [numbers(*size, *(() if size else (3,)))]


def transform(kind: str):
    def fun(x):
        length = x.shape[-1] if kind != "IRFFT" else 2 * x.shape[-1] - 1
        return fft(mul(x, x), kind, (length,))
    return fun


CASES = {kind: Case(transform(kind), matrices, WIDE if kind == "RFFT" else COMPLEX, rtol=40) for kind in ("FFT", "IFFT", "RFFT", "IRFFT")}
