"""Functions with a batching rule of their own, and what becomes of the rule under differentiation."""

from __future__ import annotations

import numpy as np
import pytest

from laminax_ir.ops.calls import call_jaxpr
from laminax_ir.ops.elementwise import sin
from laminax_ir.ops.reduction import reduce_sum
from laminax_ir.options.config import check_leaks
from laminax_ir.recording.staging import stage
from laminax_ir.reference.evaluate import evaluate
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_transforms import grad, jvp, vjp, vmap
from laminax_transforms.custom.custom_batching import custom_vmap, sequential_vmap

X = np.float32([0.5, -1.0, 2.0])
Y = np.float32(1.5)


def make():
    seen = []

    @custom_vmap
    def f(x, y):
        return sin(x) * y

    @f.def_vmap
    def rule(axis_size, in_batched, x, y):
        seen.append((axis_size, in_batched, np.shape(get_aval(x)), np.shape(get_aval(y))))
        return 10.0 * (sin(x) * y), in_batched[0] or in_batched[1]  # the factor shows who computed

    return f, seen


def test_the_rule_is_used():
    f, seen = make()
    np.testing.assert_allclose(f(X, Y), np.sin(X) * Y, rtol=1e-6)
    np.testing.assert_allclose(vmap(f, in_axes=(0, None))(X, Y), 10 * np.sin(X) * Y, rtol=1e-6)
    assert seen[0][:2] == (3, [True, False])
    x = np.stack([X, 2 * X], 1)
    np.testing.assert_allclose(vmap(f, in_axes=(1, None))(x, Y), 10 * np.sin(x.T) * Y, rtol=1e-6)
    np.testing.assert_allclose(vmap(lambda x: f(Y, Y) + x)(X), np.sin(Y) * Y + X, rtol=1e-6)  # nothing of it is mapped
    np.testing.assert_allclose(vmap(lambda x: f(x, y=Y))(X), 10 * np.sin(X) * Y, rtol=1e-6)


def test_in_a_call():
    f, _ = make()
    closed = stage(lambda x, y: [f(x, y)], [get_aval(X[0]), get_aval(Y)])
    assert closed.eqns[0].primitive.name == "custom_vmap_call"
    out = vmap(lambda x: call_jaxpr(closed, x, Y, name="g")[0])(X)
    np.testing.assert_allclose(out, 10 * np.sin(X) * Y, rtol=1e-6)


def test_a_primal_that_is_mapped_without_its_tangent_and_the_other_way_round():
    """The rule has one example then, and its derivative many; what does not depend on the mapped axis stays unmapped."""
    seen = []

    def mapped(rule):
        f = custom_vmap(lambda x: x)

        @f.def_vmap
        def f_rule(axis_size, in_batched, x):
            seen.append((axis_size, in_batched))
            return rule(x), in_batched[0]

        return lambda x, x_dot: jvp(f, (x,), (x_dot,))

    dot = np.float32(3)
    out, dots = vmap(mapped(sin), (None, 0), (None, 0))(X[0], X)
    np.testing.assert_allclose(out, np.sin(X[0]), rtol=1e-6)
    np.testing.assert_allclose(dots, np.cos(X[0]) * X, rtol=1e-6)
    out, dots = vmap(mapped(sin), (0, None))(X, dot)
    np.testing.assert_allclose(out, np.sin(X), rtol=1e-6)
    np.testing.assert_allclose(dots, np.cos(X) * dot, rtol=1e-6)
    out, dots = vmap(mapped(lambda x: 7.0 * x), (0, None), (0, None))(X, dot)
    np.testing.assert_allclose(out, 7 * X, rtol=1e-6)
    assert float(dots) == 21
    assert seen == [(3, [False])] * 3


def test_a_program_shows_the_name_of_the_rule():
    f, _ = make()
    assert "rule=rule\n" in str(stage(lambda x, y: [f(x, y)], [get_aval(X[0]), get_aval(Y)]))


