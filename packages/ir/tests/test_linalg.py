"""Factorizations: the products they factor, the properties of the factors, and SciPy."""

from __future__ import annotations

import numpy as np
import pytest

from laminax_ir.ops import linalg as op
from laminax_ir.options import config

DTYPES = ["float32", "float64", "complex64", "complex128"]
SHAPES = [(3, 3), (5, 2), (2, 5), (1, 1), (2, 4, 3), (2, 3, 4, 4), (0, 3, 3), (3, 0)]
SQUARE = [(3, 3), (1, 1), (2, 4, 4), (0, 3, 3), (0, 0)]


@pytest.fixture(autouse=True)
def x64():
    with config.enable_x64(True):
        yield


def draw(shape, dtype, seed: int = 0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def adjoint(x):
    return np.swapaxes(x, -1, -2).conj()


def close(actual, desired):
    eps = np.finfo(np.asarray(actual).dtype).eps
    np.testing.assert_allclose(actual, desired, rtol=0, atol=100 * eps)  # a few matrix products of order 5


def is_unitary(q):
    close(adjoint(q) @ q, np.broadcast_to(np.eye(q.shape[-1]), (*q.shape[:-2], q.shape[-1], q.shape[-1])))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SQUARE)
def test_cholesky(shape, dtype):
    x = draw(shape, dtype)
    a = x @ adjoint(x) + 3 * np.eye(shape[-1], dtype=dtype)
    factor = op.cholesky(a)
    close(factor @ adjoint(factor), a)
    np.testing.assert_array_equal(np.triu(factor, 1), 0)
    if shape[-1] > 1:
        lower_only = np.tril(a) + np.triu(np.full_like(a, 7), 1)
        close(op.cholesky(lower_only, symmetrize_input=False), factor)


def test_cholesky_of_an_indefinite_matrix_is_nan():
    x = np.stack([np.eye(2), -np.eye(2)])
    result = op.cholesky(x)
    np.testing.assert_array_equal(result[0], np.eye(2))
    assert np.isnan(result[1][np.tril_indices(2)]).all()


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("unit_diagonal", [False, True])
@pytest.mark.parametrize("conjugate_a", [False, True])
@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("left_side", [False, True])
def test_triangular_solve(left_side, lower, transpose_a, conjugate_a, unit_diagonal, dtype):
    a = draw((2, 3, 3), dtype) + 4 * np.eye(3)
    b = draw((2, 3, 4) if left_side else (2, 4, 3), dtype, 1)
    x = op.triangular_solve(a, b, left_side=left_side, lower=lower, transpose_a=transpose_a, conjugate_a=conjugate_a,
                            unit_diagonal=unit_diagonal)
    t = np.tril(a) if lower else np.triu(a)
    if unit_diagonal:
        t = t - t * np.eye(3) + np.eye(3)
    t = np.swapaxes(t, -1, -2) if transpose_a else t
    t = t.conj() if conjugate_a else t
    close(t @ x if left_side else x @ t, b)


def test_triangular_solve_of_vectors():
    a, b = np.tril(draw((2, 3, 3), "float64")) + 3 * np.eye(3), draw((2, 3), "float64", 1)
    x = op.triangular_solve(a, b, left_side=True, lower=True)
    close(np.einsum("bij,bj->bi", a, x), b)
    x = op.triangular_solve(a, b, lower=True)
    close(np.einsum("bj,bji->bi", x, a), b)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_lu(shape, dtype):
    x = draw(shape, dtype)
    factors, pivots, permutation = op.lu(x)
    k = min(shape[-2:])
    lower = np.tril(factors[..., :k], -1) + np.eye(shape[-2], k, dtype=dtype)
    upper = np.triu(factors[..., :k, :])
    close(lower @ upper, np.take_along_axis(x, permutation[..., None], -2))
    assert (np.abs(np.tril(factors, -1)) <= 1.5).all()  # complex pivots are greatest in |Re| + |Im|
    np.testing.assert_array_equal(op.lu_pivots_to_permutation(pivots, shape[-2]), permutation)


def test_lu_against_scipy():
    linalg = pytest.importorskip("scipy.linalg")
    x = draw((5, 5), "complex128")
    factors, pivots, _ = op.lu(x)
    expected, expected_pivots = linalg.lu_factor(x)
    close(factors, expected)
    np.testing.assert_array_equal(pivots, expected_pivots)


