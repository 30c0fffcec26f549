"""Orthogonal transformations applied to matrices: products of Householder reflections, and Givens rotations.

A reflection is I - tau v v^H; LAPACK keeps the vectors v below the diagonal of an array, without their leading ones, and
the factors tau beside it. Leading axes are batches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from laminax_ir.ops.elementwise_avals import joined_named_shape
from laminax_ir.ops.linalg_primitives import check_matrix, check_matrix_dtypes, check_square, real_dtype
from laminax_ir.programs.primitive import Primitive, shape_rule
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.errors import DTypeError, ShapeError

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

ormqr_p = Primitive("ormqr", family="orthogonal")
tridiagonal_p = Primitive("tridiagonal", multiple_results=True, family="orthogonal")
cholesky_update_p = Primitive("cholesky_update", family="orthogonal")


@shape_rule(ormqr_p)
def _ormqr_shape(a: ShapedArray, taus: ShapedArray, c: ShapedArray, *, left: bool, transpose: bool) -> ShapedArray:
    check_matrix_dtypes("ormqr", a, taus, c)
    batch, m, n = check_matrix("ormqr", a)
    listed = f"a {a.str_short()}, taus {taus.str_short()}, c {c.str_short()}"
    if taus.ndim != a.ndim - 1 or c.ndim != a.ndim or taus.shape[:-1] != batch or c.shape[:-2] != batch:
        raise ShapeError("ormqr: a, taus and c must have the same batch axes, and taus one axis less than the matrices; got "
                         f"{listed}")
    if taus.shape[-1] > min(m, n):
        raise ShapeError(f"ormqr: a of {m} rows and {n} columns holds at most {min(m, n)} reflections; got {listed}")
    if c.shape[-2 if left else -1] != m:
        side = "rows" if left else "columns"
        raise ValueError(f"ormqr: with {left=}, c must have as many {side} as a has rows, {m}; got {listed}")
    return c.update(named_shape=joined_named_shape((a, taus, c)))


@shape_rule(tridiagonal_p)
def _tridiagonal_shape(a: ShapedArray, *, lower: bool) -> list[ShapedArray]:
    batch, n = check_square("tridiagonal", a)
    if not n:
        raise ShapeError(f"tridiagonal: the matrix must not be empty, got {a.str_short()}")
    real = a.update(dtype=real_dtype(a.dtype))
    return [a, real.update(shape=(*batch, n)), real.update(shape=(*batch, n - 1)), a.update(shape=(*batch, n - 1))]


@shape_rule(cholesky_update_p)
def _cholesky_update_shape(r: ShapedArray, w: ShapedArray) -> ShapedArray:
    check_matrix_dtypes("cholesky_update", r, w)
    if dtypes.issubdtype(r.dtype, dtypes.complexfloating):
        raise DTypeError(f"cholesky_update does not accept dtype {dtypes.dtype_name(r.dtype)}. Accepted dtypes are float32 and "
                         "float64.")
    check_square("cholesky_update", r)
    if w.shape != r.shape[:-1]:
        raise ShapeError("cholesky_update: r_matrix must be square and w_vector a vector of its size, with the same batch axes; got "
                         f"{r.str_short()} and {w.str_short()}")
    return r.update(named_shape=joined_named_shape((r, w)))


def ormqr(a: ArrayLike, taus: ArrayLike, c: ArrayLike, *, left: bool = True, transpose: bool = False) -> Array:
    """The product of a matrix with the Q of a QR factorization, without making Q.

    Args:
      a: [..., m, n], the reflections' vectors below the diagonal, as `geqrf` makes them.
      taus: [..., k], k <= min(m, n), the reflections' factors.
      c: [..., m, p], or [..., p, m] if not left.
      left: whether Q stands on the left: Q c; else c Q.
      transpose: whether Q^H stands for Q.

    Returns:
      An array of c's shape and dtype.

    Raises:
      TypeError: if shapes do not fit, or the dtypes are not one of float32, float64, complex64 or complex128, the
        same for all.
      ValueError: if c does not have Q's size on its side.

    Example:
      >>> a_transposed, taus = np.linalg.qr(np.float32([[3, 1], [4, 3]]), mode="raw")
      >>> ormqr(a_transposed.T, taus, np.triu(a_transposed.T))  # Q R
      array([[3., 1.],
             [4., 3.]], dtype=float32)
    """
    return ormqr_p.bind(a, taus, c, left=bool(left), transpose=bool(transpose))


def tridiagonal(a: ArrayLike, *, lower: bool = True) -> list[Any]:
    """The reduction of Hermitian matrices to tridiagonal form by Householder reflections: a = Q T Q^H.

    Args:
      a: [..., n, n], of which one triangle is read.
      lower: which one.

    Returns:
      [a, d, e, taus]: an array of a's shape and dtype with T on the diagonals and the reflections' vectors beyond them;
      the diagonal [..., n] and the diagonal beside it [..., n - 1] of T, real; the reflections' factors [..., n - 1] of
      a's dtype. NaN where LAPACK fails.

    Raises:
      TypeError: if a is not square or empty, or its dtype is not float32, float64, complex64 or complex128.

    Example:
      >>> a, d, e, taus = tridiagonal(np.float32([[2, 1], [1, 2]]))
      >>> d, e
      (array([2., 2.], dtype=float32), array([1.], dtype=float32))
    """
    return tridiagonal_p.bind(a, lower=bool(lower))


def cholesky_update(r_matrix: ArrayLike, w_vector: ArrayLike) -> Array:
    """The Cholesky factor of R^T R + w w^T, in a number of steps that grows as the square of the size.

    Args:
      r_matrix: R, upper triangular, float32 or float64, [..., n, n].
      w_vector: w, of the same dtype, [..., n].

    Returns:
      An upper triangular array of R's shape and dtype; its diagonal is not negative.

    Raises:
      TypeError: if R is not square or w has not its size, or the dtype is another one.

    Example:
      >>> cholesky_update(np.float32([[2, 0], [0, 1]]), np.float32([0, 1]))
      array([[2.       , 0.       ],
             [0.       , 1.4142135]], dtype=float32)

    Source: Golub and Van Loan, Matrix Computations, 4th edition, section 6.5.4.
    """
    return cholesky_update_p.bind(r_matrix, w_vector)
