"""Linear functions with a transpose that is written out."""

from __future__ import annotations

from laminax_ir.ops.contraction import dot
from laminax_ir.ops.elementwise import mul, sin
from laminax_ir.ops.linalg import swap_last
from laminax_transforms import linear_call

from .case import Case
from .contraction import matrices

CASES = {
    "linear_call": Case(lambda x, y: linear_call(lambda r, v: mul(r, v), lambda r, ct: mul(r, ct), sin(x), mul(y, y))),
    "linear_call of a matrix": Case(lambda a, b: linear_call(dot, lambda a, ct: dot(swap_last(a), ct), a, sin(b)), matrices, rtol=30),
}
