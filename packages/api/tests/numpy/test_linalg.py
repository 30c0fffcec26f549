"""Linear algebra against NumPy, with derivatives against central differences in float64."""

import functools

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
import laminax.scipy.linalg

RNG = np.random.default_rng(0)
A = RNG.normal(size=(4, 4))
TALL = RNG.normal(size=(4, 2))
STACK = RNG.normal(size=(3, 4, 4))
COMPLEX = A + 1j * RNG.normal(size=(4, 4))
POSITIVE = A @ A.T + np.eye(4)
CUBE = RNG.normal(size=(2, 3, 4))


@pytest.fixture(autouse=True)
def double_precision():
    with laminax.enable_x64(True):
        yield


def close(got, expected):
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-10)  # float64, condition numbers below a hundred


@pytest.mark.parametrize("name", ["det", "inv", "slogdet", "pinv", "cond", "norm", "svdvals", "matrix_rank"])
@pytest.mark.parametrize("a", [A, STACK, COMPLEX], ids=["real", "batched", "complex"])
def test_functions_of_square_matrices(name, a):
    if name == "norm":
        return close(jnp.linalg.norm(a, axis=(-2, -1)), np.linalg.norm(a, axis=(-2, -1)))
    for got, expected in zip(np.atleast_1d(getattr(jnp.linalg, name)(a)), np.atleast_1d(getattr(np.linalg, name)(a))):
        close(got, expected)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_small_determinants(n):
    close(jnp.linalg.det(A[:n, :n]), np.linalg.det(A[:n, :n]))


def test_slogdet_by_qr():
    for a in (A, COMPLEX):
        for got, expected in zip(jnp.linalg.slogdet(a, method="qr"), np.linalg.slogdet(a)):
            close(got, expected)


def test_slogdet_of_a_singular_matrix():
    sign, logarithm = jnp.linalg.slogdet(np.zeros((4, 4)))
    assert sign == 0 and logarithm == -np.inf


@pytest.mark.parametrize("b", [np.ones(4), TALL, RNG.normal(size=(3, 4, 2))], ids=["vector", "matrix", "batched"])
def test_solve(b):
    close(jnp.linalg.solve(A, b), np.linalg.solve(A, b))
    close(jnp.linalg.solve(STACK, b), np.linalg.solve(STACK, b if b.ndim > 1 else b[:, None])[..., 0] if b.ndim == 1
          else np.linalg.solve(STACK, b))


@pytest.mark.parametrize("a, b", [(TALL, A[0]), (TALL, A), (TALL.T, A[:2, 0]), (np.ones((4, 2)), A[0])])
def test_lstsq(a, b):
    x, residuals, rank, s = jnp.linalg.lstsq(a, b)
    expected = np.linalg.lstsq(a, b)
    close(x, expected[0])
    close(residuals, np.sum(np.atleast_2d((b - a @ expected[0]).T) ** 2, axis=1))
    assert rank == expected[2] and rank.dtype == np.int32
    close(s, expected[3])
    close(jnp.linalg.lstsq(a, b, numpy_resid=True)[1], expected[1])


def test_cholesky():
    factor = np.linalg.cholesky(POSITIVE)
    close(jnp.linalg.cholesky(POSITIVE), factor)
    close(jnp.linalg.cholesky(POSITIVE, upper=True), factor.T)
    close(jnp.linalg.cholesky(np.tril(POSITIVE), symmetrize_input=False), factor)
    assert np.isnan(jnp.linalg.cholesky(-POSITIVE)[0, 0])


@pytest.mark.parametrize("mode", ["reduced", "complete", "r", "raw"])
def test_qr(mode):
    got, expected = jnp.linalg.qr(TALL, mode), np.linalg.qr(TALL, mode)
    for x, y in zip(got if mode != "r" else [got], expected if mode != "r" else [expected]):
        close(x, y)


