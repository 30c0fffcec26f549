"""`sparsify`: functions that are written for arrays, of sparse arrays, against the same functions of NumPy's."""

from __future__ import annotations

import numpy as np
import pytest
from sparse_cases import random_bcoo

import laminax as lx
import laminax.numpy as jnp
from laminax import lax
from laminax.experimental import sparse
from laminax.experimental.sparse import BCOO, BCSR, sparsify
from laminax.experimental.sparse.transform import SparsifyEnv, arrays_to_spvalues, sparsify_raw, spvalues_to_arrays


@pytest.fixture
def rng():
    return np.random.default_rng(3)


@pytest.mark.parametrize("name",
                         ["abs", "sin", "tan", "tanh", "sinh", "arctan", "arcsinh", "expm1", "sign", "square", "negative", "real", "floor",
                          "ceil", "cbrt"])
def test_functions_that_are_0_at_0(rng, name):
    mat, x = random_bcoo(rng, (3, 4))
    np.testing.assert_allclose(sparsify(getattr(jnp, name))(mat).todense(), getattr(np, name)(x), rtol=1e-5)


@pytest.mark.parametrize("of, args, expected", [
    (lambda x: (x * 3).T[1:] @ jnp.ones(3), 1, lambda x: (x * 3).T[1:] @ np.ones(3)),
    (lambda x, y: jnp.stack([x, y, x]), 2, lambda x, y: np.stack([x, y, x])),
    (lambda x, y: jnp.vstack([x, y[0]]), 2, lambda x, y: np.vstack([x, y[0]])),
    (lambda x: jnp.sum(x, 0) * 2, 1, lambda x: x.sum(0) * 2),
    (lambda x: lx.jit(lambda y: y.reshape(4, 3))(x), 1, lambda x: x.reshape(4, 3)),
    (lambda x: jnp.convolve(x[0], jnp.array([1.0, 2.0])), 1, lambda x: np.convolve(x[0], [1.0, 2.0])),
    (lambda x: lax.cond(True, lambda y: 2 * y, lambda y: y, x), 1, lambda x: 2 * x),
    (lambda x: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (0, x))[1], 1, lambda x: 8 * x),
    (lambda x: lax.fori_loop(0, 2, lambda _, v: x.T @ (x @ v), jnp.ones(4)), 1, lambda x: x.T @ (x @ (x.T @ (x @ np.ones(4))))),
    (lambda x: lax.scan(lambda c, s: (c * s, s), x, jnp.arange(1.0, 4.0))[0], 1, lambda x: 6 * x),
    (lambda x: sparse.todense(x) + 1, 1, lambda x: x + 1),
    (lambda x: lx.grad(lambda y: jnp.sum(y ** 2))(x), 1, lambda x: 2 * x),
    (lambda x: lx.checkpoint(jnp.sin)(x), 1, np.sin),
], ids=range(13))
def test_programs(rng, of, args, expected):
    pairs = [random_bcoo(rng, (3, 4)) for _ in range(args)]
    mats, arrays = [mat for mat, _ in pairs], [x for _, x in pairs]
    for f in (sparsify(of), lx.jit(sparsify(of))):
        np.testing.assert_allclose(sparse.todense(f(*mats)), expected(*arrays), rtol=1e-5)


def test_containers_and_arrays_that_are_not_sparse(rng):
    mat, x = random_bcoo(rng, (3, 4))
    out = sparsify(lambda args, scale: {"scaled": args[0] * scale, "same": args[1]})((mat, jnp.arange(3)), scale=2.0)
    np.testing.assert_array_equal(out["scaled"].todense(), 2 * x)
    np.testing.assert_array_equal(out["same"], np.arange(3))


def test_bits_are_counted():  # an operation without a rule of its own: its trait says that it is 0 at 0
    mat = BCOO((jnp.array([4, 3, 1]), jnp.array([[0], [2], [2]])), shape=(3,))
    np.testing.assert_array_equal(sparsify(jnp.bitwise_count)(mat).todense(), [1, 0, 1])  # 3 + 1 is 0b100


def test_rows_stay_rows(rng):
    x = rng.integers(-1, 2, (3, 4)).astype(np.float32)
    mat = BCSR.fromdense(x)
    assert isinstance(sparsify(jnp.sin)(mat), BCSR)
    np.testing.assert_array_equal(sparsify(lambda m: m @ jnp.ones(4))(mat), x.sum(1))
    np.testing.assert_array_equal(sparsify(lambda m: jnp.concatenate([m, m]))(mat).todense(), np.concatenate([x, x]))


def test_gradient_through_a_sparse_program(rng):
    mat, _ = random_bcoo(rng, (3, 4))
    v = jnp.asarray(rng.normal(size=3), np.float32)

    def f(v):
        return jnp.sum(sparsify(lambda m, v: jnp.tanh(v) @ m)(mat, v) ** 2)

    x = np.asarray(mat.todense(), np.float64)
    t = np.tanh(np.asarray(v, np.float64))
    np.testing.assert_allclose(lx.grad(f)(v), (1 - t ** 2) * (2 * x @ (t @ x)), rtol=1e-4)  # products of float32


