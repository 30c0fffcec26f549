"""Calls under the transformations: jit calls of jaxprs, and functions with derivative rules of their own (flat calls).

Oracles: the same function without the call, closed formulas, central differences; counts of how often a rule ran.
"""

from __future__ import annotations

import gc

import numpy as np
import pytest
from numeric_checks import check_derivatives, check_vmap

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.calls import CustomJVPCall, CustomVJPCall, call_jaxpr
from laminax_ir.ops.control_flow import cond
from laminax_ir.ops.loops import while_loop
from laminax_ir.ops.reduction import reduce_sum
from laminax_ir.options.config import check, enable_x64
from laminax_ir.programs.check import check_jaxpr
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.recording.evaluation import jaxpr_as_fun
from laminax_ir.recording.staging import stage
from laminax_ir.reference.evaluate import evaluate
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_transforms import checkpoint, grad, jvp, linearize, vjp, vmap
from laminax_transforms.base.zeros import ZERO
from laminax_transforms.batching.batch_axes import Axis
from laminax_transforms.programs.jaxpr_transforms import batch_jaxpr, linearize_jaxpr, transpose_jaxpr


@pytest.fixture(autouse=True)
def x64_and_checked():
    with enable_x64(), check():
        yield


X = np.array([0.3, -1.2, 2.0])
SCALAR = ShapedArray((), np.dtype(float))


def jit(fun):
    """A jit call of the flat function, traced once per avals: what the api does, without compiling."""
    cache = {}

    def called(*args):
        avals = tuple(get_aval(x) for x in args)
        if avals not in cache:
            cache[avals] = stage(lambda *xs: [fun(*xs)], avals, fun.__name__)
        return call_jaxpr(cache[avals], *args, name=fun.__name__)[0]

    called.cache = cache
    return called


def g(x, y):
    return op.sin(x) * y + op.exp(y)


# jit calls


def test_a_call_is_transparent_to_every_transformation():
    f, y = jit(g), X + 1
    check_derivatives(f, X, y)
    check_vmap(f, (np.stack([X, y]), np.stack([y, X])), (0, 1) if X.size == 2 else (0, 0))
    check_vmap(f, (np.stack([X, y]), y), (0, None))
    np.testing.assert_allclose(jvp(f, (X, y), (y, X))[1], jvp(g, (X, y), (y, X))[1], rtol=1e-12)
    np.testing.assert_allclose(linearize(f, X, y)[1](y, X), jvp(g, (X, y), (y, X))[1], rtol=1e-12)
    for a, b in zip(vjp(f, X, y)[1](X), vjp(g, X, y)[1](X)):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_transformed_calls_stay_calls():
    f, aval = jit(g), ShapedArray((3,), np.dtype(float))
    for fun in (lambda x, y: [grad(lambda a: reduce_sum(f(a, y), (0,)))(x)], lambda x, y: list(jvp(f, (x, y), (y, x))),
                lambda x, y: [vmap(f)(x, y)]):
        closed = stage(fun, [aval, aval])
        check_jaxpr(closed)
        assert "jit" in {eqn.primitive.name for eqn in closed.eqns}
        assert not {"sin", "exp"} & {eqn.primitive.name for eqn in closed.eqns}
        plain = fun(X, X + 1)
        for a, b in zip(evaluate(closed, X, X + 1), plain):
            np.testing.assert_allclose(a, b, rtol=1e-12)


def test_one_program_serves_all_calls_of_a_function():
    """A function called in each of many layers is differentiated once: the calls share their jaxprs."""
    f = jit(lambda x: op.tanh(x * 2.0))

    def deep(x):
        for _ in range(5):
            x = f(x)
        return reduce_sum(x, (0,))

    closed = stage(lambda x: [grad(deep)(x)], [ShapedArray((3,), np.dtype(float))])
    programs = [id(eqn.params["jaxpr"]) for eqn in closed.eqns if eqn.primitive.name == "jit"]
    assert len(programs) == 10 and len(set(programs)) == 2  # forward and backward
    np.testing.assert_allclose(evaluate(closed, X)[0], grad(lambda x: deep(x))(X), rtol=1e-12)


def questions(program, transform):
    """What a transformation has been asked about a program."""
    return {key for function, *key in map(list, program.derived) if function is transform for key in [tuple(key)]}


