"""laminax.scipy.linalg against SciPy in float64, and by the equations that factorizations must satisfy."""

import functools

import numpy as np
import pytest
import scipy.linalg

import laminax
import laminax.numpy as jnp
from laminax.scipy import linalg
from laminax.testing import check_grads

RNG = np.random.default_rng(0)
A = RNG.normal(size=(4, 4))
Z = A + 1j * RNG.normal(size=(4, 4))
POSITIVE = A @ A.T + np.eye(4)
TALL = RNG.normal(size=(5, 3))
B = RNG.normal(size=(4, 2))


@pytest.fixture(autouse=True)
def double_precision():
    with laminax.enable_x64(True):
        yield


def close(got, expected):
    got = got if isinstance(got, (tuple, list)) else (got,)
    expected = expected if isinstance(expected, (tuple, list)) else (expected,)
    for x, y in zip(got, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-10)


# --- factorizations and equations ---


@pytest.mark.parametrize("a", [A, Z])
def test_functions_of_one_matrix(a):
    for name in ("det", "inv", "lu_factor", "hessenberg"):
        close(getattr(linalg, name)(a), getattr(scipy.linalg, name)(a))
    p, lower, upper = linalg.lu(a)
    close((p, lower, upper), scipy.linalg.lu(a))
    assert p.dtype == np.float64
    close(linalg.lu(a, permute_l=True), scipy.linalg.lu(a, permute_l=True))
    h, q = linalg.hessenberg(a, calc_q=True)
    close(q @ h @ q.conj().T, a)
    close(h, np.triu(h, -1))


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("a", [POSITIVE, Z @ Z.conj().T + np.eye(4)])
def test_cholesky(a, lower):
    read = np.tril(a) if lower else np.triu(a)  # the other triangle is not looked at
    close(linalg.cholesky(read, lower=lower), scipy.linalg.cholesky(a, lower=lower))
    close(linalg.cho_solve(linalg.cho_factor(read, lower=lower), B), np.linalg.solve(a, B))
    close(linalg.cho_solve(linalg.cho_factor(read, lower=lower), B[:, 0]), np.linalg.solve(a, B[:, 0]))
    close(linalg.solve(read, B, lower=lower, assume_a="pos"), np.linalg.solve(a, B))


@pytest.mark.parametrize("a", [A, Z])
@pytest.mark.parametrize("b", [B, B[:, 0]])
def test_equations(a, b):
    close(linalg.solve(a, b), np.linalg.solve(a, b))
    for trans, op in ((0, a), (1, a.T), (2, a.conj().T)):
        close(linalg.lu_solve(linalg.lu_factor(a), b, trans=trans), np.linalg.solve(op, b))
        for name in (trans, "NTC"[trans]):
            for lower in (False, True):
                close(linalg.solve_triangular(a, b, trans=name, lower=lower, unit_diagonal=lower),
                      scipy.linalg.solve_triangular(a, b, trans=trans, lower=lower, unit_diagonal=lower))


def test_batches():
    batch = np.stack([A, POSITIVE, A.T])
    right = RNG.normal(size=(3, 4, 2))
    close(linalg.lu_solve(linalg.lu_factor(batch), right, trans=1), np.stack([np.linalg.solve(a.T, b) for a, b in zip(batch, right)]))
    close(linalg.lu_solve(linalg.lu_factor(batch), right[..., 0]), np.linalg.solve(batch, right)[..., 0])
    close(linalg.expm(batch), scipy.linalg.expm(batch))
    p, lower, upper = linalg.lu(batch)
    close(p @ lower @ upper, batch)
    h, q = linalg.hessenberg(batch, calc_q=True)
    close(q @ h @ np.swapaxes(q, -1, -2), batch)