@pytest.mark.parametrize("full", [True, False])
def test_svd(full):
    for a in (TALL, TALL.T):
        u, s, vh = jnp.linalg.svd(a, full_matrices=full)
        assert u.shape == np.linalg.svd(a, full_matrices=full)[0].shape
        assert vh.shape == np.linalg.svd(a, full_matrices=full)[2].shape
        close((u[:, :2] * s) @ vh[:2], a)
        close(s, np.linalg.svd(a, compute_uv=False))


def test_hermitian_variants_agree_with_the_general_ones():
    a = A + A.T
    u, s, vh = jnp.linalg.svd(a, hermitian=True)
    close((u * s) @ vh, a)
    close(s, jnp.linalg.svd(a, compute_uv=False))
    close(jnp.linalg.pinv(a, hermitian=True), np.linalg.pinv(a))
    assert jnp.linalg.matrix_rank(np.outer(A[0], A[0]), hermitian=True) == 1


def test_eigenvalues():
    w, v = jnp.linalg.eigh(A + A.T)
    close((A + A.T) @ v, v * w)
    close(w, np.linalg.eigvalsh(A + A.T))
    close(jnp.linalg.eigh(np.triu(A + A.T), UPLO="U", symmetrize_input=False)[0], w)
    close(jnp.linalg.eigvalsh(np.tril(A + A.T), symmetrize_input=False), w)
    result = jnp.linalg.eig(A)
    close(A @ result.eigenvectors, result.eigenvectors * result.eigenvalues)
    close(np.sort_complex(jnp.linalg.eigvals(A)), np.sort_complex(np.linalg.eigvals(A)))


@pytest.mark.parametrize("ord", [None, 0, 1, 2, 3, np.inf, -np.inf])
def test_vector_norms(ord):
    close(jnp.linalg.norm(CUBE, ord, axis=1, keepdims=True), np.linalg.norm(CUBE, ord, axis=1, keepdims=True))
    if ord is not None:
        close(jnp.linalg.vector_norm(CUBE, axis=(0, 2), ord=ord), np.linalg.vector_norm(CUBE, axis=(0, 2), ord=ord))


