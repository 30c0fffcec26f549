"""Trains a network with one layer of infinite depth, differentiated by the implicit function theorem.

    ./bazelw run //examples:equilibrium_layer -- --plot=/tmp/equilibrium.png

The layer's result is the fixed point z = tanh(W z + U x + b), found by iteration. Its derivative needs none of the
iterations, only the fixed point: the cotangent u of z solves u = ct + (df/dz)ᵀ u, another fixed point (Bai, Kolter,
Koltun, "Deep Equilibrium Models", NeurIPS 2019). `custom_vjp` says so; the memory of a training step is that of one
layer, however many iterations there were. Two interleaved half moons are told apart by it.
"""

from functools import partial

import numpy as np
from absl import app, flags
from sklearn.datasets import make_moons
from tqdm import tqdm

import laminax as lx
import laminax.numpy as jnp
from laminax import lax

flags.DEFINE_integer("steps", 400, "Training steps.", lower_bound=1)
flags.DEFINE_integer("width", 24, "Size of z.", lower_bound=1)
flags.DEFINE_float("rate", 0.5, "Step size of gradient descent with momentum.", lower_bound=0.0)
flags.DEFINE_integer("seed", 0, "Seed of the data and the weights.")
flags.DEFINE_string("plot", None, "File to draw the decision and the iterations to (PNG, PDF or SVG).")
FLAGS = flags.FLAGS

TOLERANCE, MOST_ITERATIONS = 1e-5, 200


def iterate(f, z):
    """Applies f until z changes by less than the tolerance; returns z and the number of iterations."""
    def goes_on(state):
        z, before, count = state
        return (jnp.max(jnp.abs(z - before)) > TOLERANCE) & (count < MOST_ITERATIONS)

    z, _, count = lax.while_loop(goes_on, lambda state: (f(state[0]), state[0], state[2] + 1), (f(z), z, 1))
    return z, count


@partial(lx.custom_vjp, nondiff_argnums=(0,))
def fixed_point(f, params, x, start):
    """z with f(params, x, z) = z."""
    return iterate(lambda z: f(params, x, z), start)[0]


def _forward(f, params, x, start):
    z = fixed_point(f, params, x, start)
    return z, (params, x, z)


def _backward(f, residuals, ct):
    params, x, z = residuals
    _, of_z = lx.vjp(lambda z: f(params, x, z), z)
    u, _ = iterate(lambda u: ct + of_z(u)[0], ct)
    _, of_inputs = lx.vjp(lambda params, x: f(params, x, z), params, x)
    return *of_inputs(u), jnp.zeros_like(z)


fixed_point.defvjp(_forward, _backward)


def layer(params, x, z):
    """One iteration; W is scaled so that it is a contraction, and the fixed point exists and is the only one."""
    w = params["w"] * 0.9 / jnp.maximum(1.0, jnp.linalg.norm(params["w"], ord=2))
    return jnp.tanh(z @ w + x @ params["u"] + params["b"])


def logit(params, x):
    return fixed_point(layer, {k: params[k] for k in "wub"}, x, jnp.zeros((len(x), len(params["b"])))) @ params["v"]


def loss(params, x, y):
    return jnp.mean(lx.nn.softplus(logit(params, x) * jnp.where(y, -1, 1)))


@lx.jit
def step(params, velocity, x, y, rate):
    value, grads = lx.value_and_grad(loss)(params, x, y)
    velocity = lx.tree.map(lambda v, g: 0.9 * v - rate * g, velocity, grads)
    return lx.tree.map(jnp.add, params, velocity), velocity, value


def init_params(key, width):
    k1, k2, k3 = lx.random.split(key, 3)
    return {"w": lx.random.normal(k1, (width, width)) / width**0.5, "u": lx.random.normal(k2, (2, width)), "b": jnp.zeros(width),
            "v": lx.random.normal(k3, (width,)) / width**0.5}


def plot(path, params, x, y, losses):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    grid = np.stack(np.meshgrid(np.linspace(-1.6, 2.6, 160), np.linspace(-1.2, 1.7, 120)), -1).astype(np.float32)
    scores = lx.nn.sigmoid(logit(params, grid.reshape(-1, 2))).reshape(grid.shape[:2])
    left.contourf(*np.moveaxis(grid, -1, 0), np.asarray(scores), levels=np.linspace(0, 1, 11), cmap="RdBu", alpha=0.7)
    left.scatter(*x.T, c=np.where(y, "tab:blue", "tab:red"), s=8)
    left.set(title="The decision", xlabel="$x_1$", ylabel="$x_2$")
    z, changes = jnp.zeros((len(x), len(params["b"]))), []
    for _ in range(40):
        new = layer(params, x, z)
        changes.append(float(jnp.max(jnp.abs(new - z))))
        z = new
    right.semilogy(changes, label="change of z in iteration k")
    right.semilogy(np.linspace(0, 39, len(losses)), losses, label=f"loss, over {len(losses)} training steps")
    right.set(title="Iterations and training", xlabel="k")
    right.legend()
    right.grid(alpha=0.3)
    figure.savefig(path, dpi=100)


def main(argv):
    x, y = make_moons(400, noise=0.12, random_state=FLAGS.seed)
    x, train, test = x.astype(np.float32), slice(0, 300), slice(300, None)
    params = init_params(lx.random.key(FLAGS.seed), FLAGS.width)
    velocity, losses = lx.tree.map(jnp.zeros_like, params), []
    for _ in tqdm(range(FLAGS.steps), unit="step"):
        params, velocity, value = step(params, velocity, x[train], y[train], FLAGS.rate)
        losses.append(float(value))
    accuracy = np.mean((np.asarray(logit(params, x[test])) > 0) == y[test])
    print(f"loss {losses[0]:.3f} at the beginning, {losses[-1]:.4f} at the end; test accuracy: {accuracy:.3f}")
    if FLAGS.plot:
        plot(FLAGS.plot, params, x, y, losses)


if __name__ == "__main__":
    app.run(main)