@pytest.mark.parametrize("a", [TALL, TALL.T, Z])
def test_qr(a):
    m, n = a.shape
    q, r = linalg.qr(a)
    assert q.shape == (m, m) and r.shape == (m, n)
    close((q @ r, q.conj().T @ q), (a, np.eye(m)))
    close(linalg.qr(a, mode="r"), (r,))
    q, r = linalg.qr(a, mode="economic")
    close((q @ r, r), (a, np.triu(r)))
    for c in (RNG.normal(size=(2, m)), RNG.normal(size=m)):
        close(linalg.qr_multiply(a, c), (c @ np.asarray(q), r))
        close(linalg.qr_multiply(a, c, pivoting=True), scipy.linalg.qr_multiply(a, c, pivoting=True))
    for mode in ("full", "economic", "r"):
        close(linalg.qr(a, mode=mode, pivoting=True), scipy.linalg.qr(a, mode=mode, pivoting=True))
    for c in (RNG.normal(size=(min(m, n), 2)), RNG.normal(size=min(m, n))):
        close(linalg.qr_multiply(a, c, mode="left", conjugate=True), (np.conj(q) @ c, r))


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_eigh_tridiagonal_of_hermitian_matrices(dtype):
    rng = np.random.default_rng(5)
    d, e = (rng.normal(size=n) + 1j * rng.normal(size=n) for n in (6, 5))
    matrix = np.diag(d.real) + np.diag(e, 1) + np.diag(e.conj(), -1)
    with laminax.enable_x64(True):
        w, v = linalg.eigh_tridiagonal(d.astype(dtype), e.astype(dtype), tol=1e-3, key=laminax.random.key(0))
    assert w.dtype == dtype(0).real.dtype and v.dtype == dtype
    tolerance = 100 * np.finfo(dtype).eps
    np.testing.assert_allclose(w, np.linalg.eigvalsh(matrix), atol=tolerance)
    np.testing.assert_allclose(matrix @ v, v * w, atol=tolerance)



def test_eigenvalues():
    for lower in (False, True):
        w, v = linalg.eigh(A, lower=lower)
        expected = scipy.linalg.eigh(A, lower=lower)
        close((w, abs(np.asarray(v))), (expected[0], abs(expected[1])))
        close(linalg.eigh(A, lower=lower, eigvals_only=True), expected[0])
    d, e = A[0], A[1, :3]
    matrix = np.diag(d) + np.diag(e, 1) + np.diag(e, -1)
    w, v = linalg.eigh_tridiagonal(d, e)
    close((w, matrix @ v), (scipy.linalg.eigh_tridiagonal(d, e, eigvals_only=True), v * w))
    w, v = linalg.eigh_tridiagonal(d, e, select="i", select_range=(1, 2))
    close((w, matrix @ v), (np.linalg.eigvalsh(matrix)[1:3], v * w))
    close(linalg.eigh_tridiagonal(np.stack([d, -d]), np.stack([e, e]), eigvals_only=True)[1],
          scipy.linalg.eigh_tridiagonal(-d, e, eigvals_only=True))


@pytest.mark.parametrize("a", [TALL, Z])
def test_singular_values(a):
    u, s, vh = linalg.svd(a, full_matrices=False)
    close(((u * s) @ vh, s, linalg.svd(a, compute_uv=False)), (a, scipy.linalg.svdvals(a), s))


def test_schur():
    rotating = np.array([[0.0, 2, 1], [-1, 0, 3], [0, 0, 1]])
    for a, output in ((rotating, "real"), (rotating, "complex"), (Z, "real")):
        t, z = linalg.schur(a, output=output)
        close((z @ t @ np.conj(z).T, np.conj(z).T @ z), (a, np.eye(len(a))))
        assert (t.dtype == np.complex128) == (output == "complex" or a is Z)
    t, z = linalg.rsf2csf(*linalg.schur(rotating))
    close((z @ t @ np.conj(z).T, np.tril(t, -1)), (rotating, np.zeros((3, 3))))
    for n in (1, 4, 5):
        real = scipy.linalg.schur(np.random.default_rng(n).normal(size=(n, n)))
        close(linalg.rsf2csf(*real), scipy.linalg.rsf2csf(*real))


