"""Every factorization and solver on matrices and batches of them that hypothesis draws, empty ones and odd sizes included, in
each dtype that they take.

Oracles: NumPy's own factorizations, and the identities that define them.
"""

from __future__ import annotations

import numpy as np
import pytest
from drawn_arrays import EVERY, covers, every_operation_is_covered, more, seeds
from hypothesis import given
from hypothesis import strategies as st

from laminax_ir.ops import linalg, orthogonal
from laminax_ir.ops.linear_solve import SolveParts, bind_solve
from laminax_ir.options.config import enable_x64
from laminax_ir.recording.staging import stage
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval


@pytest.fixture(autouse=True, scope="module")
def x64():
    with enable_x64():
        yield


MATRIX_TYPES = [np.float32, np.float64, np.complex64, np.complex128]
batches = st.lists(st.integers(0, 2), max_size=2).map(tuple)
sizes = st.integers(0, 4)
matrix_cases = given(batch=batches, m=sizes, n=sizes, seed=seeds)
every_dtype = pytest.mark.parametrize("dtype", MATRIX_TYPES)


def matrices(seed, dtype, *shape, count=1):
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        x = rng.normal(size=shape)
        found.append((x + 1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else x).astype(dtype))
    return found[0] if count == 1 else found


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def close(got, expected, dtype):
    got = np.asarray(got)
    assert got.dtype == np.asarray(expected).dtype and got.shape == np.shape(expected)
    tolerance = 300 * np.finfo(dtype).eps
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


def orthonormal_columns(q, dtype):
    close(adjoint(q) @ q, np.broadcast_to(np.eye(q.shape[-1], dtype=dtype), (*q.shape[:-2], q.shape[-1], q.shape[-1])), dtype)


@every_dtype
@covers("cholesky", "eigh")
@more
@matrix_cases
def test_cholesky_and_eigh(dtype, batch, m, n, seed):
    a = matrices(seed, dtype, *batch, n, n)
    positive = a @ adjoint(a) + np.eye(n, dtype=dtype) * (n + 1)
    positive = (positive + adjoint(positive)) / 2
    factor = linalg.cholesky(positive)
    close(factor, np.linalg.cholesky(positive).astype(dtype), dtype)
    vectors, values = linalg.eigh(positive)
    close(values, np.linalg.eigvalsh(positive), dtype)
    orthonormal_columns(np.asarray(vectors), dtype)
    close(vectors * np.asarray(values)[..., None, :] @ adjoint(np.asarray(vectors)), positive, dtype)


@every_dtype
@covers("qr", "geqrf", "householder_product")
@more
@matrix_cases
def test_qr_and_its_parts(dtype, batch, m, n, seed):
    a = matrices(seed, dtype, *batch, m, n)
    q, r = map(np.asarray, linalg.qr(a, full_matrices=False))
    close(q @ r, a, dtype)
    orthonormal_columns(q, dtype)
    np.testing.assert_array_equal(np.tril(r, -1), 0)
    packed, taus = linalg.geqrf(a)
    if m >= n:
        product = np.asarray(linalg.householder_product(packed, taus))
        close(product @ np.triu(np.asarray(packed)[..., :n, :]), a, dtype)
        orthonormal_columns(product, dtype)


@every_dtype
@covers("svd")
@more
@matrix_cases
def test_svd(dtype, batch, m, n, seed):
    a = matrices(seed, dtype, *batch, m, n)
    u, s, vh = map(np.asarray, linalg.svd(a, full_matrices=False))
    close(s, np.linalg.svd(a, compute_uv=False), dtype)
    close(u * s[..., None, :].astype(dtype) @ vh, a, dtype)
    close(linalg.svd(a, compute_uv=False), s, dtype)


