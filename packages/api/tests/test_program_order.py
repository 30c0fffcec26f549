"""Operations in the order in which they are written, and functions that are one kernel.

Oracles: NumPy; the order of the operations in the program, read from what each one depends on.
"""

from __future__ import annotations

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import lax
from laminax.experimental.fused import fused
from laminax.experimental.overlap import program_order
from laminax.memory import Space

X, Y = np.linspace(0.1, 1, 3, dtype=np.float32), np.linspace(1, 2, 3, dtype=np.float32)


def equations(function, *args):
    """Of the function, which is one call: names with the positions of the equations whose results each one has operands of."""
    (call,) = laminax.make_jaxpr(function)(*args).eqns
    made = {}
    found = []
    for i, eqn in enumerate(call.params["jaxpr"].eqns):
        found.append((eqn.params["name"] if eqn.primitive.name == "jit" else eqn.primitive.name,
                      sorted({made[v] for v in eqn.invars if v in made})))
        made.update(dict.fromkeys(eqn.outvars, i))
    return found


def independent(x, y):
    return jnp.sin(x), jnp.cos(y), jnp.exp(x)


def test_each_operation_waits_for_the_one_before():
    assert equations(program_order(independent, enforce=True), X, Y) == [
        ("sin", []), ("optimization_barrier", [0]), ("cos", [1]), ("optimization_barrier", [2]), ("exp", [3])]
    assert equations(program_order(independent, enforce=False), X, Y) == [("sin", []), ("cos", []), ("exp", [])]


def test_all_arguments_and_all_results_are_waited_for():
    both = equations(program_order(independent, enforce=True, strict_in_out=True), X, Y)
    assert both[0] == ("optimization_barrier", []) and both[1] == ("sin", [0]) and both[-1][0] == "optimization_barrier"
    assert both[1:-1] == equations(program_order(independent, enforce=True, strict_in_out=(True, False)), X, Y)[1:]
    assert equations(program_order(independent, enforce=True, strict_in_out=(False, True)), X, Y)[0] == ("sin", [])


@pytest.mark.parametrize("excluded, waits_for", [(None, [1]), ("x", [1]), (("x", "y"), []), ("y", [])])
def test_parts_without_an_order_are_one_operation(excluded, waits_for):
    """`part(x, y)` uses y alone; its calls by position and by name are the same."""
    @program_order(enforce=False, exclude_argnames=excluded)
    def part(x, y):
        return jnp.sin(y) + jnp.cos(y)

    for call in (lambda x, y: part(x, y), lambda x, y: part(y=y, x=x)):
        @program_order(enforce=True)
        def whole(x, y):
            return jnp.exp(x), call(1.0, y)
        found = [eqn for eqn in equations(whole, X, Y) if eqn[0] != "convert_element_type"]
        assert found[0] == ("exp", []) and found[-1] == ("program_order", waits_for)
        np.testing.assert_allclose(whole(X, Y)[1], np.sin(Y) + np.cos(Y), rtol=1e-6)


def layers(x, weights):
    """Closes over tracers, has a loop, random keys and nested parts."""
    def step(x, w):
        @program_order(enforce=True)
        def both():
            @program_order(enforce=False)
            def first():
                return jnp.tanh(x @ w), jnp.sum(w)
            y, total = first()
            return y * laminax.random.uniform(laminax.random.key(1)) + total
        return both(), ()
    return lax.scan(step, x, weights)[0]


def test_functions_of_that_name_wait_for_all_their_operands():
    """What a part need not wait for is known by the function that it calls, not by its name and those of its parameters."""
    def own(x, out_of_order):
        return x + out_of_order[0]

    own.__name__ = own.__qualname__ = "program_order"
    called = laminax.jit(own)
    found = equations(program_order(lambda x, y: (jnp.sin(x), called(1.0, [y])), enforce=True), X, Y)
    assert [each for each in found if each[0][:7] != "convert"] == [("sin", []), ("optimization_barrier", [0]), ("program_order", [1])]


