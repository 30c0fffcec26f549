"""Linear algebra compiled and run by XLA with jaxlib's LAPACK kernels, against its NumPy meaning.

Factors that are not unique (signs of vectors) are compared through the matrices they factor.
"""

import numpy as np
import pytest
from stablehlo_runner import check, run

from laminax_ir.ops import linalg as op
from laminax_ir.options import config
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import get_aval

DTYPES = ["float32", "float64", "complex64", "complex128"]
SHAPES = [(3, 3), (2, 5, 2), (2, 5), (0, 3, 3), (3, 0)]
SQUARE = [(4, 4), (2, 3, 3), (0, 3, 3), (0, 0)]


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


def tolerance(dtype) -> float:
    return 200 * float(np.finfo(dtype).eps)  # products of matrices of order 5, of another summation order


def call(fun, *args):
    return run(stage(lambda *xs: list(fun(*xs)), [get_aval(x) for x in args]), *args)


def close(actual, desired):
    np.testing.assert_allclose(actual, desired, rtol=0, atol=tolerance(np.asarray(actual).dtype))


def is_unitary(q):
    close(adjoint(q) @ q, np.broadcast_to(np.eye(q.shape[-1]), (*q.shape[:-2], q.shape[-1], q.shape[-1])))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SQUARE)
def test_cholesky(shape, dtype):
    x = draw(shape, dtype)
    a = x @ adjoint(x) + 3 * np.eye(shape[-1], dtype=dtype)
    check(lambda a: [op.cholesky(a)], a, atol=tolerance(dtype))


def test_failures_are_nan():
    x = np.stack([np.eye(2), -np.eye(2)])
    check(lambda x: [op.cholesky(x)], x)
    (v, w) = call(lambda x: op.eigh(x, symmetrize_input=False), np.stack([np.eye(2), np.full((2, 2), np.nan)]))
    np.testing.assert_array_equal(w[0], 1)
    assert np.isnan(w[1]).all() and np.isnan(v[1]).all()


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.parametrize("left_side", [True, False])
def test_triangular_solve(left_side, dtype):
    a, b = draw((2, 3, 3), dtype) + 4 * np.eye(3, dtype=dtype), draw((2, 3, 4) if left_side else (2, 4, 3), dtype, 1)
    check(lambda a, b: [op.triangular_solve(a, b, left_side=left_side, lower=lower, transpose_a=transpose, conjugate_a=conj,
                                            unit_diagonal=unit)
                        for lower in (0, 1) for transpose in (0, 1) for conj in (0, 1) for unit in (0, 1)],
          a, b, rtol=tolerance(dtype), atol=10 * tolerance(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_lu(shape, dtype):
    check(op.lu, draw(shape, dtype), atol=tolerance(dtype))


def test_permutation():
    check(lambda p: [op.lu_pivots_to_permutation(p, 5)], np.int32([[2, 2, 3], [0, 4, 4]]))
    check(lambda p: [op.lu_pivots_to_permutation(p, 3)], np.zeros((2, 0), np.int32))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_qr(shape, dtype):
    check(lambda x: [*op.qr(x), *op.qr(x, full_matrices=False), *op.geqrf(x)], draw(shape, dtype), atol=tolerance(dtype))
    check(lambda x: [*op.qr(x, pivoting=True), *op.qr(x, full_matrices=False, pivoting=True)], draw(shape, dtype), atol=tolerance(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SQUARE)
def test_eigh(shape, dtype):
    x = draw(shape, dtype)
    a = x + adjoint(x)
    v, w = call(op.eigh, a)
    is_unitary(v)
    close(a @ v, v * w[..., None, :])
    check(lambda a: [op.eigh(a)[1]], a, atol=tolerance(dtype))
    check(lambda a: [op.eigh(a, lower=False, symmetrize_input=False)[1]], np.triu(a), atol=tolerance(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_svd(shape, dtype):
    x = draw(shape, dtype)
    for full in (True, False):
        u, s, vh = call(lambda x: op.svd(x, full_matrices=full), x)
        k = min(shape[-2:])
        is_unitary(u), is_unitary(adjoint(vh))
        close((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], x)
    check(lambda x: [op.svd(x, compute_uv=False)], x, atol=tolerance(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_eig_schur_hessenberg(dtype):
    a = draw((2, 4, 4), dtype)
    w, left, right = call(op.eig, a)
    close(a @ right, right * w[..., None, :])
    close(adjoint(left) @ a, w[..., :, None] * adjoint(left))
    (values,) = call(lambda a: op.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=False), a)
    close(np.sort_complex(values), np.sort_complex(w))
    t, z = call(op.schur, a)
    is_unitary(z)
    close(z @ t @ adjoint(z), a)
    check(op.hessenberg, a, atol=tolerance(dtype))
    check(op.hessenberg, a[:, :0, :0])


def test_tridiagonal_solve_and_symmetric_product():
    dl, d, du = (draw((2, 4), "float64", i) for i in range(3))
    check(lambda dl, d, du, b: [op.tridiagonal_solve(dl, d, du, b)], dl, d + 4, du, draw((2, 4, 3), "float64", 3), atol=1e-13)
    check(lambda a, c: [op.symmetric_product(a, c, alpha=2.0, beta=-1.0)], draw((2, 3, 4), "float64"), np.ones((2, 3, 3)), atol=1e-13)
