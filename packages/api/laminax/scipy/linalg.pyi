# Written by tools/stubs.py.
"""Linear algebra, as in `scipy.linalg`. A table of contents: names load on first use."""

from collections.abc import Callable
from laminax._array import Array
from laminax.typing import ArrayLike, DTypeLike
from typing import Any

__all__: list[str]

def block_diag(*arrs: ArrayLike) -> Array:
    """A matrix with matrices along its diagonal, and zeros elsewhere."""
def cho_factor(a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, bool]:
    """The Cholesky factorization as `cho_solve` takes it; see `cholesky`."""
def cho_solve(c_and_lower: tuple[Any, bool], b: ArrayLike, overwrite_b: bool = False, check_finite: bool = True) -> Array:
    """Solution x of a x = b from the Cholesky factorization of a."""
def cholesky(a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """Cholesky factor of positive definite matrices: a = U^H U, or a = L L^H."""
def circulant(c: ArrayLike) -> Array:
    """Circulant matrices, each column of which is the one before, rotated by one."""
def companion(a: ArrayLike) -> Array:
    """Companion matrices, whose eigenvalues are the roots of a polynomial."""
def convolution_matrix(a: ArrayLike, n: int, mode: str = 'full') -> Array:
    """The matrix that convolves a vector of size n with a."""
def det(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """Determinant of square matrices."""
def dft(n: int, scale: str | None = None, *, dtype: DTypeLike | None = None) -> Array:
    """The matrix of the discrete Fourier transform, exp(-2 pi i j k / n)."""
def eigh(
    a: ArrayLike,
    b: ArrayLike | None = None,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
) -> Any:
    """Eigenvalues, ascending, and eigenvectors of Hermitian matrices: w and v with a v = w v."""
def eigh_tridiagonal(
    d: ArrayLike,
    e: ArrayLike,
    *,
    eigvals_only: bool = False,
    select: str = 'a',
    select_range: tuple[int, int] | None = None,
    tol: float | None = None,
    key: ArrayLike | None = None,
) -> Array | tuple[Array, Array]:
    """Eigenvalues, ascending, and eigenvectors of tridiagonal matrices, real symmetric or Hermitian."""
def expm(A: ArrayLike, *, upper_triangular: bool = False, max_squarings: int = 16) -> Array:
    """Exponential of square matrices, by scaling, a Padé approximant, and squaring."""
def expm_frechet(A: ArrayLike, E: ArrayLike, *, method: str | None = None, compute_expm: bool = True) -> Array | tuple[Array, Array]:
    """Derivative of the matrix exponential at A in the direction E."""
def fiedler(a: ArrayLike) -> Array:
    """Fiedler's matrices, of the distances of the elements of a vector."""
def fiedler_companion(a: ArrayLike) -> Array:
    """Fiedler's companion matrices, pentadiagonal with the roots of a polynomial as eigenvalues."""
def funm(A: ArrayLike, func: Callable[..., Any], disp: bool = True) -> Any:
    """A function of a matrix, by Parlett's recurrence on its Schur decomposition; on CPU only."""
def hadamard(n: int, dtype: DTypeLike = ...) -> Array:
    """Sylvester's Hadamard matrix, of ones and minus ones with orthogonal rows."""
def hankel(c: ArrayLike, r: ArrayLike | None = None) -> Array:
    """Hankel matrices, constant along each antidiagonal."""
def helmert(n: int, full: bool = False) -> Array:
    """Helmert's matrix, with orthonormal rows: row k compares element k with the mean of those before."""
def hessenberg(a: ArrayLike, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Reduction to upper Hessenberg form, a = Q H Q^H with unitary Q; on CPU only."""
def hilbert(n: int) -> Array:
    """Hilbert's matrix, 1 / (i + j + 1)."""
def inv(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """Inverse of square matrices."""
def invhilbert(n: int) -> Array:
    """The inverse of Hilbert's matrix, which has integer elements."""
def invpascal(n: int, kind: str | None = None) -> Array:
    """The inverse of Pascal's matrix, which has integer elements."""
def leslie(f: ArrayLike, s: ArrayLike) -> Array:
    """Leslie matrices of population dynamics: birth rates in the first row, survival rates on the subdiagonal."""
def lu(a: ArrayLike, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Array, ...]:
    """LU factorization, a = P L U."""
def lu_factor(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, Any]:
    """LU factorization with partial pivoting, as `lu_solve` takes it."""
def lu_solve(lu_and_piv: tuple[Any, Any], b: ArrayLike, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True) -> Array:
    """Solution x of op(a) x = b from the LU factorization of a."""
def pascal(n: int, kind: str | None = None) -> Array:
    """Pascal's matrix, of binomial coefficients; infinite where doubles do not hold them."""
def polar(
    a: ArrayLike,
    side: str = 'right',
    *,
    method: str = 'qdwh',
    eps: float | None = None,
    max_iterations: int | None = None,
) -> tuple[Any, Any]:
    """Polar decomposition, a = U P or a = P U, with orthonormal U and positive semidefinite P."""
def qr(
    a: ArrayLike,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = 'full',
    pivoting: bool = False,
    check_finite: bool = True,
) -> tuple[Array, ...]:
    """QR factorization, a = Q R."""
def qr_multiply(
    a: ArrayLike,
    c: ArrayLike,
    mode: str = 'right',
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> tuple[Any, ...]:
    """The product of Q, of the economic QR factorization of a, with c; and R."""
def rsf2csf(T: ArrayLike, Z: ArrayLike, check_finite: bool = True) -> tuple[Any, Any]:
    """A complex Schur decomposition from a real one."""
def schur(a: ArrayLike, output: str = 'real') -> list[Any]:
    """Schur decomposition, a = Z T Z^H with unitary Z; on CPU only."""
def solve(
    a: ArrayLike,
    b: ArrayLike,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    debug: bool = False,
    check_finite: bool = True,
    assume_a: str = 'gen',
) -> Array:
    """Solution x of a x = b."""
def solve_sylvester(A: ArrayLike, B: ArrayLike, C: ArrayLike, *, method: str = 'schur', tol: float = 1e-08) -> Array:
    """Solution X of Sylvester's equation A X + X B = C; on CPU only."""
def solve_triangular(
    a: ArrayLike,
    b: ArrayLike,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    debug: Any = None,
    check_finite: bool = True,
) -> Array:
    """Solution x of op(a) x = b for a triangular a."""
def sqrtm(A: ArrayLike, blocksize: int = 1) -> Array:
    """Principal square root of a matrix; on CPU only."""
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = 'gesdd',
) -> Any:
    """Singular value decomposition, a = U diag(s) Vh; see `numpy.linalg.svd`."""
def toeplitz(c: ArrayLike, r: ArrayLike | None = None) -> Array:
    """Toeplitz matrices, constant along each diagonal."""
