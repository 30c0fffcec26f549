"""Loops that are compiled as one kernel on the CPU: that they are, and their numbers against loops of NumPy in float64."""

import numpy as np
import pytest

from laminax_ir.options import config
from laminax_runtime import _jaxlib

import laminax
from laminax import lax
from laminax import numpy as jnp
from laminax.scipy.sparse.linalg import cg

_SIGMA, _RHO, _BETA = 10.0, 28.0, 8 / 3


def _field(x, stack):
    return stack([_SIGMA * (x[1] - x[0]), x[0] * (_RHO - x[2]) - x[1], x[0] * x[1] - _BETA * x[2]])


def _runge_kutta(x, stack, h=0.01):
    k1 = _field(x, stack)
    k2 = _field(x + h / 2 * k1, stack)
    k3 = _field(x + h / 2 * k2, stack)
    k4 = _field(x + h * k3, stack)
    return x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def _trajectory(x):
    return lax.scan(lambda x, _: (_runge_kutta(x, jnp.stack),) * 2, x, None, length=100)[1]


def _is_one_kernel(f, *args):
    """Whether every loop of the compiled program is in a kernel of its own."""
    text = laminax.jit(f).lower(*args).compile().as_text()
    assert " while(" in text
    return text.count(" while(") <= text.count('xla_cpu_small_call="true"')


def _loss(x):
    return (_trajectory(x) ** 2).mean()


START = np.array([1.0, 2.0, 3.0], np.float32)


@pytest.mark.parametrize("f, x", [
    (_trajectory, START), (laminax.grad(_loss), START), (laminax.vmap(laminax.grad(_loss)), np.stack([START, -START])),
    (laminax.jvp, None),
], ids=["forward", "backward", "vmap", "jvp"])
def test_a_loop_and_its_derivatives_are_kernels(f, x):
    if f is laminax.jvp:
        f, x = lambda x: laminax.jvp(_loss, (x,), (x,)), START
    assert _is_one_kernel(f, x)


_OLD = pytest.mark.skipif(_jaxlib.has_new_cpu_compiler, reason="this jaxlib makes kernels of loops by itself, of large ones too")


@_OLD
def test_a_loop_of_many_numbers_is_not():
    def step(_, x):
        return jnp.sin(x) + jnp.roll(x, 1)

    assert not _is_one_kernel(lambda x: lax.fori_loop(0, 10, step, x), np.zeros(1 << 20, np.float32))


@_OLD
def test_the_option_turns_it_off():
    with config.cpu_kernels(False):
        assert not _is_one_kernel(lambda x: laminax.grad(_loss)(x), START)


def test_numbers_of_a_trajectory_and_its_gradient():
    x, points = START.astype(np.float64), []
    for _ in range(100):
        x = _runge_kutta(x, np.stack)
        points.append(x)
    # neighbouring trajectories part by less than a factor of ten in one unit of time
    np.testing.assert_allclose(laminax.jit(_trajectory)(START), points, rtol=1e-4, atol=1e-4)

    def loss(x):
        total = 0.0
        for _ in range(100):
            x = _runge_kutta(x, np.stack)
            total += (x ** 2).mean() / 100
        return total

    differences = [(loss(START + 1e-5 * e) - loss(START - 1e-5 * e)) / 2e-5 for e in np.eye(3)]
    np.testing.assert_allclose(laminax.jit(laminax.grad(_loss))(START), differences, rtol=1e-3)


def test_separate_kernels_compute_the_same():
    def leapfrog(_, state):
        q, p = state
        p = p - 0.5 * q
        return q + 0.25 * p, p

    def run(q, p):
        return lax.fori_loop(0, 50, leapfrog, (q, p))

    q, p = np.random.default_rng(0).normal(size=(2, 500)).astype(np.float32)
    with config.cpu_kernels(False):
        general = laminax.jit(lambda *args: run(*args))(q, p)
    for one, other in zip(laminax.jit(run)(q, p), general):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_nested_loops_and_loops_until():
    def outer(i, table):
        return lax.fori_loop(1, 8, lambda j, t: t.at[i, j].set(t[i - 1, j] + t[i, j - 1]), table)

    table = lax.fori_loop(1, 8, outer, jnp.ones((8, 8), jnp.int32))
    wanted = np.ones((8, 8), int)
    for i in range(1, 8):
        for j in range(1, 8):
            wanted[i, j] = wanted[i - 1, j] + wanted[i, j - 1]
    np.testing.assert_array_equal(table, wanted)

    def root(a):
        return lax.while_loop(lambda s: jnp.abs(s * s - a).max() > 1e-3, lambda s: (s + a / s) / 2, jnp.ones_like(a))

    a = np.linspace(1, 50, 400, dtype=np.float32)
    np.testing.assert_allclose(laminax.jit(root)(a), np.sqrt(a.astype(np.float64)), rtol=1e-3)
    assert _is_one_kernel(root, a)


