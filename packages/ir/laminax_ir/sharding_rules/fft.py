"""Fourier transforms: the axes that are not transformed may be split."""

from __future__ import annotations

from laminax_ir.ops.fft import fft_p
from laminax_ir.programs.result_types import sharding_rules
from laminax_ir.sharding_rules.agreement import only_batch


@sharding_rules(fft_p)
def _fft(out, x, *, fft_type, fft_lengths):
    return (*only_batch("fft", x, len(fft_lengths)), *[None] * len(fft_lengths))
