"""Programs as values: closed and open jaxprs answer alike, and are pickled."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp

CONSTANT = np.arange(3.0, dtype=np.float32)
X = np.array([0.5, 1.0, 2.0], np.float32)


@laminax.jit
def doubled(y):
    return y * 2


PROGRAMS = {
    "constants": lambda x: jnp.sin(x) + CONSTANT,
    "a call": lambda x: doubled(x) + doubled(x),
    "scan": lambda x: laminax.lax.scan(lambda c, y: (c + y, c * y), 0.0, x),
    "cond": lambda x: laminax.lax.cond(x[0] > 0, lambda: x, lambda: x * 2),
    "while": lambda x: laminax.lax.while_loop(lambda c: c[0] < 3, lambda c: c + 1, x),
    "random": lambda x: laminax.random.normal(laminax.random.key(0), (3,)) + x,
    "checkpoint": lambda x: laminax.checkpoint(jnp.sin)(x),
    "reference": lambda x: laminax.new_ref(x)[...],
    "indexing": lambda x: x[np.array([0, 2])],
    "linear algebra": lambda x: jnp.linalg.solve(jnp.eye(3), x),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_pickled(name):
    program = laminax.make_jaxpr(PROGRAMS[name])(X)
    loaded = pickle.loads(pickle.dumps(program))
    assert str(loaded) == str(program) and type(loaded) is type(program)
    for found, expected in zip(laminax.core.eval_jaxpr(loaded.jaxpr, loaded.consts, X), laminax.tree.leaves(PROGRAMS[name](X))):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_pickled_program_knows_where_it_comes_from():
    def f(x):
        return {"y": jnp.sin(x)}

    program = laminax.make_jaxpr(f)(X)
    loaded = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(program.jaxpr))))
    for name in ("traced_for", "func_name", "func_src_info", "arg_names", "result_paths"):
        assert getattr(loaded.debug_info, name) == getattr(program.debug_info, name)
    text = loaded.pretty_print(source_info=True)
    assert "test_programs_as_values.py" in text and text == program.jaxpr.pretty_print(source_info=True)


def test_closed_and_open_programs_answer_alike():
    program = laminax.make_jaxpr(PROGRAMS["constants"])(X)
    inner = program.jaxpr
    for name in ("invars", "outvars", "constvars", "eqns", "effects", "debug_info", "in_avals", "out_avals", "all_invars"):
        assert getattr(program, name) == getattr(inner, name), name
    assert program.jaxpr is inner and inner.jaxpr is inner
    assert program.all_invars == [*program.constvars, *program.invars] and len(program.all_invars) == 2
    assert (program.num_consts, inner.num_consts, inner.consts, inner.literals) == (1, 0, [], [])
    assert program.literals is program.consts


def test_with_consts_gives_values_to_the_first_inputs():
    program = laminax.make_jaxpr(lambda x, y: x - y)(X, X)
    closed = program.with_consts([X * 2])
    assert closed.num_consts == 1 and len(closed.invars) == 1
    np.testing.assert_array_equal(laminax.core.eval_jaxpr(closed.jaxpr, closed.consts, X)[0], X)
    with pytest.raises(ValueError, match="3 values for a jaxpr of 2 inputs"):
        program.with_consts([X] * 3)


def test_map_jaxpr_keeps_the_constants():
    program = laminax.make_jaxpr(PROGRAMS["constants"])(X)
    mapped = program.map_jaxpr(lambda jaxpr: jaxpr.replace(outvars=jaxpr.invars))
    assert mapped.consts == program.consts
    np.testing.assert_array_equal(laminax.core.eval_jaxpr(mapped.jaxpr, mapped.consts, X)[0], X)