def test_values_and_transformations_are_those_without_an_order():
    rng = np.random.default_rng(0)
    x, weights = rng.normal(size=(2, 3)).astype(np.float32), rng.normal(size=(4, 3, 3)).astype(np.float32) / 3
    scale = laminax.random.uniform(laminax.random.key(1))

    def plain(x, weights):
        return lax.scan(lambda x, w: (jnp.tanh(x @ w) * scale + jnp.sum(w), ()), x, weights)[0]
    total = jnp.sum
    for transform in (lambda f: f, laminax.jit, lambda f: laminax.grad(lambda *args: total(f(*args)), (0, 1)),
                      lambda f: laminax.vmap(f, (0, None)), lambda f: laminax.checkpoint(f),
                      lambda f: laminax.jit(laminax.grad(lambda *args: total(laminax.grad(lambda *b: total(f(*b)))(*args))))):
        for found, expected in zip(laminax.tree.leaves(transform(layers)(x, weights)), laminax.tree.leaves(transform(plain)(x, weights))):
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_references_are_written_in_order():
    ref = laminax.new_ref(jnp.zeros(2))

    @program_order(enforce=True)
    def f(x):
        ref[0] = x
        ref[1] = ref[0] * 2
        return jnp.sin(x)
    np.testing.assert_allclose(laminax.jit(lambda x: f(x))(3.0), np.sin(3.0), rtol=1e-6)
    np.testing.assert_array_equal(ref[...], [3, 6])


@pytest.mark.parametrize("call, error, words", [
    (lambda: program_order(independent, enforce=None), TypeError, "enforce must be a bool, got None"),
    (lambda: program_order(3, enforce=True), TypeError, "program_order: Expected a callable value, got 3"),
    (lambda: program_order(enforce=True, strict_in_out=(True,)), TypeError, r"must be a bool or a pair of bools, got \(True,\)"),
    (lambda: program_order(enforce=False, strict_in_out=True), ValueError, "strict_in_out=True cannot be used with enforce=False"),
    (lambda: program_order(enforce=True, exclude_argnames="x"), ValueError, "exclude_argnames cannot be used with enforce=True"),
    (lambda: program_order(enforce=False, exclude_argnames=3), TypeError, "a string or a sequence of strings, got 3"),
    (lambda: program_order(independent, enforce=False, exclude_argnames="z"), ValueError, "names 'z', but the parameters .* are x, y"),
    (lambda: fused(out_spaces=Space.Host), TypeError, "out_spaces must be a sequence of memory.Space.Device and memory.Space.Host"),
    (lambda: fused(out_spaces=("device",)), TypeError, r"one for each result, got \('device',\)"),
    (lambda: fused(out_spaces=())(3), TypeError, "fused: Expected a callable value"),
    (lambda: fused(out_spaces=(Space.Host,))(independent)(X, Y), ValueError, "has 1 memory spaces, but the function returned 3 arrays"),
])
def test_what_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()


@fused(out_spaces=(Space.Host, Space.Device))
def sum_and_product(x, y):
    return {"sum": x + y}, x * y


@pytest.mark.parametrize("transform", [lambda f: f, laminax.jit, laminax.vmap])
@pytest.mark.parametrize("on_host", [False, True])
def test_fused_results_are_in_their_memories(transform, on_host):
    x = laminax.device_put(X, Space.Host) if on_host else X
    total, product = transform(sum_and_product)(x, Y)
    np.testing.assert_array_equal(total["sum"], X + Y)
    np.testing.assert_array_equal(product, X * Y)
    assert (total["sum"].sharding.memory_kind, product.sharding.memory_kind) == ("pinned_host", "device")


def test_fused_functions_are_calls_that_the_compiler_knows_and_have_derivatives():
    text = laminax.jit(sum_and_product).lower(X, Y).as_text()
    assert 'MUST_FUSE = "true", inlineable = "false", out_spaces = "MemorySpace.Host, MemorySpace.Device"' in text
    found = laminax.grad(lambda x, y: jnp.sum(sum_and_product(x, y)[1]), (0, 1))(X, Y)
    np.testing.assert_array_equal(found, (Y, X))
    _, (total_dot, product_dot) = laminax.jvp(sum_and_product, (X, Y), (Y, X))
    np.testing.assert_allclose(total_dot["sum"], X + Y)
    np.testing.assert_allclose(product_dot, Y * Y + X * X, rtol=1e-6)
    assert laminax.typeof(total_dot["sum"]).memory_space is Space.Host
