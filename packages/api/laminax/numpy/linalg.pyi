# Written by tools/stubs.py.
"""Linear algebra, as in `numpy.linalg`. A table of contents: names load on first use."""

from collections.abc import Sequence
from laminax._array import Array
from laminax._src.numerics.numpy.linalg.determinants import SlogdetResult
from laminax._src.numerics.numpy.linalg.factorizations import EigResult, EighResult, QRResult
from laminax.typing import ArrayLike, DTypeLike
from typing import Any

__all__: list[str]

def cholesky(a: ArrayLike, *, upper: bool = False, symmetrize_input: bool = True) -> Array:
    """Cholesky factor of positive definite matrices: a = L L^H."""
def cond(x: ArrayLike, p: Any = None) -> Any:
    """Condition number: norm(x) times norm(inv(x))."""
def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Array:
    """Cross product of vectors of 3 components along an axis; the other axes are broadcast."""
def det(a: ArrayLike) -> Array:
    """Determinant."""
def diagonal(x: ArrayLike, /, *, offset: int = 0) -> Array:
    """Diagonals of the matrices in the last two axes; see `numpy.diagonal`."""
def eig(a: ArrayLike) -> EigResult:
    """Eigenvalues and eigenvectors of general matrices: a v[:, i] = w[i] v[:, i]. On CPU only; vectors have no derivative."""
def eigh(a: ArrayLike, UPLO: str | None = None, symmetrize_input: bool = True) -> EighResult:
    """Eigenvalues and eigenvectors of Hermitian matrices: a v[:, i] = w[i] v[:, i]."""
def eigvals(a: ArrayLike) -> Array:
    """Eigenvalues of general matrices [..., n, n]: complex [..., n], in no order. On CPU only."""
def eigvalsh(a: ArrayLike, UPLO: str | None = 'L', *, symmetrize_input: bool = True) -> Array:
    """Eigenvalues of Hermitian matrices [..., n, n]: real [..., n], ascending; parameters as for `eigh`."""
def inv(a: ArrayLike) -> Array:
    """Inverse of square matrices."""
def lstsq(a: ArrayLike, b: ArrayLike, rcond: float | None = None, *, numpy_resid: bool = False) -> tuple[Any, ...]:
    """Least-squares solution: the shortest x among those that make |a x - b| smallest."""
def matmul(x1: ArrayLike, x2: ArrayLike, /, *, precision: str | None = None, preferred_element_type: DTypeLike | None = None) -> Array:
    """Matrix product of the last two axes; the same as `numpy.matmul`."""
def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: Any = 'fro') -> Array:
    """Norm of the matrices in the last two axes; parameters as for `norm`."""
def matrix_power(a: ArrayLike, n: int) -> Array:
    """Power of square matrices, by repeated squaring."""
def matrix_rank(M: ArrayLike, rtol: ArrayLike | None = None, *, hermitian: bool = False, tol: ArrayLike | None = None) -> Array:
    """Number of singular values that are not nearly 0."""
def matrix_transpose(x: ArrayLike, /) -> Array:
    """Matrices with their rows and columns exchanged."""
def multi_dot(arrays: Sequence[Any], *, precision: Any = None) -> Array:
    """Matrix product of several arrays, multiplied in the order that takes the fewest operations."""
def norm(x: ArrayLike, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Array:
    """Norm of vectors or matrices."""
def outer(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Products of all elements of a vector with all of another one."""
def pinv(a: ArrayLike, rtol: ArrayLike | None = None, hermitian: bool = False, *, rcond: ArrayLike | None = None) -> Array:
    """Moore-Penrose pseudo-inverse."""
def qr(a: ArrayLike, mode: str = 'reduced') -> QRResult | Array:
    """QR factorization, a = Q R."""
def slogdet(a: ArrayLike, *, method: str | None = None) -> SlogdetResult:
    """Sign of the determinant and logarithm of its absolute value."""
def solve(a: ArrayLike, b: ArrayLike) -> Array:
    """Solution x of a x = b."""
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, ...] | None = None,
) -> Any:
    """Singular value decomposition, a = U diag(S) Vh."""
def svdvals(x: ArrayLike, /) -> Array:
    """Singular values of matrices [..., m, n]: real [..., min(m, n)], descending."""
def tensordot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    axes: Any = 2,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: Any = None,
) -> Array:
    """Sum of products over given axes; the same as `numpy.tensordot`."""
def tensorinv(a: ArrayLike, ind: int = 2) -> Array:
    """Inverse of the linear map that `tensordot(a, ., ind)` is."""
def tensorsolve(a: ArrayLike, b: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """Solution x of tensordot(a, x, x.ndim) = b."""
def trace(x: ArrayLike, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> Array:
    """Sums of a diagonal of the matrices in the last two axes; see `numpy.trace`."""
def vecdot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    axis: int = -1,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Inner products along an axis, the first argument conjugated; the same as `numpy.vecdot`."""
def vector_norm(x: ArrayLike, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, ord: Any = 2) -> Array:
    """Norm of vectors."""
