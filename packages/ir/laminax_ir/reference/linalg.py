"""NumPy meaning of the factorizations and solvers, one matrix at a time.

General eigenvectors from the left, the pivoted QR, Schur and Hessenberg forms come from SciPy, imported when first needed.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from laminax_ir.ops import linalg as op
from laminax_ir.reference.evaluate import reference_rule
from laminax_ir.types.avals import get_aval

if TYPE_CHECKING:
    from laminax_ir.ops.linalg import SvdAlgorithm
    from laminax_ir.programs.primitive import Primitive


def scipy_module(name: str) -> Any:
    """A module of SciPy, which the reference of some factorizations needs.

    Raises:
      ImportError: if SciPy is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ImportError("the NumPy reference of this factorization needs SciPy; install scipy") from None


def _per_matrix(function: Callable, ranks: tuple[int, ...], out_avals: list, *operands: np.ndarray) -> list[np.ndarray]:
    """Applies a function of matrices and vectors to each element of a batch; `ranks` are the operands' own."""
    batch = operands[0].shape[:operands[0].ndim - ranks[0]]
    results = [np.empty(aval.shape, aval.dtype) for aval in out_avals]
    for i in np.ndindex(batch):
        values = function(*[x[i] for x in operands])
        for result, value in zip(results, values):
            result[i] = value
    return results


def define_per_matrix(primitive: Primitive, function: Callable, *ranks: int) -> None:
    """Gives a primitive its meaning: the function of one matrix, applied to each element of a batch.

    Args:
      primitive: the operation.
      function: takes matrices, vectors and the parameters; returns a list for several results.
      *ranks: the operands' numbers of axes without the batch's; one matrix by default.
    """
    def rule(*operands: np.ndarray, **params: Any) -> Any:
        avals = primitive.shape_rule(*map(get_aval, operands), **params)
        many = primitive.multiple_results
        results = _per_matrix(lambda *xs: function(*xs, **params) if many else [function(*xs, **params)], ranks or (2,),
                              avals if many else [avals], *operands)
        return results if many else results[0]

    rule.__module__ = __name__
    reference_rule.add(primitive, rule)


def _cholesky(x: np.ndarray) -> np.ndarray:
    try:
        return np.linalg.cholesky(x)  # reads the lower triangle
    except np.linalg.LinAlgError:
        return np.full_like(x, np.nan)


def _triangular_solve(a: np.ndarray, b: np.ndarray, *, left_side: bool, lower: bool, transpose_a: bool, conjugate_a: bool,
                      unit_diagonal: bool) -> np.ndarray:
    a = np.tril(a) if lower else np.triu(a)
    if unit_diagonal:
        np.fill_diagonal(a, 1)
    a = a.conj() if conjugate_a else a
    # Substitution, row by row: a singular matrix gives infinities and NaN as BLAS does.
    a, lower = (a.T, not lower) if transpose_a else (a, lower)
    if not left_side:
        a, b, lower = a.T, b.T, not lower
    x = b.astype(np.result_type(a, b), copy=True)
    for i in range(len(a)) if lower else reversed(range(len(a))):
        known = slice(0, i) if lower else slice(i + 1, None)
        x[i] = (b[i] - a[i, known] @ x[known]) / a[i, i]
    return x if left_side else x.T


def _lu(x: np.ndarray) -> tuple[np.ndarray, ...]:
    """Row exchanges bring the element of greatest |Re| + |Im| to the diagonal, the first of equals, as LAPACK does."""
    a, m = x.copy(), len(x)
    permutation, pivots = np.arange(m), []
    for j in range(min(a.shape)):
        size = np.abs(a[j:, j].real) + np.abs(a[j:, j].imag)
        pivot = j + int(np.argmax(size))
        pivots.append(pivot)
        a[[j, pivot]], permutation[[j, pivot]] = a[[pivot, j]], permutation[[pivot, j]]
        if a[j, j] != 0:
            a[j + 1:, j] /= a[j, j]
        a[j + 1:, j + 1:] -= np.outer(a[j + 1:, j], a[j, j + 1:])
    return a, np.array(pivots, np.int32), permutation


def _permutation(pivots: np.ndarray, *, permutation_size: int) -> np.ndarray:
    result = np.arange(permutation_size)
    for i, pivot in enumerate(pivots):
        result[[i, pivot]] = result[[pivot, i]]
    return result


