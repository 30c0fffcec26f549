"""Interpreters that users write: classes derived from `core.Trace` and `core.Tracer`, under eager calls and transformations."""

from collections import Counter
from math import prod

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import core, lax
from laminax.custom_derivatives import SymbolicZero
from laminax.extend import core as extend_core
from laminax.extend import linear_util
from laminax.extend.core import primitives

X = np.float32([0.5, 1.0, 2.0])


class Boxed(core.Tracer):
    """A value of the parent trace, with something about it."""

    def __init__(self, trace, value, note=None):
        super().__init__(trace, laminax.typeof(value))
        self.value = value
        self.note = note


class Interpreter(core.Trace):
    """Hands every operation on to the trace around it."""

    def __init__(self, parent):
        super().__init__()
        self.parent_trace = parent

    def value(self, x):
        return x.value if isinstance(x, Boxed) and x._trace is self else x

    def note(self, x):
        return x.note if isinstance(x, Boxed) and x._trace is self else None

    def notes_of_results(self, primitive, tracers, params, results):
        return [None] * len(results)

    def process_primitive(self, primitive, tracers, params, /):
        with extend_core.set_current_trace(self.parent_trace):
            results = primitive.bind(*map(self.value, tracers), **params)
            flat = results if primitive.multiple_results else [results]
            boxes = [Boxed(self, x, note) for x, note in zip(flat, self.notes_of_results(primitive, tracers, params, flat))]
        return boxes if primitive.multiple_results else boxes[0]

    def process_custom_jvp_call(self, primitive, fun, jvp, tracers, /, *, symbolic_zeros):
        del primitive, jvp, symbolic_zeros
        with extend_core.set_current_trace(self):
            return fun.call_wrapped(*tracers)

    def process_custom_vjp_call(self, primitive, fun, fwd, bwd, tracers, /, *, out_trees, symbolic_zeros):
        del primitive, fwd, bwd, out_trees, symbolic_zeros
        with extend_core.set_current_trace(self):
            return fun.call_wrapped(*tracers)


def interpret(kind, fun, *args, notes=None, **settings):
    """The results of a flat function under an interpreter, and what it notes of them."""
    with extend_core.take_current_trace() as parent:
        trace = kind(parent, **settings)
        with extend_core.set_current_trace(trace):
            out = fun(*[Boxed(trace, x, note) for x, note in zip(args, notes or [None] * len(args))])
        results, tree = laminax.tree.flatten(out)
        trace.invalidate()
    return tree.unflatten([trace.value(x) for x in results]), [trace.note(x) for x in results]


# --- a counter of operations ---


class Counting(Interpreter):
    """Counts the multiplications of numbers, also in the programs that are called."""

    def __init__(self, parent, counts):
        super().__init__(parent)
        self.counts = counts

    def process_primitive(self, primitive, tracers, params, /):
        if primitive is primitives.jit_p:
            with extend_core.set_current_trace(self):
                return core.jaxpr_as_fun(params["jaxpr"])(*tracers)
        self.counts[primitive.name] += prod(np.shape(self.value(tracers[0]))) if tracers else 1
        return super().process_primitive(primitive, tracers, params)


def counted(fun, counts):
    return lambda *args: interpret(Counting, fun, *args, counts=counts)[0]


def polynomial(x):
    return laminax.jit(lambda x: x * x * x)(x) + jnp.sum(x)


def test_operations_of_an_eager_call_are_counted():
    counts = Counter()
    np.testing.assert_allclose(counted(polynomial, counts)(X), X ** 3 + X.sum(), rtol=1e-6)
    assert counts["mul"] == 6 and counts["add"] == 3 and counts["reduce_sum"] == 3


def test_operations_are_counted_once_while_a_program_is_traced():
    counts = Counter()
    step = laminax.jit(counted(polynomial, counts))
    for _ in range(3):
        np.testing.assert_allclose(step(X), X ** 3 + X.sum(), rtol=1e-6)
    assert counts["mul"] == 6


