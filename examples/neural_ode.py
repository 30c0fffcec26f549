"""Learns the law of motion of a damped oscillator from its trajectories, by differentiating through the solver of the
equation.

    ./bazelw run //examples:neural_ode -- --plot=/tmp/ode.png

The right hand side of dy/dt = f(y) is a small network. `odeint` solves the equation with adaptive steps; its
derivative is another equation, solved backwards in time, so that memory does not grow with the number of steps (Chen
et al., "Neural Ordinary Differential Equations", NeurIPS 2018). The truth is dy/dt = A y³ elementwise, a spiral that
slows down towards the origin.
"""

import numpy as np
from absl import app, flags
from tqdm import tqdm

import laminax as lx
import laminax.numpy as jnp
from laminax.experimental.ode import odeint

flags.DEFINE_integer("steps", 1000, "Training steps.", lower_bound=1)
flags.DEFINE_integer("batch_size", 32, "Pieces of the trajectory per step.", lower_bound=1)
flags.DEFINE_integer("hidden", 48, "Width of the network.", lower_bound=1)
flags.DEFINE_float("learning_rate", 5e-3, "Adam's step size at the beginning; it falls to a twentieth.", lower_bound=0.0)
flags.DEFINE_integer("seed", 0, "Seed of the weights and the batches.")
flags.DEFINE_string("plot", None, "File to draw the trajectories and the learned field to (PNG, PDF or SVG).")
FLAGS = flags.FLAGS

MATRIX = np.array([[-0.1, -2.0], [2.0, -0.1]], np.float32)
START = np.array([2.0, 0.0], np.float32)
PIECE = 25  # times per piece


def truth(y, t):
    return jnp.asarray(MATRIX) @ y**3


def init_params(key, hidden):
    first, second = lx.random.split(key)
    return {"w1": lx.random.normal(first, (hidden, 2)), "b1": jnp.zeros(hidden),
            "w2": 0.1 * lx.random.normal(second, (2, hidden)), "b2": jnp.zeros(2)}


def field(y, t, params):
    return params["w2"] @ jnp.tanh(params["w1"] @ y**3 + params["b1"]) + params["b2"]


def loss(params, starts, pieces, times):
    """Mean absolute distance of the solutions from starts, f32[batch, 2], to the pieces, f32[batch, time, 2]."""
    solutions = lx.vmap(lambda y: odeint(field, y, times, params, rtol=1e-4, atol=1e-4))(starts)
    return jnp.abs(solutions - pieces).mean()


@lx.jit
def step(params, state, starts, pieces, times, rate):
    """One step of Adam (Kingma and Ba, ICLR 2015)."""
    value, grads = lx.value_and_grad(loss)(params, starts, pieces, times)
    count = state["step"] + 1
    mean = lx.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state["mean"], grads)
    square = lx.tree.map(lambda s, g: 0.99 * s + 0.01 * g**2, state["square"], grads)
    scale = rate * jnp.sqrt(1 - 0.99**count) / (1 - 0.9**count)
    params = lx.tree.map(lambda p, m, s: p - scale * m / (jnp.sqrt(s) + 1e-8), params, mean, square)
    return params, {"step": count, "mean": mean, "square": square}, value


def train(trajectory, times, key):
    init_key, *batch_keys = lx.random.split(key, FLAGS.steps + 1)
    params = init_params(init_key, FLAGS.hidden)
    zeros = lx.tree.map(jnp.zeros_like, params)
    state, losses = {"step": jnp.zeros((), int), "mean": zeros, "square": zeros}, []
    for number, batch_key in enumerate(tqdm(batch_keys, unit="step")):
        begins = np.asarray(lx.random.randint(batch_key, (FLAGS.batch_size,), 0, len(times) - PIECE))
        pieces = trajectory[begins[:, None] + np.arange(PIECE)]
        rate = FLAGS.learning_rate * 0.05 ** (number / FLAGS.steps)
        params, state, value = step(params, state, pieces[:, 0], pieces, times[:PIECE], rate)
        losses.append(float(value))
    return params, losses


def plot(path, trajectory, learned, params, losses):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
    grid = np.stack(np.meshgrid(np.linspace(-2.2, 2.2, 22), np.linspace(-2.2, 2.2, 22)), -1).astype(np.float32)
    arrows = np.array(lx.vmap(lx.vmap(lambda y: field(y, 0.0, params)))(grid))
    arrows /= np.linalg.norm(arrows, axis=-1, keepdims=True)
    left.quiver(*np.moveaxis(grid, -1, 0), *np.moveaxis(arrows, -1, 0), color="lightgrey", width=0.003)
    left.plot(*trajectory.T, color="tab:blue", lw=2, label="truth")
    left.plot(*learned.T, color="tab:orange", lw=1.5, ls="--", label="learned, from the same start")
    left.set(title="The learned field and its solution", xlabel="$y_1$", ylabel="$y_2$", aspect="equal")
    left.set_ylim(-2.3, 3.0)
    left.legend(loc="upper right", fontsize="small")
    right.semilogy(losses, color="tab:blue", lw=1)
    right.set(title="Learning curve", xlabel="step", ylabel="mean distance over a piece")
    right.grid(alpha=0.3)
    figure.savefig(path, dpi=100)


def main(argv):
    times = np.linspace(0, 12.5, 500, dtype=np.float32)
    trajectory = np.asarray(lx.jit(lambda y: odeint(truth, y, times, rtol=1e-6, atol=1e-6))(START))
    params, losses = train(trajectory, times, lx.random.key(FLAGS.seed))
    learned = np.asarray(lx.jit(lambda y: odeint(field, y, times, params))(START))
    print(f"loss: {losses[0]:.4f} at the beginning, {np.mean(losses[-20:]):.4f} at the end")
    print(f"distance of the whole solution, mean over time: {np.linalg.norm(learned - trajectory, axis=1).mean():.3f}")
    if FLAGS.plot:
        plot(FLAGS.plot, trajectory, learned, params, losses)


if __name__ == "__main__":
    app.run(main)