@pytest.mark.parametrize("ord", ["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
def test_matrix_norms(ord):
    close(jnp.linalg.norm(CUBE, ord, axis=(2, 0), keepdims=True), np.linalg.norm(CUBE, ord, axis=(2, 0), keepdims=True))
    close(jnp.linalg.matrix_norm(CUBE, ord=ord), np.linalg.matrix_norm(CUBE, ord=ord))


@pytest.mark.parametrize("ord", ["fro", "nuc", 1, 2, np.inf])
@pytest.mark.parametrize("shape", [(0, 2), (2, 0), (3, 0, 0)])
def test_norms_of_empty_matrices_are_0(shape, ord):
    """The norm of the zero map; NumPy has no maximum of no numbers and raises for some of them."""
    found = jnp.linalg.matrix_norm(np.zeros(shape, np.complex64), ord=ord)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, np.zeros(shape[:-2]))


@pytest.mark.parametrize("p", [None, -2, 1, "fro", np.inf])
def test_cond(p):
    close(jnp.linalg.cond(A, p), np.linalg.cond(A, p))


def test_matrix_rank_tolerances():
    a = np.diag([8.0, 4.0, 1.0])
    assert jnp.linalg.matrix_rank(a, rtol=0.2) == 2
    assert jnp.linalg.matrix_rank(a, tol=5.0) == 1
    assert jnp.linalg.matrix_rank(a[0]) == 1
    np.testing.assert_array_equal(jnp.linalg.matrix_rank(np.stack([a, a]), rtol=np.array([0.2, 0.6])), [2, 1])


@pytest.mark.parametrize("n", [-2, 0, 1, 5])
def test_matrix_power(n):
    close(jnp.linalg.matrix_power(A, n), np.linalg.matrix_power(A, n))
    if n >= 0:
        integers = np.array([[2, 1], [1, 3]])
        np.testing.assert_array_equal(jnp.linalg.matrix_power(integers, n), np.linalg.matrix_power(integers, n))


def test_products():
    chain = [A[0], A, TALL, TALL.T, A[1]]
    for arrays in (chain, chain[1:-1], chain[1:], chain[:2]):
        close(jnp.linalg.multi_dot(arrays), functools.reduce(np.dot, arrays))
    close(jnp.linalg.outer(A[0], A[1]), np.outer(A[0], A[1]))
    close(jnp.linalg.cross(A[:, :3], A[0, :3]), np.cross(A[:, :3], A[0, :3]))
    close(jnp.linalg.trace(STACK, offset=1), np.linalg.trace(STACK, offset=1))
    close(jnp.linalg.diagonal(STACK, offset=-1), np.linalg.diagonal(STACK, offset=-1))
    close(jnp.linalg.tensordot(A, STACK, axes=([0], [1])), np.tensordot(A, STACK, ([0], [1])))
    close(jnp.linalg.vecdot(COMPLEX, A, axis=0), np.linalg.vecdot(COMPLEX, A, axis=0))


def test_tensor_equations():
    a = RNG.normal(size=(2, 3, 6))
    close(jnp.linalg.tensorinv(a), np.linalg.tensorinv(a))
    close(jnp.linalg.tensorsolve(a, np.ones((2, 3))), np.linalg.tensorsolve(a, np.ones((2, 3))))
    moved = np.moveaxis(a, 0, -1)
    close(jnp.linalg.tensorsolve(moved, np.ones((3, 2)), axes=(1,)), np.linalg.tensorsolve(moved, np.ones((3, 2)), axes=(1,)))


def singular(n, rank):
    return RNG.normal(size=(n, rank)) @ RNG.normal(size=(rank, n))


B = RNG.normal(size=(4, 2))
DIFFERENTIABLE = {
    "det": (jnp.linalg.det, A),
    "det of rank n - 1": (jnp.linalg.det, singular(4, 3)),
    "det of a small matrix of rank 1": (jnp.linalg.det, singular(3, 1)),
    "slogdet": (lambda a: jnp.linalg.slogdet(a)[1], A),
    "slogdet by qr": (lambda a: jnp.linalg.slogdet(a, method="qr")[1], A),
    "slogdet, complex": (lambda a: jnp.linalg.slogdet(a + 1j * B[0, 0] * A.T)[0].imag, A),
    "inv": (jnp.linalg.inv, A),
    "solve": (lambda a: jnp.linalg.solve(a, a[:, :2] + B), A),
    "solve, batched": (lambda a: jnp.linalg.solve(STACK, a[:, 0]), A),
    "pinv": (jnp.linalg.pinv, TALL),
    "pinv of equal singular values": (jnp.linalg.pinv, np.eye(4)[:, :2]),
    "pinv, hermitian": (lambda a: jnp.linalg.pinv(a + a.T, hermitian=True), A),
    "lstsq": (lambda a: jnp.linalg.lstsq(a, B)[0], TALL),
    "lstsq, wide": (lambda a: jnp.linalg.lstsq(a.T, a[:2, 0])[0], TALL),
    "lstsq, equal singular values": (lambda a: jnp.linalg.lstsq(a, B)[0], np.eye(4)[:, :2]),
    "cholesky": (jnp.linalg.cholesky, POSITIVE),
    "qr": (lambda a: jnp.linalg.qr(a)[1], TALL),
    "svd": (lambda a: (lambda u, s, vh: (u * s) @ vh + s[0] * u @ vh)(*jnp.linalg.svd(a, full_matrices=False)), TALL),
    "eigh": (lambda a: (lambda w, v: (v * w ** 2) @ v.T)(*jnp.linalg.eigh(a)), POSITIVE),
    "eigvals": (lambda a: jnp.sum(jnp.abs(jnp.linalg.eigvals(a)) ** 2), A),
    "nuclear norm": (lambda a: jnp.linalg.norm(a, "nuc"), A),
    "norm": (jnp.linalg.norm, A),
    "3-norm": (lambda a: jnp.linalg.norm(a, 3, axis=0), A),
    "cond": (jnp.linalg.cond, A),
    "matrix_power": (lambda a: jnp.linalg.matrix_power(a, -3), A),
}


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_derivatives(name):
    """Forward and reverse mode against a central difference along one direction: <ct, J v> both ways."""
    fun, x = DIFFERENTIABLE[name]
    rng = np.random.default_rng(1)
    v, step = rng.normal(size=x.shape), 1e-6
    tangent_of = laminax.jit(lambda x, v: laminax.jvp(fun, (x,), (v,)))
    difference = (np.asarray(tangent_of(x + step * v, v)[0]) - np.asarray(tangent_of(x - step * v, v)[0])) / (2 * step)
    _, tangent = tangent_of(x, v)
    # the difference has an error of step^2 times a third derivative, and of eps / step times the value
    np.testing.assert_allclose(tangent, difference, rtol=1e-5, atol=1e-5 * max(1, np.abs(difference).max()))
    ct = rng.normal(size=difference.shape)
    x_ct = laminax.jit(lambda x, ct: laminax.vjp(fun, x)[1](ct)[0])(x, ct)
    np.testing.assert_allclose(np.vdot(x_ct, v), np.vdot(ct, tangent), rtol=1e-8, atol=1e-8)


def test_second_derivative_of_a_determinant():
    """d^2 det = det (tr(A^-1 V)^2 - tr((A^-1 V)^2))."""
    v = np.random.default_rng(2).normal(size=A.shape)
    got = laminax.jit(laminax.grad(laminax.grad(lambda t: jnp.linalg.det(A + t * v))))(0.0)
    m = np.linalg.solve(A, v)
    np.testing.assert_allclose(got, np.linalg.det(A) * (np.trace(m) ** 2 - np.trace(m @ m)), rtol=1e-8)


def test_vmap_is_a_loop():
    for fun in (jnp.linalg.det, jnp.linalg.inv, jnp.linalg.pinv, lambda a: jnp.linalg.lstsq(a, TALL)[0]):
        close(laminax.jit(laminax.vmap(fun))(STACK), np.stack([fun(a) for a in STACK]))


def test_integers_are_taken_as_floats():
    with laminax.enable_x64(False):
        assert jnp.linalg.det(np.array([[2, 1], [1, 3]])) == 5
        assert jnp.linalg.inv(np.array([[2, 1], [1, 3]])).dtype == np.float32


@pytest.mark.parametrize("call, message", [
    (lambda: jnp.linalg.det(TALL), r"det: the argument must have shape \[..., n, n\], got f64\[4,2\]"),
    (lambda: jnp.linalg.inv(A[0]), "inv: the argument must have shape"),
    (lambda: jnp.linalg.solve(A, TALL[:3]), "solve: b must be a vector of n or matrices"),
    (lambda: jnp.linalg.solve(STACK, np.ones((2, 4, 1))), "do not broadcast"),
    (lambda: jnp.linalg.lstsq(A, TALL[:3]), "lstsq: a must be"),
    (lambda: jnp.linalg.slogdet(A, method="svd"), "method must be None, 'lu' or 'qr', got 'svd'"),
    (lambda: jnp.linalg.qr(A, mode="economic"), "mode must be"),
    (lambda: jnp.linalg.eigh(A, UPLO="X"), "UPLO must be None, 'L' or 'U', got 'X'"),
    (lambda: jnp.linalg.norm(A, 3), "Invalid order 3 for matrix norm"),
    (lambda: jnp.linalg.norm(A[0], "fro"), "Invalid order 'fro' for vector norm"),
    (lambda: jnp.linalg.norm(CUBE, 2), "one axis makes a vector norm, two make a matrix norm"),
    (lambda: jnp.linalg.cond(TALL, 1), "must have shape"),
    (lambda: jnp.linalg.pinv(A, 0.1, rcond=0.1), "pinv: only one of rtol and rcond may be specified."),
    (lambda: jnp.linalg.matrix_rank(A, 0.1, tol=0.1), "matrix_rank: only one of tol or rtol may be specified."),
    (lambda: jnp.linalg.multi_dot([A]), "at least two arrays"),
    (lambda: jnp.linalg.multi_dot([A, TALL, A]), "the last size of each array must be the first of the next"),
    (lambda: jnp.linalg.tensorinv(CUBE), "the product of the first 2 sizes"),
    (lambda: jnp.linalg.cross(TALL, TALL), "3 components"),
    (lambda: jnp.linalg.outer(A, A), "must be vectors"),
])
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_refused_types():
    with pytest.raises(TypeError, match="exponent must be an integer, got 2.5"):
        jnp.linalg.matrix_power(A, 2.5)
    with pytest.raises(TypeError, match="matrix_power: the argument must have shape"):
        jnp.linalg.matrix_power(TALL, 2)
    with pytest.raises(NotImplementedError, match=r"svd: subset_by_index must be None or \(0, \d\), all singular values, got \(0, 2\)"):
        jnp.linalg.svd(A, full_matrices=False, subset_by_index=(0, 2))


BATCH = np.float32(RNG.normal(size=(2, 5, 3)))
SQUARES = BATCH[:, :3] @ np.swapaxes(BATCH[:, :3], 1, 2) + np.eye(3, dtype=np.float32)
LARGER = np.float32(RNG.normal(size=(2, 4, 4)))


@pytest.mark.parametrize("call", [
    *[functools.partial(getattr(jnp.linalg, name), x) for name in ("svd", "pinv", "matrix_rank", "cond", "qr") for x in (BATCH, SQUARES)],
    *[functools.partial(getattr(jnp.linalg, name), LARGER) for name in ("det", "slogdet", "inv", "eig")],
    functools.partial(jnp.linalg.pinv, SQUARES, hermitian=True), functools.partial(jnp.linalg.pinv, BATCH, rtol=np.float32([0.1, 0.2])),
    functools.partial(jnp.linalg.matrix_rank, BATCH, tol=0.1), functools.partial(jnp.linalg.slogdet, SQUARES, method="qr"),
    functools.partial(laminax.scipy.linalg.polar, BATCH[0], method="svd"), functools.partial(laminax.scipy.linalg.lu, BATCH),
    functools.partial(laminax.scipy.linalg.polar, BATCH[0].T, side="left", method="svd"),
    functools.partial(laminax.scipy.linalg.solve_sylvester, SQUARES[0], SQUARES[1], SQUARES[0]),
])
def test_nothing_relies_on_the_promotion_of_ranks(call):
    with laminax.numpy_rank_promotion("raise"):
        strict = call()
    laminax.tree.map(np.testing.assert_array_equal, strict, call())


def test_a_norm_of_vectors_takes_no_name():
    for name in ("inf", "-inf", "fro"):
        with pytest.raises(ValueError, match=f"Invalid order '{name}' for vector norm"):
            jnp.linalg.norm(A[0], ord=name)


@pytest.mark.parametrize("shape", [(500, 2), (2, 500)])
def test_the_derivative_of_pinv_makes_no_matrix_with_two_long_sides(shape):
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    program = str(laminax.make_jaxpr(lambda x: laminax.jvp(jnp.linalg.pinv, (x,), (x,)))(x))
    assert "[500,500]" not in program
    value, tangent = laminax.jvp(jnp.linalg.pinv, (x,), (x,))  # pinv(t x) = pinv(x) / t
    np.testing.assert_allclose(value, np.linalg.pinv(x), atol=1e-6)
    np.testing.assert_allclose(tangent, -np.linalg.pinv(x), atol=1e-5)
