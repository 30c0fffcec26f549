"""Sums that a loop adds up round by round, and after it: which are moved, and that the program computes the same."""

import numpy as np
import pytest

from laminax_ir.ops.contraction import dot_general
from laminax_ir.ops.control_flow import scan_p
from laminax_ir.ops.elementwise import add, mul, sin
from laminax_ir.ops.loops import scan
from laminax_ir.ops.reduction import reduce_sum
from laminax_ir.recording.staging import stage
from laminax_ir.reference.evaluate import evaluate
from laminax_ir.types.avals import get_aval
from laminax_lowering.planning.loop_sums import with_sums_after_loop

ROUNDS, ROWS, COLUMNS = 6, 48, 40
OUTER = (((), ()), ((), ()))


def _arguments(dtype=np.float32):
    rng = np.random.default_rng(0)
    shapes = (ROWS, COLUMNS), (COLUMNS,), (ROUNDS, ROWS), (ROUNDS, COLUMNS), (ROWS, COLUMNS)
    return [rng.normal(size=shape).astype(dtype) for shape in shapes]


def _scan_of(body, args, reverse=False):
    """The equation of a loop whose carry is a matrix and a vector, over two stacks; the last argument does not change in it."""
    def loop(total, state, rows, columns, fixed):
        (total, state), results = scan(lambda carry, x: body(*carry, *x, fixed), (total, state), (rows, columns), reverse=reverse)
        return [total, state, results]

    closed = stage(loop, [get_aval(x) for x in args], "loop")
    (eqn,) = [eqn for eqn in closed.jaxpr.eqns if eqn.primitive is scan_p]
    assert len(closed.jaxpr.eqns) == 1
    order = [closed.jaxpr.invars.index(v) for v in eqn.invars]
    return closed, eqn, [args[i] for i in order]


def _body(total, state, row, column, fixed):
    state = sin(add(state, column))
    product = dot_general(row, state, OUTER)
    return (add(total, product), state), mul(state, 2.0)


@pytest.mark.parametrize("reverse", [False, True])
def test_the_program_computes_the_same(reverse):
    args = _arguments()
    closed, eqn, operands = _scan_of(_body, args, reverse)
    program = with_sums_after_loop(eqn)
    loop, *after = program.jaxpr.eqns
    assert [v.aval.shape for v in loop.outvars] == [(COLUMNS,), (ROUNDS, COLUMNS), (ROUNDS, COLUMNS)]  # the matrix is not in the loop
    assert [eqn.primitive.name for eqn in after] == ["dot_general", "add"]
    assert after[0].invars[0] in program.jaxpr.invars  # what the loop is given need not be kept
    for found, wanted in zip(evaluate(program, *operands), evaluate(closed, *args), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_batches_and_further_contractions():
    rng = np.random.default_rng(1)
    args = [rng.normal(size=shape).astype(np.float32) for shape in ((2, 30, 25), (3,), (ROUNDS, 30, 2, 4), (ROUNDS, 4, 2, 25), (1,))]

    def body(total, state, a, b, fixed):
        return (add(dot_general(a, b, (((2,), (0,)), ((1,), (1,)))), total), mul(state, 2.0)), state

    closed, eqn, operands = _scan_of(body, args)
    program = with_sums_after_loop(eqn)
    assert program is not None
    wanted = args[0] + np.einsum("trbk,tkbc->brc", args[2], args[3])
    np.testing.assert_allclose(evaluate(program, *operands)[0], wanted, rtol=1e-5, atol=1e-5)


def _reads_the_sum(total, state, row, column, fixed):
    state = add(state, reduce_sum(total, (0,)))
    return (add(total, dot_general(row, state, OUTER)), state), state


def _adds_something_else(total, state, row, column, fixed):
    return (add(total, mul(dot_general(row, column, OUTER), 2.0)), state), state


def _adds_a_constant_product(total, state, row, column, fixed):
    return (add(total, dot_general(fixed, dot_general(column, column, OUTER), (((1,), (0,)), ((), ())))), state), state


def _adds_many(total, state, row, column, fixed):
    for factor in (1.0, 2.0, 3.0):
        total = add(total, dot_general(row, mul(state, factor), OUTER))
    return (total, sin(state)), state


@pytest.mark.parametrize("body", [_reads_the_sum, _adds_something_else, _adds_a_constant_product, _adds_many])
def test_what_stays_in_the_loop(body):
    _, eqn, _ = _scan_of(body, _arguments())
    assert with_sums_after_loop(eqn) is None


def test_small_sums_and_whole_numbers_stay():
    args = _arguments()
    small = [args[0][:4, :4], args[1][:4], args[2][:, :4], args[3][:, :4], args[4]]
    assert with_sums_after_loop(_scan_of(_body, small)[1]) is None
    assert with_sums_after_loop(_scan_of(_body, _arguments(np.float16))[1]) is None
