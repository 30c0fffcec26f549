"""Polynomials: of few coefficients and of many, which depend on the operand or do not."""

from __future__ import annotations

from laminax_ir.ops.elementwise import mul, sin
from laminax_ir.ops.polynomial import polynomial

from drawn_cases.case import Case, of_one, typed

CASES = {
    "polynomial": Case(lambda x, y: polynomial(x, [y, typed(0.5, x), mul(x, y), sin(y)])),
    "polynomial of numbers": of_one(lambda x: polynomial(x, [0.5, -1.0, 0.25, 0.125, -0.25, 0.5, 0.125, 0.25, -0.125])),
}