def test_an_interpreter_inside_of_derivatives_and_of_maps():
    counts = Counter()
    fun = counted(polynomial, counts)
    np.testing.assert_allclose(laminax.grad(lambda x: jnp.sum(fun(x)))(X), 3 * X ** 2 + 3, rtol=1e-6)
    _, tangent = laminax.jvp(fun, (X,), (np.ones_like(X),))
    np.testing.assert_allclose(tangent, 3 * X ** 2 + 3, rtol=1e-6)
    batch = np.stack([X, 2 * X])
    np.testing.assert_allclose(laminax.vmap(fun)(batch), batch ** 3 + batch.sum(1, keepdims=True), rtol=1e-6)
    first = laminax.jit(laminax.vmap(laminax.grad(lambda x: fun(x)[0])))(batch)[:, 0]
    np.testing.assert_allclose(first, 3 * batch[:, 0] ** 2 + 1, rtol=1e-6)
    assert counts["mul"] == 4 * 6  # an example of each map counts once


def test_derivatives_and_maps_inside_of_an_interpreter():
    counts = Counter()
    grad = counted(laminax.grad(lambda x: jnp.sum(x * x * x)), counts)
    np.testing.assert_allclose(grad(X), 3 * X ** 2, rtol=1e-6)
    assert counts["mul"] >= 4 * 3  # two products and those of their derivatives
    batch, counts = np.stack([X, 2 * X]), Counter()
    np.testing.assert_allclose(counted(laminax.vmap(lambda x: x * x), counts)(batch), batch ** 2, rtol=1e-6)
    assert counts["mul"] == 6


def test_loops_and_branches_reach_an_interpreter_as_operations():
    counts = Counter()

    def fun(x):
        total, steps = lax.scan(lambda c, y: (c + y, c * y), 0.0, x)
        return lax.cond(True, jnp.sin, jnp.cos, total), steps

    total, steps = counted(fun, counts)(X)
    np.testing.assert_allclose(total, np.sin(X.sum()), rtol=1e-6)
    np.testing.assert_allclose(steps, (np.cumsum(X) - X) * X, rtol=1e-6)
    assert counts["scan"] == 1 and counts["cond"] == 1 and counts["sin"] == 0


def test_an_interpreter_inside_of_another_one():
    inner, outer = Counter(), Counter()
    np.testing.assert_allclose(counted(counted(polynomial, inner), outer)(X), X ** 3 + X.sum(), rtol=1e-6)
    assert inner == outer and inner["mul"] == 6


# --- numbers with units ---


class Units(Interpreter):
    """Follows a power of metres through operations, and refuses what has no meaning."""

    def notes_of_results(self, primitive, tracers, params, results):
        powers = [self.note(x) or 0 for x in tracers]
        match primitive.name:
            case "mul" | "dot_general":
                return [sum(powers)]
            case "div":
                return [powers[0] - powers[1]]
            case "integer_pow":
                return [powers[0] * params["y"]]
            case "square":
                return [2 * powers[0]]
            case "sqrt":
                return [powers[0] / 2]
            case "neg" | "abs" | "reduce_sum" | "broadcast_in_dim" | "reshape" | "squeeze" | "convert_element_type":
                return powers[:1]
            case "add" | "sub" | "max" | "select_n":
                if len({p for p, x in zip(powers, tracers) if isinstance(x, Boxed)}) > 1:
                    raise TypeError(f"{primitive}: powers of metres {powers}")
                return [max(powers, key=abs)]
            case _:
                if any(powers):
                    raise TypeError(f"{primitive}: powers of metres {powers}")
                return [0]