def test_each_question_about_a_called_program_is_answered_once():
    """Forty calls under grad and vmap: one entry in each cache per (program, which inputs are differentiated or mapped)."""
    f = jit(lambda x, w: op.tanh(x * w))

    def deep(x, w, shared):
        for i in range(40):
            x = f(x, w if i % 2 else shared)
        return reduce_sum(x, (0,))

    avals = [ShapedArray((3,), np.dtype(float))] * 3
    stage(lambda x, w, shared: [vmap(grad(deep), in_axes=(0, 0, None))(x, w, shared)],
          [ShapedArray((4, 3), np.dtype(float))] * 2 + avals[:1])
    (program,) = f.cache.values()
    assert questions(program, linearize_jaxpr) == {((True, False),)}
    split = linearize_jaxpr(program, (True, False))
    # the first call is mapped in x alone or x and w; later ones always in x; the shared operand makes the difference
    assert {axes for _, axes, *_ in questions(split.primal, batch_jaxpr)} == {(0, None), (0, 0)}
    assert len(questions(split.linear, transpose_jaxpr)) == 1
    fresh = jit(lambda x, w: op.tanh(x * w))
    stage(lambda x, w: list(vjp(lambda a, b: fresh(fresh(a, 2.0 * a), b), x, w)[1](x)), avals[:2])
    (program,) = fresh.cache.values()
    assert questions(program, linearize_jaxpr) == {((True, True),)}


@pytest.mark.parametrize("transform", [
    lambda f: stage(lambda x: [grad(checkpoint(f))(x)], [SCALAR]),
    lambda f: stage(lambda x: [grad(checkpoint(f, policy=lambda *_, **__: False))(x)], [SCALAR]),
    lambda f: stage(lambda x: [grad(lambda x: cond(x > 0.0, f, lambda x: -x, x))(x)], [SCALAR]),
    lambda f: stage(lambda x: [vmap(lambda x: cond(True, f, f, x))(x)], [ShapedArray((2,), SCALAR.dtype)]),
    lambda f: jvp(lambda x: while_loop(lambda x: x < 3.0, f, x), (1.0,), (1.0,)),
])
def test_programs_are_let_go(transform):
    """What had been derived of a program referred to it, and a global table to that: checkpointed programs and branches stayed for ever."""
    def programs():
        gc.collect()
        return sum(type(x) is ClosedJaxpr for x in gc.get_objects())

    def run():
        constant = np.array([2.0])  # a new function each time, which closes over an array
        transform(lambda x: op.sin(x) * reduce_sum(constant, (0,)) + 2.0)

    run()
    before = programs()
    for _ in range(3):
        run()
    assert programs() == before


def test_a_program_does_not_keep_everything_ever_derived_of_it():
    program = stage(lambda x: [op.sin(x)], [SCALAR])
    for size in range(1000):
        batch_jaxpr(program, Axis(size), (0,))
    assert 0 < len(program.derived) < 500


def test_residuals_that_are_inputs_or_results_of_a_call_are_not_stored_twice():
    """The primal part of x*w*tanh(w) saves only what is neither an operand nor a result of the call."""
    def split_of(fun, count, nonzero=None):
        closed = stage(fun, [ShapedArray((3,), np.dtype(float))] * count, "f")
        split = linearize_jaxpr(closed, nonzero or (True,) * count)
        return len(split.primal.out_avals) - len(closed.out_avals), split

    saved, split = split_of(lambda x, w: [x * w], 2)
    assert saved == 0 and sorted(split.residual_sources) == [("in", 0), ("in", 1)]
    saved, split = split_of(lambda x: [op.exp(x)], 1)  # its derivative is its result
    assert saved == 0 and split.residual_sources == (("out", 0),)
    saved, split = split_of(lambda x: [op.sin(x)], 1)
    assert saved == 1
    saved, _ = split_of(lambda x, w: [op.sin(x) * w, op.sin(x) * 2.0], 2)  # cos x twice, as traced, and sin x
    assert saved == 3
    array = np.array([1.0, 2.0, 3.0])  # a constant of the program stays a constant of its linear part
    saved, split = split_of(lambda x: [x * array], 1)
    assert saved == 0 and split.residual_sources == () and split.linear.consts[0] is array

    f = jit(lambda x, w: op.exp(x * w))
    closed = stage(lambda x, w: [grad(lambda a: reduce_sum(f(f(a, w), w), (0,)))(x)], [ShapedArray((3,), np.dtype(float))] * 2)
    forward = [eqn for eqn in closed.eqns if eqn.primitive.name == "jit"][:2]
    assert all(len(eqn.outvars) == 1 for eqn in forward)  # exp(x w) is kept once, w not at all


