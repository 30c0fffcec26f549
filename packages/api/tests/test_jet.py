"""laminax.experimental.jet in compiled functions, against solutions of differential equations and closed forms."""

import math

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import lax
from laminax.experimental.jet import jet


@pytest.fixture(autouse=True)
def double_precision():
    with laminax.enable_x64(True):
        yield


def derivatives(function, x, order):
    return jet(function, (x,), ([jnp.ones_like(x)] + [jnp.zeros_like(x)] * (order - 1),))[1]


def test_compiled_functions():
    @laminax.jit
    def wave(x):
        return laminax.jit(jnp.sin)(3 * x)

    x = np.linspace(-1, 1, 5)
    expected = [3 * np.cos(3 * x), -9 * np.sin(3 * x), -27 * np.cos(3 * x)]
    np.testing.assert_allclose(derivatives(wave, x, 3), expected, rtol=1e-12)
    np.testing.assert_allclose(laminax.jit(lambda x: derivatives(wave, x, 3))(x), expected, rtol=1e-12)
    np.testing.assert_allclose(laminax.vmap(lambda x: derivatives(wave, x, 3)[2])(x), expected[2], rtol=1e-12)
    slopes = laminax.vmap(laminax.grad(lambda x: derivatives(wave, x, 3)[2]))(x)
    np.testing.assert_allclose(slopes, 81 * np.sin(3 * x), rtol=1e-12, atol=1e-12)


def test_network_matches_repeated_forward_mode():
    rng = np.random.default_rng(0)
    weights = [(rng.normal(size=(4, 4)) / 2, rng.normal(size=4)) for _ in range(3)]

    def network(x):
        for matrix, bias in weights:
            x = laminax.nn.softplus(jnp.tanh(x @ matrix + bias)) + jnp.where(x > 0, x, 0.1 * x)
        return jnp.sum(laminax.nn.softmax(x) ** 2) + jnp.linalg.norm(x) + jnp.mean(jnp.maximum(x, 0.2))

    x, direction = rng.normal(size=4), rng.normal(size=4)
    function = lambda t: network(x + t * direction)  # noqa: E731
    expected = []
    for _ in range(3):
        function = (lambda f: lambda t: laminax.jvp(f, (t,), (1.0,))[1])(function)
        expected.append(function(0.0))
    found = jet(network, (x,), ((direction, np.zeros(4), np.zeros(4)),))[1]
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    np.testing.assert_allclose(laminax.jit(lambda d: jet(network, (x,), ((d, np.zeros(4), np.zeros(4)),))[1])(direction), expected,
                               rtol=1e-9)


def test_taylor_method_for_a_differential_equation():
    """y' = y**2 with y(0) = 1/2 is 1 / (2 - t): the derivatives of the solution one after the other."""
    def step(y, order):
        terms = [jnp.square(y)]
        for _ in range(order - 1):
            first, rest = jet(jnp.square, (y,), (terms,))
            terms = [first, *rest]
        return terms
    terms = step(jnp.float64(0.5), 6)
    np.testing.assert_allclose(terms, [math.factorial(n) / 2 ** (n + 1) for n in range(1, 7)], rtol=1e-13)


def test_loops_and_branches():
    def function(x):
        y, ys = lax.scan(lambda c, k: (jnp.sin(c) + k * x, c * c), x, jnp.arange(3.0))
        return lax.cond(y > 100, lambda v: v, lambda v: jnp.exp(-v), y) + jnp.sum(ys) + lax.fori_loop(0, 2, lambda i, c: c * x, x)

    def unrolled(x):
        y, total = x, 0.0
        for k in range(3):
            y, total = jnp.sin(y) + k * x, total + y * y
        return jnp.exp(-y) + total + x ** 3
    x = jnp.float64(0.7)
    expected = [laminax.grad(unrolled), laminax.grad(laminax.grad(unrolled)), laminax.grad(laminax.grad(laminax.grad(unrolled)))]
    for run in (function, laminax.jit(function)):
        np.testing.assert_allclose(derivatives(run, x, 3), [f(x) for f in expected], rtol=1e-11)


def test_types_of_single_precision():
    with laminax.enable_x64(False):
        value, (first, second) = jet(jnp.sin, (np.float32(0.5),), ((np.float64(1.0), 0),))
        assert value.dtype == first.dtype == second.dtype == np.float32 and not first.weak_type
        assert jet(jnp.sin, (0.5,), ((1.0,),))[1][0].weak_type
        _, (first,) = jet(lambda x: lax.scan(lambda c, _: (c * 2.0, None), x, None, length=3)[0], (0.5,), ((1.0,),))
        assert float(first) == 8.0 and first.weak_type
        value, (first,) = jet(jnp.sin, (2,), ((1,),))
        np.testing.assert_allclose([value, first], [math.sin(2), math.cos(2)], rtol=1e-6)
        _, (first, second) = jet(jnp.exp, (jnp.bfloat16(0.0),), ((jnp.bfloat16(1.0), jnp.bfloat16(0.0)),))
        assert first.dtype == second.dtype == jnp.bfloat16 and float(first) == float(second) == 1.0


def test_operations_without_a_rule():
    with pytest.raises(NotImplementedError, match=r"Taylor-mode rule \(of jet\) for 'sort' not implemented"):
        derivatives(jnp.sort, np.ones(3), 2)


def test_terms_of_a_choice_are_not_part_of_the_result():
    """A boolean has no derivatives: `where` takes the terms of what it chooses."""
    rng = np.random.default_rng(0)
    choice, x, y = rng.random((2, 3)) < 0.5, *rng.normal(size=(2, 2, 3)).astype(np.float32)
    terms = rng.normal(size=(3, 3, 2, 3)).astype(np.float32)
    value, series = jet(jnp.where, (choice, x, y), [list(t) for t in terms])
    np.testing.assert_array_equal(value, np.where(choice, x, y))
    np.testing.assert_allclose(series, np.where(choice, terms[1], terms[2]), rtol=1e-6)
