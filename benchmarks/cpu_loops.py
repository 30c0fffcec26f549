"""Loops that people run on the CPU, for `cpu.py --table=loops`: simulators, recurrent networks, filters, samplers and solvers.

A size is the number of state variables, cells or units; three sizes of each, from what fits in registers to what no longer fits in the
processor's nearest cache.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from cpu_programs import CpuProgram, table

LOOPS: dict[str, CpuProgram] = {}


def _normal(*shape: int, scale: float = 1.0, seed: int = 0) -> np.ndarray:
    return (scale * np.random.default_rng(seed).normal(size=shape)).astype(np.float32)


# Differential equations


def _rk4(f: Callable, x: Any, h: float) -> Any:
    k1 = f(x)
    k2 = f(x + h / 2 * k1)
    k3 = f(x + h / 2 * k2)
    k4 = f(x + h * k3)
    return x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


@table(LOOPS, (100, 1000, 10000), by=(0, 1))
def _lorenz(lib: Any, size: int) -> tuple[Callable, tuple]:
    """Lorenz's equations by Runge and Kutta's method, `size` steps; the trajectory is kept."""
    jnp = lib.numpy

    def run(x, parameters):
        sigma, rho, beta = parameters

        def f(x):
            return jnp.array([sigma * (x[1] - x[0]), x[0] * (rho - x[2]) - x[1], x[0] * x[1] - beta * x[2]])

        return lib.lax.scan(lambda x, _: (_rk4(f, x, 0.001),) * 2, x, None, length=size)[1]

    return run, (np.ones(3, np.float32), (10.0, 28.0, 8 / 3))


@table(LOOPS, (4, 64, 1024), by=(0, 1))
def _pendula(lib: Any, size: int) -> tuple[Callable, tuple]:
    """Coupled pendula by leapfrog steps."""
    jnp = lib.numpy

    def force(q):
        return -jnp.sin(q) + 0.1 * (jnp.roll(q, 1) - 2 * q + jnp.roll(q, -1))

    def run(q, p):
        def step(_, state):
            q, p = state
            p = p + 0.005 * force(q)
            q = q + 0.01 * p
            return q, p + 0.005 * force(q)

        return lib.lax.fori_loop(0, 1000, step, (q, p))

    return run, (_normal(size), _normal(size, seed=1))


@table(LOOPS, (4, 32, 128), by=(0, 1))
def _neural_ode(lib: Any, size: int) -> tuple[Callable, tuple]:
    """dx/dt = tanh(W x) - x by Runge and Kutta's method."""
    jnp = lib.numpy

    def run(w, x):
        return lib.lax.scan(lambda x, _: (_rk4(lambda x: jnp.tanh(w @ x) - x, x, 0.01),) * 2, x, None, length=500)[1]

    return run, (_normal(size, size, scale=size**-0.5), _normal(size, seed=1))


@table(LOOPS, (1, 100, 10000), by=(0,))
def _geometric_brownian_motion(lib: Any, size: int) -> tuple[Callable, tuple]:
    """Paths of a stochastic differential equation, with noise that is drawn in each step."""

    def run(x, key):
        def step(x, key):
            noise = lib.random.normal(key, x.shape)
            x = x + 0.01 * x + 0.1 * x * noise
            return x, x.mean()

        return lib.lax.scan(step, x, lib.random.split(key, 200))

    return run, (np.ones(size, np.float32), np.array([0, 1], np.uint32))


@table(LOOPS, (1, 100, 2000), by=(0,))
def _hodgkin_huxley(lib: Any, size: int) -> tuple[Callable, tuple]:
    """Neurons with sodium and potassium channels, by Euler's method."""
    jnp = lib.numpy

    def run(current):
        def step(state, _):
            v, m, h, n = state
            am, bm = 0.1 * (v + 40.01) / (1 - jnp.exp(-(v + 40.01) / 10)), 4 * jnp.exp(-(v + 65) / 18)
            ah, bh = 0.07 * jnp.exp(-(v + 65) / 20), 1 / (1 + jnp.exp(-(v + 35) / 10))
            an, bn = 0.01 * (v + 55.01) / (1 - jnp.exp(-(v + 55.01) / 10)), 0.125 * jnp.exp(-(v + 65) / 80)
            i = current - 120 * m**3 * h * (v - 50) - 36 * n**4 * (v + 77) - 0.3 * (v + 54.4)
            state = v + 0.01 * i, m + 0.01 * (am * (1 - m) - bm * m), h + 0.01 * (ah * (1 - h) - bh * h), n + 0.01 * (an * (1 - n) - bn * n)
            return state, v

        state = (jnp.full_like(current, -65), 0.05 + 0 * current, 0.6 + 0 * current, 0.32 + 0 * current)
        return lib.lax.scan(step, state, None, length=1000)[1]

    return run, (10 + _normal(size),)


