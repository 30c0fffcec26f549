"""Recordings: a function that is staged again with operands of the same types is not called, and its equations are the same."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from laminax_ir.functions import operators
from laminax_ir.ops import elementwise as op
from laminax_ir.ops.control_tracing import forget_traced_functions
from laminax_ir.ops.loops import scan
from laminax_ir.options.config import enable_x64
from laminax_ir.programs.check import check_jaxpr
from laminax_ir.programs.jaxpr import Literal
from laminax_ir.programs.primitive import Primitive, effects_rule, shape_rule
from laminax_ir.recording.recordings import RecordedFunction
from laminax_ir.recording.staging import stage
from laminax_ir.reference.evaluate import evaluate
from laminax_ir.tracing import source
from laminax_ir.tracing.trace import name_scope, state
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.warning_counts import count_warning

X, Y = np.array([0.5, 1.0, -2.0], np.float32), np.array([3.0, 0.25, 1.5], np.float32)


def f32(*shape):
    return ShapedArray(shape, np.dtype(np.float32))


class Counted:
    """A function as `fused` calls it in a trace, which counts how often it is really called."""

    def __init__(self, fun):
        self.calls = 0

        def counting(*args, **kwargs):
            self.calls += 1
            return fun(*args, **kwargs)
        self.recorded = RecordedFunction(counting)

    def __call__(self, *args, **kwargs):
        return self.recorded(state.trace, args, kwargs)


def staged(fun, *avals):
    closed = stage(lambda *xs: list(fun(*xs)), avals)
    check_jaxpr(closed)
    return closed


def names(closed):
    return [eqn.primitive.name for eqn in closed.eqns]


def test_the_second_call_copies_the_equations_of_the_first():
    f = Counted(lambda x, y: op.sin(x) * y + 1.0)
    closed = staged(lambda x, y: (f(x, y), f(y, x)), f32(3), f32(3))
    assert f.calls == 1 and names(closed) == ["sin", "mul", "add"] * 2
    for got, want in zip(evaluate(closed, X, Y), (np.sin(X) * Y + 1, np.sin(Y) * X + 1)):
        np.testing.assert_allclose(got, want, rtol=1e-6)
    again = staged(lambda x, y: (f(y, x),), f32(3), f32(3))  # another trace
    assert f.calls == 1
    np.testing.assert_allclose(evaluate(again, X, Y)[0], np.sin(Y) * X + 1, rtol=1e-6)


def test_one_operand_given_twice_is_not_taken_for_two():
    f = Counted(lambda x, y: x - 2.0 * y)
    closed = staged(lambda x, y: (f(x, x), f(x, y), f(y, y), f(y, x)), f32(3), f32(3))
    for got, want in zip(evaluate(closed, X, Y), (-X, X - 2 * Y, -Y, Y - 2 * X)):
        np.testing.assert_allclose(got, want, rtol=1e-6)


@pytest.mark.parametrize("first, second",
                         [(1.0, 2.0), (0.0, -0.0), (1, 1.0), (1, True), (np.float32(1), 1.0), (np.float32(0), -np.float32(0)),
                          ((1,), (1.0,)), ([1, 2], (1, 2)), ((1, (2, 3)), (1, 2, 3)), ("a", "b"), (None, 0),
                          (np.dtype(np.int32), np.dtype(np.int8)), (np.float32, np.float16)], ids=repr)
def test_parameters_that_differ_are_told_apart(first, second):
    seen = []
    f = Counted(lambda x, parameter, named=None: seen.append((parameter, named)) or op.sin(x))
    staged(lambda x: [f(x, p, named=q) for p in (first, second, first) for q in (first, second, second)], f32(3))
    assert [tuple(map(repr, pair)) for pair in seen] == [(repr(p), repr(q)) for p in (first, second) for q in (first, second)]


def test_types_options_and_where_an_argument_stands_are_told_apart():
    f = Counted(lambda x, y=None, z=None: op.cos(x))
    with enable_x64(False):
        staged(lambda x, y: [f(x), f(y), f(x, y), f(x, None, y), f(x, z=y), f(x, y=y)], f32(3), f32(2))
    assert f.calls == 6
    with enable_x64(True):
        staged(lambda x: [f(x)], f32(3))
    assert f.calls == 7


def test_what_is_returned_has_the_same_structure():
    f = Counted(lambda x, y: {"b": (op.sin(x), y), "a": [x, x]})
    got = []

    def twice(x, y):
        for _ in range(2):
            got.append(result := f(x, y))
            assert result["b"][1] is y and result["a"][0] is x and result["a"][1] is x  # operands come back as they are
        return [result["b"][0]]

    staged(twice, f32(3), f32(2))
    assert f.calls == 1 and got[0].keys() == got[1].keys() and type(got[1]["b"]) is tuple and got[1]["b"][0] is not got[0]["b"][0]


def test_constants_of_the_function_are_kept_and_literals_are_literals():
    mask = np.array([1.0, 0.0, 1.0], np.float32)
    f = Counted(lambda x: x * mask - 3.0)
    closed = staged(lambda x: (f(x), f(f(x))), f32(3))
    assert f.calls == 1 and len(closed.consts) == 1 and closed.consts[0] is mask
    assert [type(eqn.invars[1]) for eqn in closed.eqns[3::2]] == [Literal, Literal]
    for got, want in zip(evaluate(closed, X), (X * mask - 3, (X * mask - 3) * mask - 3)):
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_equations_of_several_results_and_with_programs():
    f = Counted(lambda start, x: scan(lambda carry, row: (carry + row, carry), start, x))
    closed = staged(lambda start, x: (*f(start, x), *f(start, op.neg(x))), f32(3), f32(4, 3))
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    assert f.calls == 1
    before = np.cumsum(x, axis=0) - x
    for got, want in zip(evaluate(closed, X, x), (X + x.sum(0), X + before, X - x.sum(0), X - before)):
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_what_the_function_closes_over_is_not_kept():
    """A value of the trace itself, or of one around it, would be another trace's the next time."""
    def own(x, y):
        f = Counted(lambda a: a + y)
        results = [f(x), f(x)]
        assert f.calls == 2
        return results

    staged(own, f32(3), f32(3))

    def outer(x, y):
        f = Counted(lambda a: a * y)
        inner = stage(lambda a: [f(a), f(a)], [f32(3)])
        assert f.calls == 2 and len(inner.consts) == 1
        return [x]

    staged(outer, f32(3), f32(3))