def test_calls_with_closed_over_values():
    def outer(x, w):
        f = jit(lambda y: y * w)  # w is a value of the enclosing trace
        return reduce_sum(f(x) * f(x), (0,))

    np.testing.assert_allclose(grad(outer, 1)(X, X + 1), 2 * X * X * (X + 1), rtol=1e-12)
    np.testing.assert_allclose(vmap(outer)(np.stack([X, X]), np.stack([X, X])), [np.sum(X**4)] * 2)
    array = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(grad(lambda x: reduce_sum(jit(lambda y: y * array)(x), (0,)))(X), array)


def test_forwarded_unused_and_constant_results_of_a_call():
    closed = stage(lambda x, y, unused: [x, y * x, 2.0, x, op.convert_element_type(x, np.int32)],
                   [ShapedArray((3,), np.dtype(float))] * 3, "f")

    def f(x, y, unused):
        out = call_jaxpr(closed, x, y, unused, name="f")
        return out[0] + out[1] + out[2] + out[3] + op.convert_element_type(out[4], float)

    by_hand = lambda x, y, unused: 2.0 * x + y * x + 2.0 + op.convert_element_type(op.convert_element_type(x, np.int32), float)  # noqa: E731
    np.testing.assert_allclose(f(X, X, X), by_hand(X, X, X))
    for a, b in zip(vjp(f, X, X + 1, X)[1](X), vjp(by_hand, X, X + 1, X)[1](X)):
        np.testing.assert_allclose(a, b)
    check_derivatives(f, X + 0.1, X + 1, X)  # away from the jumps of the conversion


def test_nested_calls():
    inner = jit(lambda x: op.sin(x) * x)
    outer = jit(lambda x: inner(x) + inner(inner(x)))
    check_derivatives(outer, X)
    check_derivatives(vmap(outer), np.stack([X, X + 1]))
    third = grad(grad(grad(lambda x: reduce_sum(outer(x), ()))))(0.7)
    plain = lambda x: (lambda f: f(x) + f(f(x)))(lambda v: op.sin(v) * v)  # noqa: E731
    np.testing.assert_allclose(third, grad(grad(grad(plain)))(0.7), rtol=1e-10)


def test_perturbations_do_not_mix_inside_calls():
    f = jit(lambda x, y: x + y)
    assert float(grad(lambda x: x * grad(lambda y: f(x, y))(1.0))(1.0)) == 1.0
    mul = jit(lambda x, y: x * y)
    assert float(grad(lambda x: mul(x, jvp(lambda y: mul(x, y), (3.0,), (1.0,))[1]))(5.0)) == 10.0


def test_a_linear_call_is_transposed():
    scale = jit(lambda c, x: x * c)
    (ct,) = vjp(lambda x: scale(X, x), X)[1](np.ones(3))
    np.testing.assert_array_equal(ct, X)


# custom_jvp


def sign_rule(scale):
    """sin with the derivative scale * cos, so that one sees which rule ran; counts its uses."""
    uses = []

    def fun(x):
        return [op.sin(x)]

    def rule(primals, tangents):
        uses.append(1)
        (x,), (t,) = primals, tangents
        return [op.sin(x)], [ZERO if t is ZERO else op.mul(t, scale * op.cos(x))]

    return lambda x: CustomJVPCall(fun, rule, [x], "sine").bind()[0], uses


def test_the_rule_of_custom_jvp_is_used():
    f, uses = sign_rule(10.0)
    np.testing.assert_allclose(f(X), np.sin(X))
    assert not uses
    np.testing.assert_allclose(jvp(f, (X,), (np.ones(3),))[1], 10 * np.cos(X))
    np.testing.assert_allclose(grad(lambda x: reduce_sum(f(x), (0,)))(X), 10 * np.cos(X))
    assert len(uses) == 2
    # the second derivative is that of the rule
    np.testing.assert_allclose(jvp(lambda x: jvp(f, (x,), (np.ones(3),))[1], (X,), (np.ones(3),))[1], -10 * np.sin(X))


