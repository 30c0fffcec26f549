"""Cumulative operations."""

from __future__ import annotations

from laminax_ir.ops import cumulative as op
from laminax_ir.ops.elementwise import mul

from .case import REAL, Case, flat

CASES = {
    **{f.__name__: Case(lambda x, y, f=f: f(mul(flat(x), flat(y))), rtol=40) for f in (op.cumsum, op.cumprod)},
    **{f.__name__: Case(lambda x, y, f=f: mul(f(flat(x)), flat(y)), dtypes=REAL, rtol=40) for f in (op.cummax, op.cummin, op.cumlogsumexp)},
    **{f"{f.__name__} from behind": Case(lambda x, y, f=f: mul(f(flat(x), reverse=True), flat(y)), dtypes=REAL, rtol=40)
       for f in (op.cumsum, op.cumprod, op.cummax, op.cumlogsumexp)},
}
