"""Sorting."""

from __future__ import annotations

from laminax_ir.ops import sorting as op
from laminax_ir.ops.elementwise import mul, sin

from .case import REAL, Case, flat, of_one

CASES = {
    "sort": Case(lambda x, y: mul(op.sort(flat(x)), flat(y)), dtypes=REAL),
    "sort along each axis": of_one(lambda x: sin(op.sort(x, 0)) if x.shape else x, dtypes=REAL),
    "sort of several": Case(lambda x, y: mul(*op.sort((flat(x), sin(flat(y))), 0)), dtypes=REAL),
    "approx_top_k": Case(lambda x, y: mul(op.approx_max_k(flat(x), 1)[0], op.approx_min_k(flat(y), 1)[0]), dtypes=REAL),
    "top_k": Case(lambda x, y: mul(op.top_k(flat(x), 1)[0], op.top_k(flat(y), 1)[0]), dtypes=REAL),
}
