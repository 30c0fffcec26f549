# Written by tools/stubs.py.
"""laminax.lax.linalg: factorizations of matrices, as XLA and LAPACK have them."""

from collections.abc import Callable
from laminax._array import Array
from laminax.typing import ArrayLike
from typing import Any
from laminax_ir.ops.linalg import EigImplementation as EigImplementation
from laminax_ir.ops.linalg import EighImplementation as EighImplementation
from laminax_ir.ops.linalg import SvdAlgorithm as SvdAlgorithm

__all__: list[str]

def cholesky(x: ArrayLike, *, symmetrize_input: bool = True) -> Array:
    """The Cholesky factor: lower triangular L with a real, positive diagonal and L L^H = x."""
def cholesky_update(r_matrix: ArrayLike, w_vector: ArrayLike) -> Array:
    """The Cholesky factor of R^T R + w w^T, in a number of steps that grows as the square of the size."""
def eig(
    x: ArrayLike,
    *,
    compute_left_eigenvectors: bool = True,
    compute_right_eigenvectors: bool = True,
    enable_eigvec_derivs: bool = False,
    implementation: Any = None,
    use_magma: bool | None = None,
) -> list[Any]:
    """Eigenvalues and eigenvectors of general matrices; on CPU only."""
def eigh(
    x: ArrayLike,
    *,
    lower: bool = True,
    symmetrize_input: bool = True,
    sort_eigenvalues: bool = True,
    subset_by_index: Any = None,
    implementation: Any = None,
) -> tuple[Any, Any]:
    """Eigenvectors and eigenvalues of Hermitian matrices: x v[:, i] = w[i] v[:, i]."""
def hessenberg(a: ArrayLike) -> list[Any]:
    """The reduction to upper Hessenberg form by Householder reflections; on CPU only."""
def householder_product(a: ArrayLike, taus: ArrayLike) -> Array:
    """The first columns of a product of Householder reflections, I - tau v v^H each."""
def lu(x: ArrayLike) -> list[Any]:
    """The LU factorization with partial pivoting: x[permutation] = L U."""
def lu_pivots_to_permutation(pivots: ArrayLike, permutation_size: int) -> Array:
    """The permutation that a sequence of row exchanges makes."""
def ormqr(a: ArrayLike, taus: ArrayLike, c: ArrayLike, *, left: bool = True, transpose: bool = False) -> Array:
    """The product of a matrix with the Q of a QR factorization, without making Q."""
def qdwh(
    x: ArrayLike,
    *,
    is_hermitian: bool = False,
    max_iterations: int | None = None,
    eps: float | None = None,
    dynamic_shape: tuple[Any, ...] | None = None,
) -> tuple[Any, Any, Any, Any]:
    """The polar decomposition x = u h by the dynamically weighted Halley iteration."""
def qr(x: ArrayLike, *, pivoting: bool = False, full_matrices: bool = True, use_magma: bool | None = None) -> tuple[Any, ...]:
    """The QR factorization: x = Q R with orthonormal columns in Q and an upper triangular R."""
def schur(
    x: ArrayLike,
    *,
    compute_schur_vectors: bool = True,
    sort_eig_vals: bool = False,
    select_callable: Callable[..., Any] | None = None,
) -> Any:
    """The Schur decomposition, x = Z T Z^H with unitary Z; on CPU only."""
def svd(x: ArrayLike, *, full_matrices: bool = True, compute_uv: bool = True, subset_by_index: Any = None, algorithm: Any = None) -> Any:
    """The singular value decomposition: x = U diag(s) V^H."""
def symmetric_product(
    a_matrix: ArrayLike,
    c_matrix: ArrayLike,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    symmetrize_output: bool = False,
) -> Array:
    """alpha a a^T + beta c, computed as a symmetric matrix."""
def triangular_solve(
    a: ArrayLike,
    b: ArrayLike,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Array:
    """Solves op(a) x = b or x op(a) = b for a triangular a."""
def tridiagonal(a: ArrayLike, *, lower: bool = True) -> list[Any]:
    """The reduction of Hermitian matrices to tridiagonal form by Householder reflections: a = Q T Q^H."""
def tridiagonal_solve(dl: ArrayLike, d: ArrayLike, du: ArrayLike, b: ArrayLike, *, perturb_singular: bool = False) -> Array:
    """Solves tridiagonal systems."""