@table(LOOPS, (16, 256, 2000), by=(0,))
def _spiking_network(lib: Any, size: int) -> tuple[Callable, tuple]:
    """Leaky neurons that fire along random synapses, whose charges are added by a scatter."""
    rng = np.random.default_rng(0)
    source, target = rng.integers(0, size, (2, 8 * size)).astype(np.int32)
    jnp = lib.numpy

    def run(weights, drive):
        def step(state, _):
            v, spikes = state
            charge = jnp.zeros(size).at[target].add(weights * spikes[source])
            v = 0.9 * v * (1 - spikes) + drive + charge
            spikes = lib.nn.sigmoid(10 * (v - 1))
            return (v, spikes), None

        return lib.lax.scan(step, (jnp.zeros(size), jnp.zeros(size)), None, length=200)[0]

    return run, (_normal(8 * size, scale=0.1), np.abs(_normal(size, scale=0.2)))


@table(LOOPS, (4, 16, 64), by=(0,))
def _n_body(lib: Any, size: int) -> tuple[Callable, tuple]:

    def run(x, v):
        def force(x):
            d = x[None] - x[:, None]
            return (d / ((d * d).sum(-1, keepdims=True) + 0.1) ** 1.5).sum(1)

        def step(_, state):
            x, v = state
            v = v + 0.01 * force(x)
            return x + 0.01 * v, v

        return lib.lax.fori_loop(0, 200, step, (x, v))

    return run, (_normal(size, 3), _normal(size, 3, seed=1))


@table(LOOPS, (16, 64, 256), by=(0,))
def _heat(lib: Any, size: int) -> tuple[Callable, tuple]:
    """Heat on a square, by differences of neighbours."""

    def run(u):
        def step(_, u):
            inner = u[1:-1, 1:-1] + 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
            return u.at[1:-1, 1:-1].set(inner)

        return lib.lax.fori_loop(0, 100, step, u)

    return run, (_normal(size, size),)


# Recurrent networks


@table(LOOPS, (8, 64, 256), by=(0,))
def _lstm(lib: Any, size: int) -> tuple[Callable, tuple]:
    jnp, sigmoid = lib.numpy, lib.nn.sigmoid
    batch = 8

    def run(params, xs):
        def step(state, x):
            h, c = state
            i, f, g, o = jnp.split(jnp.concatenate([x, h], -1) @ params["w"] + params["b"], 4, -1)
            c = sigmoid(f) * c + sigmoid(i) * jnp.tanh(g)
            h = sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        return lib.lax.scan(step, (jnp.zeros((batch, size)), jnp.zeros((batch, size))), xs)[1]

    return run, ({"w": _normal(2 * size, 4 * size, scale=(2 * size) ** -0.5), "b": np.zeros(4 * size, np.float32)},
                 _normal(50, batch, size, seed=1))


@table(LOOPS, (8, 64, 256), by=(0,))
def _gru(lib: Any, size: int) -> tuple[Callable, tuple]:
    """One sequence, as in a controller."""
    jnp, sigmoid = lib.numpy, lib.nn.sigmoid

    def run(params, xs):
        def step(h, x):
            z, r = jnp.split(sigmoid(params["w"] @ x + params["u"] @ h), 2)
            n = jnp.tanh(params["wn"] @ x + params["un"] @ (r * h))
            h = (1 - z) * n + z * h
            return h, h

        return lib.lax.scan(step, jnp.zeros(size), xs)[1]

    shapes = {"w": 2 * size, "u": 2 * size, "wn": size, "un": size}
    return run, ({name: _normal(rows, size, scale=size**-0.5, seed=i) for i, (name, rows) in enumerate(shapes.items())},
                 _normal(100, size, seed=9))


@table(LOOPS, (16, 256, 4096), by=(0, 1))
def _linear_recurrence(lib: Any, size: int) -> tuple[Callable, tuple]:
    """The diagonal recurrence of a state space layer."""

    def run(a, xs):
        def step(h, x):
            h = a * h + x
            return h, h

        return lib.lax.scan(step, lib.numpy.zeros(size), xs)[1]

    return run, (np.random.default_rng(0).uniform(0.5, 1, size).astype(np.float32), _normal(256, size))


# Filters and samplers


@table(LOOPS, (2, 4, 16), by=(0,))
def _kalman(lib: Any, size: int) -> tuple[Callable, tuple]:
    """A Kalman filter, as many observations as states."""
    jnp = lib.numpy

    def run(a, ys):
        eye = jnp.eye(size)

        def step(state, y):
            m, p = state
            m, p = a @ m, a @ p @ a.T + 0.1 * eye
            gain = jnp.linalg.solve(p + 0.5 * eye, p).T
            m = m + gain @ (y - m)
            return (m, p - gain @ p), m

        return lib.lax.scan(step, (jnp.zeros(size), eye), ys)[1]

    return run, (0.9 * np.eye(size, dtype=np.float32) + 0.1 / size, _normal(200, size))