# --- functions of matrices ---


@pytest.mark.parametrize("a", [A, 30 * Z, np.zeros((3, 3))])
def test_exponential(a):
    np.testing.assert_allclose(linalg.expm(a), scipy.linalg.expm(a), rtol=1e-9, atol=1e-9 * abs(scipy.linalg.expm(a)).max())
    np.testing.assert_allclose(linalg.expm(np.triu(a), upper_triangular=True), scipy.linalg.expm(np.triu(a)), rtol=1e-7, atol=1e-9)
    single = linalg.expm(np.asarray(a, np.result_type(a.dtype, np.float32) if a.dtype == complex else np.float32))
    expected = scipy.linalg.expm(a)
    np.testing.assert_allclose(single, expected, rtol=2e-3, atol=2e-3 * abs(expected).max())  # squaring multiplies the rounding


def test_exponential_beyond_its_squarings_is_nan():
    assert np.isnan(linalg.expm(1e3 * A, max_squarings=2)).all()


def test_derivative_of_the_exponential():
    for method in (None, "SPS", "blockEnlarge"):
        close(linalg.expm_frechet(A, POSITIVE, method=method), scipy.linalg.expm_frechet(A, POSITIVE))
    close(linalg.expm_frechet(A, POSITIVE, compute_expm=False), scipy.linalg.expm_frechet(A, POSITIVE, compute_expm=False))
    check_grads(linalg.expm, (A[:2, :2],), order=1)


def test_square_root():
    for a in (POSITIVE, Z, np.array([[1.0, 2], [0, 0]])):
        close(linalg.sqrtm(a), scipy.linalg.sqrtm(a))
    root = linalg.sqrtm(A)  # a negative eigenvalue has two roots
    close(root @ root, A)


def test_function_of_a_matrix():
    close(linalg.funm(A, jnp.exp), scipy.linalg.expm(A))
    close(linalg.funm(POSITIVE, jnp.log), scipy.linalg.logm(POSITIVE))
    value, error = linalg.funm(A, jnp.sin, disp=False)
    expected, expected_error = scipy.linalg.funm(A, np.sin, disp=False)
    close(value, expected)
    assert expected_error / 10 < error < 10 * expected_error


@pytest.mark.parametrize("method", ["schur", "eigen"])
def test_sylvester(method):
    b, c = RNG.normal(size=(3, 3)), RNG.normal(size=(4, 3))
    for a in (A, Z):
        x = linalg.solve_sylvester(a, b, c, method=method)
        close(a @ x + x @ b, c)
        assert x.dtype == a.dtype
    assert np.isnan(linalg.solve_sylvester(A, -A, np.ones((4, 4)), method=method)).all()


@pytest.mark.parametrize("a, side", [(TALL, "right"), (Z, "left"), (np.diag([1.0, 1e-9]), "right")])
def test_polar(a, side):
    for method in ("qdwh", "svd"):
        close(linalg.polar(a, side, method=method), scipy.linalg.polar(a, side))


def test_one_step_of_the_polar_iteration_is_not_enough():
    u, _ = linalg.polar(A, max_iterations=1)
    assert abs(u.T @ u - np.eye(4)).max() > 1e-3


def test_gradients():
    check_grads(lambda a, b: linalg.solve(a @ a.T + jnp.eye(4), b, assume_a="pos"), (A, B), order=1)
    check_grads(lambda a, b: linalg.lu_solve(linalg.lu_factor(a), b), (A, B), order=1)


# --- matrices of a known structure ---


