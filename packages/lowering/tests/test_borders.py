"""What crosses borders: the cheapest of all choices, and programs that compute the same."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from laminax_ir.ops.contraction import dot
from laminax_ir.ops.elementwise import add, cos, exp, gt, mul, pow, select, sin, tanh
from laminax_ir.ops.reduction import reduce_sum
from laminax_ir.ops.shape import broadcast_in_dim
from laminax_ir.programs.jaxpr import ClosedJaxpr, Jaxpr, Var
from laminax_ir.recording.staging import stage
from laminax_ir.reference.evaluate import evaluate
from laminax_ir.types.avals import ShapedArray
from laminax_lowering.planning.borders import choose_crossings
from laminax_lowering.planning.equal_programs import ProgramTable

N = 6
MATRIX = ShapedArray((N, N), np.dtype(np.float32))


def cut(closed, *borders):
    """The segments of a program between the equations of these numbers, with what crosses chosen."""
    jaxpr = closed.jaxpr
    ends = [0, *borders, len(jaxpr.eqns)]
    segments = [jaxpr.eqns[a:b] for a, b in zip(ends, ends[1:])]
    return choose_crossings(segments, [*jaxpr.constvars, *jaxpr.invars], jaxpr.outvars, ProgramTable())


def check(closed, *borders):
    """The segments; in a row they compute what the program does."""
    segments = cut(closed, *borders)
    rng = np.random.default_rng(0)
    args = [rng.normal(size=aval.shape).astype(aval.dtype) for aval in closed.in_avals]
    eqns = [eqn for segment in segments for eqn in segment]
    made = [v for eqn in eqns for v in eqn.outvars]
    assert len(made) == len(set(made))
    again = ClosedJaxpr(Jaxpr(closed.jaxpr.constvars, closed.jaxpr.invars, closed.jaxpr.outvars, eqns), closed.consts)
    for found, expected in zip(evaluate(again, *args), evaluate(closed, *args), strict=True):
        np.testing.assert_array_equal(found, expected)
    return segments


def crossing(segments, closed):
    """The names of the operations that make what a later segment reads."""
    maker = {v: (i, eqn) for i, segment in enumerate(segments) for eqn in segment for v in eqn.outvars}
    read = {v for i, segment in enumerate(segments) for eqn in segment for v in eqn.invars
            if type(v) is Var and v in maker and maker[v][0] != i}
    return sorted(maker[v][1].primitive.name for v in read)


def sum_of_columns(x):
    return broadcast_in_dim(reduce_sum(x, (0,)), (N, N), (1,))


def names(segment):
    return [eqn.primitive.name for eqn in segment]


def test_coefficients_move_to_where_they_are_read():
    """h = xw; y = sin(h), c = cos(h) | y and c: cos is needed on the other side alone, and h gives both."""
    def fun(x, w):
        h = dot(x, w)
        y, c = sin(h), cos(h)
        return [mul(dot(y, w), c)]
    closed = stage(fun, [MATRIX] * 2, "program")
    first, second = check(closed, 3)
    assert names(first) == ["dot_general"] and names(second) == ["sin", "cos", "dot_general", "mul"]
    assert crossing([first, second], closed) == ["dot_general"]


def test_the_fewest_bytes_cross():
    """A mask of a byte each is kept instead of numbers of four."""
    def fun(x, w):
        h = dot(x, w)
        mask = gt(pow(h, h), 0.0)
        y = select(mask, h, mul(h, 0.5))
        return [mul(select(mask, x, mul(x, 2.0)), w), dot(y, y)]
    closed = stage(fun, [MATRIX] * 2, "program")
    k = names(closed.eqns).index("mul") + 1
    segments = check(closed, k)
    assert "gt" in crossing(segments, closed) and "pow" not in names(segments[1])


def test_what_is_not_cheap_is_kept():
    def fun(x, w):
        a, b = pow(x, w), sum_of_columns(x)
        c = dot(x, w)
        return [mul(dot(a, c), b)]
    closed = stage(fun, [MATRIX] * 2, "program")
    segments = check(closed, 4)
    assert crossing(segments, closed) == ["dot_general", "pow", "reduce_sum"]


def test_long_ways_are_not_walked_again():
    """Forty series cost more than the four bytes that they end in."""
    def fun(x, w):
        h = dot(x, w)
        for _ in range(40):
            h = tanh(h)
        return [add(dot(h, w), h)]
    closed = stage(fun, [MATRIX] * 2, "program")
    segments = check(closed, 41)
    assert crossing(segments, closed) == ["tanh"] and names(segments[1]) == ["dot_general", "add"]


def test_what_stays_for_others_costs_nothing():
    """The last segment reads h, so that the one in the middle makes exp(h) again instead of having it kept too."""
    def fun(x, w):
        h = dot(x, w)
        y = exp(sin(exp(sin(h))))
        z = dot(y, y)
        return [dot(add(z, y), h)]
    closed = stage(fun, [MATRIX] * 2, "program")
    first, second, third = check(closed, 5, 7)
    assert "dot_general" in crossing([first, second, third], closed)
    assert names(second)[:4] == ["sin", "exp", "sin", "exp"] and names(first) == ["dot_general"]


def test_blocks_at_the_ends_do_as_the_others():
    """The first block's input is an argument, which is there anyway: no reason to make a program of its own of what reads it."""
    def fun(x, *ws):
        x = sin(x)
        for w in ws:
            x = add(dot(x, w), x)
        return [x]
    closed = stage(fun, [MATRIX] * 9, "program")
    segments = check(closed, *range(1, 17, 2))
    assert [names(segment) for segment in segments] == [["sin"], *[["dot_general", "add"]] * 8]


def test_what_all_blocks_read_is_chosen_for_the_first_too():
    """The first block reads the squares and a sine of the part before it, the others the squares and what the block before gives."""
    def fun(x, *ws):
        cube = broadcast_in_dim(ws[0], (N, N, N), (1, 2))
        squares = mul(cube, cube)
        x = sin(dot(x, x))
        for w in ws:
            x = add(dot(x, w), reduce_sum(squares, (0,)))
        return [x]
    closed = stage(fun, [MATRIX] * 7, "program")
    segments = check(closed, *range(4, len(closed.eqns), 3))
    assert names(segments[0]) == ["dot_general", "sin"]
    assert [names(segment) for segment in segments[1:]] == [["broadcast_in_dim", "mul", "dot_general", "reduce_sum", "add"]] * 6


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_program_computes_the_same(data):
    ops = {"dot": dot, "add": add, "mul": mul, "sin": lambda x, _: sin(x), "cos": lambda x, _: cos(x),
           "sum": lambda x, y: add(sum_of_columns(x), y)}
    steps = data.draw(st.lists(st.tuples(st.sampled_from(sorted(ops)), st.integers(0, 30), st.integers(0, 30)), min_size=4, max_size=30))

    def fun(x, w):
        values = [x, w]
        for op, i, j in steps:
            a, b = values[-1 - i % len(values)], values[-1 - j % len(values)]
            values.append(ops[op](a, mul(b, 0.1)))
        return [values[-1], values[len(values) // 2]]
    closed = stage(fun, [MATRIX] * 2, "program")
    size = len(closed.eqns)
    check(closed, *sorted(data.draw(st.sets(st.integers(1, size - 1), max_size=4))))