@pytest.mark.parametrize("transform", [lambda f: f, lambda f: vmap(f), lambda f: jit(f), lambda f: vmap(jit(f)), lambda f: jit(vmap(f)),
                                       lambda f: vmap(vmap(f))], ids=["", "vmap", "jit", "vmap jit", "jit vmap", "vmap vmap"])
def test_the_rule_of_custom_jvp_survives_other_transformations(transform):
    f, _ = sign_rule(10.0)
    x = np.stack([np.stack([X, X + 1]), np.stack([X - 1, X])])
    fun = transform(f)
    np.testing.assert_allclose(fun(x), np.sin(x))
    np.testing.assert_allclose(jvp(fun, (x,), (x,))[1], 10 * np.cos(x) * x, rtol=1e-12)
    np.testing.assert_allclose(vjp(fun, x)[1](x)[0], 10 * np.cos(x) * x, rtol=1e-12)
    np.testing.assert_allclose(grad(lambda a: reduce_sum(fun(a), (0, 1, 2)))(x), 10 * np.cos(x), rtol=1e-12)


def test_a_staged_custom_jvp_call_is_an_equation_with_its_program():
    f, uses = sign_rule(10.0)
    closed = stage(lambda x: [f(x)], [ShapedArray((3,), np.dtype(float))])
    (eqn,) = closed.eqns
    assert eqn.primitive.name == "custom_jvp_call" and not uses
    assert [e.primitive.name for e in eqn.params["call_jaxpr"].eqns] == ["sin"]
    replay = lambda x: jaxpr_as_fun(closed)(x)[0]  # noqa: E731
    np.testing.assert_allclose(jvp(replay, (X,), (X,))[1], 10 * np.cos(X) * X)
    np.testing.assert_allclose(vmap(lambda x: grad(lambda y: reduce_sum(replay(y), (0,)))(x))(np.stack([X, X])), [10 * np.cos(X)] * 2)


def test_a_custom_jvp_call_that_closes_over_a_traced_value():
    def f(x, w):
        def fun(a):
            return [a * w]

        def rule(primals, tangents):
            return fun(*primals), [op.mul(tangents[0], w) * 3.0]

        return CustomJVPCall(fun, rule, [x], "scaled").bind()[0]

    assert evaluate(stage(lambda x, w: [f(x, w)], [ShapedArray((), np.dtype(float))] * 2), 2.0, 5.0)[0] == 10
    np.testing.assert_allclose(vmap(lambda x, w: jvp(lambda a: f(a, w), (x,), (1.0,))[1])(X, X + 1), 3 * (X + 1))


def test_zero_tangents_reach_the_rule_as_symbols():
    seen = []

    def fun(x, y):
        return [x * y, y]

    def rule(primals, tangents):
        seen.append([t is ZERO for t in tangents])
        return fun(*primals), [ZERO if tangents[0] is ZERO else op.mul(tangents[0], primals[1]), ZERO]

    call = lambda x, y: CustomJVPCall(fun, rule, [x, y], "f").bind()  # noqa: E731
    _, tangents = jvp(lambda x: call(x, 3.0), (2.0,), (1.0,))
    assert seen == [[False, True]] and [float(t) for t in tangents] == [3.0, 0.0]


# custom_vjp


def clipped():
    """The identity whose cotangent is clipped to [-1, 1], times a factor from the residuals."""
    uses = []

    def fun(x, scale):
        return [op.mul(x, 1.0)]

    def fwd(operands, perturbed):
        x, scale = operands
        uses.append("fwd")
        return [op.mul(x, 1.0)], [scale]

    def bwd(residuals, cts):
        uses.append("bwd")
        (ct,) = cts
        return [ZERO if ct is ZERO else op.mul(op.clamp(-1.0, ct, 1.0), residuals[0]), ZERO]

    return lambda x, scale: CustomVJPCall(fun, fwd, bwd, [x, scale], "clip").bind()[0], uses


