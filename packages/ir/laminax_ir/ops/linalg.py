"""Factorizations and solvers on the last two axes of arrays; leading axes are batches.

Where a matrix has no factorization (not positive definite, iteration not converged), its results are NaN; there are
no exceptions. Conventions are LAPACK's.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from laminax_ir.ops import elementwise
from laminax_ir.ops.contraction import dot_general
from laminax_ir.ops.linalg_primitives import (
    INT32,
    SYMMETRIC,
    check_matrix,
    check_square,
    cholesky_p,
    eig_p,
    eigh_p,
    geqrf_p,
    hessenberg_p,
    householder_product_p,
    lu_p,
    lu_pivots_to_permutation_p,
    qr_p,
    schur_p,
    svd_p,
    symmetric_product_p,
    triangular_solve_p,
    tridiagonal_solve_p,
)
from laminax_ir.ops.shape import broadcasted_iota, full, reshape, transpose
from laminax_ir.types import dtypes
from laminax_ir.types.arguments import as_int
from laminax_ir.types.avals import get_aval

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


class EigImplementation(enum.Enum):
    """The library that computes eigenvalues of general matrices: CUDA's, MAGMA on its host, or LAPACK.

    Example:
      >>> eig(np.float32([[0, 1], [-1, 0]]), implementation=EigImplementation.LAPACK)[0]
      array([0.+1.j, 0.-1.j], dtype=complex64)
    """

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


class EighImplementation(enum.Enum):
    """How eigenvalues of Hermitian matrices are found: by QR or divide and conquer, Jacobi's rotations, or QDWH (TPU).

    Example:
      >>> eigh(np.float32([[2, 1], [1, 2]]), implementation=EighImplementation.QR)[1]
      array([1., 3.], dtype=float32)
    """

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


class SvdAlgorithm(enum.Enum):
    """How singular values are found; DEFAULT is the platform's own way.

    Example:
      >>> svd(np.float32([[3, 0], [4, 5]]), compute_uv=False, algorithm=SvdAlgorithm.QR)
      array([6.708204, 2.236068], dtype=float32)
    """

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


def _check_choice(name: str, what: str, value: Any, kind: type[enum.Enum]) -> None:
    if value is not None and not isinstance(value, kind):
        raise TypeError(f"{name}: {what} must be None or a member of {kind.__name__}, got {value!r}")


# Helpers that rules use too


def adjoint(x: Any) -> Any:
    """The conjugate transpose of the last two axes.

    Args:
      x: numbers, [..., m, n].

    Returns:
      [..., n, m] of x's dtype.
    """
    x = swap_last(x)
    return elementwise.conj(x) if dtypes.issubdtype(x.dtype, dtypes.complexfloating) else x


def swap_last(x: Any) -> Any:
    """The transpose of the last two axes.

    Args:
      x: any dtype, [..., m, n].

    Returns:
      [..., n, m] of x's dtype.
    """
    rank = len(x.shape)
    return transpose(x, (*range(rank - 2), rank - 1, rank - 2))


def matmul(a: Any, b: Any) -> Any:
    """The product of matrices with equal batch axes, in full precision.

    Args:
      a: numbers, [..., m, k].
      b: numbers, [..., k, n], with a's batch axes.

    Returns:
      [..., m, n] of the dtype of the operand with the higher precision.
    """
    rank = len(a.shape)
    batch = tuple(range(rank - 2))
    return dot_general(a, b, (((rank - 1,), (rank - 2,)), (batch, batch)), precision="highest")


def triangle(x: Any, lower: bool = True, k: int = 0) -> Any:
    """x with zeros above (or below) the k-th diagonal.

    Args:
      x: [..., m, n].
      lower: whether the lower triangle is kept.
      k: the diagonal, counted from the main one to the right; a negative one to the left.

    Returns:
      An array of x's shape and dtype.
    """
    shape = x.shape
    row, column = (broadcasted_iota(INT32, shape, len(shape) - 2 + i) for i in range(2))
    row = elementwise.add(row, np.int32(k))
    keep = elementwise.ge(row, column) if lower else elementwise.le(row, column)
    return elementwise.select(keep, x, full(shape, 0, x.dtype))


def symmetrize(x: Any) -> Any:
    """The mean of x and its adjoint.

    Args:
      x: floating or complex, [..., n, n].

    Returns:
      An array of x's shape and dtype.
    """
    return elementwise.mul(elementwise.add(x, adjoint(x)), np.array(0.5, x.dtype)[()])


# The functions


def cholesky(x: ArrayLike, *, symmetrize_input: bool = True) -> Array:
    """The Cholesky factor: lower triangular L with a real, positive diagonal and L L^H = x.

    Args:
      x: positive definite matrices, [..., n, n], real or complex.
      symmetrize_input: whether x is replaced by the mean of x and its adjoint first; else only its lower triangle is
        read.

    Returns:
      [..., n, n] of x's dtype; NaN for a matrix that is not positive definite.

    Raises:
      TypeError: if x is not square, or its dtype is not float32, float64, complex64 or complex128.

    Example:
      >>> cholesky(np.float32([[4, 2], [2, 5]]))
      array([[2., 0.],
             [1., 2.]], dtype=float32)
    """
    check_square("cholesky", get_aval(x))
    if symmetrize_input:
        x = symmetrize(x)
    return triangle(cholesky_p.bind(x))


def triangular_solve(a: ArrayLike, b: ArrayLike, *, left_side: bool = False, lower: bool = False, transpose_a: bool = False,
                     conjugate_a: bool = False, unit_diagonal: bool = False) -> Array:
    """Solves op(a) x = b or x op(a) = b for a triangular a.

    Args:
      a: [..., n, n]; one triangle is read.
      b: [..., n, k], or [..., k, n] for the right side; or [..., n], one vector per matrix. Batch axes equal a's.
      left_side: whether the unknown stands to the right of a.
      lower: whether the lower triangle is read.
      transpose_a, conjugate_a: op: transpose, conjugate, or both.
      unit_diagonal: whether the diagonal is taken for ones.

    Returns:
      The unknown, in b's shape and dtype.

    Raises:
      TypeError: if shapes do not fit, or the dtypes are not one of float32, float64, complex64 or complex128, the
        same for all.

    Example:
      >>> triangular_solve(np.float32([[2, 0], [1, 4]]), np.float32([[2], [9]]), left_side=True, lower=True)
      array([[1.],
             [2.]], dtype=float32)
    """
    conjugate_a = bool(conjugate_a and dtypes.issubdtype(get_aval(a).dtype, dtypes.complexfloating))
    a_aval, b_aval = get_aval(a), get_aval(b)
    params = {"left_side": bool(left_side), "lower": bool(lower), "transpose_a": bool(transpose_a), "conjugate_a": conjugate_a,
              "unit_diagonal": bool(unit_diagonal)}
    if b_aval.ndim != a_aval.ndim - 1:
        return triangular_solve_p.bind(a, b, **params)
    column = (*b_aval.shape, 1) if left_side else (*b_aval.shape[:-1], 1, b_aval.shape[-1])
    return reshape(triangular_solve_p.bind(a, reshape(b, column), **params), b_aval.shape)


def lu(x: ArrayLike) -> list[Any]:
    """The LU factorization with partial pivoting: x[permutation] = L U.

    Args:
      x: [..., m, n].

    Returns:
      The factors in one array [..., m, n] of x's dtype (L below the diagonal, with ones on it, U above), the pivots
      i32[..., min(m, n)] (row i was exchanged with row pivots[i]), and the permutation i32[..., m].

    Raises:
      TypeError: if it is no matrix or batch of them, or its dtype is not float32, float64, complex64 or complex128.

    Example:
      >>> lu(np.float32([[1, 2], [4, 4]]))
      [array([[4.  , 4.  ],
             [0.25, 1.  ]], dtype=float32), array([1, 1], dtype=int32), array([1, 0], dtype=int32)]
    """
    return lu_p.bind(x)


def lu_pivots_to_permutation(pivots: ArrayLike, permutation_size: int) -> Array:
    """The permutation that a sequence of row exchanges makes.

    Args:
      pivots: i32[..., k], row i is exchanged with row pivots[i].
      permutation_size: the number of rows, at least k.

    Returns:
      i32[..., permutation_size].

    Raises:
      TypeError: if pivots is not int32, or the permutation is too small.

    Example:
      >>> lu_pivots_to_permutation(np.int32([1, 1]), 2)
      array([1, 0], dtype=int32)
    """
    size = as_int("lu_pivots_to_permutation", "permutation_size", permutation_size)
    return lu_pivots_to_permutation_p.bind(pivots, permutation_size=size)


def geqrf(a: Any) -> tuple[Any, Any]:
    """The QR factorization as LAPACK keeps it: R on and above the diagonal, Householder vectors below, and their factors.

    Args:
      a: [..., m, n].

    Returns:
      The array [..., m, n] and the factors [..., min(m, n)], both of a's dtype.

    Raises:
      TypeError: if it is no matrix or batch of them, or its dtype is not float32, float64, complex64 or complex128.
    """
    return tuple(geqrf_p.bind(a))


def householder_product(a: ArrayLike, taus: ArrayLike) -> Array:
    """The first columns of a product of Householder reflections, I - tau v v^H each.

    Args:
      a: [..., m, n], m >= n, the vectors below the diagonal, as `geqrf` makes them.
      taus: [..., k], k <= n, the factors.

    Returns:
      [..., m, n] of a's dtype, with orthonormal columns.

    Raises:
      TypeError: if shapes do not fit, or the dtypes are not one of float32, float64, complex64 or complex128, the
        same for all.

    Example:
      >>> householder_product(np.float32([[1], [0]]), np.float32([2]))
      array([[-1.],
             [ 0.]], dtype=float32)
    """
    return householder_product_p.bind(a, taus)


def qr(x: ArrayLike, *, pivoting: bool = False, full_matrices: bool = True, use_magma: bool | None = None) -> tuple[Any, ...]:
    """The QR factorization: x = Q R with orthonormal columns in Q and an upper triangular R.

    Args:
      x: [..., m, n].
      pivoting: whether columns are exchanged so that the diagonal of R descends in magnitude: x[..., p] = Q R. Not on TPU.
      full_matrices: whether Q is [..., m, m]; else [..., m, min(m, n)].
      use_magma: whether a GPU computes the pivoted form with MAGMA (True) or on the host (False); by default with MAGMA
        where that library is found. Other forms do not need it, and refuse True.

    Returns:
      Q [..., m, m] and R [..., m, n], or without full_matrices Q [..., m, k] and R [..., k, n] for k = min(m, n),
      of x's dtype; with pivoting also p, i32[..., n].

    Raises:
      TypeError: if it is no matrix or batch of them, or its dtype is not float32, float64, complex64 or complex128.
      NotImplementedError: for use_magma=True where MAGMA is not used.

    Example:
      >>> np.abs(qr(np.float32([[3, 1], [4, 2]]))[1]).round(3)
      array([[5. , 2.2],
             [0. , 0.4]], dtype=float32)
    """
    if use_magma and not pivoting:
        raise NotImplementedError("qr: use_magma=True is for pivoting=True only, got pivoting=False")
    return tuple(qr_p.bind(x, pivoting=bool(pivoting), full_matrices=bool(full_matrices),
                           use_magma=bool(use_magma) if pivoting and use_magma is not None else None))


def eigh(x: ArrayLike, *, lower: bool = True, symmetrize_input: bool = True, sort_eigenvalues: bool = True, subset_by_index: Any = None,
         implementation: Any = None) -> tuple[Any, Any]:
    """Eigenvectors and eigenvalues of Hermitian matrices: x v[:, i] = w[i] v[:, i].

    Where eigenvalues coincide, eigenvectors are not functions of the matrix: their derivatives are infinite or NaN there.
    Those of the eigenvalues are finite, and are the derivatives of their sum and of other symmetric functions of them.

    Args:
      x: [..., n, n].
      lower: which triangle is read if the input is not symmetrized.
      symmetrize_input: whether x is replaced by the mean of x and its adjoint first.
      sort_eigenvalues: whether the eigenvalues must ascend. All platforms give them in that order, asked for or not.
      subset_by_index: must be None, or the whole range (0, n).
      implementation: an `EighImplementation`, which the platform must have; its own choice by default.

    Returns:
      v, [..., n, n] of x's dtype, orthonormal columns; and w, [..., n] of the real dtype of x's precision,
      ascending.

    Raises:
      TypeError: if x is not square, or its dtype is not float32, float64, complex64 or complex128.
      NotImplementedError: if an argument is not what it must be.

    Example:
      >>> eigh(np.float32([[2, 0], [0, 3]]))[1]
      array([2., 3.], dtype=float32)
    """
    aval = get_aval(x)
    _, n = check_square("eigh", aval, SYMMETRIC)
    _check_choice("eigh", "implementation", implementation, EighImplementation)
    if subset_by_index not in (None, (0, n)):
        raise NotImplementedError(f"eigh: subset_by_index must be None or (0, {n}), all eigenvalues, got {subset_by_index!r}")
    if symmetrize_input:
        x = symmetrize(x)
    return tuple(eigh_p.bind(x, lower=bool(lower), sort_eigenvalues=bool(sort_eigenvalues), subset_by_index=None, algorithm=implementation))


def check_all_singular_values(x: Any, subset_by_index: Any, full_matrices: bool) -> None:
    """Refuses to compute a part of the singular values.

    Args:
      x: [..., m, n].
      subset_by_index: None or (first, behind the last).
      full_matrices: whether the singular vectors form square matrices.

    Raises:
      ValueError: for a part together with full_matrices.
      NotImplementedError: for a part.
    """
    if subset_by_index is None:
        return
    _, m, n = check_matrix("svd", get_aval(x))
    if tuple(subset_by_index) == (0, min(m, n)):
        return
    if full_matrices:
        raise ValueError(f"svd: full_matrices and subset_by_index cannot both be set, got {subset_by_index=}")
    raise NotImplementedError(f"svd: subset_by_index must be None or (0, {min(m, n)}), all singular values, got "
                              f"{subset_by_index!r}. Slice the whole result.")


def svd(x: ArrayLike, *, full_matrices: bool = True, compute_uv: bool = True, subset_by_index: Any = None, algorithm: Any = None) -> Any:
    """The singular value decomposition: x = U diag(s) V^H.

    Where singular values coincide, singular vectors are not functions of the matrix: their derivatives are infinite or NaN
    there. Those of the singular values are finite.

    Args:
      x: [..., m, n].
      full_matrices: whether U and V are square; else they have min(m, n) columns.
      compute_uv: whether U and V^H are computed.
      subset_by_index: must be None, or the whole range (0, min(m, n)).
      algorithm: an `SvdAlgorithm`, which the platform must have; its own choice by default.

    Returns:
      U [..., m, m], s [..., k] and V^H [..., n, n], for k = min(m, n); without full_matrices U [..., m, k] and V^H
      [..., k, n]. U and V^H have x's dtype; s has the real dtype of its precision, and descends. s alone without
      `compute_uv`.

    Raises:
      TypeError: if it is no matrix or batch of them, or its dtype is not float32, float64, complex64 or complex128.
      ValueError: for a part of the singular values together with full_matrices.
      NotImplementedError: if an argument is not what it must be.

    Example:
      >>> svd(np.float32([[3, 0], [0, 4]]), compute_uv=False)
      array([4., 3.], dtype=float32)
    """
    _check_choice("svd", "algorithm", algorithm, SvdAlgorithm)
    check_all_singular_values(x, subset_by_index, full_matrices)
    result = svd_p.bind(x, full_matrices=bool(full_matrices), compute_uv=bool(compute_uv), subset_by_index=None, algorithm=algorithm)
    return (result[1], result[0], result[2]) if compute_uv else result[0]


def eig(x: ArrayLike, *, compute_left_eigenvectors: bool = True, compute_right_eigenvectors: bool = True,
        enable_eigvec_derivs: bool = False, implementation: Any = None, use_magma: bool | None = None) -> list[Any]:
    """Eigenvalues and eigenvectors of general matrices; on CPU only.

    Args:
      x: [..., n, n].
      compute_left_eigenvectors: whether vl with vl[:, i]^H x = w[i] vl[:, i]^H is computed.
      compute_right_eigenvectors: whether vr with x vr[:, i] = w[i] vr[:, i] is computed.
      enable_eigvec_derivs: whether eigenvectors may be differentiated. Their derivatives are right where all eigenvalues are
        different and each vector has one component of greatest magnitude, which cannot be told beforehand.
      implementation: an `EigImplementation`, which the platform must have; its own choice by default.
      use_magma: an older way to ask for MAGMA (True) or LAPACK (False).

    Returns:
      [w, vl, vr] as far as asked for: [..., n], [..., n, n] and [..., n, n] of the complex dtype of x's precision,
      the vectors of norm 1.

    Raises:
      TypeError: if x is not square, or its dtype is not float32, float64, complex64 or complex128.
      NotImplementedError: if an argument is not what it must be.

    Example:
      >>> eig(np.float32([[0, 1], [-1, 0]]), compute_left_eigenvectors=False, compute_right_eigenvectors=False)
      [array([0.+1.j, 0.-1.j], dtype=complex64)]
    """
    _check_choice("eig", "implementation", implementation, EigImplementation)
    if use_magma is not None:
        if implementation is not None:
            raise ValueError(f"eig: implementation and use_magma say the same and cannot both be given, got {implementation} and "
                             f"{use_magma=}; implementation alone is enough")
        implementation = EigImplementation.MAGMA if use_magma else EigImplementation.LAPACK
    return eig_p.bind(x, compute_left_eigenvectors=bool(compute_left_eigenvectors),
                      compute_right_eigenvectors=bool(compute_right_eigenvectors), enable_eigvec_derivs=bool(enable_eigvec_derivs),
                      implementation=implementation)


def schur(x: ArrayLike, *, compute_schur_vectors: bool = True, sort_eig_vals: bool = False, select_callable: Callable | None = None) -> Any:
    """The Schur decomposition, x = Z T Z^H with unitary Z; on CPU only.

    Args:
      x: [..., n, n]. Of a real x, T is quasi-triangular, with blocks of 2 by 2 for complex pairs of eigenvalues.
      compute_schur_vectors: whether Z is computed.
      sort_eig_vals: must be False.
      select_callable: must be None.

    Returns:
      [T, Z], or [T]: [..., n, n] of x's dtype.

    Raises:
      TypeError: if x is not square, or its dtype is not float32, float64, complex64 or complex128.
      NotImplementedError: if an argument is not what it must be.

    Example:
      >>> schur(np.float32([[1, 2], [0, 3]]))[0]
      array([[1., 2.],
             [0., 3.]], dtype=float32)
    """
    if sort_eig_vals or select_callable is not None:
        raise NotImplementedError(f"schur: eigenvalues cannot be sorted yet, got {sort_eig_vals=} and {select_callable=}")
    return schur_p.bind(x, compute_schur_vectors=bool(compute_schur_vectors), sort_eig_vals=False, select_callable=None)


def hessenberg(a: ArrayLike) -> list[Any]:
    """The reduction to upper Hessenberg form by Householder reflections; on CPU only.

    Args:
      a: [..., n, n].

    Returns:
      [..., n, n] with the form on and above the first subdiagonal and the vectors below it, and their factors [...,
      n - 1] (none where n is 0), both of a's dtype.

    Raises:
      TypeError: if a is not square, or its dtype is not float32, float64, complex64 or complex128.

    Example:
      >>> hessenberg(np.float32([[1, 2], [3, 4]]))[0]
      array([[1., 2.],
             [3., 4.]], dtype=float32)
    """
    return hessenberg_p.bind(a)


def tridiagonal_solve(dl: ArrayLike, d: ArrayLike, du: ArrayLike, b: ArrayLike, *, perturb_singular: bool = False) -> Array:
    """Solves tridiagonal systems.

    Args:
      dl: [..., n], the subdiagonal; dl[..., 0] is not read.
      d: [..., n], the diagonal.
      du: [..., n], the superdiagonal; du[..., n-1] is not read.
      b: [..., n, k].
      perturb_singular: whether pivots that are nearly 0 are replaced by numbers of the size of the rounding error, so that the solution
        is finite for singular matrices too: inverse iteration wants it so.

    Returns:
      [..., n, k] of b's dtype.

    Raises:
      TypeError: if shapes do not fit, or the dtypes are not one of float32, float64, complex64 or complex128, the
        same for all.

    Example:
      >>> tridiagonal_solve(np.float32([0, 1]), np.float32([2, 2]), np.float32([1, 0]), np.float32([[3], [3]]))
      array([[1.],
             [1.]], dtype=float32)
    """
    return tridiagonal_solve_p.bind(dl, d, du, b, perturb_singular=bool(perturb_singular))


def symmetric_product(a_matrix: ArrayLike, c_matrix: ArrayLike, *, alpha: float = 1.0, beta: float = 0.0,
                      symmetrize_output: bool = False) -> Array:
    """alpha a a^T + beta c, computed as a symmetric matrix.

    Args:
      a_matrix: [..., n, k].
      c_matrix: [..., n, n], symmetric.
      alpha, beta: static factors.
      symmetrize_output: whether the upper triangle is made the mirror of the lower one; else it is what the sum gives.

    Returns:
      [..., n, n] of the operands' dtype.

    Raises:
      TypeError: if shapes do not fit, or the dtypes are not one of float32, float64, complex64 or complex128, the
        same for all.

    Example:
      >>> symmetric_product(np.float32([[1, 2]]), np.float32([[0]]))
      array([[5.]], dtype=float32)
    """
    result = symmetric_product_p.bind(a_matrix, c_matrix, alpha=float(alpha), beta=float(beta))
    if symmetrize_output:
        lower = triangle(result, lower=True)
        result = elementwise.add(lower, swap_last(triangle(result, lower=True, k=-1)))
    return result