def test_matrices_made_of_vectors():
    c, r = np.array([1.0, 2, 5, -3]), np.array([7.0, 8, 9])
    for name in ("circulant", "companion", "fiedler", "fiedler_companion", "toeplitz", "hankel"):
        close(getattr(linalg, name)(c), getattr(scipy.linalg, name)(c))
        batch = np.stack([c, 2 + c])
        close(getattr(linalg, name)(batch), np.stack([getattr(scipy.linalg, name)(x) for x in batch]))
    for n in range(2, 7):
        close(linalg.fiedler_companion(np.arange(1.0, n + 1)), scipy.linalg.fiedler_companion(np.arange(1.0, n + 1)))
    close((linalg.toeplitz(c, r), linalg.hankel(c, r)), (scipy.linalg.toeplitz(c, r), scipy.linalg.hankel(c, r)))
    close(linalg.toeplitz(c * 1j), scipy.linalg.toeplitz(c * 1j))
    close(linalg.leslie(c, r), scipy.linalg.leslie(c, r))
    for mode in ("full", "same", "valid"):
        for n in (2, 4, 6):
            close(linalg.convolution_matrix(c, n, mode), scipy.linalg.convolution_matrix(c, n, mode))
    close(linalg.block_diag(A, 3.0, r, TALL), scipy.linalg.block_diag(A, 3.0, r, TALL))
    assert linalg.block_diag().shape == (1, 0) and linalg.circulant(np.array([1, 2])).dtype == np.int64


@pytest.mark.parametrize("n", [1, 2, 4, 8])
def test_matrices_made_of_a_size(n):
    for name in ("dft", "hadamard", "helmert", "hilbert", "invhilbert", "pascal", "invpascal"):
        close(getattr(linalg, name)(n), getattr(scipy.linalg, name)(n))
    for kind in ("lower", "upper", "symmetric"):
        close((linalg.pascal(n, kind), linalg.invpascal(n, kind)), (scipy.linalg.pascal(n, kind), scipy.linalg.invpascal(n, kind)))
    for scale in ("n", "sqrtn"):
        close(linalg.dft(n, scale), scipy.linalg.dft(n, scale))
    close(linalg.helmert(n, full=True), scipy.linalg.helmert(n, full=True))
    with laminax.enable_x64(False):
        assert linalg.dft(n).dtype == np.complex64 and linalg.hilbert(n).dtype == np.float32


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("kind, problem, norm", [
    (1, lambda a, b, v, w: (a @ v, b @ v * w), lambda b: b), (2, lambda a, b, v, w: (a @ b @ v, v * w), lambda b: b),
    (3, lambda a, b, v, w: (b @ a @ v, v * w), np.linalg.inv)])
@pytest.mark.parametrize("imaginary", [0, 1j])
def test_generalized_eigenvalues(kind, problem, norm, imaginary, lower):
    """The other triangles are not read; the eigenvectors solve the problem, and have the documented norm."""
    a, b = (RNG.normal(size=(4, 4)) + imaginary * RNG.normal(size=(4, 4)) for _ in range(2))
    a, b = a + a.conj().T, b @ b.conj().T + np.eye(4)
    other = (np.triu if lower else np.tril)(np.full((4, 4), 99.0), 1 if lower else -1)
    triangle = np.tril if lower else np.triu
    w, v = linalg.eigh(triangle(a) + other, triangle(b) + other, lower=lower, type=kind)
    close(w, scipy.linalg.eigh(a, b, type=kind, eigvals_only=True))
    close(*problem(a, b, np.asarray(v), np.asarray(w)))
    close(np.asarray(v).conj().T @ norm(b) @ np.asarray(v), np.eye(4))
    close(linalg.eigh(triangle(a), triangle(b), lower=lower, type=kind, eigvals_only=True), w)


def test_generalized_eigenvalues_of_batches_and_of_no_positive_matrix():
    a, b = RNG.normal(size=(3, 1, 2, 2)), np.stack([np.eye(2), np.diag([2.0, 3.0])])
    w, v = linalg.eigh(a, b)
    assert w.shape == (3, 2, 2) and v.shape == (3, 2, 2, 2)
    close(w[1, 1], scipy.linalg.eigh(a[1, 0], b[1], eigvals_only=True))
    assert np.isnan(linalg.eigh(np.eye(2), -np.eye(2), eigvals_only=True)).all()