def test_numbers_with_units():
    a, b = np.float32([3, 5, 8]), np.float32([4, 12, 15])
    (length, area, angle), notes = interpret(Units, lambda a, b: (jnp.sqrt(a * a + b * b), a @ b, jnp.sin(a / b)), a, b, notes=[1, 1])
    np.testing.assert_allclose(length, np.hypot(a, b), rtol=1e-6)
    np.testing.assert_allclose(area, a @ b, rtol=1e-6)
    np.testing.assert_allclose(angle, np.sin(a / b), rtol=1e-6)
    assert notes == [1, 2, 0]
    with pytest.raises(TypeError, match=r"add: powers of metres \[1, 2\]"):
        interpret(Units, lambda a, b: a + a * b, a, b, notes=[1, 1])
    with pytest.raises(TypeError, match="sin: powers of metres"):
        interpret(Units, jnp.sin, a, notes=[1])


@pytest.mark.parametrize("transform", [laminax.jit, laminax.vmap, lambda f: laminax.jit(laminax.vmap(f))])
def test_units_are_followed_under_transformations(transform):
    a, found = np.float32([3, 5, 8]), []

    def fun(a):
        result, notes = interpret(Units, lambda a: laminax.nn.relu(a) / jnp.sqrt(a), a, notes=[3])
        found.extend(notes)
        return result

    np.testing.assert_allclose(transform(fun)(a), np.sqrt(a), rtol=1e-6)
    assert found == [1.5]


# --- forward mode, written by a user ---


class Duals(Interpreter):
    """Forward mode: the note of a value is its tangent, a value of the parent trace."""

    rules = {
        "sin": lambda x, t, **_: jnp.cos(x[0]) * t[0],
        "mul": lambda x, t, **_: x[0] * t[1] + x[1] * t[0],
        "add": lambda x, t, **_: t[0] + t[1],
        "reduce_sum": lambda x, t, axes, **_: jnp.sum(t[0], axes),
    }

    def notes_of_results(self, primitive, tracers, params, results):
        values = [*map(self.value, tracers)]
        tangents = [jnp.zeros(np.shape(x)) if (t := self.note(tracer)) is None else t for tracer, x in zip(tracers, values)]
        return [self.rules[primitive.name](values, tangents, **params)]


def test_forward_mode_of_a_user():
    def derivative(fun):
        return lambda x, t: interpret(Duals, fun, x, notes=[t])[1][0]

    def fun(x):
        return jnp.sum(jnp.sin(x) * x + 2.0 * x)

    expected = (np.sin(X) + X * np.cos(X) + 2)
    direction = np.float32([1, -2, 3])
    for call in (derivative(fun), laminax.jit(derivative(fun))):
        np.testing.assert_allclose(call(X, direction), expected @ direction, rtol=1e-6)
    rows = laminax.vmap(derivative(fun), in_axes=(None, 0))(X, np.eye(3, dtype=np.float32))
    np.testing.assert_allclose(rows, expected, rtol=1e-6)
    second = laminax.grad(lambda x: derivative(fun)(x, direction))(X)
    np.testing.assert_allclose(second, (2 * np.cos(X) - X * np.sin(X)) * direction, rtol=1e-5)


# --- functions with derivative rules ---


def unboxed(trace, fun):
    """The function of values of the parent trace: it is interpreted by a new trace each time that it runs."""
    def call(fun, *values):
        with extend_core.take_current_trace() as parent:
            inner = type(trace)(parent)
            with extend_core.set_current_trace(inner):
                results = fun(*[x if isinstance(x, (bool, SymbolicZero)) else Boxed(inner, x) for x in values])
            return [inner.value(x) for x in results]
    return linear_util.transformation2(call, fun)


class HandsOn(Interpreter):
    """Leaves functions their rules, and interprets function and rules."""

    def process_custom_jvp_call(self, primitive, fun, jvp, tracers, /, *, symbolic_zeros):
        values = [*map(self.value, tracers)]
        with extend_core.set_current_trace(self.parent_trace):
            results = primitive.bind(*values, subfuns=(unboxed(self, fun), unboxed(self, jvp)), symbolic_zeros=symbolic_zeros)
        return [Boxed(self, x) for x in results]

    def process_custom_vjp_call(self, primitive, fun, fwd, bwd, tracers, /, *, out_trees, symbolic_zeros):
        values = [*map(self.value, tracers)]
        results = primitive.bind_with_trace(self.parent_trace, values, [*map(laminax.typeof, values)], {
            "subfuns": (unboxed(self, fun), unboxed(self, fwd), unboxed(self, bwd)), "out_trees": out_trees,
            "symbolic_zeros": symbolic_zeros})
        return [Boxed(self, x) for x in results]


