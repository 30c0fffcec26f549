"""transformer24_plain: the model of `transformer24` as most programs are written, its blocks called by a plain loop, without `jit`."""

from __future__ import annotations

from programs import transformer24
from programs.transformer24 import BATCH_AXES, arguments

__all__ = ["BATCH_AXES", "arguments", "fresh"]


def fresh(lib):
    transformer24_plain = transformer24.fresh(lib, is_block_jitted=False)
    transformer24_plain.__name__ = "transformer24_plain"
    return transformer24_plain
