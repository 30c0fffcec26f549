"""Estimates of memory, time and compiling, against what is counted by hand."""

import numpy as np

from laminax_ir.ops.calls import call_jaxpr
from laminax_ir.ops.contraction import dot
from laminax_ir.ops.elementwise import add, cos, exp, mul, neg, sin
from laminax_ir.ops.loops import scan
from laminax_ir.ops.reduction import reduce_sum
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray
from laminax_lowering.planning import estimates
from laminax_lowering.planning.estimates import Estimates

N = 8
MATRIX = ShapedArray((N, N), np.dtype(np.float32))
BYTES = 4 * N * N
PRODUCT = 2 * N**3 / 10  # ten operations in the time of a byte
SERIES = 1.5 * N * N
SIMPLE = 0.5 * N * N


def estimate(fun, count=2):
    return Estimates("cpu").of(stage(fun, [MATRIX] * count, "program").jaxpr)


def test_what_products_read_and_make_is_in_memory():
    found = estimate(lambda x, w: [dot(exp(dot(x, w)), w)])
    assert found.peak == 2 * BYTES  # the product and its exponential, then that and the result
    assert found.time == (3 + 2 + 3) * BYTES + 2 * PRODUCT + SERIES
    assert found.kernels == 2 and found.programs == 1  # the two products are alike


def test_cheap_operations_are_where_they_are_read():
    found = estimate(lambda x, w: [reduce_sum(mul(exp(x), neg(w)), (0, 1))])
    assert found.peak == 4 and found.kernels == 1
    assert found.time == 2 * BYTES + 4 + SERIES + 2 * SIMPLE


def test_what_costs_much_and_is_read_twice_is_in_memory_and_what_costs_little_is_made_twice():
    twice = lambda x, w: [reduce_sum(x, (0, 1)), reduce_sum(mul(x, w), (0, 1))]  # noqa: E731
    assert estimate(lambda x, w: twice(sin(x), w)).peak == BYTES + 4 + 4
    assert estimate(lambda x, w: twice(neg(x), w)).peak == 4 + 4


def test_values_live_until_the_last_one_that_is_made_from_them():
    """cos(h) is made where it is read, at the end: until then h lives, and not its cosine."""
    def fun(x, w):
        h = dot(x, w)
        c = cos(h)
        y = dot(dot(sin(h), w), w)
        return [mul(y, c)]
    assert estimate(fun).peak == 3 * BYTES  # h, and two of what goes through the products


def test_what_calls_and_loops_hold_counts():
    inner = stage(lambda x, w: [dot(dot(x, w), w)], [MATRIX] * 2, "inner")
    found = estimate(lambda x, w: [*call_jaxpr(inner, x, w, name="inner")])
    alone = Estimates("cpu").of(inner.jaxpr)
    assert found.peak == alone.peak == 2 * BYTES and found.kernels == 1 + alone.kernels
    looped = estimate(lambda x, w: [scan(lambda c, _: (add(dot(c, w), c), None), x, None, length=10)[0]])
    assert looped.time > 10 * (PRODUCT + 3 * BYTES)


def test_compiling_takes_longer_for_more_kernels_and_programs():
    few, many = estimate(lambda x, w: [dot(x, w)]), estimate(lambda x, w: [dot(dot(dot(x, w), w), w)])
    assert few.compiling == estimates.PER_PROGRAM + estimates.PER_KERNEL + estimates.PER_REPETITION < many.compiling