@table(LOOPS, (4, 16, 64), by=(0,))
def _kalman_scalar_observations(lib: Any, size: int) -> tuple[Callable, tuple]:
    """A Kalman filter of one observation each step, which needs no solver."""
    jnp = lib.numpy

    def run(a, ys):
        def step(state, y):
            m, p = state
            m, p = a @ m, a @ p @ a.T + 0.1 * jnp.eye(size)
            gain = p[:, 0] / (p[0, 0] + 0.5)
            return (m + gain * (y - m[0]), p - gain[:, None] * p[0]), m[0]

        return lib.lax.scan(step, (jnp.zeros(size), jnp.eye(size)), ys)[1]

    return run, (0.9 * np.eye(size, dtype=np.float32) + 0.1 / size, _normal(200))


@table(LOOPS, (4, 64, 1024))
def _hmc(lib: Any, size: int) -> tuple[Callable, tuple]:
    """Hamiltonian Monte Carlo with eight leapfrogs to a sample, of a density with a valley."""
    jnp, random = lib.numpy, lib.random

    def log_density(x):
        return -(0.5 * (x * x).sum() + 0.1 * jnp.sum((x[1:] - x[:-1] ** 2) ** 2))

    def run(x, key):
        gradient = lib.grad(log_density)

        def sample(x, key):
            first, second = random.split(key)
            p = random.normal(first, x.shape)

            def leapfrog(_, state):
                q, r = state
                r = r + 0.005 * gradient(q)
                q = q + 0.01 * r
                return q, r + 0.005 * gradient(q)

            q, r = lib.lax.fori_loop(0, 8, leapfrog, (x, p))
            accept = jnp.log(random.uniform(second)) < log_density(q) - log_density(x) - 0.5 * ((r * r).sum() - (p * p).sum())
            x = jnp.where(accept, q, x)
            return x, x[0]

        return lib.lax.scan(sample, x, random.split(key, 200))

    return run, (_normal(size), np.array([0, 1], np.uint32))


@table(LOOPS, (3, 30, 300))
def _gillespie(lib: Any, size: int) -> tuple[Callable, tuple]:
    """A chain of reactions, one event at a time, until the time is up."""
    jnp, random = lib.numpy, lib.random

    def run(counts, key):
        change = jnp.asarray(np.eye(size, dtype=np.float32) - np.eye(size, k=1, dtype=np.float32))

        def event(state):
            time, counts, key = state
            key, first, second = random.split(key, 3)
            rates = jnp.roll(counts, 1) * 0.5 + 0.01
            total = rates.sum()
            which = jnp.searchsorted(jnp.cumsum(rates), random.uniform(first) * total)
            return time + random.exponential(second) / total, jnp.maximum(counts + change[which], 0), key

        return lib.lax.while_loop(lambda state: state[0] < 2.0 / size, event, (0.0, counts, key))[1]

    return run, (np.full(size, 100, np.float32), np.array([0, 1], np.uint32))


@table(LOOPS, (16, 64, 256))
def _metropolis_ising(lib: Any, size: int) -> tuple[Callable, tuple]:
    """Single spins flipped in a chain of magnets: reads and writes at an index that is drawn."""
    jnp, random = lib.numpy, lib.random

    def run(spins, key):
        def step(spins, key):
            first, second = random.split(key)
            i = random.randint(first, (), 0, size)
            rise = 2 * spins[i] * (spins[(i + 1) % size] + spins[i - 1])
            flip = random.uniform(second) < jnp.exp(-rise)
            return spins.at[i].set(jnp.where(flip, -spins[i], spins[i])), None

        return lib.lax.scan(step, spins, random.split(key, 500))[0]

    return run, (np.sign(_normal(size)), np.array([0, 1], np.uint32))


# Solvers and programs with writes


@table(LOOPS, (4, 64, 512))
def _newton(lib: Any, size: int) -> tuple[Callable, tuple]:
    """Newton's iteration in a while loop: cube roots, until the largest change is small."""
    jnp = lib.numpy

    def run(a):
        def again(state):
            x, change, count = state
            new = x - (x**3 - a) / (3 * x**2)
            return new, jnp.abs(new - x).max(), count + 1

        return lib.lax.while_loop(lambda s: (s[1] > 1e-9) & (s[2] < 200), again, (jnp.ones_like(a), jnp.array(jnp.inf), 0))

    return run, (1 + np.abs(_normal(size, scale=1e3)),)


