"""Fourier transforms: the axes that are not transformed may be split."""

from __future__ import annotations

from typing import TYPE_CHECKING

from laminax_ir.ops.fft import fft_p
from laminax_ir.programs.result_types import sharding_rules
from laminax_ir.sharding_rules.agreement import only_batch
from laminax_ir.types.avals import ShapedArray

if TYPE_CHECKING:
    from laminax_ir.ops.fft import FftType


@sharding_rules(fft_p)
def _fft(out: ShapedArray, x: ShapedArray, *, fft_type: FftType, fft_lengths: tuple[int, ...]) -> tuple:
    return (*only_batch("fft", x, len(fft_lengths)), *[None] * len(fft_lengths))
