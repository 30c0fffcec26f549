"""Random draws and outer products in loops on one CPU device: what they are outside of loops, and what NumPy has."""

import numpy as np
import pytest

from laminax_ir.options import config

import laminax
from laminax import lax, random
from laminax import numpy as jnp

BARRIER = "stablehlo.optimization_barrier"


@pytest.mark.parametrize("shape", [(1,), (3,), (4,), (100,), (7, 30), (70_000,)])
@pytest.mark.parametrize("draw", [random.bits, random.uniform, random.normal], ids=["bits", "uniform", "normal"])
def test_draws_in_a_loop_are_those_outside(draw, shape):
    keys = random.split(random.key(3), 5)
    looped = np.asarray(laminax.jit(lambda keys: lax.scan(lambda count, key: (count + 1, draw(key, shape)), 0, keys)[1])(keys))
    single = np.stack([np.asarray(laminax.jit(lambda key: draw(key, shape))(key)) for key in keys])
    if draw is random.normal:
        np.testing.assert_allclose(looped, single, rtol=2e-6, atol=1e-7)  # the compiler has two ways for the logarithm
    else:
        assert looped.tobytes() == single.tobytes()


@pytest.mark.parametrize("size, is_apart", [(3, False), (4, True), (1000, True)])
def test_the_hash_is_a_kernel_of_its_own_in_loops(size, is_apart):
    def run(keys):
        return lax.scan(lambda total, key: (total + random.bits(key, (size,)), None), jnp.zeros(size, np.uint32), keys)[0]

    assert (BARRIER in laminax.jit(run).lower(random.split(random.key(0), 3)).as_text()) == is_apart


def _accumulated(w, xs):
    """A sum of outer products, four to a round, which depend on the sum: they stay in the loop."""
    def step(w, x):
        for number in range(4):
            x = jnp.tanh(x * (1 + number) + w[0])
            w = w + 0.1 * jnp.outer(x, jnp.cos(x))
        return w, w[:, 0]

    return lax.scan(step, w, xs)


def _accumulated_by_numpy(w, xs):
    w, columns = w.astype(np.float64), []
    for x in xs.astype(np.float64):
        for number in range(4):
            x = np.tanh(x * (1 + number) + w[0])
            w = w + 0.1 * np.outer(x, np.cos(x))
        columns.append(w[:, 0])
    return w, np.array(columns)


@pytest.mark.parametrize("size", [63, 64, 100])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_of_outer_products(size, dtype):
    rng = np.random.default_rng(0)
    w, xs = rng.normal(size=(size, size)).astype(dtype), rng.normal(size=(5, size)).astype(dtype)
    with config.enable_x64(True):
        results = laminax.jit(_accumulated)(w, xs)
    rtol, atol = (1e-3, 1e-4) if dtype == np.float32 else (1e-10, 1e-12)  # roundings grow from round to round
    for result, expected in zip(results, _accumulated_by_numpy(w, xs), strict=True):
        np.testing.assert_allclose(result, expected, rtol=rtol, atol=atol)


def _flow(w, x):
    """dx/dt = tanh(W x) - x by Heun's method: its gradient by W is a sum of outer products in each round."""
    def slope(x):
        return jnp.tanh(w @ x) - x

    def step(x, _):
        first = slope(x)
        second = slope(x + 0.1 * first)
        third = slope(x + 0.1 * second)
        return x + 0.1 * (first + second + third) / 3, None

    return (lax.scan(step, x, None, length=20)[0] ** 2).sum()


def test_the_gradient_of_a_neural_differential_equation():
    rng = np.random.default_rng(0)
    w, x = rng.normal(size=(64, 64)) / 8, rng.normal(size=64)
    small = w.astype(np.float32), x.astype(np.float32)
    gradient = laminax.jit(laminax.grad(_flow))
    assert gradient.lower(*small).as_text().count(BARRIER) >= 3
    with config.cpu_kernels(False):
        assert BARRIER not in laminax.jit(laminax.grad(lambda w, x: _flow(w, x))).lower(*small).as_text()
    direction = rng.normal(size=w.shape)
    with config.enable_x64(True):
        exact = np.asarray(laminax.jit(laminax.grad(_flow))(w, x))
        slope = (float(_flow(w + 1e-6 * direction, x)) - float(_flow(w - 1e-6 * direction, x))) / 2e-6
        np.testing.assert_allclose((exact * direction).sum(), slope, rtol=1e-6)
    np.testing.assert_allclose(gradient(*small), exact, rtol=1e-3, atol=1e-4)
    several = laminax.jit(laminax.vmap(laminax.grad(_flow), (None, 0)))(small[0], np.stack([small[1], 2 * small[1]]))
    np.testing.assert_allclose(several[0], exact, rtol=1e-3, atol=1e-4)