def test_derivative_rules_of_the_user(rng):
    @lx.custom_jvp
    def f(x, scale):
        return jnp.sin(x) * scale

    f.defjvps(lambda dot, out, x, scale: 3 * dot, None)  # not the derivative, so that it is seen
    mat, x = random_bcoo(rng, (3, 4))
    mat = mat.sum_duplicates(nse=5)
    np.testing.assert_allclose(sparsify(f)(mat, 2.0).todense(), 2 * np.sin(x), rtol=1e-5)

    def total(data):
        return jnp.sum(sparsify(f)(sparse.BCOO((data, mat.indices), shape=(3, 4), unique_indices=True), 2.0).data)

    for transform in (lx.grad, lambda g: lx.jit(lx.grad(g)), lx.jacfwd):
        np.testing.assert_array_equal(transform(total)(mat.data), np.full(5, 3.0))
    twice = sparse.BCOO((jnp.ones(2), jnp.zeros((2, 1), int)), shape=(3,))  # 1 + 1 at one place: sin is not the sum of sines
    np.testing.assert_allclose(sparsify(f)(twice, 1.0).todense(), [np.sin(2), 0, 0], rtol=1e-6)
    np.testing.assert_array_equal(
        lx.grad(lambda data: sparsify(f)(sparse.BCOO((data, twice.indices), shape=(3,)), 1.0).sum())(twice.data), [3, 3])
    f.defjvp(lambda primals, dots: (f(*primals), jnp.ones((3, 4)) * jnp.sum(dots[0])))
    with pytest.raises(NotImplementedError, match="not stored at the places of the result"):
        lx.grad(total)(mat.data)


@pytest.mark.parametrize("f, error, message", [
    (jnp.cos, NotImplementedError, r"^sparse rule for cos is not implemented because it would result in dense output\. .*todense"),
    (lambda x: x < 1, NotImplementedError, "sparse rule for lt is not implemented because it would result in dense output"),
    (lambda x: jnp.maximum(x, 1), NotImplementedError, r"sparse rule for max is not implemented\."),
    (jnp.max, NotImplementedError, r"^sparse rule for reduce_max is not implemented\."),
    (lambda x: jnp.concatenate([x, jnp.ones(5)]), NotImplementedError, "Concatenation between sparse and dense"),
    (lambda x: lax.cond(True, lambda y: y, sparse.todense, x), TypeError,
     "sparsified true_fun output must have same type structure as sparsified false_fun output"),
    (lambda x: lax.scan(lambda c, s: (c, s), 0.0, x), NotImplementedError, "scanned over"),
])
def test_refusals(f, error, message):
    with pytest.raises(error, match=message):
        sparsify(f)(BCOO.fromdense(jnp.arange(5.0)))


def test_other_formats_are_refused():
    with pytest.raises(NotImplementedError, match="must be BCOO or BCSR"):
        sparsify(jnp.sin)(sparse.CSR.fromdense(jnp.eye(2)))


# --- values that refer to buffers ---


@pytest.mark.parametrize("name", ["add", "subtract", "multiply"])
def test_values_that_share_indices(rng, name):
    indices = np.array([[0, 1], [2, 3], [1, 0]], np.int32)
    x, y = rng.integers(1, 5, (2, 3)).astype(np.float32)
    env = SparsifyEnv([jnp.asarray(indices), jnp.asarray(x), jnp.asarray(y)])
    values = [env.sparse((3, 4), data_ref=ref, indices_ref=0, unique_indices=True) for ref in (1, 2)]
    results, tree = sparsify_raw(getattr(jnp, name))(env, *values)
    (out,) = spvalues_to_arrays(env, results)
    assert tree.num_leaves == 1 and out.nse == 3
    np.testing.assert_array_equal(out.data, getattr(np, name)(x, y))
    np.testing.assert_array_equal(out.indices, indices)


def test_values_of_arrays_and_back(rng):
    mat, x = random_bcoo(rng, (3, 4))
    rows = BCSR.fromdense(x)
    env = SparsifyEnv()
    values = arrays_to_spvalues(env, {"all": jnp.arange(3), "some": [mat, rows]})
    assert values["all"].is_dense() and values["some"][0].is_bcoo() and values["some"][1].is_bcsr()
    back = spvalues_to_arrays(env, values)
    np.testing.assert_array_equal(back["all"], np.arange(3))
    for found in back["some"]:
        np.testing.assert_array_equal(found.todense(), x)
    assert back["some"][1].unique_indices
    with pytest.raises(ValueError, match="give either data or data_ref"):
        env.sparse((3,), indices_ref=0)