@table(LOOPS, (8, 64, 256))
def _conjugate_gradients(lib: Any, size: int) -> tuple[Callable, tuple]:
    jnp = lib.numpy

    def run(a, b):
        def step(state):
            x, r, p, rr, count = state
            ap = a @ p
            alpha = rr / (p @ ap)
            x, r = x + alpha * p, r - alpha * ap
            new = r @ r
            return x, r, r + new / rr * p, new, count + 1

        return lib.lax.while_loop(lambda s: s[4] < 100, step, (jnp.zeros_like(b), b, b, b @ b, 0))[0]

    m = _normal(size, size)
    return run, (m @ m.T / size + 0.5 * np.eye(size, dtype=np.float32), _normal(size, seed=1))


@table(LOOPS, (16, 256, 4096), by=(0,))
def _writes(lib: Any, size: int) -> tuple[Callable, tuple]:
    """`fori_loop` with `.at[i].set`, each element from the one before."""
    jnp = lib.numpy

    def run(x):
        return lib.lax.fori_loop(1, size, lambda i, x: x.at[i].set(jnp.sin(x[i - 1]) + x[i]), x)

    return run, (_normal(size),)


@table(LOOPS, (16, 64, 256))
def _edit_distance(lib: Any, size: int) -> tuple[Callable, tuple]:
    """A table filled cell by cell, by two nested loops."""
    jnp, lax = lib.numpy, lib.lax

    def run(s, t):
        def row(i, table):
            def cell(j, table):
                cost = jnp.where(s[i - 1] == t[j - 1], 0, 1)
                best = jnp.minimum(jnp.minimum(table[i - 1, j] + 1, table[i, j - 1] + 1), table[i - 1, j - 1] + cost)
                return table.at[i, j].set(best)

            return lax.fori_loop(1, size + 1, cell, table)

        edge = jnp.arange(size + 1)
        table = jnp.zeros((size + 1, size + 1), jnp.int32).at[0].set(edge).at[:, 0].set(edge)
        return lax.fori_loop(1, size + 1, row, table)[size, size]

    rng = np.random.default_rng(0)
    return run, (rng.integers(0, 4, size).astype(np.int32), rng.integers(0, 4, size).astype(np.int32))


@table(LOOPS, (64, 1024, 16384))
def _cellular_automaton(lib: Any, size: int) -> tuple[Callable, tuple]:
    """Rule 110, with all generations kept."""
    jnp = lib.numpy

    def run(cells):
        def step(cells, _):
            left, right = jnp.roll(cells, 1), jnp.roll(cells, -1)
            new = ((cells | right) & ~(left & cells & right)) & 1
            return new, new

        return lib.lax.scan(step, cells, None, length=200)[1]

    return run, (np.random.default_rng(0).integers(0, 2, size).astype(np.int32),)


@table(LOOPS, (16, 64, 256))
def _life(lib: Any, size: int) -> tuple[Callable, tuple]:
    """Conway's game."""
    jnp = lib.numpy

    def run(cells):
        def step(_, cells):
            rows = cells + jnp.roll(cells, 1, 0) + jnp.roll(cells, -1, 0)
            around = rows + jnp.roll(rows, 1, 1) + jnp.roll(rows, -1, 1) - cells
            return ((around == 3) | ((around == 2) & (cells == 1))).astype(cells.dtype)

        return lib.lax.fori_loop(0, 100, step, cells)

    return run, (np.random.default_rng(0).integers(0, 2, (size, size)).astype(np.int32),)


@table(LOOPS, (8, 32, 128))
def _viterbi(lib: Any, size: int) -> tuple[Callable, tuple]:
    """The most probable path of a hidden Markov model: maxima forwards, gathers backwards."""
    lax = lib.lax

    def run(transitions, emissions):
        def forward(score, emission):
            through = score[:, None] + transitions
            return through.max(0) + emission, through.argmax(0)

        score, pointers = lax.scan(forward, emissions[0], emissions[1:])
        return lax.scan(lambda state, pointer: (pointer[state],) * 2, score.argmax(), pointers, reverse=True)[1]

    return run, (_normal(size, size), _normal(200, size, seed=1))


@table(LOOPS, (4, 64, 1024), by=(0,))
def _adam(lib: Any, size: int) -> tuple[Callable, tuple]:
    """Adam on Rosenbrock's function, 300 steps."""
    jnp = lib.numpy

    def loss(x):
        return jnp.mean(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    def run(x):
        def step(i, state):
            x, m, v = state
            g = lib.grad(loss)(x)
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
            t = i + 1.0
            return x - 0.01 * (m / (1 - 0.9**t)) / (jnp.sqrt(v / (1 - 0.999**t)) + 1e-8), m, v

        return lib.lax.fori_loop(0, 300, step, (x, jnp.zeros_like(x), jnp.zeros_like(x)))[0]

    return run, (_normal(size),)