@every_dtype
@covers("lu", "lu_pivots_to_permutation")
@more
@matrix_cases
def test_lu(dtype, batch, m, n, seed):
    a = matrices(seed, dtype, *batch, m, n)
    packed, pivots, permutation = map(np.asarray, linalg.lu(a))
    k = min(m, n)
    lower, upper = np.tril(packed[..., :k], -1) + np.eye(m, k, dtype=dtype), np.triu(packed[..., :k, :])
    close(lower @ upper, np.take_along_axis(a, permutation[..., None], -2) if a.size else a, dtype)
    # Partial pivoting; of complex numbers the sizes |Re| + |Im| are compared, which are up to the root of 2 times the modulus.
    assert (np.abs(lower) <= (2**0.5 if np.iscomplexobj(lower) else 1) + 1e-6).all()
    np.testing.assert_array_equal(linalg.lu_pivots_to_permutation(pivots, m), permutation)


@every_dtype
@covers("triangular_solve")
@more
@given(batch=batches, m=sizes, n=sizes, seed=seeds, left=st.booleans(), lower=st.booleans(),
       transposed=st.booleans(), conjugated=st.booleans(), unit=st.booleans())
def test_triangular_solve(dtype, batch, m, n, seed, left, lower, transposed, conjugated, unit):
    a = matrices(seed, dtype, *batch, m, m) / 4 + 2 * np.eye(m, dtype=dtype)
    b = matrices(seed + 1, dtype, *batch, *((m, n) if left else (n, m)))
    x = np.asarray(linalg.triangular_solve(a, b, left_side=left, lower=lower, transpose_a=transposed, conjugate_a=conjugated,
                                           unit_diagonal=unit))
    assert x.dtype == dtype
    triangle = np.tril(a, -1) if lower else np.triu(a, 1)
    triangle = triangle + (np.eye(m) if unit else a * np.eye(m)).astype(dtype)
    triangle = np.swapaxes(triangle, -1, -2) if transposed else triangle
    triangle = np.conj(triangle) if conjugated else triangle
    close(triangle @ x if left else x @ triangle, b, dtype)


@every_dtype
@covers("eig", "hessenberg", "schur")
@more
@matrix_cases
def test_eig_hessenberg_and_schur(dtype, batch, m, n, seed):
    a = matrices(seed, dtype, *batch, n, n)
    values, left, right = map(np.asarray, linalg.eig(a))
    wide_dtype = values.dtype
    close(a.astype(wide_dtype) @ right, right * values[..., None, :], dtype)
    close(adjoint(left) @ a.astype(wide_dtype), values[..., :, None] * adjoint(left), dtype)
    reduced, _ = linalg.hessenberg(a)
    h = np.triu(np.asarray(reduced), -1)
    close(np.trace(h, axis1=-2, axis2=-1), np.trace(a, axis1=-2, axis2=-1), dtype)  # similar matrices
    close(np.trace(h @ h, axis1=-2, axis2=-1), np.trace(a @ a, axis1=-2, axis2=-1), dtype)
    t, q = map(np.asarray, linalg.schur(a))
    close(q @ t @ adjoint(q), a, dtype)
    orthonormal_columns(q, dtype)


@every_dtype
@covers("tridiagonal_solve", "symmetric_product")
@more
@matrix_cases
def test_tridiagonal_solve_and_symmetric_product(dtype, batch, m, n, seed):
    lower, middle, upper = matrices(seed, dtype, *batch, m, count=3)
    middle = middle + 4
    lower[..., :1], upper[..., m - 1:] = 0, 0
    b = matrices(seed + 1, dtype, *batch, m, n)
    dense = middle[..., None] * np.eye(m, dtype=dtype)
    for i in range(m - 1):
        dense[..., i + 1, i], dense[..., i, i + 1] = lower[..., i + 1], upper[..., i]
    close(dense @ np.asarray(linalg.tridiagonal_solve(lower, middle, upper, b)), b, dtype)
    close(dense @ np.asarray(linalg.tridiagonal_solve(lower, middle, upper, b, perturb_singular=True)), b, dtype)
    c = matrices(seed + 2, dtype, *batch, m, m)
    c = c + np.swapaxes(c, -1, -2)
    got = linalg.symmetric_product(b, c, alpha=2.0, beta=0.5, symmetrize_output=True)
    close(got, (2 * b @ np.swapaxes(b, -1, -2) + c / 2).astype(dtype), dtype)  # the transpose, also of complex numbers