@pytest.mark.parametrize("call, error, message", [
    (lambda: linalg.eigh(A, B), ValueError, r"eigh: a and b must be square matrices of one size, got f64\[4,4\] and f64\[4,2\]"),
    (lambda: linalg.eigh(A, type=4), ValueError, "eigh: type must be 1, 2 or 3, got 4"),
    (lambda: linalg.eigh(A, eigvals=(0, 1)), NotImplementedError, r"eigh: eigvals must be None, got \(0, 1\)"),
    (lambda: linalg.eigh_tridiagonal(A[0], A[1, :3], select="v"), NotImplementedError, "select='v' is not supported"),
    (lambda: linalg.eigh_tridiagonal(A[0], A[1]), ValueError, r"d must be \[..., n\] and e \[..., n - 1\]"),
    (lambda: linalg.eigh_tridiagonal(A[0], A[1, :3], select="i", select_range=(2, 7)), ValueError, "two indices from 0 to 3"),
    (lambda: linalg.qr(A, mode="raw"), ValueError, "mode must be 'full', 'r' or 'economic', got 'raw'"),
    (lambda: linalg.qr_multiply(TALL, np.ones((2, 3))), ValueError, "c must have 5 columns"),
    (lambda: linalg.solve(A, B, assume_a="banded"), ValueError, "assume_a must be one of .*; got 'banded'"),
    (lambda: linalg.solve_triangular(A, B, trans="X"), ValueError, "solve_triangular: trans must be 0, 1 or 2 .*, got 'X'"),
    (lambda: linalg.solve_triangular(A, TALL), ValueError, r"got f64\[4,4\] and f64\[5,3\]"),
    (lambda: linalg.lu_solve(linalg.lu_factor(A), B, trans=3), ValueError, "trans must be 0, 1 or 2, got 3"),
    (lambda: linalg.schur(A, output="both"), ValueError, "output must be 'real' or 'complex', got 'both'"),
    (lambda: linalg.sqrtm(A, blocksize=2), NotImplementedError, "blocksize must be 1, got 2"),
    (lambda: linalg.sqrtm(np.stack([A, A])), ValueError, "Use vmap for batches"),
    (lambda: linalg.funm(A, "exp"), TypeError, "func must be a function, got 'exp'"),
    (lambda: linalg.expm(TALL), ValueError, r"expm: the argument must be a square matrix .*, got f64\[5,3\]"),
    (lambda: linalg.expm_frechet(A, A[:3, :3]), ValueError, "A and E must have one shape"),
    (lambda: linalg.expm_frechet(A, A, method="fast"), ValueError, "method must be None, 'SPS' or 'blockEnlarge', got 'fast'"),
    (lambda: linalg.solve_sylvester(A, A, TALL), ValueError, r"C must be \[m, n\]"),
    (lambda: linalg.polar(TALL, "left"), NotImplementedError, "Use method='svd'"),
    (lambda: linalg.polar(A, method="svd", eps=1e-3), ValueError, "eps and max_iterations are for method='qdwh'"),
    (lambda: linalg.block_diag(np.ones((1, 1, 1))), ValueError, "at most 2 dimensions"),
    (lambda: linalg.companion(np.ones(1)), ValueError, "must be at least 2; got shape"),
    (lambda: linalg.leslie(np.ones(3), np.ones(3)), ValueError, "one less than the length of f"),
    (lambda: linalg.hadamard(3), ValueError, "n must be a positive power of 2; got 3"),
    (lambda: linalg.dft(3, dtype=float), ValueError, "complex floating-point type; got float64"),
    (lambda: linalg.pascal(3, "left"), ValueError, "got 'left'"),
    (lambda: linalg.helmert(0), ValueError, "n must be a positive integer; got 0"),
])
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("solve", ["solve_triangular", "cho_solve"])
@pytest.mark.parametrize("a_shape, b_shape", [((3, 4, 4), (4,)), ((3, 4, 4), (4, 2)), ((4, 4), (3, 4, 2)), ((3, 4, 4), (3, 4)),
                                              ((2, 1, 4, 4), (3, 4, 1))])
