"""A recurrent network whose inputs are multiplied before its loop on one CPU device: NumPy's numbers, and derivatives by differences."""

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import lax

UNITS, ROUNDS = 64, 12


def network(lib, params, xs, scan):
    def step(h, x):
        gate = 1 / (1 + lib.exp(-(x @ params["w"] + h @ params["u"])))
        h = gate * h + (1 - gate) * lib.tanh(params["v"] @ x if x.ndim == 1 else x @ params["v"])
        return h, h

    return scan(step, lib.zeros((*xs.shape[1:-1], UNITS), xs.dtype), xs)[1]


def scan_of_numpy(step, h, xs):
    results = []
    for x in xs:
        h, y = step(h, x)
        results.append(y)
    return h, np.stack(results)


def drawn(batch):
    rng = np.random.default_rng(0)
    return ({name: rng.normal(size=(UNITS, UNITS)) * UNITS**-0.5 for name in "wuv"}, rng.normal(size=(ROUNDS, *batch, UNITS)))


def run(params, xs):
    return network(jnp, params, xs, lax.scan)


@pytest.mark.parametrize("batch", [(), (1,), (4,), (2, 3)])
def test_numbers(batch):
    params, xs = drawn(batch)
    params32, xs32 = laminax.tree.map(np.float32, (params, xs))
    expected = network(np, params, xs, scan_of_numpy)
    np.testing.assert_allclose(laminax.jit(run)(params32, xs32), expected, rtol=1e-4, atol=1e-5)
    backwards = laminax.jit(lambda p, xs: network(jnp, p, xs, lambda *args: lax.scan(*args, reverse=True)))(params32, xs32)
    np.testing.assert_allclose(backwards, network(np, params, xs[::-1], scan_of_numpy)[::-1], rtol=1e-4, atol=1e-5)
    text = laminax.jit(run).lower(params32, xs32).as_text()
    loop = text[text.index("stablehlo.while"):]
    assert text.count("stablehlo.dot_general") == 3 and loop.count("stablehlo.dot_general") == 1, text


def test_derivatives():
    params, xs = laminax.tree.map(np.float32, drawn((2,)))
    tangents = laminax.tree.map(np.float32, drawn((2,)))[::-1]
    tangents = (laminax.tree.map(lambda x: x[:UNITS], tangents[1]), tangents[0])

    def loss(params, xs):
        return (run(params, xs) ** 2).sum()

    gradients = laminax.jit(laminax.grad(loss, (0, 1)))(params, xs)
    along = sum(np.vdot(np.float64(g), t) for g, t in zip(laminax.tree.leaves(gradients), laminax.tree.leaves(tangents)))
    with laminax.enable_x64(True):
        there, back = ([p + sign * 1e-5 * np.float64(t) for p, t in zip(laminax.tree.leaves((params, xs)), laminax.tree.leaves(tangents))]
                       for sign in (1, -1))
        build = lambda leaves: laminax.tree.unflatten(laminax.tree.structure((params, xs)), leaves)
        difference = (laminax.jit(loss)(*build(there)) - laminax.jit(loss)(*build(back))) / 2e-5
    np.testing.assert_allclose(along, difference, rtol=1e-3)
