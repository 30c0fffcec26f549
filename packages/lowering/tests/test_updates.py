"""Where the equations behind a program's blocks go: into the blocks that they update, as far as blocks that are alike stay so."""

import numpy as np

from laminax_ir.ops.contraction import dot
from laminax_ir.ops.elementwise import add, exp, mul, sin, sub
from laminax_ir.programs.jaxpr import Jaxpr, Var
from laminax_ir.recording.staging import stage
from laminax_ir.reference.evaluate import evaluate
from laminax_ir.types.avals import ShapedArray
from laminax_lowering.planning.updates import Piece, with_updates_in_blocks

MATRIX, NUMBER = ShapedArray((8, 8), np.dtype(np.float32)), ShapedArray((), np.dtype(np.float32))


def pieces_of(fun, count, lengths):
    """The program and its equations, cut into pieces of these lengths; those with a length of 2 are the blocks."""
    closed = stage(fun, [NUMBER, *[MATRIX] * count], "program")
    eqns, pieces = [*closed.jaxpr.eqns], []
    for length in lengths:
        pieces.append(Piece(eqns[:length], length == 2))
        del eqns[:length]
    assert not eqns
    return closed, pieces


def names(pieces):
    return [[eqn.primitive.name for eqn in piece] for piece in pieces]


def check(closed, moved):
    """The program with its equations in the new order computes the same, and no equation comes before what it reads."""
    made = {*closed.jaxpr.constvars, *closed.jaxpr.invars}
    for eqn in [eqn for piece in moved for eqn in piece]:
        assert all(v in made for v in eqn.invars if type(v) is Var)
        made.update(eqn.outvars)
    jaxpr = closed.jaxpr
    again = Jaxpr(jaxpr.constvars, jaxpr.invars, jaxpr.outvars, [eqn for piece in moved for eqn in piece])
    rng = np.random.default_rng(0)
    args = [np.float32(0.5), *[rng.normal(size=(8, 8)).astype(np.float32) for _ in closed.in_avals[1:]]]
    for a, b in zip(evaluate(closed, *args), evaluate(closed.replace(jaxpr=again), *args)):
        np.testing.assert_array_equal(a, b)


def test_updates_go_to_the_blocks_and_what_they_share_to_the_front():
    def fun(rate, *ws):
        x, grads = ws[0], []
        for w in ws:
            x = dot(sin(x), w)
            grads.append(x)
        scaled = exp(rate)
        return [sub(w, mul(g, scaled)) for w, g in zip(ws, grads)]
    closed, pieces = pieces_of(fun, 3, [2, 2, 2, 7])
    moved = with_updates_in_blocks(pieces)
    assert names(moved) == [["exp"], *[["sin", "dot_general", "mul", "sub"]] * 3, []]
    check(closed, moved)


def test_what_updates_read_of_the_arguments_goes_with_them():
    def fun(rate, *ws):
        x, grads = ws[0], []
        for w in ws:
            x = dot(sin(x), w)
            grads.append(x)
        return [sub(add(sin(w), exp(w)), g) for w, g in zip(ws, grads)]
    closed, pieces = pieces_of(fun, 3, [2, 2, 2, 12])
    moved = with_updates_in_blocks(pieces)
    assert names(moved) == [[], *[["sin", "dot_general", "sin", "exp", "add", "sub"]] * 3, []]
    check(closed, moved)


def test_an_update_by_the_sum_over_all_blocks_stays_behind_them():
    def fun(rate, *ws):
        x, grads = ws[0], []
        for w in ws:
            x = dot(sin(x), w)
            grads.append(x)
        total = add(add(grads[0], grads[1]), grads[2])
        return [sub(w, mul(g, total)) for w, g in zip(ws, grads)]
    closed, pieces = pieces_of(fun, 3, [2, 2, 2, 8])
    moved = with_updates_in_blocks(pieces)
    assert names(moved)[1:4] == [["sin", "dot_general"]] * 3
    check(closed, moved)


def test_a_block_that_would_differ_from_its_like_gets_nothing():
    def fun(rate, *ws):
        x = ws[0]
        for w in ws:
            x = dot(sin(x), w)
        return [sub(exp(x), ws[0])]
    closed, pieces = pieces_of(fun, 3, [2, 2, 2, 2])
    moved = with_updates_in_blocks([*pieces[:3], Piece(pieces[3].eqns, False)])
    assert names(moved)[4] == ["exp", "sub"]
    check(closed, moved)
