"""Products of a loop's inputs with a fixed matrix, in the loop and before it: which are moved, and that the program computes the same."""

import numpy as np
import pytest

from laminax_ir.ops.contraction import dot_general
from laminax_ir.ops.control_flow import scan_p
from laminax_ir.ops.elementwise import add, sin
from laminax_ir.ops.loops import scan
from laminax_ir.recording.staging import stage
from laminax_ir.reference.evaluate import evaluate
from laminax_ir.types.avals import get_aval
from laminax_lowering.planning import loop_products
from laminax_lowering.planning.loop_products import with_products_before_loop

UNITS = 64
NO_BATCH = ((), ())


def _product(matrix_first):
    """matrix . x or x . matrix, by the axes that contract x's last axis with the matrix's first."""
    if matrix_first:
        return lambda matrix, x: dot_general(matrix, x, (((0,), (x.ndim - 1,)), NO_BATCH))
    return lambda matrix, x: dot_general(x, matrix, (((x.ndim - 1,), (0,)), NO_BATCH))


def _scan_of(body, args, reverse=False):
    """The equation of a loop with a state, a stack of inputs and a fixed matrix."""
    def loop(state, xs, matrix):
        state, results = scan(lambda state, x: body(state, x, matrix), state, xs, reverse=reverse)
        return [state, results]

    closed = stage(loop, [get_aval(x) for x in args], "loop")
    (eqn,) = [eqn for eqn in closed.jaxpr.eqns if eqn.primitive is scan_p]
    order = [closed.jaxpr.invars.index(v) for v in eqn.invars]
    return closed, eqn, [args[i] for i in order]


def _arguments(x=(UNITS,), result=(UNITS,), matrix=(UNITS, UNITS), rounds=10, dtype=np.float32):
    rng = np.random.default_rng(0)
    return [rng.normal(size=shape).astype(dtype) for shape in (result, (rounds, *x), matrix)]


def _moved(body, args, reverse=False):
    closed, eqn, operands = _scan_of(body, args, reverse)
    program = with_products_before_loop(eqn)
    if program is not None:
        for found, wanted in zip(evaluate(program, *operands), evaluate(closed, *args), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
    return program


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("matrix_first, x, result", [
    (False, (UNITS,), (UNITS,)), (True, (UNITS,), (UNITS,)), (False, (3, UNITS), (3, UNITS)), (False, (2, 3, UNITS), (2, 3, UNITS)),
    (False, (1, UNITS), (1, UNITS))])
def test_the_program_computes_the_same(matrix_first, x, result, reverse):
    product = _product(matrix_first)

    def body(state, x, matrix):
        state = sin(add(state, product(matrix, x)))
        return state, state

    program = _moved(body, _arguments(x, result), reverse)
    before, loop = program.jaxpr.eqns
    assert before.primitive.name == "dot_general" and before.outvars[0].aval.shape == (10, *result)
    assert before.outvars[0] in loop.invars and program.jaxpr.invars[-1] not in loop.invars[2:]  # the inputs themselves are not read


def test_inputs_that_are_read_otherwise_too_stay():
    def body(state, x, matrix):
        product = _product(False)(matrix, x)
        return sin(add(add(state, x), product)), product

    program = _moved(body, _arguments())
    before, loop = program.jaxpr.eqns
    assert len(loop.invars) == 4  # the matrix, the state, the inputs, the products


def _of_state(state, x, matrix):
    return sin(add(_product(False)(matrix, state), x)), x


def _with_rows_of_matrix_first(state, x, matrix):
    product = _product(True)(matrix, x)
    return add(state, product), product


def _of_two_inputs(state, x, matrix):
    return add(state, dot_general(x, x, (((1,), (1,)), NO_BATCH))), state


def _sum(state, x, matrix):
    product = _product(False)(matrix, x)
    return add(state, product), product


@pytest.mark.parametrize("body, args", [
    (_of_state, _arguments()),
    (_with_rows_of_matrix_first, _arguments((3, UNITS), (UNITS, 3))),
    (_with_rows_of_matrix_first, _arguments((1, UNITS), (UNITS, 1))),
    (_of_two_inputs, _arguments((2, UNITS), (2, 2))),
    (_sum, _arguments(rounds=4)),
    (_sum, _arguments((20,), (20,), (20, 20))),
    (_sum, _arguments((32, UNITS), (32, UNITS))),
    (_sum, _arguments(result=(500,), matrix=(UNITS, 500))),
    (_sum, _arguments(dtype=np.float16)),
], ids=["of the state", "transposed", "transposed row", "of inputs", "few rounds", "few weights", "many rows", "much memory",
        "half precision"])
def test_what_stays_in_the_loop(body, args):
    assert _moved(body, args) is None


def test_no_more_memory_than_permitted(monkeypatch):
    monkeypatch.setattr(loop_products, "MAX_BYTES", 10 * UNITS * 4)
    assert _moved(_sum, _arguments()) is not None
    assert _moved(_sum, _arguments(rounds=11)) is None