def test_arguments_that_are_no_parameters_are_handed_over():
    f = Counted(lambda x, other: op.sin(x) + (other if isinstance(other, np.ndarray) else other(x)))
    staged(lambda x: [f(x, Y), f(x, Y), f(x, op.cos), f(x, op.cos)], f32(3))
    assert f.calls == 4


def test_effects_are_not_copied():
    noisy_p = Primitive("noisy")
    shape_rule(noisy_p)(lambda x: x)
    effects_rule(noisy_p)(lambda x: {"noise"})
    f = Counted(lambda x: noisy_p.bind(x))
    closed = staged(lambda x: [f(x), f(x)], f32(3))
    assert f.calls == 2 and all(eqn.effects for eqn in closed.eqns)


def test_a_function_that_fails_fails_each_time():
    def fails(x):
        op.sin(x)
        raise ValueError("no")
    f = Counted(fails)

    def tries(x):
        for _ in range(2):
            with pytest.raises(ValueError, match="no"):
                f(x)
        return [x]
    staged(tries, f32(3))
    assert f.calls == 2


def test_a_warning_is_given_each_time():
    def warns(x):
        count_warning()
        warnings.warn("beware", stacklevel=1)
        return op.sin(x)
    f = Counted(warns)

    def twice(x):
        for _ in range(2):
            with pytest.warns(UserWarning, match="beware"):
                y = f(x)
        return [y]
    staged(twice, f32(3))


def test_copies_have_the_position_and_the_scopes_of_their_own_call():
    def scoped(x):
        with name_scope("inner"):
            return op.sin(x) * 2.0
    f = Counted(scoped)

    def fun(x):
        with name_scope("first"):
            y = f(x)
        with name_scope("second"):
            z = f(y)
        return [z]

    closed = staged(fun, f32(3))
    assert f.calls == 1
    assert [tuple(eqn.source_info.name_stack) for eqn in closed.eqns] == [("first", "inner")] * 2 + [("second", "inner")] * 2
    lines = [source.position(eqn.source_info).line for eqn in closed.eqns]
    assert lines[2] == lines[3]


def test_recordings_are_few_and_can_be_forgotten():
    f = Counted(lambda x, k: op.integer_pow(x, k))
    staged(lambda x: [f(x, k) for k in range(2, 1000)][-1:], f32(3))
    assert f.calls == 998 and len(f.recorded.recordings) <= 256
    staged(lambda x: [f(x, 999)], f32(3))
    assert f.calls == 998
    forget_traced_functions()
    staged(lambda x: [f(x, 999)], f32(3))
    assert f.calls == 999


def test_large_constants_are_not_kept_alive():
    large = np.ones((1 << 20,), np.float32)
    f = Counted(lambda x: x + large)
    staged(lambda x: [f(x), f(x)], f32(1 << 20))
    assert f.calls == 2


def test_operators_promote_in_copies_too():
    assert operators.method_table()  # installed
    f = Counted(lambda x, y: x * y)
    closed = staged(lambda x, k: [f(x, k), f(x, k)], f32(3), ShapedArray((3,), np.dtype(np.int32)))
    assert f.calls == 1 and names(closed) == ["convert_element_type", "mul"] * 2