def test_gradient_by_the_weights_of_a_recurrent_network():
    """The sum over time of outer products, which is made after the loop."""
    rng = np.random.default_rng(0)
    w, xs = rng.normal(size=(40, 40)) / 7, rng.normal(size=(30, 40))

    def loss(w, xs, np, scan):
        return (scan(lambda h, x: np.tanh(w @ h + x), xs) ** 2).sum()

    def by_lax(step, xs):
        return lax.scan(lambda h, x: (step(h, x),) * 2, jnp.zeros(40), xs)[1]

    def by_hand(step, xs):
        h, found = np.zeros(40), []
        for x in xs:
            h = step(h, x)
            found.append(h)
        return np.array(found)

    gradient = laminax.jit(laminax.grad(lambda w, xs: loss(w, xs, jnp, by_lax)))
    args = w.astype(np.float32), xs.astype(np.float32)
    found = gradient(*args)
    for i, j in rng.integers(0, 40, (6, 2)):
        change = np.zeros_like(w)
        change[i, j] = 1e-5
        wanted = (loss(w + change, xs, np, by_hand) - loss(w - change, xs, np, by_hand)) / 2e-5
        np.testing.assert_allclose(found[i, j], wanted, rtol=1e-3, atol=1e-4)
    backward = gradient.lower(*args).as_text().split("stablehlo.while")[-1]
    assert "tensor<30x40xf32>, tensor<30x40xf32>) -> tensor<40x40xf32>" in backward
    with config.cpu_kernels(False):
        assert "tensor<30x40xf32>) -> tensor<40x40xf32>" not in laminax.jit(lambda *args: gradient(*args)).lower(*args).as_text()


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("name", ["solve", "cholesky", "inv", "det"])
def test_linear_algebra_of_small_matrices_in_a_loop(n, name):
    rng = np.random.default_rng(n)
    m = rng.normal(size=(20, n, n)).astype(np.float32)
    matrices = m @ m.transpose(0, 2, 1) + np.eye(n, dtype=np.float32)
    if name != "cholesky":
        matrices = matrices[:, rng.permutation(n)]  # pivots elsewhere than on the diagonal
    b = rng.normal(size=(n, n)).astype(np.float32)
    functions = {"solve": lambda lib, a: lib.linalg.solve(a, b.astype(a.dtype)), "cholesky": lambda lib, a: lib.linalg.cholesky(a),
                 "inv": lambda lib, a: lib.linalg.inv(a), "det": lambda lib, a: lib.linalg.det(a)}

    def run(matrices):
        return lax.scan(lambda c, a: (c, functions[name](jnp, a)), 0, matrices)[1]

    wanted = np.stack([functions[name](np, a) for a in matrices.astype(np.float64)])
    np.testing.assert_allclose(laminax.jit(run)(matrices), wanted, rtol=1e-3, atol=1e-4)
    compiled = laminax.jit(laminax.grad(lambda x: (run(x) ** 2).sum())).lower(matrices).compile().as_text()
    assert "custom-call" not in compiled and " sort(" not in compiled
    several = laminax.jit(laminax.vmap(run))(np.stack([matrices, 2 * matrices]))
    np.testing.assert_allclose(several[0], wanted, rtol=1e-3, atol=1e-4)
    gradient = laminax.jit(laminax.grad(lambda x: (run(x) ** 2).sum()))
    with config.cpu_kernels(False):
        general = gradient(matrices)
    np.testing.assert_allclose(gradient(matrices), general, rtol=1e-2, atol=1e-3 * float(jnp.abs(general).max()))


def test_singular_and_indefinite_matrices_in_a_loop():
    singular = np.array([[[1, 2], [2, 4]], [[0, 0], [0, 0]]], np.float32)
    found = laminax.jit(lambda x: lax.map(jnp.linalg.det, x))(singular)
    np.testing.assert_array_equal(found, [0, 0])
    assert np.isnan(laminax.jit(lambda x: lax.map(jnp.linalg.cholesky, x))(-singular)).any(axis=(1, 2)).all()


