"""Factorizations of matrices: Cholesky, QR, singular values, eigenvalues."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from laminax_ir.ops import linalg as la

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.numpy.arguments import dtype_of
from laminax._src.numerics.numpy.linalg.matrices import as_matrices, as_square

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


class EigResult(NamedTuple):
    """Eigenvalues, complex[..., n], and eigenvectors in columns, complex[..., n, n]."""
    eigenvalues: Any
    eigenvectors: Any


class EighResult(NamedTuple):
    """Eigenvalues, real[..., n], ascending, and eigenvectors in columns, [..., n, n]."""
    eigenvalues: Any
    eigenvectors: Any


class QRResult(NamedTuple):
    """Q with orthonormal columns and an upper triangular R."""
    Q: Any
    R: Any


class SVDResult(NamedTuple):
    """Singular vectors in the columns of U and the rows of Vh, and singular values S, descending."""
    U: Any
    S: Any
    Vh: Any


def cholesky(a: ArrayLike, *, upper: bool = False, symmetrize_input: bool = True) -> Array:
    """Cholesky factor of positive definite matrices: a = L L^H.

    Args:
      a: [..., n, n], symmetric or Hermitian.
      upper: whether the upper triangular L^H is returned.
      symmetrize_input: whether a is replaced by the mean of a and its adjoint first; else its lower triangle is read.

    Returns:
      [..., n, n], triangular; NaN for a matrix that is not positive definite.

    Raises:
      TypeError: if a is not square.

    Example:
      >>> jnp.linalg.cholesky(jnp.array([[4.0, 2.0], [2.0, 5.0]]))
      Array([[2., 0.],
             [1., 2.]], dtype=float32)
    """
    return _cholesky(a, upper=bool(upper), symmetrize_input=bool(symmetrize_input))


@fused(static_argnames=("upper", "symmetrize_input"))
def _cholesky(a: ArrayLike, upper: bool, symmetrize_input: bool) -> Array:
    factor = la.cholesky(as_square("cholesky", a), symmetrize_input=symmetrize_input)
    return la.adjoint(factor) if upper else factor


def qr(a: ArrayLike, mode: str = "reduced") -> QRResult | Array:
    """QR factorization, a = Q R.

    Args:
      a: [..., m, n].
      mode: "reduced": Q has min(m, n) columns; "complete": Q is square; "r": only R of the reduced form; "raw": what
        LAPACK's geqrf returns, the transposed array of Householder vectors and their factors.

    Returns:
      The pair (Q, R), or R alone.

    Raises:
      ValueError: if a is no matrix, or for another mode.

    Example:
      >>> jnp.abs(jnp.linalg.qr(jnp.array([[3.0, 1.0], [4.0, 2.0]]))[1]).round(3)
      Array([[5. , 2.2],
             [0. , 0.4]], dtype=float32)
    """
    if mode not in ("reduced", "complete", "r", "raw"):
        raise ValueError(f"qr: mode must be 'reduced', 'complete', 'r' or 'raw', got {mode!r}")
    result = _qr(a, mode=mode)
    return result if mode == "r" else QRResult(*result)


@fused(static_argnames=("mode",))
def _qr(a: ArrayLike, mode: str) -> Any:
    a = as_matrices("qr", a)
    if mode == "raw":
        factors, taus = la.geqrf(a)
        return la.swap_last(factors), taus
    q, r = la.qr(a, full_matrices=mode == "complete")
    return r if mode == "r" else (q, r)


def svd(a: ArrayLike, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False,
        subset_by_index: tuple[int, ...] | None = None) -> Any:
    """Singular value decomposition, a = U diag(S) Vh.

    Args:
      a: [..., m, n].
      full_matrices: whether U and Vh are square; else they have min(m, n) columns and rows.
      compute_uv: whether U and Vh are computed.
      hermitian: whether a is Hermitian; then its eigenvalues are used.
      subset_by_index: must be None, or the whole range (0, min(m, n)).

    Returns:
      (U, S, Vh), S real and descending; or S alone.

    Raises:
      ValueError: if a is no matrix, or for a part of the singular values together with full_matrices.
      NotImplementedError: for a part of the singular values.

    Example:
      >>> jnp.linalg.svd(jnp.diag(jnp.array([3.0, 4.0])), compute_uv=False)
      Array([4., 3.], dtype=float32)
    """
    la.check_all_singular_values(a, subset_by_index, full_matrices)
    result = _svd(a, full_matrices=bool(full_matrices), compute_uv=bool(compute_uv), hermitian=bool(hermitian))
    return SVDResult(*result) if compute_uv else result


@fused(static_argnames=("full_matrices", "compute_uv", "hermitian"))
def _svd(a: ArrayLike, full_matrices: bool, compute_uv: bool, hermitian: bool) -> Any:
    if not hermitian:
        return la.svd(as_matrices("svd", a), full_matrices=full_matrices, compute_uv=compute_uv)
    u, s, vh = hermitian_svd(as_square("svd", a))
    return (u, s, vh) if compute_uv else s


def hermitian_svd(a: ArrayLike) -> tuple[Array, ...]:
    """The singular value decomposition (u, s, v^H) of Hermitian matrices [..., n, n], by their eigenvalues; s descends."""
    v, w = la.eigh(a)
    order = jnp.argsort(-jnp.abs(w), axis=-1)
    w = jnp.take_along_axis(w, order, axis=-1)
    v = jnp.take_along_axis(v, order[..., None, :], axis=-1)
    sign = jnp.where(w < 0, -jnp.ones_like(w), jnp.ones_like(w)).astype(dtype_of(v))
    return v * sign[..., None, :], jnp.abs(w), la.adjoint(v)


def svdvals(x: ArrayLike, /) -> Array:
    """Singular values of matrices [..., m, n]: real [..., min(m, n)], descending.

    Example:
      >>> jnp.linalg.svdvals(jnp.diag(jnp.array([3.0, 4.0])))
      Array([4., 3.], dtype=float32)
    """
    return _svd(x, full_matrices=False, compute_uv=False, hermitian=False)


def eig(a: ArrayLike) -> EigResult:
    """Eigenvalues and eigenvectors of general matrices: a v[:, i] = w[i] v[:, i]. On CPU only; vectors have no derivative.

    Args:
      a: [..., n, n].

    Returns:
      (eigenvalues, eigenvectors): complex [..., n] in no order, and [..., n, n] with columns of norm 1.

    Raises:
      ValueError: if a is not square.

    Example:
      >>> jnp.linalg.eig(jnp.diag(jnp.array([2.0, 3.0])))[0]
      Array([2.+0.j, 3.+0.j], dtype=complex64)
    """
    return EigResult(*_eig(a))


@fused
def _eig(a: ArrayLike) -> tuple[Array, Array]:
    return tuple(la.eig(as_square("eig", a), compute_left_eigenvectors=False))


@fused
def eigvals(a: ArrayLike) -> Array:
    """Eigenvalues of general matrices [..., n, n]: complex [..., n], in no order. On CPU only.

    Example:
      >>> jnp.linalg.eigvals(jnp.diag(jnp.array([2.0, 3.0])))
      Array([2.+0.j, 3.+0.j], dtype=complex64)
    """
    return la.eig(as_square("eigvals", a), compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]


def eigh(a: ArrayLike, UPLO: str | None = None, symmetrize_input: bool = True) -> EighResult:
    """Eigenvalues and eigenvectors of Hermitian matrices: a v[:, i] = w[i] v[:, i].

    Args:
      a: [..., n, n].
      UPLO: "L" (None is the same) or "U": the triangle that is read if the input is not symmetrized.
      symmetrize_input: whether a is replaced by the mean of a and its adjoint first.

    Returns:
      (eigenvalues, eigenvectors): real [..., n], ascending, and [..., n, n] with orthonormal columns.

    Raises:
      ValueError: if a is not square, or for another UPLO.

    Example:
      >>> jnp.linalg.eigh(jnp.array([[2.0, 0.0], [0.0, 3.0]])).eigenvalues
      Array([2., 3.], dtype=float32)
    """
    return EighResult(*_eigh(a, lower=_is_lower("eigh", UPLO), symmetrize_input=bool(symmetrize_input)))


def _is_lower(name: str, UPLO: Any) -> bool:
    if UPLO not in (None, "L", "U"):
        raise ValueError(f"{name}: UPLO must be None, 'L' or 'U', got {UPLO!r}")
    return UPLO != "U"


@fused(static_argnames=("lower", "symmetrize_input"))
def _eigh(a: ArrayLike, lower: bool, symmetrize_input: bool) -> tuple[Array, Array]:
    v, w = la.eigh(as_square("eigh", a), lower=lower, symmetrize_input=symmetrize_input)
    return w, v


def eigvalsh(a: ArrayLike, UPLO: str | None = "L", *, symmetrize_input: bool = True) -> Array:
    """Eigenvalues of Hermitian matrices [..., n, n]: real [..., n], ascending; parameters as for `eigh`.

    Example:
      >>> jnp.linalg.eigvalsh(jnp.array([[2.0, 0.0], [0.0, 3.0]]))
      Array([2., 3.], dtype=float32)
    """
    return _eigh(a, lower=_is_lower("eigvalsh", UPLO), symmetrize_input=bool(symmetrize_input))[0]