def _geqrf(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if 0 in x.shape:
        return x, np.zeros(0, x.dtype)
    h, tau = np.linalg.qr(x, mode="raw")
    return h.T, tau


def _householder_product(a: np.ndarray, taus: np.ndarray) -> np.ndarray:
    m, n = a.shape
    q = np.eye(m, n, dtype=a.dtype)
    for i in reversed(range(len(taus))):
        v = np.concatenate([np.zeros(i), np.ones(1), a[i + 1:, i]]).astype(a.dtype)
        q = q - taus[i] * np.outer(v, v.conj() @ q)
    return q


def _qr(x: np.ndarray, *, pivoting: bool, full_matrices: bool, use_magma: Any) -> Any:
    if pivoting:
        q, r, permutation = scipy_module("scipy.linalg").qr(x, mode="full" if full_matrices else "economic", pivoting=True)
        return q, r, permutation.astype(np.int32)
    return np.linalg.qr(x, mode="complete" if full_matrices else "reduced")


def _eigh(x: np.ndarray, *, lower: bool, sort_eigenvalues: bool, subset_by_index: Any, algorithm: Any) -> tuple[np.ndarray, np.ndarray]:
    values, vectors = np.linalg.eigh(x, UPLO="L" if lower else "U")
    return vectors, values


def _svd(x: np.ndarray, *, full_matrices: bool, compute_uv: bool, subset_by_index: Any,
         algorithm: SvdAlgorithm | None = None) -> Sequence[np.ndarray]:
    if not compute_uv:
        return [np.linalg.svd(x, compute_uv=False)]
    u, s, vh = np.linalg.svd(x, full_matrices=full_matrices)
    return s, u, vh


def _eig(x: np.ndarray, *, compute_left_eigenvectors: bool, compute_right_eigenvectors: bool, enable_eigvec_derivs: bool,
         implementation: Any) -> list[np.ndarray]:
    if not compute_left_eigenvectors:
        values, right = np.linalg.eig(x)
        return [values, right] if compute_right_eigenvectors else [values]
    values, left, right = scipy_module("scipy.linalg").eig(x, left=True, right=True)
    return [values, left, right] if compute_right_eigenvectors else [values, left]


def _schur(x: np.ndarray, *, compute_schur_vectors: bool, sort_eig_vals: bool, select_callable: Any) -> list[np.ndarray]:
    t, z = scipy_module("scipy.linalg").schur(x, output="complex" if np.iscomplexobj(x) else "real")
    return [t, z] if compute_schur_vectors else [t]


def _hessenberg(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if not len(x):
        return x, np.zeros(0, x.dtype)
    gehrd = scipy_module("scipy.linalg.lapack").get_lapack_funcs(("gehrd",), (x,))[0]
    h, tau, _ = gehrd(x)
    return h, tau


def _tridiagonal_solve(dl: np.ndarray, d: np.ndarray, du: np.ndarray, b: np.ndarray, *, perturb_singular: bool) -> np.ndarray:
    n = len(d)
    matrix = np.zeros((n, n), b.dtype)
    matrix[range(n), range(n)] = d
    matrix[range(1, n), range(n - 1)] = dl[1:]
    matrix[range(n - 1), range(1, n)] = du[:-1]
    return _solve_perturbed(matrix, b.copy()) if perturb_singular else np.linalg.solve(matrix, b)


def _solve_perturbed(matrix: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Gauss' elimination with partial pivoting, in place; pivots that are nearly 0 are moved away from it."""
    n = len(matrix)
    for i in range(n - 1):
        row = i + int(np.argmax(abs(matrix[i:, i])))
        matrix[[i, row]], b[[i, row]] = matrix[[row, i]], b[[row, i]]
        if matrix[i, i]:
            factors = matrix[i + 1:, i:i + 1] / matrix[i, i]
            b[i + 1:] -= factors * b[i]
            matrix[i + 1:] -= factors * matrix[i]
    largest = abs(np.triu(matrix)).max(initial=0)
    least = np.finfo(matrix.dtype).eps * (largest or 1)
    for i in reversed(range(n)):
        pivot = matrix[i, i]
        if abs(pivot) < least:
            pivot = -least if pivot.real < 0 else least
        b[i] = (b[i] - matrix[i, i + 1:] @ b[i + 1:]) / pivot
    return b


def _symmetric_product(a: np.ndarray, c: np.ndarray, *, alpha: float, beta: float) -> np.ndarray:
    return alpha * (a @ a.T) + beta * c


define_per_matrix(op.cholesky_p, _cholesky)
define_per_matrix(op.triangular_solve_p, _triangular_solve, 2, 2)
define_per_matrix(op.lu_p, _lu)
define_per_matrix(op.lu_pivots_to_permutation_p, _permutation, 1)
define_per_matrix(op.geqrf_p, _geqrf)
define_per_matrix(op.householder_product_p, _householder_product, 2, 1)
define_per_matrix(op.qr_p, _qr)
define_per_matrix(op.eigh_p, _eigh)
define_per_matrix(op.svd_p, _svd)
define_per_matrix(op.eig_p, _eig)
define_per_matrix(op.schur_p, _schur)
define_per_matrix(op.hessenberg_p, _hessenberg)
define_per_matrix(op.tridiagonal_solve_p, _tridiagonal_solve, 1, 1, 1, 2)
define_per_matrix(op.symmetric_product_p, _symmetric_product, 2, 2)