@laminax.custom_jvp
def thrice_in_rule(x, y):
    return x * y


@thrice_in_rule.defjvp
def _thrice_jvp(primals, tangents):
    (x, y), (x_dot, y_dot) = primals, tangents
    return x * y, 3 * (x * y_dot + y * x_dot)


def test_a_jvp_rule_is_handed_on():
    fun = lambda x: interpret(HandsOn, lambda x: thrice_in_rule(x, 2.0), x)[0]  # noqa: E731
    np.testing.assert_array_equal(fun(X), 2 * X)
    np.testing.assert_array_equal(laminax.jit(fun)(X), 2 * X)
    for transform in (lambda f: f, laminax.jit, laminax.vmap):
        np.testing.assert_array_equal(transform(laminax.grad(lambda x: jnp.sum(fun(x))))(X), np.full(3, 6, np.float32))
    dropped = lambda x: interpret(Interpreter, lambda x: thrice_in_rule(x, 2.0), x)[0]  # noqa: E731
    np.testing.assert_array_equal(laminax.grad(lambda x: jnp.sum(dropped(x)))(X), np.full(3, 2, np.float32))


@pytest.mark.parametrize("symbolic_zeros", [False, True])
def test_a_vjp_rule_is_handed_on(symbolic_zeros):
    kinds = []

    @laminax.custom_vjp
    def five_in_rule(x, y):
        return x * y, x

    def fwd(x, y):
        if symbolic_zeros:
            assert (x.perturbed, y.perturbed) == (True, False)
            x, y = x.value, y.value
        return (x * y, x), (y, {"x": x})

    def bwd(residuals, cts):
        kinds.append(type(cts[1]).__name__)
        return 5 * residuals[0] * cts[0], jnp.sum(residuals[1]["x"] * cts[0])

    five_in_rule.defvjp(fwd, bwd, symbolic_zeros=symbolic_zeros)
    fun = lambda x: interpret(HandsOn, lambda x: five_in_rule(x, 2.0)[0], x)[0]  # noqa: E731
    np.testing.assert_array_equal(fun(X), 2 * X)
    for transform in (lambda f: f, laminax.jit, laminax.vmap):
        np.testing.assert_array_equal(transform(laminax.grad(lambda x: jnp.sum(fun(x))))(X), np.full(3, 10, np.float32))
    assert ("SymbolicZero" in kinds) is symbolic_zeros


def test_calls_in_programs_keep_their_rules():
    """A program that an interpreter evaluates has the calls as equations."""
    class Inside(HandsOn):
        def process_primitive(self, primitive, tracers, params, /):
            assert primitive.name != "custom_jvp_call"
            if primitive is primitives.jit_p:
                with extend_core.set_current_trace(self):
                    return core.eval_jaxpr(params["jaxpr"].jaxpr, params["jaxpr"].consts, *tracers)
            return super().process_primitive(primitive, tracers, params)

    fun = lambda x: interpret(Inside, laminax.jit(lambda x: thrice_in_rule(x, 2.0)), x)[0]  # noqa: E731
    np.testing.assert_array_equal(fun(X), 2 * X)
    np.testing.assert_array_equal(laminax.grad(lambda x: jnp.sum(fun(x)))(X), np.full(3, 6, np.float32))


