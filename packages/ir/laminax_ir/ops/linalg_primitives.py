"""The primitives of factorizations and solvers, the checks of their operands, and their shape rules. The functions are in `linalg`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.ops.elementwise_avals import joined_named_shape
from laminax_ir.programs.primitive import Primitive, shape_rule
from laminax_ir.symbolic.symbolic_dims import max_dim, min_dim
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.errors import DTypeError, ShapeError

if TYPE_CHECKING:
    from laminax_ir.ops.linalg import EigImplementation

INT32 = np.dtype(np.int32)
_FACTORED = tuple(np.dtype(d) for d in ("float32", "float64", "complex64", "complex128"))

cholesky_p = Primitive("cholesky", family="linalg")
triangular_solve_p = Primitive("triangular_solve", family="linalg")
lu_p = Primitive("lu", multiple_results=True, family="linalg")
lu_pivots_to_permutation_p = Primitive("lu_pivots_to_permutation", family="linalg")
geqrf_p = Primitive("geqrf", multiple_results=True, family="linalg")
householder_product_p = Primitive("householder_product", family="linalg")
qr_p = Primitive("qr", multiple_results=True, family="linalg")
eigh_p = Primitive("eigh", multiple_results=True, family="linalg")
svd_p = Primitive("svd", multiple_results=True, family="linalg")
eig_p = Primitive("eig", multiple_results=True, family="linalg")
schur_p = Primitive("schur", multiple_results=True, family="linalg")
hessenberg_p = Primitive("hessenberg", multiple_results=True, family="linalg")
tridiagonal_solve_p = Primitive("tridiagonal_solve", family="linalg")
symmetric_product_p = Primitive("symmetric_product", family="linalg")


# Checks


def check_matrix_dtypes(name: str, *avals: ShapedArray) -> None:
    """Raises DTypeError unless all have the same dtype, float32, float64, complex64 or complex128."""
    for aval in avals:
        if aval.dtype not in _FACTORED:
            raise DTypeError(f"{name} does not accept dtype {dtypes.dtype_name(aval.dtype)}. Accepted dtypes are float32, "
                             "float64, complex64 and complex128.")
    if len({aval.dtype for aval in avals}) != 1:
        raise DTypeError(f"{name} requires arguments to have the same dtypes, got {', '.join(a.str_short() for a in avals)}")


def check_matrix(name: str, x: ShapedArray) -> tuple[tuple[int, ...], int, int]:
    """Batch shape, rows, columns.

    Args:
      name: the operation, for messages.
      x: the argument.

    Raises:
      DTypeError, ShapeError: if it is no matrix or batch of them.
    """
    check_matrix_dtypes(name, x)
    if x.ndim < 2:
        raise ShapeError(f"{name}: the argument must be a matrix or a batch of them, got {x.str_short()}")
    return x.shape[:-2], x.shape[-2], x.shape[-1]


SYMMETRIC = "Argument to symmetric eigendecomposition"


def check_square(name: str, x: ShapedArray, what: str = "the argument") -> tuple[tuple[int, ...], int]:
    """Batch shape and size; as `check_matrix`, of square matrices. `what` is what messages call the argument."""
    batch, m, n = check_matrix(name, x)
    if m != n:
        raise ShapeError(f"{name}: {what} must be a square matrix or a batch of them, got {x.str_short()}")
    return batch, n


def real_dtype(dtype: Any) -> np.dtype:
    """The dtype of the parts of a complex dtype; a real one itself.

    Args:
      dtype: float32, float64, complex64 or complex128, or another inexact NumPy dtype.

    Returns:
      A real dtype.
    """
    return np.dtype(dtype).type(0).real.dtype


# Shape rules


@shape_rule(cholesky_p)
def _cholesky_shape(x: ShapedArray) -> ShapedArray:
    check_square("cholesky", x)
    return x


@shape_rule(triangular_solve_p)
def _triangular_solve_shape(a: ShapedArray, b: ShapedArray, *, left_side: bool, lower: bool, transpose_a: bool, conjugate_a: bool,
                            unit_diagonal: bool) -> ShapedArray:
    check_matrix_dtypes("triangular_solve", a, b)
    batch, n = check_square("triangular_solve", a)
    if b.ndim != a.ndim or b.shape[:-2] != batch or b.shape[-2 if left_side else -1] != n:
        side = "rows" if left_side else "columns"
        raise ShapeError(f"triangular_solve: incompatible shapes {a.str_short()} and {b.str_short()}: the batch axes must be "
                         f"equal, and b must have {n} {side}")
    return b.update(named_shape=joined_named_shape((a, b)))


@shape_rule(lu_p)
def _lu_shape(x: ShapedArray) -> list[ShapedArray]:
    batch, m, n = check_matrix("lu", x)
    return [x, x.update(shape=(*batch, min_dim(m, n)), dtype=INT32), x.update(shape=(*batch, m), dtype=INT32)]


@shape_rule(lu_pivots_to_permutation_p)
def _lu_pivots_to_permutation_shape(pivots: ShapedArray, *, permutation_size: int) -> ShapedArray:
    if pivots.dtype != INT32:
        raise DTypeError(f"lu_pivots_to_permutation: the pivots must be int32, got {pivots.str_short()}")
    if pivots.ndim < 1 or pivots.shape[-1] > permutation_size:
        raise ShapeError(f"lu_pivots_to_permutation: Output permutation size {permutation_size} must be at least that of "
                         f"the last axis of the pivots, {pivots.str_short()}")
    return pivots.update(shape=(*pivots.shape[:-1], permutation_size))


@shape_rule(geqrf_p)
def _geqrf_shape(x: ShapedArray) -> list[ShapedArray]:
    batch, m, n = check_matrix("geqrf", x)
    return [x, x.update(shape=(*batch, min_dim(m, n)))]


@shape_rule(householder_product_p)
def _householder_product_shape(a: ShapedArray, taus: ShapedArray) -> ShapedArray:
    batch, m, n = check_matrix("householder_product", a)
    check_matrix_dtypes("householder_product", a, taus)
    if m < n:
        raise ShapeError(f"householder_product: the matrix must have at least as many rows as columns, got {a.str_short()}")
    if taus.ndim != a.ndim - 1 or taus.shape[:-1] != batch or taus.shape[-1] > n:
        raise ShapeError(f"householder_product: {a.str_short()} needs at most {n} factors with the same batch axes, got "
                         f"{taus.str_short()}")
    return a


@shape_rule(qr_p)
def _qr_shape(x: ShapedArray, *, pivoting: bool, full_matrices: bool, use_magma: Any) -> list[ShapedArray]:
    batch, m, n = check_matrix("qr", x)
    k = m if full_matrices else min_dim(m, n)
    factors = [x.update(shape=(*batch, m, k)), x.update(shape=(*batch, k, n))]
    return [*factors, x.update(shape=(*batch, n), dtype=INT32, weak_type=False)] if pivoting else factors


@shape_rule(eigh_p)
def _eigh_shape(x: ShapedArray, *, lower: bool, sort_eigenvalues: bool, subset_by_index: Any, algorithm: Any) -> list[ShapedArray]:
    batch, n = check_square("eigh", x, SYMMETRIC)
    return [x, x.update(shape=(*batch, n), dtype=real_dtype(x.dtype))]


@shape_rule(svd_p)
def _svd_shape(x: ShapedArray, *, full_matrices: bool, compute_uv: bool, subset_by_index: Any, algorithm: Any = None) -> list[ShapedArray]:
    batch, m, n = check_matrix("svd", x)
    rank = min_dim(m, n)
    values = x.update(shape=(*batch, rank), dtype=real_dtype(x.dtype))
    if not compute_uv:
        return [values]
    rows, columns = (m, n) if full_matrices else (rank, rank)
    return [values, x.update(shape=(*batch, m, rows)), x.update(shape=(*batch, columns, n))]


@shape_rule(eig_p)
def _eig_shape(x: ShapedArray, *, compute_left_eigenvectors: bool, compute_right_eigenvectors: bool, enable_eigvec_derivs: bool,
               implementation: EigImplementation | None) -> list[ShapedArray]:
    batch, n = check_square("eig", x)
    dtype = dtypes.to_complex_dtype(x.dtype)
    vectors = x.update(dtype=dtype)
    return [x.update(shape=(*batch, n), dtype=dtype), *[vectors] * (compute_left_eigenvectors + compute_right_eigenvectors)]


@shape_rule(schur_p)
def _schur_shape(x: ShapedArray, *, compute_schur_vectors: bool, sort_eig_vals: bool, select_callable: Any) -> list[ShapedArray]:
    check_square("schur", x)
    return [x, x] if compute_schur_vectors else [x]


@shape_rule(hessenberg_p)
def _hessenberg_shape(x: ShapedArray) -> list[ShapedArray]:
    batch, n = check_square("hessenberg", x)
    return [x, x.update(shape=(*batch, max_dim(n - 1, 0)))]


@shape_rule(tridiagonal_solve_p)
def _tridiagonal_solve_shape(dl: ShapedArray, d: ShapedArray, du: ShapedArray, b: ShapedArray, *,
                             perturb_singular: bool) -> ShapedArray:
    check_matrix_dtypes("tridiagonal_solve", dl, d, du, b)
    listed = ", ".join(a.str_short() for a in (dl, d, du, b))
    if d.ndim < 1 or not dl.shape == d.shape == du.shape or b.ndim != d.ndim + 1 or b.shape[:-1] != d.shape:
        raise ShapeError("tridiagonal_solve: the three diagonals must have one shape [..., n], and b the shape [..., n, k], got "
                         f"{listed}")
    return b.update(named_shape=joined_named_shape((dl, d, du, b)))


@shape_rule(symmetric_product_p)
def _symmetric_product_shape(a: ShapedArray, c: ShapedArray, *, alpha: float, beta: float) -> ShapedArray:
    check_matrix_dtypes("symmetric_product", a, c)
    batch, n, _ = check_matrix("symmetric_product", a)
    if c.shape != (*batch, n, n):
        raise ShapeError(f"symmetric_product: c must have the shape {(*batch, n, n)} of a product of a, got {a.str_short()} and "
                         f"{c.str_short()}")
    return c.update(named_shape=joined_named_shape((a, c)))
