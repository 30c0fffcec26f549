"""Reductions."""

from __future__ import annotations

from laminax_ir.ops import reduction as op
from laminax_ir.ops.elementwise import add, mul, tanh

from .case import REAL, Case, axes, of_one, typed


def product(x, y):
    """A reduction by a function that the operation set has no name for: of (1 + a) (1 + b) - 1."""
    return op.reduce(x, typed(0, x)[()], lambda a, b: add(add(a, b), mul(a, b)), axes(x)[-1:])


def product_and_sum(x, y):
    results = op.reduce((x, y), (typed(1, x)[()], typed(0, x)[()]), lambda a, b: (mul(a[0], b[0]), add(a[1], b[1])), axes(x)[:1])
    return mul(*results)


CASES = {
    "reduce_sum": Case(lambda x, y: op.reduce_sum(mul(x, y), axes(x)[:1]), rtol=30),
    "reduce_prod": of_one(lambda x: op.reduce_prod(tanh(x), axes(x)[:1]), dtypes=REAL, rtol=30),
    "reduce_prod of complex numbers": of_one(lambda x: op.reduce_prod(x, axes(x)[-1:]), rtol=30),
    "reduce_max": Case(lambda x, y: mul(op.reduce_max(x, axes(x)), op.reduce_max(y, axes(x))), dtypes=REAL),
    "reduce_min": of_one(lambda x: op.reduce_min(x, axes(x)[-1:]), dtypes=REAL),
    "reduce": Case(product, rtol=30), "reduce of several": Case(product_and_sum, rtol=30),
}
