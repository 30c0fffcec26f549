"""laminax.example_libraries.optimizers: update rules against their papers in NumPy, states as pytrees, schedules."""

import pickle

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax.example_libraries import optimizers

SCALE = np.array([[1.0, 0.3, 2.0], [0.5, 1.5, 0.7]])  # the loss is that of a quadratic form with these eigenvalues


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(autouse=True)
def double_precision():
    with laminax.enable_x64(True):
        yield


# Each takes x0 and a gradient function, and yields x after each step, as the sources have it.


def sgd(x, gradient):
    while True:
        x = x - 0.1 * gradient(x)
        yield x


def momentum(x, gradient):
    velocity = 0
    while True:
        velocity = 0.8 * velocity - 0.1 * gradient(x)  # Sutskever et al., equations 1 and 2
        x = x + velocity
        yield x


def nesterov(x, gradient):
    velocity = 0
    while True:  # Sutskever et al., equations 3 and 4, which step from x; the optimizer keeps x + mass * velocity
        ahead = x
        velocity_next = 0.8 * velocity - 0.1 * gradient(ahead)
        base = ahead - 0.8 * velocity
        x = base + velocity_next + 0.8 * velocity_next
        velocity = velocity_next
        yield x


def adagrad(x, gradient):
    total, mean = 0, 0
    while True:
        g = gradient(x)
        total = total + g**2
        mean = 0.8 * mean + 0.2 * np.divide(g, np.sqrt(total), where=total > 0, out=np.zeros_like(g))
        x = x - 0.1 * mean
        yield x


def rmsprop(x, gradient, mass=0.0):
    mean_square, velocity = 0, 0
    while True:
        g = gradient(x)
        mean_square = 0.7 * mean_square + 0.3 * g**2
        velocity = mass * velocity + 0.1 * g / np.sqrt(mean_square + 1e-3)
        x = x - velocity
        yield x


def adam(x, gradient):
    m, v, t = 0, 0, 0
    while True:
        t += 1
        g = gradient(x)
        m, v = 0.8 * m + 0.2 * g, 0.95 * v + 0.05 * g**2
        x = x - 0.1 * (m / (1 - 0.8**t)) / (np.sqrt(v / (1 - 0.95**t)) + 1e-3)
        yield x


def adamax(x, gradient):
    m, u, t = 0, np.zeros_like(x), 0
    while True:
        t += 1
        g = gradient(x)
        m, u = 0.8 * m + 0.2 * g, np.maximum(0.95 * u, abs(g))
        x = x - 0.1 / (1 - 0.8**t) * m / (u + 1e-3)
        yield x


def sm3(x, gradient):
    """Algorithm SM3-II with rows and columns as the sets, element by element."""
    rows, columns, mean = np.zeros(x.shape[0]), np.zeros(x.shape[1]), np.zeros_like(x)
    while True:
        g, new_rows, new_columns = gradient(x), np.zeros_like(rows), np.zeros_like(columns)
        for i, j in np.ndindex(*x.shape):
            bound = min(rows[i], columns[j]) + g[i, j]**2
            mean[i, j] = 0.8 * mean[i, j] + 0.2 * (g[i, j] / np.sqrt(bound) if bound else 0)
            new_rows[i], new_columns[j] = max(new_rows[i], bound), max(new_columns[j], bound)
        x, rows, columns = x - 0.1 * mean, new_rows, new_columns
        yield x


CASES = {
    "sgd": (lambda step_size: optimizers.sgd(step_size), sgd),
    "momentum": (lambda step_size: optimizers.momentum(step_size, mass=0.8), momentum),
    "nesterov": (lambda step_size: optimizers.nesterov(step_size, mass=0.8), nesterov),
    "adagrad": (lambda step_size: optimizers.adagrad(step_size, momentum=0.8), adagrad),
    "rmsprop": (lambda step_size: optimizers.rmsprop(step_size, gamma=0.7, eps=1e-3), rmsprop),
    "rmsprop_momentum": (lambda step_size: optimizers.rmsprop_momentum(step_size, gamma=0.7, eps=1e-3, momentum=0.5),
                         lambda x, gradient: rmsprop(x, gradient, 0.5)),
    "adam": (lambda step_size: optimizers.adam(step_size, b1=0.8, b2=0.95, eps=1e-3), adam),
    "adamax": (lambda step_size: optimizers.adamax(step_size, b1=0.8, b2=0.95, eps=1e-3), adamax),
    "sm3": (lambda step_size: optimizers.sm3(step_size, momentum=0.8), sm3),
}


