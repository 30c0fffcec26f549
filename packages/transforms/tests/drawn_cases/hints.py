"""Hints."""

from __future__ import annotations

from laminax_ir.ops import hints as op
from laminax_ir.ops.elementwise import mul, sin

from .case import Case

CASES = {
    "todense": Case(lambda x, y: mul(op.todense_p.bind(sin(x)), op.todense_p.bind(y))),
    "stage": Case(lambda x, y: mul(op.stage_p.bind(sin(x)), op.stage_p.bind(y))),
    "xla_metadata_value": Case(lambda x, y: mul(op.with_xla_metadata(sin(x), layer=1), op.with_xla_metadata(y, layer=2))),
}
