"""BCSR, COO, CSR and CSC against `scipy.sparse`; derivatives with respect to sparse arrays; sparse solvers."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from sparse_cases import random_bcoo

import laminax as lx
import laminax.numpy as jnp
from laminax.experimental import sparse
from laminax.experimental.sparse import linalg


@pytest.fixture
def rng():
    return np.random.default_rng(2)


def matrix(rng, shape=(3, 4)) -> np.ndarray:
    return rng.integers(-1, 3, shape).astype(np.float32)


@pytest.mark.parametrize("name", ["coo", "csr", "csc"])
def test_matrices(rng, name):
    x = matrix(rng)
    cls, of_scipy = getattr(sparse, name.upper()), getattr(scipy.sparse, f"{name}_matrix")(x)
    mat = cls.fromdense(x)
    buffers = (of_scipy.row, of_scipy.col) if name == "coo" else (of_scipy.indices, of_scipy.indptr)
    for found, wanted in zip(mat._bufs, (of_scipy.data, *buffers), strict=True):
        np.testing.assert_array_equal(found, wanted)
    assert (mat.shape, mat.nse, mat.size, mat.ndim, mat.dtype) == (x.shape, of_scipy.nnz, 12, 2, np.float32)
    v, b = matrix(rng, (4,)), matrix(rng, (4, 2))
    for m in (mat, cls(mat._bufs, shape=x.shape), cls.fromdense(x, nse=mat.nse + 2), lx.jit(lambda m: m)(mat)):
        np.testing.assert_array_equal(m.todense(), x)
        np.testing.assert_array_equal(m.T.todense(), x.T)
        np.testing.assert_array_equal(m @ v, x @ v)
        np.testing.assert_array_equal(m @ b, x @ b)
        np.testing.assert_array_equal(m.T @ x, x.T @ x)
    if name != "csc":
        np.testing.assert_array_equal(getattr(sparse, f"{name}_matvec")(mat, x[:, 0], transpose=True), x.T @ x[:, 0])
        np.testing.assert_array_equal(getattr(sparse, f"{name}_matmat")(mat, x, transpose=True), x.T @ x)
    for call, message in ((lambda: mat @ mat, "matmul between two sparse objects"), (lambda: mat * 2, r"\.__mul__"),
                          (lambda: mat @ v[:2], "vectors and matrices of 4 rows"), (lambda: mat.transpose((1, 0)), "axes must be None")):
        with pytest.raises(NotImplementedError, match=message):
            call()
    with pytest.raises(ValueError, match="must have ndim=2|two sparse axes"):
        cls.fromdense(x[0]) if name != "csc" else cls(mat._bufs, shape=(3, 4, 5))


@pytest.mark.parametrize("n_batch, n_dense", [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_batches_of_rows(rng, n_batch, n_dense):
    shape = (2,) * n_batch + (3, 4) + (2,) * n_dense
    x = matrix(rng, shape)
    mat = sparse.BCSR.fromdense(x, n_batch=n_batch, n_dense=n_dense)
    assert (mat.n_batch, mat.n_dense, mat.n_sparse, mat.indptr.shape) == (n_batch, n_dense, 2, (2,) * n_batch + (4,))
    np.testing.assert_array_equal(mat.todense(), x)
    np.testing.assert_array_equal(sparse.BCSR.from_bcoo(mat.to_bcoo()).todense(), x)
    np.testing.assert_array_equal(sparse.bcsr_extract(mat.indices, mat.indptr, x), mat.data)
    unordered, expected = random_bcoo(rng, shape, n_batch, n_dense)
    rows = sparse.BCSR.from_bcoo(unordered)
    np.testing.assert_array_equal(rows.todense(), expected)
    np.testing.assert_array_equal(rows.sum_duplicates().todense(), expected)
    if n_batch:
        np.testing.assert_array_equal(lx.vmap(lambda m: m.todense())(mat), x)
    if not n_dense:
        y = matrix(rng, (4, 2))
        np.testing.assert_array_equal(mat @ y, x @ y)
    np.testing.assert_array_equal(mat[None].todense(), x[None])


def test_rows_as_scipy_has_them(rng):
    of_scipy = scipy.sparse.csr_matrix(matrix(rng))
    mat = sparse.BCSR.from_scipy_sparse(of_scipy)
    np.testing.assert_array_equal(mat.todense(), of_scipy.toarray())
    np.testing.assert_array_equal(sparse.BCSR.fromdense(of_scipy.toarray()).indptr, of_scipy.indptr)
    with pytest.raises(ValueError, match="must end with the number of rows and one more, 4"):
        sparse.BCSR((mat.data, mat.indices, mat.indptr[:-1]), shape=(3, 4))
    with pytest.raises(NotImplementedError, match="requires n_sparse=2"):
        sparse.BCSR.from_bcoo(sparse.BCOO.fromdense(jnp.ones(3)))


# --- derivatives ---


@pytest.mark.parametrize("argnums", [0, (0,), (0, 1), 1])
def test_gradients_have_the_places_of_the_argument(rng, argnums):
    x, y = matrix(rng), matrix(rng, (4,))
    mat = sparse.BCOO.fromdense(x)

    def f(m, y):
        return jnp.sum((m @ y) ** 2)

    wanted = {0: np.outer(2 * x @ y, y) * (x != 0), 1: 2 * x.T @ (x @ y)}
    value, found = sparse.value_and_grad(f, argnums)(mat, y)
    np.testing.assert_allclose(value, np.sum((x @ y) ** 2))
    for n, g in zip(argnums if isinstance(argnums, tuple) else (argnums,), found if isinstance(argnums, tuple) else (found,), strict=True):
        assert isinstance(g, sparse.BCOO) == (n == 0)
        np.testing.assert_allclose(sparse.todense(g), wanted[n], rtol=1e-6)
    g, aux = sparse.grad(lambda m, y: (f(m["x"], y), y), has_aux=True)({"x": mat}, y)
    np.testing.assert_allclose(g["x"].todense(), wanted[0], rtol=1e-6)
    np.testing.assert_array_equal(aux, y)


@pytest.mark.parametrize("jac", [sparse.jacfwd, sparse.jacrev, sparse.jacobian])
def test_jacobians_have_the_result_as_batch_axes(rng, jac):
    x, y = matrix(rng), matrix(rng, (4,))
    mat = sparse.BCOO.fromdense(x)
    found = jac(lambda m: {"product": m @ y})(mat)["product"]
    assert (found.shape, found.n_batch) == ((3, 3, 4), 1)
    np.testing.assert_array_equal(found.todense(), np.einsum("ij,k->ijk", np.eye(3), y) * (x != 0))


# --- solvers ---


def test_linear_equations(rng):
    x = np.diag(np.arange(2.0, 8.0)) + np.diag(np.ones(5), 1) - np.diag(np.ones(3), -3)
    b = rng.normal(size=6)
    mat = sparse.CSR.fromdense(jnp.asarray(x, np.float32))
    for reorder in range(4):
        found = linalg.spsolve(*mat._bufs, jnp.asarray(b, np.float32), reorder=reorder)
        np.testing.assert_allclose(found, np.linalg.solve(x, b), rtol=1e-4, atol=1e-5)  # float32
    weights = rng.normal(size=6)
    g_data, g_b = lx.jit(lx.grad(lambda data, b: linalg.spsolve(data, *mat._bufs[1:], b) @ jnp.asarray(weights, np.float32), (0, 1)))(
        mat.data, jnp.asarray(b, np.float32))
    adjoint = np.linalg.solve(x.T, weights)  # of x -> w'x: b gets it, and the matrix -adjoint x'
    rows, columns = np.nonzero(x)
    np.testing.assert_allclose(g_b, adjoint, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(g_data, -np.outer(adjoint, np.linalg.solve(x, b))[rows, columns], rtol=1e-3, atol=1e-5)
    assert np.isnan(linalg.spsolve(jnp.ones(2), jnp.zeros(2, int), jnp.arange(3), jnp.ones(2))).all()  # singular


@pytest.mark.parametrize("change, message", [
    (dict(b=np.ones(2)), "b \\[size\\]"), (dict(b=np.ones(3, int)), "data types do not match"), (dict(reorder=7), "reorder must be one of"),
    (dict(indices=np.ones(3)), "must be integers")])
def test_bad_equations(change, message):
    mat = sparse.CSR.fromdense(jnp.eye(3))
    args = dict(data=mat.data, indices=mat.indices, indptr=mat.indptr, b=jnp.ones(3)) | change
    with pytest.raises(ValueError, match=message):
        linalg.spsolve(**args)


@pytest.mark.parametrize("form", ["matrix", "function", "sparse"])
def test_largest_eigenvalues(rng, form):
    n, k = 40, 3
    basis, _ = np.linalg.qr(rng.normal(size=(n, n)))
    values = np.concatenate([[50.0, 40.0, 30.0], np.linspace(10, 1, n - 3)])
    a = jnp.asarray(basis * values @ basis.T, np.float32)
    as_sparse = sparse.BCOO.fromdense(a)
    operand = {"matrix": a, "function": lambda v: a @ v, "sparse": lambda v: as_sparse @ v}[form]
    theta, vectors, steps = linalg.lobpcg_standard(operand, rng.normal(size=(n, k)).astype(np.float32))
    assert steps < 100
    np.testing.assert_allclose(theta, values[:k], rtol=1e-5)  # float32
    np.testing.assert_allclose(abs(np.sum(vectors * basis[:, :k], axis=0)), 1, rtol=1e-4)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(k), atol=1e-5)


@pytest.mark.parametrize("a, x, message", [
    (np.eye(20), np.ones((20, 0)), "search dim > 0"), (np.eye(20), np.ones((20, 4)), r"search dim \* 5 < matrix dim"),
    (np.eye(20)[:10], np.ones((20, 1)), r"A must be \(20, 20\)"),
    (lambda x: x.astype("float16"), np.ones((20, 1)), "A, X must have same dtypes")])
def test_bad_eigenvalue_problems(a, x, message):
    a = a if callable(a) else a.astype(np.float32)
    with pytest.raises(ValueError, match=message):
        linalg.lobpcg_standard(a, x.astype(np.float32))


@pytest.mark.parametrize("kind", [sparse.COO, sparse.CSR, sparse.CSC, sparse.BCOO, sparse.BCSR])
def test_derivatives_with_respect_to_matrices_of_every_format(kind):
    """d (M @ v) . u / dM is u v^T, at the places of M. Of COO, CSR and CSC matrices there was an AttributeError."""
    dense = np.array([[0.0, 1.0, 0.0], [2.0, 0.0, 3.0]], np.float32)
    u, v = np.array([1.0, -2.0], np.float32), np.array([4.0, 5.0, 6.0], np.float32)
    matrix = kind.fromdense(dense)
    slope = sparse.grad(lambda m: jnp.vdot(m @ v, u))(matrix)
    assert type(slope) is kind and slope.shape == (2, 3)
    np.testing.assert_array_equal(slope.todense(), np.outer(u, v) * (dense != 0))
    value, same = sparse.value_and_grad(lambda m: jnp.vdot(m @ v, u))(matrix)
    np.testing.assert_array_equal(value, u @ dense @ v)
    np.testing.assert_array_equal(same.todense(), slope.todense())
