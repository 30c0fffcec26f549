"""Jaxprs: running them, changing them, and taking out what is not needed."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.calls import call_jaxpr
from laminax_ir.programs.check import check_jaxpr
from laminax_ir.programs.dce import dce_closed_jaxpr, dce_jaxpr
from laminax_ir.programs.jaxpr import ClosedJaxpr, DropVar, Jaxpr, Literal, programs_within, subjaxprs
from laminax_ir.programs.primitive import Primitive, effects_rule, shape_rule
from laminax_ir.recording.evaluation import eval_jaxpr, jaxpr_as_fun
from laminax_ir.recording.staging import stage
from laminax_ir.reference.evaluate import evaluate, reference_rule
from laminax_ir.types.avals import ShapedArray

F32 = np.dtype(np.float32)
X = np.array([1.0, 2.0, 3.0], np.float32)
watched_p = Primitive("watched_of_test")
shape_rule(watched_p)(lambda x: x)


def f32(*shape):
    return ShapedArray(shape, F32)


def test_running_a_jaxpr_is_running_the_function():
    def fun(x, y):
        return [op.sin(x) * y + X, x, 2.0]

    closed = stage(fun, [f32(3), f32(3)])
    for got in (jaxpr_as_fun(closed)(X, X + 1), eval_jaxpr(closed.jaxpr, closed.consts, X, X + 1), evaluate(closed, X, X + 1)):
        for a, b in zip(got, fun(X, X + 1)):
            np.testing.assert_allclose(a, b, rtol=1e-6)


@pytest.mark.parametrize("run", [lambda c: eval_jaxpr(c.jaxpr, c.consts, X), lambda c: evaluate(c, X)], ids=["eval_jaxpr", "evaluate"])
def test_a_wrong_number_of_arguments(run):
    with pytest.raises(TypeError, match="the jaxpr takes 2 arguments, got 1"):
        run(stage(lambda x, y: [x], [f32(3), f32(3)]))


def test_eval_jaxpr_lets_values_go_after_their_last_use():
    made, alive = [], []

    @reference_rule(watched_p)
    def _watched(x):
        alive.append(sum(ref() is not None for ref in made))
        result = x + 1
        made.append(weakref.ref(result))
        return result

    def chain(x):
        for _ in range(5):
            x = watched_p.bind(x)
        return [x]

    closed = stage(chain, [f32(3)])
    np.testing.assert_array_equal(eval_jaxpr(closed.jaxpr, (), X)[0], X + 5)
    assert alive == [0, 1, 1, 1, 1]


def test_a_closed_jaxpr_needs_all_its_constants():
    closed = stage(lambda x: [x + X], [f32(3)])
    with pytest.raises(ValueError, match="1 constvars but 0 consts"):
        ClosedJaxpr(closed.jaxpr, [])
    doubled = closed.replace(consts=[2 * X])
    np.testing.assert_array_equal(evaluate(doubled, X)[0], 3 * X)


def test_replacing_equations_recomputes_effects():
    closed = stage(lambda x: [noisy_p.bind(x), op.sin(x)], [f32()])
    assert closed.effects == {"noise"}
    assert not closed.jaxpr.replace(eqns=closed.eqns[1:], outvars=closed.jaxpr.outvars[1:]).effects


def test_subjaxprs():
    inner = stage(lambda x: [op.sin(x)], [f32()], "inner")
    closed = stage(lambda x: call_jaxpr(inner, x, name="inner"), [f32()])
    assert subjaxprs(closed.eqns[0]) == [inner.jaxpr] and subjaxprs(inner.eqns[0]) == []


def test_programs_within_a_program_that_calls_another_twice():
    """As deep as this there are a million calls, of twenty programs."""
    programs = [stage(lambda x: [op.sin(x)], [f32()])]
    for _ in range(20):
        programs.append(stage(lambda x, inner=programs[-1]: call_jaxpr(inner, *call_jaxpr(inner, x, name="f"), name="f"), [f32()]))
    assert list(programs_within(programs[-1])) == [closed.jaxpr for closed in reversed(programs)]
    assert list(programs_within(programs[0].jaxpr)) == [programs[0].jaxpr]


# Dead-code elimination

noisy_p = Primitive("noisy_of_test")
shape_rule(noisy_p)(lambda x: x)
effects_rule(noisy_p)(lambda x: {"noise"})


def names(jaxpr):
    return [eqn.primitive.name for eqn in jaxpr.eqns]


def test_only_what_a_wanted_result_needs_is_kept():
    closed = stage(lambda x, y, z: [op.sin(x) * 2.0, op.cos(y) * op.exp(x), z], [f32()] * 3, "f")
    jaxpr, used = dce_jaxpr(closed.jaxpr, [False, True, False])
    check_jaxpr(jaxpr)
    assert names(jaxpr) == ["cos", "exp", "mul"] and used == [True, True, False] and len(jaxpr.invars) == 2
    assert jaxpr.debug_info == "f"
    nothing, used = dce_jaxpr(closed.jaxpr, [False] * 3)
    assert not nothing.eqns and not nothing.outvars and used == [False] * 3
    jaxpr, used = dce_jaxpr(closed.jaxpr, [False] * 3, instantiate=True)
    assert used == [True] * 3 and len(jaxpr.invars) == 3
    assert dce_jaxpr(closed.jaxpr, [False] * 3, instantiate=[False, True, False])[1] == [False, True, False]


def test_effects_are_kept():
    closed = stage(lambda x, y: [noisy_p.bind(op.sin(x)), op.cos(y)], [f32(), f32()])
    jaxpr, used = dce_jaxpr(closed.jaxpr, [False, False])
    assert names(jaxpr) == ["sin", "noisy_of_test"] and used == [True, False] and jaxpr.effects == {"noise"}


def test_calls_are_thinned_out():
    inner = stage(lambda x, y, z: [op.sin(x), op.cos(y), noisy_p.bind(z)], [f32()] * 3, "inner")
    quiet = stage(lambda x, y: [op.sin(x), op.cos(y)], [f32()] * 2, "quiet")

    def fun(x, y, z):
        return [*call_jaxpr(inner, x, y, z, name="inner", donated_invars=(True, False, False)), *call_jaxpr(quiet, x, y, name="quiet")]

    closed = stage(fun, [f32()] * 3)
    jaxpr, used = dce_jaxpr(closed.jaxpr, [False, True, False, False, False])
    check_jaxpr(jaxpr)
    (eqn,) = jaxpr.eqns  # the quiet call is gone, the noisy one has lost an operand
    assert used == [False, True, True] and eqn.params["donated_invars"] == (False, False)
    assert names(eqn.params["jaxpr"].jaxpr) == ["cos", "noisy_of_test"] and len(eqn.outvars) == 1
    again, _ = dce_jaxpr(closed.jaxpr, [False, True, False, False, False])
    assert again.eqns[0].params["jaxpr"] is eqn.params["jaxpr"]  # the same program, so that caches by identity work


def test_unused_results_of_a_custom_jvp_call_are_dropped_from_its_program_and_its_rule():
    from laminax_ir.ops.calls import CustomJVPCall

    def rule(primals, tangents):
        (x,), (dot,) = primals, tangents
        return [op.sin(x), op.exp(x)], [dot * 2.0, dot * 3.0]

    closed = stage(lambda x: CustomJVPCall(lambda x: [op.sin(x), op.exp(x)], rule, [x], "f").bind(), [f32()])
    jaxpr, used = dce_jaxpr(closed.jaxpr, [False, True])
    check_jaxpr(jaxpr)
    (eqn,) = jaxpr.eqns
    assert used == [True] and names(eqn.params["call_jaxpr"].jaxpr) == ["exp"]
    results, dots = eqn.params["jvp"]([np.float32(0)], [np.float32(1)])
    assert [float(x) for x in (*results, *dots)] == [1.0, 3.0]
    assert dce_jaxpr(closed.jaxpr, [True, True])[0].eqns[0] is closed.eqns[0]


def test_a_call_that_is_needed_whole_stays_as_it_is():
    inner = stage(lambda x: [op.sin(x)], [f32()], "inner")
    closed = stage(lambda x: call_jaxpr(inner, x, name="inner"), [f32()])
    assert dce_jaxpr(closed.jaxpr, [True])[0].eqns[0] is closed.eqns[0]
    assert dce_closed_jaxpr(closed, [True])[0] is closed


def test_unused_results_of_a_kept_equation_are_dropped():
    closed = stage(lambda x, y: op.optimization_barrier_flat(x, y), [f32(), f32()])
    jaxpr, used = dce_jaxpr(closed.jaxpr, [True, False])
    assert used == [True, True] and [type(v) is DropVar for v in jaxpr.eqns[0].outvars] == [False, True]
    check_jaxpr(jaxpr)
    assert "c:f32[] _:f32[] = optimization_barrier" in str(jaxpr)


def test_constants_that_are_not_needed_are_dropped_with_the_closed_jaxpr():
    a, b = X + 0, X + 1
    closed = stage(lambda x: [x + a, x * b], [f32(3)])
    thinned, used = dce_closed_jaxpr(closed, [False, True])
    assert thinned.consts[0] is b and len(thinned.consts) == 1 and used == [True]
    np.testing.assert_array_equal(evaluate(thinned, X)[0], X * b)
    assert len(dce_jaxpr(closed.jaxpr, [False, True])[0].constvars) == 2  # the bare jaxpr keeps its signature


def test_the_memory_of_dce_does_not_keep_programs_alive():
    closed = stage(lambda x, y: [op.sin(x), y], [f32(), f32()])
    dce_closed_jaxpr(closed, [True, False])
    dce_closed_jaxpr(closed, [True, True])
    gone = weakref.ref(closed)
    del closed
    gc.collect()
    assert gone() is None


def test_wrong_numbers_of_flags():
    jaxpr = stage(lambda x: [x], [f32()]).jaxpr
    with pytest.raises(ValueError, match="used_outputs has 2 entries, the jaxpr has 1 results"):
        dce_jaxpr(jaxpr, [True, False])
    with pytest.raises(ValueError, match="instantiate has 0 entries, the jaxpr has 1 parameters"):
        dce_jaxpr(jaxpr, [True], instantiate=[])


@settings(max_examples=40, derandomize=True, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30), st.sampled_from(["add", "mul", "call"])), max_size=12), st.data())
def test_the_wanted_results_do_not_change(steps, data):
    inner = stage(lambda a, b: [a - b, a * 0.5, b], [f32(), f32()], "inner")

    def fun(*xs):
        values = list(xs)
        for i, j, what in steps:
            a, b = values[i % len(values)], values[j % len(values)]
            values += call_jaxpr(inner, a, b, name="inner") if what == "call" else [a + b if what == "add" else a * b * 0.1]
        return values

    closed = stage(fun, [f32()] * 3)
    wanted = data.draw(st.lists(st.booleans(), min_size=len(closed.out_avals), max_size=len(closed.out_avals)))
    jaxpr, used = dce_jaxpr(closed.jaxpr, wanted)
    check_jaxpr(jaxpr)
    args = [1.0, 2.0, -0.5]
    full = [r for r, w in zip(evaluate(closed, *args), wanted) if w]
    np.testing.assert_array_equal(evaluate(jaxpr, *[a for a, u in zip(args, used) if u]), full)
    live = {v for eqn in jaxpr.eqns for v in eqn.invars if type(v) is not Literal} | {v for v in jaxpr.outvars if type(v) is not Literal}
    assert set(jaxpr.invars) <= live  # nothing is kept that nobody uses
    assert all(live & set(eqn.outvars) for eqn in jaxpr.eqns)


def test_an_empty_program():
    assert evaluate(Jaxpr([], [], [], [])) == [] and dce_jaxpr(Jaxpr([], [], [], []), [])[1] == []
