"""Reflections and rotations against NumPy's QR, eigenvalues and Cholesky factors."""

import numpy as np
import pytest

from laminax_ir.ops import orthogonal as op
from laminax_ir.ops.linalg import geqrf
from laminax_ir.options.config import enable_x64
from laminax_ir.types.errors import DTypeError, ShapeError


@pytest.fixture(autouse=True)
def x64():
    with enable_x64():
        yield


def random(*shape, is_complex=False):
    rng = np.random.default_rng(sum(shape))
    return rng.normal(size=shape) + (1j * rng.normal(size=shape) if is_complex else 0)


@pytest.mark.parametrize("shape", [(5, 3), (3, 3), (3, 5), (2, 4, 2), (3, 0)])
@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("transpose", [False, True])
def test_ormqr_is_the_product_with_q(shape, is_complex, left, transpose):
    *batch, m, n = shape
    x, c = random(*shape, is_complex=is_complex), random(*batch, m, 2, is_complex=is_complex)
    q = np.linalg.qr(x, mode="complete")[0]
    q = np.swapaxes(q, -1, -2).conj() if transpose else q
    c = c if left else np.swapaxes(c, -1, -2)
    result = op.ormqr(*geqrf(x), c, left=left, transpose=transpose)
    np.testing.assert_allclose(result, q @ c if left else c @ q, atol=1e-13)


def test_ormqr_with_some_of_the_reflections():
    a, taus = geqrf(random(4, 3))
    both = op.ormqr(a, taus[:2], np.eye(4))
    np.testing.assert_allclose(both @ both.T, np.eye(4), atol=1e-14)
    np.testing.assert_allclose(both[:, :2], np.linalg.qr(random(4, 3))[0][:, :2], atol=1e-14)


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (2, 3, 3)])
def test_the_tridiagonal_form_has_the_eigenvalues(shape, is_complex, lower):
    x = random(*shape, is_complex=is_complex)
    a, d, e, taus = op.tridiagonal(x, lower=lower)
    *batch, n, _ = shape
    assert a.shape == shape and d.shape == (*batch, n) and e.shape == taus.shape == (*batch, n - 1)
    assert d.dtype == e.dtype == np.float64 and taus.dtype == a.dtype == x.dtype
    for i in np.ndindex(*batch):
        form = np.diag(d[i]) + np.diag(e[i], 1) + np.diag(e[i], -1)
        np.testing.assert_allclose(np.linalg.eigvalsh(form), np.linalg.eigvalsh(x[i], "L" if lower else "U"), atol=1e-13)
        np.testing.assert_allclose(np.diag(a[i]), d[i])
        np.testing.assert_allclose(np.diag(a[i], -1 if lower else 1), e[i])


@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (2, 3, 3), (0, 0)])
def test_cholesky_update(shape):
    x, w = random(*shape), random(*shape[:-1])
    spd = x @ np.swapaxes(x, -1, -2) + np.eye(shape[-1])
    r = np.swapaxes(np.linalg.cholesky(spd), -1, -2)
    updated = op.cholesky_update(r, w)
    expected = np.linalg.cholesky(spd + w[..., :, None] * w[..., None, :]) if shape[-1] else r
    np.testing.assert_allclose(updated, np.swapaxes(expected, -1, -2), atol=1e-13)


def test_cholesky_update_of_zero():
    assert op.cholesky_update(np.zeros((2, 2)), np.zeros(2)).tolist() == [[0, 0], [0, 0]]
    assert op.cholesky_update(np.zeros((2, 2)), np.array([0.0, -3.0])).tolist() == [[0, 0], [0, 3]]


M, V = np.zeros((3, 3)), np.zeros(3)


@pytest.mark.parametrize("call, error, message", [
    (lambda: op.ormqr(M, V, np.zeros((2, 3))), ValueError, r"left=True, c must have as many rows as a has rows, 3; got .*c f64\[2,3\]"),
    (lambda: op.ormqr(M, V, np.zeros((3, 2)), left=False), ValueError, "as many columns"),
    (lambda: op.ormqr(M, np.zeros(4), M), ShapeError, "at most 3 reflections"),
    (lambda: op.ormqr(M, V, M[None]), ShapeError, "same batch axes"),
    (lambda: op.ormqr(M, V, M.astype(complex)), DTypeError, "same dtypes"),
    (lambda: op.tridiagonal(np.zeros((2, 3))), ShapeError, r"tridiagonal: .* square .*f64\[2,3\]"),
    (lambda: op.tridiagonal(np.zeros((0, 0))), ShapeError, "must not be empty"),
    (lambda: op.tridiagonal(M.astype(int)), DTypeError, "tridiagonal does not accept dtype int64"),
    (lambda: op.cholesky_update(M, np.zeros(2)), ShapeError, r"vector of its size.*f64\[3,3\] and f64\[2\]"),
    (lambda: op.cholesky_update(M + 0j, V + 0j), DTypeError, "float32 and float64"),
])
def test_malformed_calls(call, error, message):
    with pytest.raises(error, match=message):
        call()