def test_pivots_by_hand():
    # exchange 0 with 2, then 1 with 2, then 2 with 3
    np.testing.assert_array_equal(op.lu_pivots_to_permutation(np.int32([2, 2, 3]), 5), [2, 0, 3, 1, 4])


@pytest.mark.parametrize("full_matrices", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_qr(shape, dtype, full_matrices):
    x = draw(shape, dtype)
    q, r = op.qr(x, full_matrices=full_matrices)
    assert q.dtype == r.dtype == dtype
    assert q.shape[-1] == (shape[-2] if full_matrices else min(shape[-2:]))
    is_unitary(q)
    close(q @ r, x)
    np.testing.assert_array_equal(np.tril(r, -1), 0)


@pytest.mark.parametrize("full_matrices", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_pivoted_qr(shape, dtype, full_matrices):
    x = draw(shape, dtype)
    q, r, order = op.qr(x, full_matrices=full_matrices, pivoting=True)
    assert q.dtype == r.dtype == dtype and order.dtype == np.int32 and order.shape == (*shape[:-2], shape[-1])
    is_unitary(q)
    close(q @ r, np.take_along_axis(x, order[..., None, :], -1))
    sizes = np.abs(np.diagonal(r, axis1=-2, axis2=-1))
    assert (sizes[..., 1:] <= sizes[..., :-1] * (1 + 1e-5)).all()  # the definition of the exchange, up to rounding


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 3), (5, 2), (2, 4, 3), (3, 1)])
def test_householder(shape, dtype):
    x = draw(shape, dtype)
    packed, taus = op.geqrf(x)
    q = op.householder_product(packed, taus)
    is_unitary(q)
    close(q @ np.triu(packed)[..., :shape[-1], :], x)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SQUARE)
def test_eigh(shape, dtype):
    x = draw(shape, dtype)
    a = x + adjoint(x)
    v, w = op.eigh(a)
    is_unitary(v)
    close(a @ v, v * w[..., None, :])
    assert (np.diff(w) >= 0).all() and w.dtype == np.dtype(dtype).type(0).real.dtype
    for lower in (True, False):
        half = np.tril(a) if lower else np.triu(a)
        close(op.eigh(half, lower=lower, symmetrize_input=False)[1], w)


@pytest.mark.parametrize("full_matrices", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_svd(shape, dtype, full_matrices):
    x = draw(shape, dtype)
    u, s, vh = op.svd(x, full_matrices=full_matrices)
    k = min(shape[-2:])
    is_unitary(u), is_unitary(adjoint(vh))
    close((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], x)
    assert (np.diff(s) <= 0).all() and (s >= 0).all()
    close(op.svd(x, compute_uv=False), s)


@pytest.mark.parametrize("dtype", DTYPES)
def test_eig(dtype):
    pytest.importorskip("scipy.linalg")
    a = draw((2, 4, 4), dtype)
    w, left, right = op.eig(a)
    assert w.dtype == left.dtype == right.dtype == np.result_type(dtype, np.complex64)
    close(a @ right, right * w[..., None, :])
    close(adjoint(left) @ a, w[..., :, None] * adjoint(left))
    (values,) = op.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=False)
    close(np.sort_complex(values), np.sort_complex(w))


@pytest.mark.parametrize("dtype", DTYPES)
def test_schur_and_hessenberg(dtype):
    pytest.importorskip("scipy.linalg")
    a = draw((2, 4, 4), dtype)
    t, z = op.schur(a)
    is_unitary(z)
    close(z @ t @ adjoint(z), a)
    np.testing.assert_array_equal(np.tril(t, -2), 0)
    packed, taus = op.hessenberg(a)
    h = np.triu(packed, -1)
    # Column i of the vectors starts two below the diagonal: the product acts on rows and columns from the second on.
    q = np.zeros_like(a)
    q[:, 0, 0] = 1
    q[:, 1:, 1:] = op.householder_product(packed[:, 1:, :-1], taus)
    close(q @ h @ adjoint(q), a)


def test_hessenberg_of_an_empty_matrix_is_empty():
    """It was refused; `lax.linalg.hessenberg` of JAX fails on it too, where its `scipy.linalg.hessenberg` gives empty arrays."""
    for shape in ((0, 0), (2, 0, 0)):
        packed, taus = op.hessenberg(np.zeros(shape))
        assert packed.shape == shape and taus.shape == shape[:-1]