@pytest.mark.parametrize("dtype", [np.int8, np.uint32, np.int32])
def test_sorts_of_a_few_whole_numbers_in_a_loop(dtype):
    x = np.random.default_rng(0).integers(0, 5, (30, 2, 7)).astype(dtype)  # with equal ones
    for axis in (0, 1):
        run = laminax.jit(lambda x: lax.map(lambda row: (jnp.sort(row, axis), jnp.argsort(row, axis, stable=True)), x))
        assert "stablehlo.sort" not in run.lower(x).as_text()
        values, places = run(x)
        np.testing.assert_array_equal(values, np.sort(x, axis + 1))
        np.testing.assert_array_equal(places, np.argsort(x, axis + 1, kind="stable"))


def forces(x):
    d = x[None] - x[:, None]
    return (d / ((d * d).sum(-1, keepdims=True) + 0.1) ** 1.5).sum(1)


@pytest.mark.skipif(not _jaxlib.has_new_cpu_compiler, reason="the compiler of jaxlib 0.10 has no library for reductions")
def test_short_reductions_are_a_part_of_their_loop():
    """Bodies that attract each other: sums of three numbers, and of 64 numbers three side by side."""
    def run(x, steps=20):
        return lax.fori_loop(0, steps, lambda _, x: x + 0.001 * forces(x), x)

    x = np.random.default_rng(0).normal(size=(64, 3)).astype(np.float32)
    jitted = laminax.jit(run)
    text = jitted.lower(x).compile().as_text()
    assert "__ynn_fusion" not in text and text.count('xla_cpu_small_call="true"') == 1
    expected = x.astype(np.float64)
    for _ in range(20):
        expected = expected + 0.001 * forces(expected)
    np.testing.assert_allclose(jitted(x), expected, rtol=1e-4, atol=1e-5)
    asked_for = {"xla_cpu_experimental_ynn_fusion_type": "LIBRARY_FUSION_TYPE_REDUCE"}
    assert "__ynn_fusion" in laminax.jit(run, compiler_options=asked_for).lower(x).compile().as_text()
    with config.cpu_kernels(False):
        assert "__ynn_fusion" in laminax.jit(lambda x: run(x)).lower(x).compile().as_text()


@pytest.mark.skipif(not _jaxlib.has_new_cpu_compiler, reason="the compiler of jaxlib 0.10 has no library for reductions")
def test_products_in_a_loop_of_short_reductions():
    """Newton's direction for a linear classifier of weighted examples by conjugate gradients, against the Hessian of NumPy."""
    def loss(theta, weights, x, y):
        scores = x @ theta[:-1] + theta[-1]
        entropy = -jnp.take_along_axis(laminax.nn.log_softmax(scores), y[:, None], axis=1)[:, 0]
        return jnp.mean(weights * entropy) + 0.005 * jnp.sum(theta**2)

    def direction(theta, right, *data):
        return cg(lambda v: laminax.jvp(lambda theta: laminax.grad(loss)(theta, *data), (theta,), (v,))[1], right, maxiter=200, tol=1e-6)[0]

    rng = np.random.default_rng(0)
    x, y, weights = rng.normal(size=(100, 64)).astype(np.float32), rng.integers(0, 10, 100), rng.uniform(size=100).astype(np.float32)
    theta, right = (0.1 * rng.normal(size=(2, 65, 10))).astype(np.float32)
    rows = np.hstack([x, np.ones((100, 1))])
    odds = np.exp(rows @ theta)
    odds /= odds.sum(1, keepdims=True)
    curvature = np.einsum("ni,ij->nij", odds, np.eye(10)) - np.einsum("ni,nj->nij", odds, odds)
    hessian = np.einsum("n,np,nij,nq->piqj", weights, rows, curvature, rows).reshape(650, 650) / 100 + 0.01 * np.eye(650)
    expected = np.linalg.solve(hessian, right.ravel().astype(np.float64)).reshape(65, 10)

    def twice(right, *data):
        return lax.fori_loop(0, 2, lambda _, kept: (direction(theta, kept[1], *data), kept[1]), (right, right))[0]

    result = laminax.jit(twice)(right, weights, x, y)
    np.testing.assert_allclose(result, expected, rtol=1e-3, atol=1e-3 * abs(expected).max())