def test_the_rules_of_custom_vjp_are_used():
    f, uses = clipped()
    np.testing.assert_array_equal(f(X, 2.0), X)
    assert not uses
    (ct, scale_ct) = vjp(f, X, 2.0)[1](np.array([5.0, 0.5, -7.0]))
    np.testing.assert_array_equal(ct, [2.0, 1.0, -2.0])
    assert float(scale_ct) == 0 and uses == ["fwd", "bwd"]


@pytest.mark.parametrize("wrap", [lambda f: f, jit, lambda f: jit(jit(f))], ids=["", "jit", "jit jit"])
def test_the_rules_of_custom_vjp_survive_vmap_and_jit(wrap):
    f, _ = clipped()
    f = wrap(f)
    x, ct = np.stack([X, X + 1]), np.array([[5.0, 0.5, -7.0], [0.1, -3.0, 0.0]])
    want = np.clip(ct, -1, 1) * 2
    for fun in (vmap(f, in_axes=(0, None)), lambda x, s: vmap(lambda a: f(a, s))(x), vmap(f, in_axes=(0, None), out_axes=0)):
        np.testing.assert_array_equal(vjp(lambda x: fun(x, 2.0), x)[1](ct)[0], want)
    per_example = vmap(lambda x, ct, s: vjp(lambda a: f(a, s), x)[1](ct)[0], in_axes=(0, 0, 0))
    np.testing.assert_array_equal(per_example(x, ct, np.array([2.0, 3.0])), np.clip(ct, -1, 1) * np.array([[2.0], [3.0]]))
    np.testing.assert_array_equal(vmap(lambda x, ct: vjp(lambda a: f(a, 2.0), x)[1](ct)[0], in_axes=1, out_axes=1)(x, ct), want)


def test_the_cotangent_of_a_shared_operand_adds_up():
    def fun(x, w):
        return [op.mul(x, w)]

    call = lambda x, w: CustomVJPCall(fun, lambda xs, perturbed: (fun(*xs), xs),  # noqa: E731
                                      lambda r, cts: [op.mul(cts[0], r[1]), op.mul(cts[0], r[0])],
                                      [x, w], "product").bind()[0]
    x_ct, w_ct = vjp(lambda x, w: vmap(call, in_axes=(0, None))(x, w), X, 2.0)[1](np.ones(3))
    np.testing.assert_allclose(x_ct, [2, 2, 2])
    np.testing.assert_allclose(w_ct, X.sum())


def test_second_derivatives_of_custom_vjp_differentiate_its_rules():
    """x -> x^2 with the backward rule 3 x ct (instead of 2 x ct): its own derivative is 3."""
    def fun(x):
        return [x * x]

    f = lambda x: CustomVJPCall(fun, lambda xs, perturbed: (fun(*xs), xs), lambda r, cts: [3.0 * r[0] * cts[0]], [x], "square").bind()[0]  # noqa: E731
    assert float(grad(f)(5.0)) == 15 and float(grad(grad(f))(5.0)) == 3
    assert vmap(grad(grad(f)))(X).tolist() == [3, 3, 3]
    closed = stage(lambda x: [grad(grad(f))(x)], [ShapedArray((), np.dtype(float))])
    assert float(evaluate(closed, 5.0)[0]) == 3


def test_forward_mode_of_custom_vjp_is_refused_with_its_name():
    f, _ = clipped()
    with pytest.raises(TypeError, match="(?s)clip.*custom_jvp|custom_vjp.*clip"):
        jvp(lambda x: f(x, 2.0), (X,), (X,))


def test_a_rule_may_differentiate_a_function_that_calls():
    """`jvp` in a derivative rule: the call's results and their tangents are told apart."""
    from laminax_transforms import custom_jvp

    def two(x):
        return op.sin(x), op.mul(x, x)

    def composed(x):
        called = call_jaxpr(stage(lambda x: list(two(x)), [get_aval(x)]), x, name="two")
        return op.mul(op.sin(called[0]), called[1])

    f = custom_jvp(lambda x: composed(x))
    f.defjvp(lambda primals, tangents: jvp(composed, primals, tangents))
    check_derivatives(f, X)
    np.testing.assert_allclose(grad(f)(1.3), np.cos(np.sin(1.3)) * np.cos(1.3) * 1.3**2 + np.sin(np.sin(1.3)) * 2.6, rtol=1e-10)