@every_dtype
@covers("ormqr")
@more
@given(batch=batches, m=sizes, n=sizes, k=sizes, seed=seeds, left=st.booleans(),
       transposed=st.booleans())
def test_ormqr_is_a_product_with_the_orthogonal_factor(dtype, batch, m, n, k, seed, left, transposed):
    a, c = matrices(seed, dtype, *batch, m, n), matrices(seed + 1, dtype, *batch, *((m, k) if left else (k, m)))
    q = np.linalg.qr(a, mode="complete")[0].astype(dtype) if n else np.broadcast_to(np.eye(m, dtype=dtype), (*batch, m, m))
    q = adjoint(q) if transposed else q
    close(orthogonal.ormqr(*linalg.geqrf(a), c, left=left, transpose=transposed), q @ c if left else c @ q, dtype)


@every_dtype
@covers("tridiagonal")
@more
@given(batch=batches, n=st.integers(1, 4), seed=seeds, lower=st.booleans())
def test_tridiagonal_forms(dtype, batch, n, seed, lower):
    a = matrices(seed, dtype, *batch, n, n)
    a = (a + adjoint(a)) / 2
    _, d, e, _ = map(np.asarray, orthogonal.tridiagonal(a, lower=lower))
    form = d[..., None] * np.eye(n) + np.zeros((*batch, n, n))
    for i in range(n - 1):
        form[..., i, i + 1] = form[..., i + 1, i] = e[..., i]
    close(np.linalg.eigvalsh(form).astype(d.dtype), np.linalg.eigvalsh(a), dtype)  # similar matrices


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@covers("cholesky_update")
@more
@given(batch=batches, n=sizes, seed=seeds)
def test_updated_factors(dtype, batch, n, seed):
    r, w = np.triu(matrices(seed, dtype, *batch, n, n)), matrices(seed + 1, dtype, *batch, n)
    updated = np.asarray(orthogonal.cholesky_update(r, w))
    close(adjoint(updated) @ updated, adjoint(r) @ r + w[..., :, None] * w[..., None, :], dtype)
    np.testing.assert_array_equal(np.tril(updated, -1), 0)


@every_dtype
@covers("custom_linear_solve")
@more
@matrix_cases
def test_custom_linear_solve_runs_the_program_that_solves(dtype, batch, m, n, seed):
    a = matrices(seed, dtype, m, m) + 4 * np.eye(m, dtype=dtype)
    b = matrices(seed + 1, dtype, m, n)
    inverse = np.linalg.inv(a).astype(dtype)
    multiply = lambda c, v: [linalg.matmul(c, v)]
    program = stage(multiply, [get_aval(a), get_aval(b)])
    (x,) = bind_solve(SolveParts(program, None, program, None), SolveParts([a], [], [inverse], []), [b])
    close(a @ np.asarray(x), b, dtype)


@pytest.mark.parametrize("dtype", [d for d in EVERY if d not in MATRIX_TYPES], ids=str)
def test_other_dtypes_are_refused(dtype):
    a, b = np.zeros((2, 2), dtype), np.zeros(2, dtype)
    for call in (linalg.cholesky, linalg.lu, linalg.geqrf, linalg.qr, linalg.eigh, linalg.svd, linalg.eig, linalg.schur,
                 linalg.hessenberg, lambda a: linalg.triangular_solve(a, a), lambda a: linalg.householder_product(a, b),
                 lambda a: linalg.tridiagonal_solve(b, b, b, a), lambda a: linalg.symmetric_product(a, a)):
        with pytest.raises(TypeError, match=f"does not accept dtype {dtypes.dtype_name(dtype)}"):
            call(a)


def test_every_operation_of_the_families_is_drawn():
    every_operation_is_covered(__name__)