def test_batches_of_right_sides_are_broadcast(solve, a_shape, b_shape):
    rng = np.random.default_rng(0)
    a = np.tril(rng.normal(size=a_shape)).astype(np.float32) + 3 * np.eye(4, dtype=np.float32)
    b = rng.normal(size=b_shape).astype(np.float32)
    if solve == "cho_solve":
        x, matrix = linalg.cho_solve((a, True), b), a @ np.swapaxes(a, -1, -2)
    else:
        x, matrix = linalg.solve_triangular(a, b, lower=True), a
    columns = b[..., None] if b.ndim == 1 or b_shape == (3, 4) else b
    expected = np.linalg.solve(matrix, columns)
    expected = expected if columns is b else expected[..., 0]
    np.testing.assert_allclose(x, expected, rtol=2e-4, atol=1e-5)
    with pytest.raises(ValueError, match=rf"{solve}: a must be"):
        linalg.solve_triangular(a[..., :3], b) if solve == "solve_triangular" else linalg.cho_solve((a[..., :3], True), b)


@pytest.mark.parametrize("shape, side", [((4, 4), "right"), ((5, 3), "right"), ((3, 5), "left")])
@pytest.mark.parametrize("method", ["qdwh", "svd"])
def test_polar_of_batches(shape, side, method):
    a = np.random.default_rng(1).normal(size=(2, 3, *shape)).astype(np.float32)
    u, p = linalg.polar(a, side, method=method)
    for index in np.ndindex(2, 3):
        expected = scipy.linalg.polar(a[index].astype(np.float64), side)
        np.testing.assert_allclose(u[index], expected[0], atol=2e-5)
        np.testing.assert_allclose(p[index], expected[1], atol=2e-5)


@pytest.mark.parametrize("t_batch, z_batch", [((), ()), ((3,), (3,)), ((3,), ()), ((), (3,)), ((2, 1), (3,))])
def test_rsf2csf_of_batches_in_strict_mode(t_batch, z_batch):
    """The factors multiply to what they multiplied to, and T is triangular; no dtypes are promoted but the user's."""
    rng = np.random.default_rng(2)
    schur = [scipy.linalg.schur(rng.normal(size=(4, 4))) for _ in range(6)]
    batch = np.broadcast_shapes(t_batch, z_batch)
    t = np.stack([s[0] for s in schur[:int(np.prod(t_batch))]]).reshape(*t_batch, 4, 4).astype(np.float32)
    z = np.stack([s[1] for s in schur[:int(np.prod(z_batch))]]).reshape(*z_batch, 4, 4).astype(np.float32)
    with laminax.numpy_dtype_promotion("strict"):
        new_t, new_z = linalg.rsf2csf(t, z)
    assert new_t.shape == new_z.shape == (*batch, 4, 4)
    np.testing.assert_allclose(np.tril(new_t, -1), 0, atol=1e-6)
    np.testing.assert_allclose(new_z @ new_t @ np.conj(np.swapaxes(new_z, -1, -2)),
                               np.broadcast_to(z @ t @ np.swapaxes(z, -1, -2), (*batch, 4, 4)), atol=2e-5)


@pytest.mark.parametrize("method", ["schur", "eigen"])
def test_sylvester_of_batches(method):
    rng = np.random.default_rng(3)
    a, b, c = rng.normal(size=(2, 1, 3, 3)), rng.normal(size=(2, 2)), rng.normal(size=(4, 3, 2))
    x = linalg.solve_sylvester(a.astype(np.float32), b.astype(np.float32), c.astype(np.float32), method=method)
    assert x.shape == (2, 4, 3, 2)
    np.testing.assert_allclose(a @ x + x @ b, np.broadcast_to(c, x.shape), atol=1e-3)


