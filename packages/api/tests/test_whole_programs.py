"""Programs as people write them, against NumPy: filters, decoders and simulations, in which loops, products, reductions and updates meet.

Fresh memory is filled with numbers that are no zeros (`mallopt` of the GNU C library), so that a result which the compiler's kernels make
of memory that nothing was written to is wrong here, and not only where the memory happens to be used for the second time.
"""

import ctypes
import itertools
from functools import partial

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import lax
from laminax.scipy.special import logsumexp

pytestmark = pytest.mark.filterwarnings("ignore:Some donated buffers were not usable")

_M_PERTURB = -6  # of malloc.h


@pytest.fixture(autouse=True)
def filled_memory():
    """Memory begins with bytes 0x5a, which are 1.5e16 as float32, and 1.6e127 as float64."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_PERTURB, 0xA5)
    yield
    if mallopt is not None:
        mallopt(_M_PERTURB, 0)


def drawn(seed, *shape, scale=1.0):
    return (scale * np.random.default_rng(seed).normal(size=shape)).astype(np.float32)


def run_both(f, *args):
    """The results of a compiled function, equal in three calls, of which the last gives its arguments away."""
    run = laminax.jit(f)
    first, second = run(*args), run(*args)
    giving = laminax.jit(f, donate_argnums=tuple(range(len(args))))
    third = giving(*laminax.tree.map(lambda x: jnp.array(x, copy=True), args))
    for a, b, c in zip(*map(laminax.tree.leaves, (first, second, third)), strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_allclose(a, c, rtol=1e-4, atol=1e-5)
    return first


# A state-space model: filtering and smoothing, and the gradient of the evidence


def _smoothed(transition, observed, of_state, noise, values):
    """Kalman's filter and the smoother of Rauch, Tung and Striebel; the states' means and variances, and the log evidence."""
    n, m = len(transition), len(observed)
    q, r = of_state * jnp.eye(n), noise * jnp.eye(m)

    def forward(carry, y):
        mean, cov = carry
        mean, cov = transition @ mean, transition @ cov @ transition.T + q
        s = observed @ cov @ observed.T + r
        gain, error = jnp.linalg.solve(s, observed @ cov).T, y - observed @ mean
        evidence = -0.5 * (error @ jnp.linalg.solve(s, error) + jnp.linalg.slogdet(s)[1] + m * np.log(2 * np.pi))
        after = mean + gain @ error, cov - gain @ observed @ cov
        return after, (*after, mean, cov, evidence)

    def backward(carry, step):
        mean, cov, next_mean, next_cov = step
        gain = jnp.linalg.solve(next_cov, transition @ cov).T
        carry = mean + gain @ (carry[0] - next_mean), cov + gain @ (carry[1] - next_cov) @ gain.T
        return carry, carry

    last, (means, covs, before, covs_before, evidence) = lax.scan(forward, (jnp.zeros(n), jnp.eye(n)), values)
    _, (means, covs) = lax.scan(backward, last, (means[:-1], covs[:-1], before[1:], covs_before[1:]), reverse=True)
    return jnp.concatenate([means, last[0][None]]), jnp.concatenate([covs, last[1][None]]), evidence.sum()


def _joint(transition, observed, of_state, noise, values):
    """The same of the joint distribution of all states, written out as one normal distribution in float64."""
    steps, n, m = len(values), len(transition), len(observed)
    impulses = np.zeros((steps * n, (steps + 1) * n))  # what each noise does to each state; the first is the start
    for t in range(steps):
        for s in range(t + 2):
            impulses[t * n:(t + 1) * n, s * n:(s + 1) * n] = np.linalg.matrix_power(transition, t + 1 - s)
    sizes = np.repeat([1.0, *[of_state] * steps], n)
    prior = impulses * sizes @ impulses.T
    maps = np.kron(np.eye(steps), observed)
    s = maps @ prior @ maps.T + noise * np.eye(steps * m)
    gain, y = np.linalg.solve(s, maps @ prior).T, values.ravel()
    cov = prior - gain @ maps @ prior
    evidence = -0.5 * (y @ np.linalg.solve(s, y) + np.linalg.slogdet(s)[1] + y.size * np.log(2 * np.pi))
    blocks = [cov[t * n:(t + 1) * n, t * n:(t + 1) * n] for t in range(steps)]
    return (gain @ y).reshape(steps, n), np.stack(blocks), evidence


def test_a_smoother_is_the_joint_distribution():
    transition = np.float32([[1, 0.1, 0, 0], [0, 0.98, 0, 0], [0, 0, 1, 0.1], [0, 0, 0, 0.98]])
    observed, values = np.float32([[1, 0, 0, 0], [0, 0, 1, 0]]), np.cumsum(drawn(0, 25, 2, scale=0.3), 0)
    exact = [x.astype(np.float64) for x in (transition, observed, values)]
    means, covs, evidence = run_both(lambda a, c, y: _smoothed(a, c, 0.1, 0.5, y), transition, observed, values)
    expected = _joint(exact[0], exact[1], 0.1, 0.5, exact[2])
    for found, right in zip((means, covs, evidence), expected):
        np.testing.assert_allclose(found, right, rtol=2e-3, atol=2e-3)

    def of_evidence(a, sizes, y):
        return _smoothed(a, observed, *sizes, y)[2]

    def slope(by_transition, by_state, by_noise):
        ends = [_joint(exact[0] + h * by_transition, exact[1], 0.1 + h * by_state, 0.5 + h * by_noise, exact[2])[2] for h in (-1e-5, 1e-5)]
        return (ends[1] - ends[0]) / 2e-5

    gradient = run_both(laminax.grad(of_evidence, (0, 1)), transition, np.float32([0.1, 0.5]), values)
    np.testing.assert_allclose(gradient[1], [slope(0, 1, 0), slope(0, 0, 1)], rtol=2e-3)
    for place in itertools.product(range(4), repeat=2):
        step = np.zeros((4, 4))
        step[place] = 1
        np.testing.assert_allclose(gradient[0][place], slope(step, 0, 0), rtol=1e-2, atol=2e-2)


# A hidden Markov model: every path, one by one


def test_a_hidden_markov_model_is_the_sum_of_its_paths():
    states, symbols, seen = 3, 4, np.array([0, 3, 1, 1, 2, 0])
    moves, emits = drawn(0, states, states), drawn(1, states, symbols)

    def evidence(moves, emits):
        def step(alpha, symbol):
            return logsumexp(alpha[:, None] + moves, axis=0) + emits[:, symbol], None
        return logsumexp(lax.scan(step, emits[:, seen[0]], seen[1:])[0])

    def best_path(moves, emits):
        def step(score, symbol):
            scores = score[:, None] + moves
            return scores.max(0) + emits[:, symbol], scores.argmax(0)
        score, pointers = lax.scan(step, emits[:, seen[0]], seen[1:])
        first, path = lax.scan(lambda state, before: (before[state], state), score.argmax(), pointers, reverse=True)
        return jnp.concatenate([first[None], path]), score.max()

    def score_of(path):
        return sum(float(emits[place]) for place in zip(path, seen)) + sum(float(moves[pair]) for pair in itertools.pairwise(path))

    scores = {path: score_of(path) for path in itertools.product(range(states), repeat=len(seen))}
    total = np.logaddexp.reduce([*scores.values()])
    counts, of_symbols = np.zeros((states, states)), np.zeros((states, symbols))
    for path, score in scores.items():  # derivatives by scores are expected counts
        weight = np.exp(score - total)
        for pair in itertools.pairwise(path):
            counts[pair] += weight
        for place in zip(path, seen):
            of_symbols[place] += weight

    value, gradient = run_both(laminax.value_and_grad(evidence, (0, 1)), moves, emits)
    np.testing.assert_allclose(value, total, rtol=1e-5)
    np.testing.assert_allclose(gradient[0], counts, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(gradient[1], of_symbols, rtol=1e-4, atol=1e-5)
    path, score = run_both(best_path, moves, emits)
    likeliest = max(scores, key=scores.__getitem__)
    assert tuple(path.tolist()) == likeliest
    np.testing.assert_allclose(score, scores[likeliest], rtol=1e-5)


# A language model that writes: keys and values of earlier words in buffers


LAYERS, WIDTH, HEADS, WORDS, LENGTH, GIVEN = 2, 16, 4, 11, 14, 4


def _weights():
    shapes = {"qkv": (WIDTH, 3 * WIDTH), "out": (WIDTH, WIDTH), "up": (WIDTH, 4 * WIDTH), "down": (4 * WIDTH, WIDTH)}
    layers = {name: drawn(i, LAYERS, *shape, scale=shape[0]**-0.5) for i, (name, shape) in enumerate(shapes.items())}
    return {"words": drawn(7, WORDS, WIDTH), "places": drawn(8, LENGTH, WIDTH, scale=0.3), "layers": layers}


def _written(weights, prompt):
    """Goes on with the prompts, the likeliest word first, until they are full; the words and their scores."""
    batch = len(prompt)

    def heads(x):
        return x.reshape(batch, HEADS, WIDTH // HEADS)

    def scores_of(buffers, word, at):
        def layer(x, parts):
            p, keys, values = parts
            q, k, v = jnp.split(_normal(jnp, x) @ p["qkv"], 3, axis=-1)
            keys, values = (lax.dynamic_update_slice(b, heads(part)[:, None], (0, at, 0, 0)) for b, part in ((keys, k), (values, v)))
            logits = jnp.einsum("bhd,bthd->bht", heads(q), keys) / (WIDTH // HEADS)**0.5
            shares = laminax.nn.softmax(jnp.where(jnp.arange(LENGTH) <= at, logits, -jnp.inf))
            x = x + jnp.einsum("bht,bthd->bhd", shares, values).reshape(batch, WIDTH) @ p["out"]
            return x + jnp.maximum(_normal(jnp, x) @ p["up"], 0) @ p["down"], (keys, values)

        x, buffers = lax.scan(layer, weights["words"][word] + weights["places"][at], (weights["layers"], *buffers))
        return buffers, x @ weights["words"].T

    def write(state):
        at, words, buffers, _ = state
        buffers, scores = scores_of(buffers, words[:, at], at)
        word = jnp.where(at + 1 < GIVEN, words[:, jnp.minimum(at + 1, GIVEN - 1)], scores.argmax(-1))
        return at + 1, lax.dynamic_update_slice(words, word[:, None].astype(words.dtype), (0, at + 1)), buffers, scores

    words = jnp.zeros((batch, LENGTH), prompt.dtype).at[:, :GIVEN].set(prompt)
    buffers = (jnp.zeros((LAYERS, batch, LENGTH, HEADS, WIDTH // HEADS)),) * 2
    start = 0, words, buffers, jnp.zeros((batch, WORDS))
    _, words, _, scores = lax.while_loop(lambda state: state[0] < LENGTH - 1, write, start)
    return words, scores


def _normal(np, x):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)


def _scores_of_all(weights, words):
    """The scores after each word, all at once, in float64."""
    weights = laminax.tree.map(lambda x: np.asarray(x, np.float64), weights)
    x, n = weights["words"][words] + weights["places"][:words.shape[1]], words.shape[1]
    for i in range(LAYERS):
        p = {name: w[i] for name, w in weights["layers"].items()}
        q, k, v = (part.reshape(*part.shape[:2], HEADS, -1) for part in np.split(_normal(np, x) @ p["qkv"], 3, axis=-1))
        shares = np.exp(np.einsum("bqhd,bkhd->bhqk", q, k) / (WIDTH // HEADS)**0.5) * np.tril(np.ones((n, n)))
        x = x + np.einsum("bhqk,bkhd->bqhd", shares / shares.sum(-1, keepdims=True), v).reshape(x.shape) @ p["out"]
        x = x + np.maximum(_normal(np, x) @ p["up"], 0) @ p["down"]
    return x @ weights["words"].T


def test_a_decoder_with_buffers_is_the_whole_model():
    weights, prompt = _weights(), np.random.default_rng(3).integers(0, WORDS, (3, GIVEN))
    words, scores = run_both(_written, weights, prompt)
    words = np.asarray(words)
    expected = _scores_of_all(weights, words)
    np.testing.assert_array_equal(words[:, :GIVEN], prompt)
    np.testing.assert_array_equal(words[:, GIVEN:], expected[:, GIVEN - 1:-1].argmax(-1))
    np.testing.assert_allclose(scores, expected[:, -2], rtol=1e-3, atol=1e-4)


# Gravity: the gradient of a simulation, and what it conserves


def _simulated(np_, loop, q, v, masses, steps):
    def acceleration(q):
        d = q[None] - q[:, None]
        return (masses[None, :, None] * d * (((d * d).sum(-1) + 0.01)**-1.5)[..., None]).sum(1)

    def step(state):
        q, v = state
        v = v + 0.005 * acceleration(q)
        q = q + 0.01 * v
        return q, v + 0.005 * acceleration(q)

    return loop(step, (q, v), steps)


def _for(step, state, steps):
    for _ in range(steps):
        state = step(state)
    return state


@pytest.mark.parametrize("bodies", [3, 12])
def test_gradients_of_simulated_bodies(bodies):
    q, v, masses = drawn(0, bodies, 3), drawn(1, bodies, 3, scale=0.3), np.abs(drawn(2, bodies)) + 0.1
    loop = partial(_simulated, jnp, lambda step, state, n: lax.scan(lambda state, _: (step(state), None), state, None, length=n)[0])

    def distance(q, v, masses):
        return (loop(q, v, masses, 40)[0]**2).sum()

    gradient = run_both(laminax.grad(distance, (0, 1, 2)), q, v, masses)
    exact = [x.astype(np.float64) for x in (q, v, masses)]
    direction = [np.random.default_rng(5 + i).normal(size=x.shape) for i, x in enumerate(exact)]

    def moved(h):
        return (_simulated(np, _for, *[x + h * d for x, d in zip(exact, direction)], 40)[0]**2).sum()

    slope = (moved(1e-6) - moved(-1e-6)) / 2e-6
    along = sum(np.sum(np.asarray(g, np.float64) * d) for g, d in zip(gradient, direction))
    np.testing.assert_allclose(along, slope, rtol=2e-3, atol=2e-3 * abs(moved(0)))
    found, expected = run_both(lambda *args: loop(*args, 40), q, v, masses), _simulated(np, _for, *exact, 40)
    for a, b in zip(found, expected):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)
