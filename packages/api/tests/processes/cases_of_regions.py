"""A transformer over the devices of four processes that is compiled by regions: its losses are those of NumPy's float64."""

import numpy as np
import together

import laminax
import laminax.numpy as jnp
from laminax import nn
from laminax.sharding import Mesh, NamedSharding
from laminax.sharding import PartitionSpec as P

LAYERS, WIDTH, HEADS, LENGTH, BATCH, RATE, STEPS = 8, 64, 4, 16, 8, 0.05, 3
SPECS = {"qkv": P(None, None, "model"), "out": P("model"), "up": P(None, "model"), "down": P("model")}
SHAPES = {"qkv": (WIDTH, 3, WIDTH), "out": (WIDTH, WIDTH), "up": (WIDTH, 4 * WIDTH), "down": (4 * WIDTH, WIDTH)}


def block(np_, softmax, w, x):
    """A block of attention and of two layers, in NumPy or here."""
    def norm(x):
        return (x - x.mean(-1, keepdims=True)) / np_.sqrt(x.var(-1, keepdims=True) + 1e-5)

    q, k, v = (a.reshape(-1, LENGTH, HEADS, WIDTH // HEADS) for a in np_.einsum("blw,wkv->kblv", norm(x), w["qkv"]))
    scores = np_.einsum("blhd,bmhd->bhlm", q, k) / (WIDTH // HEADS) ** 0.5
    x = x + np_.einsum("bhlm,bmhd->blhd", softmax(scores), v).reshape(-1, LENGTH, WIDTH) @ w["out"]
    return x + np_.tanh(norm(x) @ w["up"]) @ w["down"]


def values():
    rng = np.random.default_rng(0)
    params = [{name: rng.normal(size=shape) / shape[0] ** 0.5 for name, shape in SHAPES.items()} for _ in range(LAYERS)]
    return params, rng.normal(size=(BATCH, LENGTH, WIDTH)), rng.normal(size=(BATCH, LENGTH, WIDTH))


def numpy_loss(params, x, y):
    def softmax(s):
        e = np.exp(s - s.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)
    for w in params:
        x = block(np, softmax, w, x)
    return ((x - y) ** 2).mean()


def test_a_transformer_by_regions():
    mesh = Mesh(np.array(laminax.devices()).reshape(2, -1), ("data", "model"))
    one_block = laminax.jit(lambda w, x: block(jnp, nn.softmax, w, x))

    def loss(params, x, y):
        for w in params:
            x = one_block(w, x)
        return jnp.mean((x - y) ** 2)

    @laminax.jit
    def step(params, x, y):
        value, gradient = laminax.value_and_grad(loss)(params, x, y)
        return laminax.tree.map(lambda p, g: p - RATE * g, params, gradient), value

    def put(a, spec):
        return laminax.device_put(a.astype(np.float32), NamedSharding(mesh, spec))

    params, x, y = values()
    found = [{name: put(a, SPECS[name]) for name, a in w.items()} for w in params]
    data = put(x, P("data")), put(y, P("data"))
    laminax.config.update("check_programs_agree", True)  # in the same order in all processes
    compiled = step.lower(found, *data).compile()
    assert "run" in compiled.as_text().splitlines()[0], compiled.as_text()[:200]  # a sequence of programs, not one
    losses = []
    for _ in range(STEPS):
        found, value = compiled(found, *data)
        losses.append(float(value))
    np.testing.assert_allclose(losses[0], numpy_loss(params, x, y), rtol=1e-5)
    # the second, by finite differences: what the step has changed is the gradient
    moved = [{name: a.astype(np.float64) for name, a in w.items()} for w in params]
    rng = np.random.default_rng(1)
    direction = [{name: rng.normal(size=a.shape) for name, a in w.items()} for w in moved]
    shift = lambda e: [{n: a + e * d[n] for n, a in w.items()} for w, d in zip(moved, direction)]  # noqa: E731
    slope = (numpy_loss(shift(1e-5), x, y) - numpy_loss(shift(-1e-5), x, y)) / 2e-5
    once, _ = compiled([{name: put(a, SPECS[name]) for name, a in w.items()} for w in params], *data)
    from laminax.experimental.multihost_utils import process_allgather
    changed = sum(float(((w[n] - process_allgather(o[n], tiled=True)) / RATE * d[n]).sum())
                  for w, o, d in zip(moved, once, direction) for n in w)
    np.testing.assert_allclose(changed, slope, rtol=2e-3)
    assert losses[2] < losses[1] < losses[0]


if __name__ == "__main__":
    from laminax_lowering import regions
    for limit in ("MOST_MEMORY", "MOST_TIME", "MOST_COMPILING", "WORTHWHILE"):
        setattr(regions, limit, float("inf"))  # the program is small, and cut all the same
    together.begin()
    together.run_tests(globals())
    laminax.distributed.shutdown()
