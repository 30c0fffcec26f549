"""Stacking."""

from __future__ import annotations

from laminax_ir.ops import stacking as op
from laminax_ir.ops.elementwise import mul, sin

from .case import Case

CASES = {
    "stack": Case(lambda x, y: sin(op.stack([x, mul(x, y), y]))),
    "unstack": Case(lambda x, y: mul(*op.unstack(op.stack([sin(x), y])))),
}
