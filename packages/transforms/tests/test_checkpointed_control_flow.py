"""Policies of checkpoint reach into loops and branches: same derivatives, and nothing that was saved is computed again."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laminax_ir.ops.calls import call_jaxpr
from laminax_ir.ops.contraction import dot
from laminax_ir.ops.control_flow import cond
from laminax_ir.ops.elementwise import cos, exp, gt, lt, sin, tanh
from laminax_ir.ops.loops import scan, while_loop
from laminax_ir.ops.reduction import reduce_sum
from laminax_ir.programs.check import check_jaxpr
from laminax_ir.programs.jaxpr import Jaxpr, subjaxprs
from laminax_ir.pytrees.pytree import tree_leaves
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import get_aval
from laminax_transforms import checkpoint, checkpoint_name, checkpoint_policies, jvp, linearize, saved_residuals, vjp, vmap

XS = np.linspace(-1.0, 1.5, 12).reshape(4, 3)
C = np.array([0.3, -1.2, 2.0])


def operations(jaxpr: Jaxpr) -> Counter:
    """How many equations of each primitive a program has, in the programs inside of it too."""
    found = Counter(eqn.primitive.name for eqn in jaxpr.eqns)
    for eqn in jaxpr.eqns:
        for inner in subjaxprs(eqn):
            found += operations(inner)
    return found


def staged(fun, *args):
    closed = stage(fun, [get_aval(x) for x in args])
    check_jaxpr(closed)
    return closed


def run_again(fun, *args) -> Counter:
    """What the derivative of a function at a point consists of: recomputation, and the linear part."""
    _, f_jvp = linearize(fun, *args)
    return operations(staged(lambda *tangents: tree_leaves(f_jvp(*tangents)), *args).jaxpr)


def shapes_kept(fun, *args) -> list[tuple[int, ...]]:
    """The shapes of the values that are computed for the result and kept for the derivative."""
    return [aval.shape for aval, where in saved_residuals(fun, *args) if "argument" not in where and "constant" not in where]


def jit(fun):
    return lambda *args: call_jaxpr(staged(lambda *xs: [fun(*xs)], *args), *args, name="f")[0]


def saving(*names):
    return lambda prim, *_, **__: prim.name in names


def loop(c, xs, reverse=False):
    """Two carried values, of which one needs the other; a jitted function and a choice in the body."""
    def step(carry, x):
        a, b = carry
        wave = jit(lambda x: sin(x) * C)(a * x)
        b = cond(gt(reduce_sum(b, (0,)), 0.5), lambda b, wave: tanh(b * wave), lambda b, wave: exp(-(b * b)) + cos(wave), b, wave)
        return (wave + a, b), cos(a) * b

    (a, b), ys = scan(step, (c, sin(c)), xs, reverse=reverse)
    return reduce_sum(a * b, (0,)) + reduce_sum(ys, (0, 1))


def nested(c, xs):
    """A loop in a loop in a branch."""
    def inner(a, x):
        a = tanh(a * x)
        return a, sin(a)

    def outer(a, x):
        a, ys = scan(inner, a * x, xs)
        return a + cos(x), reduce_sum(ys, (0,)) * a

    def looped(c):
        a, ys = scan(outer, c, xs)
        return exp(a) + reduce_sum(ys, (0,))

    return reduce_sum(cond(lt(reduce_sum(c, (0,)), 5.0), looped, lambda c: sin(c), c), (0,))


@pytest.mark.parametrize("fun", [loop, lambda c, xs: loop(c, xs, reverse=True), nested], ids=["loop", "reversed loop", "nested"])
@settings(max_examples=6, deadline=None)
@given(names=st.sets(st.sampled_from(["sin", "cos", "tanh", "exp", "mul"])))
def test_any_operations_may_be_saved(fun, names):
    saved = checkpoint(fun, policy=saving(*names))
    value, pullback = vjp(fun, C, XS)
    same_value, same_pullback = vjp(saved, C, XS)
    np.testing.assert_allclose(same_value, value, rtol=1e-5)
    for ct, same in zip(pullback(np.float32(1)), same_pullback(np.float32(1))):
        np.testing.assert_allclose(same, ct, rtol=1e-4, atol=1e-5)
    assert not run_again(saved, C, XS).keys() & (names - {"mul"})  # products are the derivative too


def test_derivatives_of_the_second_order_and_batches():
    saved = checkpoint(loop, policy=saving("sin", "exp"))
    direction = (np.cos(C), np.sin(XS))

    def slope(fun):
        return lambda c, xs: jvp(fun, (c, xs), direction)[1]

    for ct, same in zip(*[vjp(slope(fun), C, XS)[1](np.float32(1)) for fun in (loop, saved)]):
        np.testing.assert_allclose(same, ct, rtol=1e-3, atol=1e-4)
    rows = np.stack([C, C + 1])
    gradients = [vmap(lambda c, fun=fun: vjp(fun, c, XS)[1](np.float32(1))[0])(rows) for fun in (loop, saved)]
    np.testing.assert_allclose(gradients[1], gradients[0], rtol=1e-4, atol=1e-5)


W = np.eye(3) * 0.7 + 0.1


def layers(w):
    def step(x, _):
        for _ in range(3):
            x = sin(dot(x, w))
        return x, None

    return reduce_sum(scan(step, C, None, length=2)[0], (0,))


def test_products_in_a_loop_are_saved_for_each_step():
    saved = checkpoint(layers, policy=checkpoint_policies.dots_saveable)
    _, pullback = vjp(saved, W)
    backward = operations(staged(pullback, np.float32(1)).jaxpr)
    assert (backward["dot_general"], backward["sin"], backward["cos"]) == (6, 3, 3)  # two transposed products for each of three
    assert shapes_kept(saved, W) == [(2, 3)] * 3
    np.testing.assert_allclose(pullback(np.float32(1))[0], vjp(layers, W)[1](np.float32(1))[0], rtol=1e-5)


def test_what_no_derivative_needs_is_not_saved():
    """The sine is needed for the next step only, which nobody asks for once the cosine is there."""
    def chain(x):
        return scan(lambda x, _: (sin(x), sin(x)), x, None, length=3)

    saved = checkpoint(chain, policy=saving("cos"))
    assert not run_again(saved, 0.3).keys() & {"sin", "cos"}
    assert shapes_kept(saved, 0.3) == [(3,)] * 2  # a cosine for each result
    both = checkpoint(chain, policy=saving("cos", "sin"))
    assert shapes_kept(both, 0.3) == [(3,)] * 2


def test_branches_share_the_places_of_what_they_save():
    def fun(x):
        return cond(gt(x, 0.0), lambda x: sin(checkpoint_name(x * x, "square")), lambda x: tanh(checkpoint_name(sin(x), "wave")), x)

    saved = checkpoint(fun, policy=checkpoint_policies.save_only_these_names("square", "wave"))
    for x, slope in ((0.7, 2 * 0.7 * np.cos(0.7 ** 2)), (-0.7, np.cos(-0.7) / np.cosh(np.sin(-0.7)) ** 2)):
        np.testing.assert_allclose(vjp(saved, x)[1](np.float32(1))[0], slope, rtol=1e-5)
    assert shapes_kept(saved, 0.7) == [()]
    assert "sin" not in run_again(saved, 0.7)


def test_results_of_a_branch_that_no_derivative_needs_are_not_computed_again():
    pair = checkpoint(lambda x: cond(gt(x, 0.0), lambda x: (sin(x), exp(x) * 2), lambda x: (sin(x), tanh(x)), x)[0])
    again = run_again(pair, 0.3)
    assert again["cos"] == 2 and not again.keys() & {"sin", "exp", "tanh"}


def test_while_loops_run_again_whole():
    fun = checkpoint(lambda x: while_loop(lambda c: lt(c[0], 3), lambda c: (c[0] + 1, sin(c[1])), (0, x))[1], policy=saving("cos", "sin"))
    value, f_jvp = linearize(fun, 0.3)
    np.testing.assert_allclose(value, np.sin(np.sin(np.sin(0.3))), rtol=1e-6)
    np.testing.assert_allclose(f_jvp(1.0), np.cos(np.sin(np.sin(0.3))) * np.cos(np.sin(0.3)) * np.cos(0.3), rtol=1e-5)