def test_tridiagonal_solve():
    dl, d, du = (draw((2, 4), "float64", i) for i in range(3))
    d, b = d + 4, draw((2, 4, 3), "float64", 3)
    x = op.tridiagonal_solve(dl, d, du, b)
    expected = d[..., None] * x
    expected[:, 1:] += dl[:, 1:, None] * x[:, :-1]
    expected[:, :-1] += du[:, :-1, None] * x[:, 1:]
    close(expected, b)


def test_symmetric_product():
    a, c = draw((2, 3, 4), "float64"), np.ones((2, 3, 3))
    for symmetrize in (False, True):
        close(op.symmetric_product(a, c, alpha=2.0, beta=-1.0, symmetrize_output=symmetrize),
              2 * a @ np.swapaxes(a, -1, -2) - c)


m, v = np.zeros((3, 3)), np.zeros(3)


@pytest.mark.parametrize("call, error, message", [
    (lambda: op.cholesky(np.zeros((2, 3))), TypeError, r"cholesky: .* square .* got f64\[2,3\]"),
    (lambda: op.cholesky(np.zeros((2, 2), np.int32)), TypeError, "cholesky does not accept dtype int32"),
    (lambda: op.cholesky(v), TypeError, r"cholesky: .* matrix .* got f64\[3\]"),
    (lambda: op.triangular_solve(m, np.zeros((2, 3)), left_side=True), TypeError, "b must have 3 rows"),
    (lambda: op.triangular_solve(m, np.zeros((2, 2))), TypeError, "b must have 3 columns"),
    (lambda: op.triangular_solve(m, np.zeros((3, 3), np.float32)), TypeError, "same dtypes"),
    (lambda: op.lu(v), TypeError, "lu: the argument must be a matrix"),
    (lambda: op.lu_pivots_to_permutation(np.int32([0, 1]), 1), TypeError, "Output permutation size 1 must be"),
    (lambda: op.lu_pivots_to_permutation(np.float32([0, 1]), 3), TypeError, "must be int32"),
    (lambda: op.householder_product(np.zeros((2, 3)), np.zeros(2)), TypeError, "at least as many rows"),
    (lambda: op.householder_product(m, np.zeros(4)), TypeError, "at most 3 factors"),
    (lambda: op.qr(m, use_magma=True), NotImplementedError, "use_magma=True is for pivoting=True only"),
    (lambda: op.svd(m, subset_by_index=(0, 1)), ValueError, "full_matrices and subset_by_index cannot both be set"),
    (lambda: op.svd(m, full_matrices=False, subset_by_index=(0, 1)), NotImplementedError, r"must be None or \(0, 3\), .* got \(0, 1\)"),
    (lambda: op.eigh(m, subset_by_index=(0, 1)), NotImplementedError, r"subset_by_index must be None or \(0, 3\), .* got \(0, 1\)"),
    (lambda: op.svd(m, algorithm="qr"), TypeError, "svd: algorithm must be None or a member of SvdAlgorithm, got .qr."),
    (lambda: op.eigh(m, implementation=op.SvdAlgorithm.QR), TypeError, "member of EighImplementation"),
    (lambda: op.eig(m, implementation="lapack"), TypeError, "member of EigImplementation"),
    (lambda: op.eig(m, implementation=op.EigImplementation.LAPACK, use_magma=False), ValueError, "cannot both be given"),
    (lambda: op.eig(np.zeros((2, 3))), TypeError, "eig: .* square"),
    (lambda: op.schur(m, sort_eig_vals=True), NotImplementedError, "sort_eig_vals=True"),
    (lambda: op.hessenberg(np.zeros((2, 3))), TypeError, "hessenberg: .* square"),
    (lambda: op.tridiagonal_solve(v, v, v, np.zeros((4, 1))), TypeError, r"\[\.\.\., n, k\], got f64\[3\]"),
    (lambda: op.symmetric_product(np.zeros((3, 2)), np.zeros((2, 2))), TypeError, r"must have the shape \(3, 3\)"),
])
def test_wrong_calls(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_the_algorithm_of_singular_values_may_be_left_out_of_the_operation():
    x = np.random.default_rng(0).normal(size=(3, 2)).astype(np.float32)
    (s,) = op.svd_p.bind(x, full_matrices=False, compute_uv=False, subset_by_index=None)
    np.testing.assert_allclose(s, np.linalg.svd(x, compute_uv=False), rtol=1e-5)
