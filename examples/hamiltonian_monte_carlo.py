"""Draws from the posterior of a robust regression by Hamiltonian Monte Carlo, many chains at once.

    ./bazelw run //examples:hamiltonian_monte_carlo -- --plot=/tmp/hmc.png

A line through points of which some are far off: the noise has Student's t distribution, whose degrees of freedom are
unknown too. The program writes one chain; `vmap` makes it many, `scan` its loops, `grad` the force. (Neal, "MCMC
using Hamiltonian dynamics", 2011; R-hat: Gelman et al., BDA3, 11.4.)
"""

import numpy as np
from absl import app, flags

import laminax as lx
import laminax.numpy as jnp
from laminax import lax
from laminax.scipy import stats

flags.DEFINE_integer("chains", 16, "Chains that run side by side.", lower_bound=2)
flags.DEFINE_integer("draws", 1000, "Draws of each chain that are kept.", lower_bound=4)
flags.DEFINE_integer("warmup", 500, "Draws before, in which the step size is adapted.", lower_bound=1)
flags.DEFINE_integer("leaps", 16, "Leapfrog steps of a trajectory.", lower_bound=1)
flags.DEFINE_integer("seed", 0, "Seed of the data and the chains.")
flags.DEFINE_string("plot", None, "File to draw the data, the lines and the chains to (PNG, PDF or SVG).")
FLAGS = flags.FLAGS

TRUE = {"offset": 1.0, "slope": 2.0, "log_scale": np.log(0.3), "log_freedom": np.log(2.0)}


def data(seed, count=60):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, count)
    return x.astype(np.float32), (TRUE["offset"] + TRUE["slope"] * x + 0.3 * rng.standard_t(2, count)).astype(np.float32)


def log_posterior(params, x, y):
    """Up to a constant: normal priors of standard deviation 3 (1 for the logarithm of the degrees of freedom)."""
    prior = sum(stats.norm.logpdf(params[name], 0.0, 1.0 if name == "log_freedom" else 3.0) for name in TRUE)
    line = params["offset"] + params["slope"] * x
    return prior + stats.t.logpdf(y, jnp.exp(params["log_freedom"]), line, jnp.exp(params["log_scale"])).sum()


def transition(key, position, step_size, log_density):
    """One draw: a random momentum, a trajectory of leapfrog steps, and the Metropolis test. Returns the probability of acceptance too."""
    force = lx.grad(log_density)
    momentum_key, accept_key = lx.random.split(key)
    keys = lx.tree.unflatten(lx.tree.structure(position), list(lx.random.split(momentum_key, len(position))))
    momentum = lx.tree.map(lambda q, k: lx.random.normal(k, q.shape), position, keys)

    def energy(q, p):
        return -log_density(q) + sum(jnp.sum(v**2) for v in lx.tree.leaves(p)) / 2

    def kick(q, p, size):
        return lx.tree.map(lambda p, f: p + size * f, p, force(q))

    def leap(state, _):
        q, p = state
        q = lx.tree.map(lambda q, p: q + step_size * p, q, p)
        return (q, kick(q, p, step_size)), None

    (q, p), _ = lax.scan(leap, (position, kick(position, momentum, step_size / 2)), length=FLAGS.leaps)
    p = kick(q, p, -step_size / 2)
    ratio = jnp.exp(jnp.minimum(0.0, energy(position, momentum) - energy(q, p)))
    ratio = jnp.where(jnp.isnan(ratio), 0.0, ratio)
    accept = lx.random.uniform(accept_key) < ratio
    return lx.tree.map(lambda new, old: jnp.where(accept, new, old), q, position), ratio


def chain(key, start, log_density):
    """Draws of one chain, stacked. In the warmup the step size goes up and down until 8 of 10 trajectories are accepted."""
    warmup_key, draw_key = lx.random.split(key)

    def warm(state, key_and_number):
        position, log_step = state
        key, number = key_and_number
        position, ratio = transition(key, position, jnp.exp(log_step), log_density)
        return (position, log_step + (ratio - 0.8) / jnp.sqrt(number + 10.0)), None

    def draw(position, key):
        position, ratio = transition(key, position, jnp.exp(log_step), log_density)
        return position, (position, ratio)

    numbers = jnp.arange(FLAGS.warmup)
    (position, log_step), _ = lax.scan(warm, (start, jnp.log(0.05)), (lx.random.split(warmup_key, FLAGS.warmup), numbers))
    _, (draws, ratios) = lax.scan(draw, position, lx.random.split(draw_key, FLAGS.draws))
    return draws, ratios.mean()


def sample(key, x, y):
    """Draws f32[chains, draws] of each parameter, and the acceptance of each chain."""
    start_key, chain_key = lx.random.split(key)
    starts = {name: 0.5 * lx.random.normal(lx.random.fold_in(start_key, i), (FLAGS.chains,)) for i, name in enumerate(TRUE)}
    run = lx.vmap(lambda key, start: chain(key, start, lambda params: log_posterior(params, x, y)))
    return lx.jit(run)(lx.random.split(chain_key, FLAGS.chains), starts)


def r_hat(draws):
    """How much wider the chains are together than each alone, each cut in halves; 1 when they have mixed."""
    halves = np.asarray(draws, float).reshape(2 * draws.shape[0], -1)
    within, between = halves.var(axis=1, ddof=1).mean(), halves.mean(axis=1).var(ddof=1)
    return np.sqrt((halves.shape[1] - 1) / halves.shape[1] + between / within)


def plot(path, x, y, draws):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    ends = np.array([-2.1, 2.1])
    for offset, slope in zip(draws["offset"].ravel()[::200], draws["slope"].ravel()[::200]):
        left.plot(ends, offset + slope * ends, color="tab:blue", alpha=0.08, lw=1)
    left.plot(ends, np.polyval(np.polyfit(x, y, 1), ends), color="tab:red", ls="--", label="least squares")
    left.plot([], [], color="tab:blue", label="draws of the posterior")
    left.plot(x, y, "k.", label="data")
    left.set(title="Lines", xlabel="x", ylabel="y")
    left.legend()
    points = right.hexbin(draws["slope"].ravel(), draws["log_freedom"].ravel(), gridsize=40, cmap="Blues", mincnt=1)
    right.axvline(TRUE["slope"], color="tab:red", lw=1)
    right.axhline(TRUE["log_freedom"], color="tab:red", lw=1, label="truth")
    right.set(title="Two of the parameters", xlabel="slope", ylabel="log of the degrees of freedom")
    right.legend()
    figure.colorbar(points, label="draws")
    figure.savefig(path, dpi=100)


def main(argv):
    x, y = data(FLAGS.seed)
    draws, acceptance = lx.device_get(sample(lx.random.key(FLAGS.seed), x, y))
    print(f"{FLAGS.chains} chains of {FLAGS.draws} draws; {acceptance.mean():.0%} of the trajectories accepted")
    for name, values in draws.items():
        print(f"  {name:12} {values.mean():7.3f} +- {values.std():.3f}   truth {TRUE[name]:7.3f}   R-hat {r_hat(values):.3f}")
    if FLAGS.plot:
        plot(FLAGS.plot, x, y, draws)


if __name__ == "__main__":
    app.run(main)