def test_derivatives_of_function_and_rule():
    f, _ = make()
    x = X[0]
    out, tangent = jvp(f, (x, Y), (np.float32(2), np.float32(3)))
    np.testing.assert_allclose(tangent, np.cos(x) * Y * 2 + np.sin(x) * 3, rtol=1e-6)
    np.testing.assert_allclose(grad(f)(x, Y), np.cos(x) * Y, rtol=1e-6)
    ten = 10 * np.cos(X) * Y
    np.testing.assert_allclose(vmap(grad(f), in_axes=(0, None))(X, Y), ten, rtol=1e-6)
    np.testing.assert_allclose(vmap(lambda x: jvp(lambda x: f(x, Y), (x,), (np.float32(1),))[1])(X), ten, rtol=1e-6)
    np.testing.assert_allclose(vmap(lambda t: jvp(lambda x: f(x, Y), (x,), (t,))[1])(X), 10 * np.cos(x) * Y * X, rtol=1e-6)
    np.testing.assert_allclose(vjp(vmap(lambda x: f(x, Y)), X)[1](np.ones(3, np.float32))[0], ten, rtol=1e-6)
    np.testing.assert_allclose(vmap(grad(f, argnums=1), in_axes=(0, None))(X, Y), 10 * np.sin(X), rtol=1e-6)
    np.testing.assert_allclose(vmap(grad(grad(f)), in_axes=(0, None))(X, Y), -10 * np.sin(X) * Y, rtol=1e-6)
    np.testing.assert_allclose(vmap(lambda ct: vjp(lambda x: f(x, Y), x)[1](ct)[0])(X), 10 * np.cos(x) * Y * X, rtol=1e-6)


def test_trees():
    @custom_vmap
    def f(tree):
        return {"s": tree["a"] + tree["b"], "b": tree["b"]}

    @f.def_vmap
    def rule(axis_size, in_batched, tree):
        (flags,) = in_batched
        return {"s": tree["a"] + tree["b"], "b": tree["b"]}, {"s": flags["a"] or flags["b"], "b": flags["b"]}

    out = vmap(lambda a: f({"a": a, "b": Y}), out_axes={"s": 0, "b": None})(X)
    np.testing.assert_allclose(out["s"], X + Y)
    assert np.shape(out["b"]) == ()


def test_sequential_vmap():
    shapes = []

    @sequential_vmap
    def f(x, y):
        shapes.append(get_aval(x).shape)
        return sin(x) + y

    x = np.stack([X, 2 * X])
    np.testing.assert_allclose(vmap(f, in_axes=(0, None))(x, Y), np.sin(x) + Y, rtol=1e-6)
    np.testing.assert_allclose(vmap(vmap(f, in_axes=(0, None)), in_axes=(0, None))(x, Y), np.sin(x) + Y, rtol=1e-6)
    assert set(shapes) == {(3,), ()}


def with_rule(rule):
    f = custom_vmap(lambda x: (x, x))
    f.def_vmap(rule)
    return lambda: vmap(f)(X)


@pytest.mark.parametrize("call, error, message", [
    (lambda: custom_vmap(sin)(X), AttributeError, "No batching rule defined for custom_vmap function sin using def_vmap"),
    (lambda: custom_vmap(3), TypeError, "Expected a callable"),
    (with_rule(lambda n, b, x: (x, True)), ValueError, "does not match that of original custom-vmapped function"),
    (with_rule(lambda n, b, x: ((x, x), (True,))), ValueError, "output value and output batching specification"),
    (with_rule(lambda n, b, x: 3), TypeError, r"must return a pair \(out, out_batched\), got 3"),
    (with_rule(lambda n, b, x: ((x, Y), (True, True))), ValueError, "leading axis must have the size of the mapped axis, 3"),
])
def test_wrong_rules(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_mapped_value_that_is_closed_over():
    def outer(x):
        f = custom_vmap(lambda y: x * y)
        f.def_vmap(lambda n, b, y: (y, True))
        return f(x)

    with pytest.raises(ValueError, match="closes over a value that is mapped"):
        vmap(outer)(X)


def test_the_rules_of_a_recorded_call_do_not_keep_its_operands():
    """They used to, in the transposed call: leak checking took a trace's own values for leaks."""
    @custom_vmap
    def doubled(x):
        return x * 2.0

    @doubled.def_vmap
    def _(size, in_batched, x):
        return x * 2.0, in_batched[0]

    def loss(x):
        return reduce_sum(doubled(x) * x, (0,))

    with check_leaks():
        closed = stage(lambda x: [grad(loss)(x)], [ShapedArray((3,), np.float32)])
    np.testing.assert_allclose(evaluate(closed, np.arange(3, dtype=np.float32))[0], [0, 4, 8])


def test_on_values_the_function_gets_arrays_and_returns_arrays():
    """Outside of every transformation it got Python's numbers as they were, which have no dtype, and anything else too."""
    seen = []

    @custom_vmap
    def f(x, y):
        seen.append((x.dtype, y.shape))
        return x, 3 if y.ndim else "text"

    f.def_vmap(lambda size, mapped, x, y: ((x, y), (True, True)))
    out, three = f(2.0, X)
    assert seen == [(np.float32, (3,))] and out.dtype == np.float32 and out == 2.0
    assert three.dtype == np.int32 and three == 3
    with pytest.raises(TypeError, match=r"custom_vmap function f: argument \[1\]"):
        f(2.0, "text")
    with pytest.raises(TypeError, match="the result of f"):
        f(2.0, 1.0)