@pytest.mark.parametrize("name", CASES)
def test_update_rules(rng, name):
    make, reference = CASES[name]
    x0 = rng.normal(size=SCALE.shape)
    x0[0, 0] = 0  # a gradient of 0, which divides nothing
    init, update, get_params = make(0.1)
    state = init({"w": x0})
    np.testing.assert_array_equal(get_params(state)["w"], x0)
    step = laminax.jit(lambda i, state: update(i, {"w": SCALE * get_params(state)["w"]}, state))
    for i, expected in zip(range(5), reference(x0, lambda x: SCALE * x)):
        state = step(i, state)
        np.testing.assert_allclose(get_params(state)["w"], expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", CASES)
def test_optimizers_minimise_over_pytrees_with_scalars(name):
    make, _ = CASES[name]
    target = {"a": (np.float64(2.0), np.array([[1.0, -1.0]])), "b": [np.zeros((2, 0))]}
    init, update, get_params = make(optimizers.exponential_decay(0.2, 100, 0.5))

    def loss(params):
        return sum(jnp.sum((x - y) ** 2) for x, y in zip(laminax.tree.leaves(params), laminax.tree.leaves(target)))

    @laminax.jit
    def train(state):
        return laminax.lax.fori_loop(0, 300, lambda i, state: update(i, laminax.grad(loss)(get_params(state)), state), state)

    start = laminax.tree.map(np.zeros_like, target)
    state = init(start)
    assert laminax.tree.structure(get_params(state)) == laminax.tree.structure(start)
    params = laminax.jit(get_params)(train(state))
    assert loss(params) < 1e-2 * loss(start)
    assert [x.shape for x in laminax.tree.leaves(params)] == [(), (1, 2), (2, 0)]


def test_state_is_a_pytree_of_its_arrays():
    params = {"w": np.ones((2, 3)), "b": np.zeros(3)}
    state = optimizers.adam(0.1).init_fn(params)
    assert [x.shape for x in laminax.tree.leaves(state)] == [(3,)] * 3 + [(2, 3)] * 3
    leaves, treedef = laminax.tree.flatten(state)
    again = laminax.tree.unflatten(treedef, leaves)
    assert isinstance(again, optimizers.OptimizerState) and laminax.tree.structure(again) == treedef
    assert state.tree_def == laminax.tree.structure(params) and state.subtree_defs == (laminax.tree.structure((0, 0, 0)),) * 2
    doubled = laminax.tree.map(lambda x: 2 * x, state)
    np.testing.assert_array_equal(optimizers.adam(0.1).params_fn(doubled)["w"], 2 * params["w"])


def test_packing_goes_back_and_forth_and_through_pickle(rng):
    params = {"w": rng.normal(size=(2, 3)), "nothing": None, "b": (rng.normal(size=3),)}
    state = optimizers.momentum(0.1, 0.9).init_fn(params)
    marked = optimizers.unpack_optimizer_state(state)
    assert isinstance(marked["w"], optimizers.JoinPoint) and marked["nothing"] is None
    ((x, velocity),) = marked["b"][0]  # a JoinPoint yields its subtree
    np.testing.assert_array_equal(x, params["b"][0])
    np.testing.assert_array_equal(velocity, np.zeros(3))
    again = optimizers.pack_optimizer_state(pickle.loads(pickle.dumps(marked)))
    assert laminax.tree.structure(again) == laminax.tree.structure(state)
    for old, new in zip(laminax.tree.leaves(state), laminax.tree.leaves(again), strict=True):
        np.testing.assert_array_equal(old, new)


def test_an_optimizer_of_arrays_becomes_one_of_pytrees():
    @optimizers.optimizer
    def signs(step_size, *, shrink=1.0):
        """Steps of one size."""
        def update(i, g, state):
            return {"x": shrink * state["x"] - step_size * np.sign(g)}
        return lambda x0: {"x": x0}, update, lambda state: state["x"]

    assert signs.__name__ == "signs" and signs.__doc__ == "Steps of one size."
    made = signs(0.5, shrink=2.0)
    assert isinstance(made, optimizers.Optimizer)
    params = made.params_fn(made.update_fn(0, [1.0, (-3.0,)], made.init_fn([1.0, (2.0,)])))
    assert params == [1.5, (4.5,)]


def test_schedules_are_functions_of_the_step():
    init, update, get_params = optimizers.sgd(lambda i: 1.0 / (i + 1))
    state = init(0.0)
    for i in range(4):
        state = update(i, -1.0, state)
    np.testing.assert_allclose(get_params(state), 1 + 1 / 2 + 1 / 3 + 1 / 4, rtol=1e-15)


STEPS = np.arange(12)


@pytest.mark.parametrize("schedule, expected", [
    (optimizers.constant(0.3), np.full(12, 0.3)),
    (optimizers.make_schedule(np.float64(0.3)), np.full(12, 0.3)),
    (optimizers.exponential_decay(0.3, 4, 0.5), 0.3 * 0.5 ** (STEPS / 4)),
    (optimizers.inverse_time_decay(0.3, 4, 0.5), 0.3 / (1 + 0.5 * STEPS / 4)),
    (optimizers.inverse_time_decay(0.3, 4, 0.5, staircase=True), 0.3 / (1 + 0.5 * (STEPS // 4))),
    (optimizers.polynomial_decay(0.3, 8, 0.1), np.interp(STEPS, [0, 8], [0.3, 0.1])),
    (optimizers.polynomial_decay(0.3, 8, 0.1, power=2.0), 0.1 + 0.2 * np.maximum(1 - STEPS / 8, 0) ** 2),
    (optimizers.piecewise_constant([2, 5], [0.3, 0.2, 0.1]), np.repeat([0.3, 0.2, 0.1], [3, 3, 6])),
])
def test_schedules(schedule, expected):
    close = dict(rtol=2e-7)  # piecewise_constant's values are made here in float32, before the fixture allows float64
    np.testing.assert_allclose([schedule(int(i)) for i in STEPS], expected, **close)
    np.testing.assert_allclose([laminax.jit(schedule)(i) for i in STEPS], expected, **close)


def test_norms(rng):
    tree = {"a": rng.normal(size=(2, 3)), "b": [rng.normal(size=4), 2.0]}
    flat = np.concatenate([np.ravel(x) for x in laminax.tree.leaves(tree)])
    norm = np.sqrt(np.sum(flat**2))
    np.testing.assert_allclose(optimizers.l2_norm(tree), norm, rtol=1e-14)
    clipped = optimizers.clip_grads(tree, norm / 2)
    np.testing.assert_allclose(clipped["a"], tree["a"] / 2, rtol=1e-14)
    np.testing.assert_allclose(optimizers.l2_norm(clipped), norm / 2, rtol=1e-14)
    np.testing.assert_array_equal(optimizers.clip_grads(tree, 2 * norm)["b"][0], tree["b"][0])
    assert optimizers.l2_norm([]) == 0


def test_params_keep_their_dtype():
    for name, (make, _) in CASES.items():
        init, update, get_params = make(0.1)
        x = get_params(update(0, jnp.ones(2, jnp.bfloat16), init(jnp.ones(2, jnp.bfloat16))))
        assert x.dtype == jnp.bfloat16, name


@optimizers.optimizer
def growing(step_size):
    return lambda x0: x0, lambda i, g, x: (x, g), lambda x: x


@pytest.mark.parametrize("call, error, message", [
    (lambda: optimizers.sgd(0.1).update_fn(0, [1.0], optimizers.sgd(0.1).init_fn((1.0,))), TypeError, "sgd: the gradients must have"),
    (lambda: growing(0.1).update_fn(0, 1.0, growing(0.1).init_fn(1.0)), TypeError, "growing: update must return a state of the structure"),
    (lambda: optimizers.sgd([0.1, 0.2]), TypeError, "a scalar or a function of the step"),
    (lambda: optimizers.pack_optimizer_state({"a": 3}), TypeError, "must be JoinPoints.*got 3"),
    (lambda: optimizers.piecewise_constant([1, 2], [1.0, 2.0]), ValueError, "boundaries length must be one shorter"),
    (lambda: optimizers.piecewise_constant(1, [1.0, 2.0]), ValueError, "must be sequences"),
])
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()
