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


def test_a_consumed_argument_frees_its_memory_when_it_has_been_read_and_not_before():
    """An update in place at the end does not make room for what lives in the middle, though it counted so once."""
    program = stage(lambda w, x: [add(w, dot(dot(x, w), w))], [MATRIX] * 2, "program").jaxpr
    assert Estimates("cpu").of(program).peak == 2 * BYTES
    assert Estimates("cpu").of(program, frozenset(program.invars[:1])).peak == 2 * BYTES  # both products are there before w has been read
    early = stage(lambda w, x: [dot(dot(dot(w, x), x), x)], [MATRIX] * 2, "program").jaxpr
    assert Estimates("cpu").of(early, frozenset(early.invars[:1])).peak == BYTES  # the first product replaces w, the second comes to that


def test_no_cut_takes_less_than_the_least_time():
    """Products read and write; what is in memory for them is read once by all others together; nothing else is certain."""
    def fun(x, w):
        y = dot(x, w)
        s = sin(y)  # read twice, so that the whole program writes it; a cut need not
        return [dot(add(s, y), w), mul(cos(s), x)]
    found = estimate(fun)
    work = 2 * PRODUCT + 13.0 * 2 * N * N + 2 * SIMPLE
    certain = 3 * BYTES + BYTES + 3 * BYTES + BYTES  # the products, with the sum that the second one reads, and the other result
    assert found.least_time == work + certain + 2 * BYTES  # y and x, read by the sine, the sum, and the product of numbers
    assert found.time == found.least_time + (1 + 2 + 1) * BYTES  # the sine is written, and read twice; y is read twice


def test_compiling_takes_longer_for_more_kernels_and_programs():
    few, many = estimate(lambda x, w: [dot(x, w)]), estimate(lambda x, w: [dot(dot(dot(x, w), w), w)])
    assert few.compiling == estimates.PER_PROGRAM + estimates.PER_KERNEL + estimates.PER_REPETITION < many.compiling