@pytest.mark.parametrize("method", ["schur", "eigen"])
def test_sylvester_where_ranks_are_not_promoted(method):
    """Both methods: the sums of eigenvalues were a matrix and a vector in one of them."""
    rng = np.random.default_rng(5)
    a, b, x = (rng.normal(size=size) for size in [(2, 2), (3, 3), (2, 3)])
    with laminax.numpy_rank_promotion("raise"):
        found = linalg.solve_sylvester(a.astype(np.float32), b.astype(np.float32), (a @ x + x @ b).astype(np.float32), method=method)
    np.testing.assert_allclose(found, x, atol=1e-3)


@pytest.mark.parametrize("n", [1, 2, 4, 15])
@pytest.mark.parametrize("is_triangular_in_blocks", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_rsf2csf_is_scipys(n, is_triangular_in_blocks, dtype):
    """The same eigenvalue of each block comes first, and where T is not quasi-triangular the same elements are changed."""
    rng = np.random.default_rng(n)
    t, z = (rng.normal(size=(n, n)) + (1j * rng.normal(size=(n, n)) if dtype == np.complex128 else 0) for _ in range(2))
    if is_triangular_in_blocks:
        t = np.triu(t, -1) * (1 - np.diag(np.arange(n - 1) % 2, -1) if n > 1 else 1)  # every second element below the diagonal
    with laminax.enable_x64(True):
        for found, expected in zip(linalg.rsf2csf(t.astype(dtype), z.astype(dtype)), scipy.linalg.rsf2csf(t, z)):
            np.testing.assert_allclose(found, expected, atol=1e-10)


def test_convolution_matrix_refuses_scalars():
    with pytest.raises(ValueError, match=r"a must be at least 1-dimensional, got f32\[\]. Give \[a\]"):
        linalg.convolution_matrix(jnp.float32(5), 3)


def test_leslie_of_batches_where_ranks_are_not_promoted():
    f, s = np.arange(6.0, dtype=np.float32).reshape(2, 3), np.arange(4.0, dtype=np.float32).reshape(2, 2)
    with laminax.numpy_rank_promotion("raise"):
        np.testing.assert_array_equal(linalg.leslie(f, s), np.stack([scipy.linalg.leslie(*pair) for pair in zip(f, s)]))


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_tridiagonal_systems_with_perturbed_pivots(n, dtype):
    """Systems that need pivoting are solved as they are; singular ones have finite, large solutions, and derivatives."""
    rng = np.random.default_rng(n)
    diagonals = [(rng.normal(size=(3, n)) + (1j * rng.normal(size=(3, n)) if dtype == np.complex64 else 0)).astype(dtype) for _ in range(3)]
    diagonals[1][0, ::2] = 0  # a pivot of 0 at once
    b = rng.normal(size=(3, n, 2)).astype(dtype)
    solve = functools.partial(laminax.lax.linalg.tridiagonal_solve, perturb_singular=True)
    for run in (solve, laminax.jit(solve), laminax.vmap(solve)):
        x = run(*diagonals, b)
        for below, diagonal, above, right, found in zip(*diagonals, b, x):
            matrix = np.diag(diagonal) + np.diag(below[1:], -1) + np.diag(above[:-1], 1)
            if n > 1 and np.linalg.cond(matrix) < 1e4:
                np.testing.assert_allclose(matrix @ found, right, atol=2e-3)
    assert np.isfinite(solve(*diagonals, b)).all()
    zeros = np.zeros(n, dtype)
    assert (abs(solve(zeros, zeros, zeros, np.ones((n, 1), dtype))) > 1e6).all()
    if dtype == np.float32:
        dominant = [diagonals[0][0], 4 + abs(diagonals[1][0]), diagonals[2][0]]
        check_grads(lambda d, b: solve(dominant[0], d, dominant[2], b), (dominant[1], b[0]), order=1, modes=["fwd", "rev"])
