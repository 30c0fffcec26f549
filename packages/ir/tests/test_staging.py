"""Staging: what becomes a parameter, a constvar, a literal or an equation."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.calls import call_jaxpr, close_over_constants
from laminax_ir.options.config import check_leaks
from laminax_ir.programs.check import check_jaxpr
from laminax_ir.programs.jaxpr import Literal
from laminax_ir.programs.primitive import Primitive, effects_rule, shape_rule
from laminax_ir.recording.evaluation import jaxpr_as_fun
from laminax_ir.recording.staging import stage
from laminax_ir.recording.staging_trace import StagedTracer
from laminax_ir.reference.evaluate import evaluate
from laminax_ir.tracing.trace import axis_env, axis_size, extend_axis_env, is_tracing
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.errors import LeakedTracerError, UnboundAxisNameError


def f32(*shape):
    return ShapedArray(shape, np.dtype(np.float32))


X = np.array([1.0, 2.0, 3.0], np.float32)


def test_equations_in_order():
    closed = stage(lambda x, y: [op.sin(x) * y, op.cos(x)], [f32(3), f32(3)], "f")
    check_jaxpr(closed)
    assert [e.primitive.name for e in closed.eqns] == ["sin", "mul", "cos"]
    assert closed.jaxpr.debug_info == "f" and closed.in_avals == [f32(3)] * 2 and closed.out_avals == [f32(3)] * 2
    for got, want in zip(evaluate(closed, X, X), (np.sin(X) * X, np.cos(X))):
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_closed_over_arrays_are_constvars_each_once():
    a, b = np.ones(3, np.float32), np.ones(3, np.float32)  # equal, but two arrays
    closed = stage(lambda x: [x + a + b + a, a], [f32(3)])
    assert [c is want for c, want in zip(closed.consts, (a, b))] == [True, True] and len(closed.consts) == 2
    assert closed.jaxpr.outvars[1] is closed.jaxpr.constvars[0]
    np.testing.assert_array_equal(evaluate(closed, X)[0], X + 3)


@pytest.mark.parametrize("value, aval", [
    (2.5, ShapedArray((), np.dtype(np.float32), True)), (3, ShapedArray((), np.dtype(np.int32), True)),
    (True, ShapedArray((), np.dtype(bool))), (1j, ShapedArray((), np.dtype(np.complex64), True)),
    (np.float32(2), f32()), (np.int8(3), ShapedArray((), np.dtype(np.int8))), (np.array(4.0, np.float32), f32()),
    (ml_dtypes.bfloat16(1.5), ShapedArray((), np.dtype(ml_dtypes.bfloat16))),
    (ml_dtypes.int4(3), ShapedArray((), np.dtype(ml_dtypes.int4))),
    (np.float64(2), f32()),  # canonicalised to 32 bits
], ids=repr)
def test_scalars_are_literals(value, aval):
    closed = stage(lambda: [value, op.copy(value)], [])
    assert not closed.consts
    for atom in (closed.jaxpr.outvars[0], closed.eqns[0].invars[0]):
        assert type(atom) is Literal and atom.val == value and atom.aval is aval
    check_jaxpr(closed)


def test_a_rank_0_array_is_taken_at_its_present_value():
    array = np.array(1.0, np.float32)
    closed = stage(lambda x: [x + array], [f32()])
    array[...] = 100
    assert float(evaluate(closed, 1.0)[0]) == 2


def test_inputs_forwarded_duplicated_unused():
    closed = stage(lambda x, unused, y: [y, x, x, y], [f32(3), f32(2), f32()])
    assert not closed.eqns and [v.aval for v in closed.jaxpr.invars] == [f32(3), f32(2), f32()]
    out = closed.jaxpr.outvars
    assert out[1] is out[2] is closed.jaxpr.invars[0] and out[0] is out[3] is closed.jaxpr.invars[2]
    results = evaluate(closed, X, X[:2], 7.0)
    assert [r.tolist() for r in results] == [7.0, X.tolist(), X.tolist(), 7.0]


def test_a_tracer_of_the_enclosing_trace_becomes_a_constant():
    inner = []

    def outer(x, y):
        closed = stage(lambda a: [a * x + x], [f32(3)], "inner")
        inner.append(closed)
        assert [type(c) for c in closed.consts] == [StagedTracer]  # once, though used twice
        return call_jaxpr(closed, y, name="inner")

    closed = stage(outer, [f32(3), f32(3)], "outer")
    check_jaxpr(closed)
    (eqn,) = closed.eqns
    assert eqn.invars == closed.jaxpr.invars and not eqn.params["jaxpr"].consts  # passed as a leading operand
    np.testing.assert_allclose(evaluate(closed, X, X + 1)[0], (X + 1) * X + X)
    program, consts = close_over_constants(inner[0])
    assert len(program.in_avals) == 2 and consts == inner[0].consts


def test_three_levels():
    def outer(x):
        def middle(y):
            def innermost(z):
                return [x * y * z]
            return call_jaxpr(stage(innermost, [f32()]), y + 1.0, name="innermost")
        return call_jaxpr(stage(middle, [f32()]), x * 2.0, name="middle")

    closed = stage(outer, [f32()])
    check_jaxpr(closed)
    assert float(evaluate(closed, 3.0)[0]) == 3 * 6 * 7


def test_results_that_do_not_depend_on_inputs():
    closed = stage(lambda x: [op.sin(1.0), X, 2], [f32()])
    np.testing.assert_allclose(evaluate(closed, 0.0)[0], np.sin(1.0), rtol=1e-6)
    assert [e.primitive.name for e in closed.eqns] == ["sin"]  # operations on constants are staged too


print_p = Primitive("print_of_test", multiple_results=True)
shape_rule(print_p)(lambda *avals, effect: [])
effects_rule(print_p)(lambda *avals, effect: {effect})


def test_effects_add_up_through_calls():
    inner = stage(lambda x: print_p.bind(x, effect="a"), [f32()], "inner")

    def fun(x):
        print_p.bind(x, effect="b")
        return call_jaxpr(inner, x, name="inner")

    closed = stage(fun, [f32()])
    assert [e.effects for e in closed.eqns] == [{"b"}, {"a"}] and closed.effects == {"a", "b"}
    check_jaxpr(closed)
    assert not stage(lambda x: [op.sin(x)], [f32()]).effects


def test_the_axis_environment():
    with extend_axis_env(("i", 4), (None, 2)):
        closed = stage(lambda x: [x * float(axis_size("i"))], [f32()])
        with extend_axis_env(("j", 3)):
            assert (axis_size("i"), axis_size("j")) == (4, 3)
    assert float(evaluate(closed, 2.0)[0]) == 8
    with pytest.raises(UnboundAxisNameError, match=r"unbound axis name: i\. To fix this.*axis_name='i'.*The named axes here are: none"):
        axis_size("i")


def test_axis_env_has_its_axes_alone():
    with extend_axis_env(("i", 4)):
        with axis_env({"j": 3}):
            assert axis_size("j") == 3
            with pytest.raises(NameError, match="unbound axis name: i"):
                axis_size("i")
        assert axis_size("i") == 4
        with pytest.raises(NameError, match="unbound axis name: j"):
            axis_size("j")


def test_replaying_a_program_stages_it_again():
    closed = stage(lambda x: [op.sin(x) * X], [f32(3)])
    again = stage(lambda x: jaxpr_as_fun(closed)(x), [f32(3)])
    assert str(again) == str(closed)
    assert [e.source_info for e in again.eqns] == [e.source_info for e in closed.eqns]  # points at the first writing


def test_malformed_operands():
    with pytest.raises(TypeError, match=r"a value of type builtins\.str is not an array: 'text'"):
        stage(lambda x: ["text"], [f32()])
    with pytest.raises(TypeError, match=r"builtins\.list is not an array"):
        stage(lambda x: [op.sin([1.0])], [f32()])


def test_a_failing_function_leaves_no_trace_behind():
    kept = []

    def fails(x):
        kept.append(x)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        stage(fails, [f32()], "fails")
    assert not is_tracing()
    # Its tracers count as leaked, not as constants of an enclosing trace.
    with pytest.raises(LeakedTracerError, match="value traced by fails was used after that trace had ended"):
        stage(lambda x: [x + kept[0]], [f32()])


class Model:
    pass


def test_leaks_are_reported_when_the_function_returns():
    model = Model()

    def leaky(x):
        model.state = op.sin(x)
        return [x]

    stage(leaky, [f32(3)])
    with pytest.raises(LeakedTracerError, match=r"(?s)traced by leaky was used after that trace had ended.*"
                                                r"float32\[3\], made by sin, which was created on line test_staging\.py:\d+ in leaky, and "
                                                r"used at test_staging\.py:\d+ in test_leaks"):
        op.cos(model.state)
    with check_leaks(), pytest.raises(LeakedTracerError,
                                      match=r"(?s)traced by leaky is still alive.*made by sin at test_staging\.py:\d+ in leaky; "
                                            r"kept by the attribute state of a Model.*Return it"):
        stage(leaky, [f32(3)], "leaky")
    del model.state
    with check_leaks():
        stage(lambda x: [op.sin(x) + X, *stage(lambda y: [y * x], [f32(3)]).consts], [f32(3)])


def test_an_argument_is_named_as_the_caller_calls_it():
    with pytest.raises(TypeError, match=r"argument x\['w'\] of f"):
        stage(lambda w, n: [bool(w)], [f32(), f32()], "f", ["x['w']", "n"])
    with pytest.raises(TypeError, match=r"argument number 1 of f"):
        stage(lambda w, n: [float(n)], [f32(), f32()], "f", lambda i: f"number {i}")
    with pytest.raises(TypeError, match=r"f32\[\]\.\nIt is an argument of f\."):
        stage(lambda w: [float(w)], [f32()], "f")
