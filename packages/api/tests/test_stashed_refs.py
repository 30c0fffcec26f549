"""References that forward rules hand to backward rules inside of loops, branches and checkpointed functions: against finite differences."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import lax


@laminax.custom_vjp
def stash(ref, x):
    return x


def _write(ref, ct):
    ref[...] = ct
    return None, ct


stash.defvjp(lambda ref, x: (x, ref), _write)


@laminax.custom_vjp
def collect(ref, x):
    return x


def _add(ref, ct):
    ref[...] += ct * ct
    return None, ct


collect.defvjp(lambda ref, x: (x, ref), _add)

EPS = 1e-6  # of central differences in float64


def slope(f, x):
    return (f(x + EPS) - f(x - EPS)) / (2 * EPS)


def layers(use, length, checkpointed, ref, x):
    def body(x, _):
        return jnp.sin(use(ref, jnp.sin(x))), None
    return lax.scan(laminax.checkpoint(body) if checkpointed else body, x, None, length=length)[0]


def after(count, x):
    """What follows the place of a stash in so many layers."""
    return np.sin(x) if count == 1 else after(count - 1, np.sin(np.sin(x)))


def places(length, x=1.0):
    """The values at the stashes, from the first layer on."""
    found = []
    for _ in range(length):
        x = np.sin(x)
        found.append(x)
        x = np.sin(x)
    return found


@pytest.mark.parametrize("wrap", [lambda f: f, laminax.jit])
@pytest.mark.parametrize("checkpointed", [False, True])
@pytest.mark.parametrize("length", [1, 3])
def test_the_last_write_of_a_loop_is_that_of_its_first_step(length, checkpointed, wrap):
    ref = laminax.new_ref(jnp.float32(0))
    gradient = laminax.grad(wrap(partial(layers, stash, length, checkpointed)), 1)(ref, jnp.float32(1))
    np.testing.assert_allclose(ref[...], slope(partial(after, length), np.sin(1.0)), rtol=1e-5)
    np.testing.assert_allclose(gradient, slope(lambda x: after(length, np.sin(x)), 1.0), rtol=1e-5)


@pytest.mark.parametrize("run", [lambda f, ref: laminax.grad(f, 1)(ref, jnp.float32(1)),
                                 lambda f, ref: laminax.jit(laminax.grad(f, 1))(ref, jnp.float32(1)),
                                 lambda f, ref: laminax.jit(lambda x: laminax.grad(lambda x: f(ref, x))(x))(jnp.float32(1)),
                                 lambda f, ref: laminax.vjp(lambda x: f(ref, x), jnp.float32(1))[1](jnp.float32(1))])
def test_writes_of_all_steps_add_up(run):
    ref = laminax.new_ref(jnp.float32(2))
    run(partial(layers, collect, 3, False), ref)
    slopes = [slope(partial(after, 3 - i), z) for i, z in enumerate(places(3))]
    np.testing.assert_allclose(ref[...], 2 + np.square(slopes).sum(), rtol=1e-5)


def test_each_step_has_a_reference_of_its_own():
    refs = laminax.new_ref(jnp.zeros(3, np.float32))

    def f(x):
        return lax.scan(lambda x, ref: (jnp.sin(stash(ref, jnp.sin(x))), None), x, refs)[0]

    laminax.jit(laminax.grad(f))(jnp.float32(1))
    np.testing.assert_allclose(refs[...], [slope(partial(after, 3 - i), z) for i, z in enumerate(places(3))], rtol=1e-5)


def test_loops_in_turn_and_in_each_other():
    ref = laminax.new_ref(jnp.float32(0))

    def two(ref, x):
        return layers(collect, 1, False, ref, layers(collect, 2, True, ref, x))

    def nested(ref, x):
        return lax.scan(lambda x, _: (layers(collect, 1, False, ref, x), None), x, None, length=3)[0]

    slopes = [slope(partial(after, 3 - i), z) for i, z in enumerate(places(3))]
    for count, f in enumerate((two, nested), 1):
        laminax.grad(f, 1)(ref, jnp.float32(1))
        np.testing.assert_allclose(ref[...], count * np.square(slopes).sum(), rtol=1e-5)


@pytest.mark.parametrize("x, expected", [(0.5, np.cos(0.5)), (-0.5, 7.0)])
def test_a_branch_that_is_not_taken_writes_nothing(x, expected):
    def f(ref, x):
        return lax.cond(x > 0, lambda x: jnp.sin(stash(ref, x)), lambda x: 3 * x, x)

    for transform in (laminax.grad(f, 1), laminax.jit(laminax.grad(f, 1)), laminax.grad(laminax.checkpoint(f), 1)):
        ref = laminax.new_ref(jnp.float32(7))
        transform(ref, jnp.float32(x))
        np.testing.assert_allclose(ref[...], expected, rtol=1e-6)


def test_what_is_not_differentiated_is_not_written():
    ref = laminax.new_ref(jnp.float32(5))
    f = partial(layers, stash, 2, False, ref)
    assert f(jnp.float32(1)) == laminax.jit(f)(jnp.float32(1))
    laminax.grad(lambda y: y * f(jnp.float32(1)))(2.0)  # the loop has no derivative
    assert ref[...] == 5


def test_pullbacks_write_whenever_they_are_called():
    ref = laminax.new_ref(jnp.float32(0))
    _, pull_back = laminax.vjp(partial(layers, stash, 1, False, ref), jnp.float32(1))
    assert ref[...] == 0
    for ct in (1.0, 3.0):
        pull_back(jnp.float32(ct))
        np.testing.assert_allclose(ref[...], ct * np.cos(np.sin(1)), rtol=1e-6)


def test_per_example_stashes_under_vmap():
    refs = laminax.new_ref(jnp.zeros(2, np.float32))
    xs = jnp.float32([1.0, 0.3])
    laminax.vmap(laminax.grad(partial(layers, stash, 1, False), 1))(refs, xs)
    np.testing.assert_allclose(refs[...], np.cos(np.sin(xs)), rtol=1e-6)
    with pytest.raises(ValueError, match="performing a set/swap operation with vmapped value on an unbatched array reference"):
        laminax.vmap(laminax.grad(partial(layers, stash, 1, False), 1), in_axes=(None, 0))(laminax.new_ref(jnp.float32(0)), xs)


@pytest.mark.parametrize("f", [
    lambda ref, x: lax.scan(lambda x, _: (stash(ref, x) * ref[...], None), x, None, length=2)[0],  # it is read as well
    lambda ref, x: laminax.vmap(partial(layers, stash, 2, False, ref))(x[None])[0],  # the examples share it
])
def test_other_uses_are_refused(f):
    with pytest.raises((NotImplementedError, ValueError), match="hands a reference to the backward rule.*nothing else there uses the "
                                                                "reference|set/swap operation"):
        laminax.grad(f, 1)(laminax.new_ref(jnp.float32(2)), jnp.float32(1))


def test_backward_rules_of_functions_without_results_do_not_run():
    """Such a call was taken for the end of a loop with a stash, and its backward rule ran."""
    def fail(*_):
        raise AssertionError("there is no cotangent")

    empty = laminax.custom_vjp(lambda x: None)
    empty.defvjp(lambda x: (None, x), fail)
    for call in (empty, laminax.vmap(empty), laminax.jit(empty)):
        _, pull_back = laminax.vjp(call, jnp.ones(2))
        np.testing.assert_array_equal(pull_back(None)[0], [0, 0])