def test_tangents_that_a_rule_does_not_get_are_zeros():
    seen = []

    @laminax.custom_jvp
    def product(x, y):
        return x * y

    @product.defjvp
    def _product_jvp(primals, tangents):
        seen.append([type(t).__name__ for t in tangents])
        (x, y), (x_dot, _) = primals, tangents
        return x * y, 7 * y * x_dot

    fun = lambda x: interpret(HandsOn, lambda x: product(x, 2), x)[0]  # noqa: E731
    np.testing.assert_array_equal(laminax.grad(lambda x: jnp.sum(fun(x)))(X), np.full(3, 14, np.float32))
    assert seen and "SymbolicZero" not in seen[0]


# --- the methods of traces ---


def test_the_traces_of_laminax_answer_by_the_same_names():
    def fun(x):
        with extend_core.take_current_trace() as trace:
            assert trace.is_valid() and trace.full_raise(x) is x
            y = trace.process_primitive(primitives.sin_p, [x], {})
            z = primitives.cos_p.bind_with_trace(trace, [y], [laminax.typeof(y)], {})
            assert laminax.typeof(trace.stage_value(X)).shape == (3,)
        return z

    expected = np.cos(np.sin(X))
    for transform in (lambda f: f, laminax.jit, laminax.vmap):
        np.testing.assert_allclose(transform(fun)(X), expected, rtol=1e-6)
    np.testing.assert_allclose(laminax.grad(lambda x: jnp.sum(fun(x)))(X), -np.sin(np.sin(X)) * np.cos(X), rtol=1e-5)
    assert [eqn.primitive.name for eqn in laminax.make_jaxpr(fun)(X).eqns] == ["sin", "cos"]


def test_constants_are_staged_by_the_interpreter():
    class Stages(Interpreter):
        def stage_value(self, val):
            return Boxed(self, val, "staged")

    results, notes = interpret(Stages, lambda x: jnp.asarray(np.arange(3.0, dtype=np.float32)), X)
    np.testing.assert_array_equal(results, [0, 1, 2])
    assert notes == ["staged"]
    results, notes = interpret(Interpreter, lambda x: jnp.asarray(np.arange(3.0, dtype=np.float32)), X)
    np.testing.assert_array_equal(results, [0, 1, 2])


def test_references_live_in_an_interpreter():
    def fun(x):
        total = laminax.new_ref(x)
        total[...] += 2 * x
        return total[...]

    np.testing.assert_allclose(counted(fun, Counter())(X), 3 * X)


def test_values_of_an_ended_interpreter_are_refused():
    kept = []
    interpret(Interpreter, lambda x: kept.append(x) or x, X)
    assert not kept[0]._trace.is_valid()
    for call in (jnp.sin, laminax.jit(jnp.sin), lambda x: interpret(Interpreter, lambda y: y + x, X)):
        with pytest.raises(laminax.errors.UnexpectedTracerError, match="Encountered an unexpected tracer"):
            call(kept[0])


def test_what_an_interpreter_must_define():
    class Nothing(core.Trace):
        pass

    @laminax.custom_vjp
    def double(x):
        return 2 * x

    double.defvjp(lambda x: (2 * x, None), lambda _, ct: (2 * ct,))
    with extend_core.set_current_trace(Nothing()):
        with pytest.raises(NotImplementedError, match="Nothing must override process_primitive.*asked for sin"):
            jnp.sin(X)
        with pytest.raises(NotImplementedError, match="must override process_custom_jvp_call to handle custom_jvp primitives"):
            thrice_in_rule(X, 2.0)
        with pytest.raises(NotImplementedError, match="must override process_custom_vjp_call to handle custom_vjp primitives"):
            double(X)


def test_the_backward_rule_is_known_once_the_forward_rule_has_run():
    class Early(Interpreter):
        def process_custom_vjp_call(self, primitive, fun, fwd, bwd, tracers, /, *, out_trees, symbolic_zeros):
            out_trees()

    @laminax.custom_vjp
    def double(x):
        return 2 * x

    double.defvjp(lambda x: (2 * x, None), lambda _, ct: (2 * ct,))
    with pytest.raises(ValueError, match="double: out_trees and the backward rule are known once the forward rule has run"):
        interpret(Early, double, X)
