"""Linear algebra: NumPy's functions on matrices in the last two axes, on the factorizations of `laminax_ir.ops.linalg`.

Where the derivative of a factorization would be infinite though that of the function is not, or cost more, the function
has its own: `det` and `slogdet`, `solve` and `inv`, `pinv` and `lstsq`.
"""

from __future__ import annotations

import math
import operator
from typing import Any, NamedTuple, Sequence

import numpy as np

from laminax_ir import dtypes
from laminax_ir.avals import get_aval
from laminax_ir.errors import ShapeError
from laminax_ir.ops import linalg as la
from laminax_transforms import custom_jvp, stop_gradient
from laminax_transforms.custom_solve import custom_linear_solve

import laminax.numpy as jnp
from laminax._src.fusion import fused
from laminax._src.numpy.arguments import (
    axis_tuple,
    convert,
    dtype_of,
    ensure_array,
    ensure_arrays,
    inexact,
    shape_of,
    user_dtype,
)


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


class SlogdetResult(NamedTuple):
    """The sign of a determinant, or its phase, and the logarithm of its absolute value."""
    sign: Any
    logabsdet: Any


class SVDResult(NamedTuple):
    """Singular vectors in the columns of U and the rows of Vh, and singular values S, descending."""
    U: Any
    S: Any
    Vh: Any


# --- arguments ---


class MatrixShapeError(ShapeError, ValueError):
    """JAX raises TypeError in some of these functions and ValueError in others."""


def _matrices(name: str, a: Any) -> Any:
    a = inexact(name, a)
    if len(shape_of(a)) < 2:
        raise MatrixShapeError(f"{name}: the argument must be a matrix or a batch of them, [..., m, n], got "
                               f"{get_aval(a).str_short()}")
    return a


def _square(name: str, a: Any) -> Any:
    a = inexact(name, a)
    shape = shape_of(a)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise MatrixShapeError(f"{name}: the argument must have shape [..., n, n], got {get_aval(a).str_short()}")
    return a


def _adjoint(x: Any) -> Any:
    return la.adjoint(x)


def _product(*factors: Any) -> Any:
    """The matrix product of several arrays, from left to right, in full precision."""
    result = factors[0]
    for x in factors[1:]:
        result = jnp.matmul(result, x, precision="highest")
    return result


def _epsilon(a: Any) -> float:
    """The spacing of numbers at 1, times the longer side: how far rounding moves singular values, relatively."""
    return max(shape_of(a)[-2:]) * float(dtypes.finfo(dtype_of(a)).eps)


# --- determinants ---


@fused
def det(a):
    """Determinant.

    Args:
      a: [..., n, n].

    Returns:
      [...], floating or complex. Its derivative is right for singular matrices of rank n - 1 too, up to 3 by 3 for all.

    Raises:
      ValueError: if a is not square.
    """
    a = _square("det", a)
    n = shape_of(a)[-1]
    if n == 0:
        return jnp.ones(shape_of(a)[:-2], dtype_of(a))
    if n <= 3:
        return _small_det(a, n)
    return _det(a)


def _small_det(a: Any, n: int) -> Any:
    """By the definition, a polynomial."""
    x = [[a[..., i, j] for j in range(n)] for i in range(n)]
    if n == 1:
        return x[0][0]
    if n == 2:
        return x[0][0] * x[1][1] - x[0][1] * x[1][0]
    return (x[0][0] * (x[1][1] * x[2][2] - x[1][2] * x[2][1]) - x[0][1] * (x[1][0] * x[2][2] - x[1][2] * x[2][0])
            + x[0][2] * (x[1][0] * x[2][1] - x[1][1] * x[2][0]))


@custom_jvp
def _det(a):
    factors, pivots, _ = la.lu(a)
    return jnp.prod(jnp.diagonal(factors, axis1=-2, axis2=-1), axis=-1) * _parity(pivots, dtype_of(a))


@_det.defjvp
def _det_jvp(primals, tangents):
    """d det = tr(adj(A) dA), adj(A) = det(A) A^-1 the cofactors."""
    (a,), (a_dot,) = primals, tangents
    result, solved = _cofactor_solve(a, a_dot)
    return result, jnp.trace(solved, axis1=-2, axis2=-1)


def _cofactor_solve(a, b):
    """det(a), and det(a) a^-1 b, without a division by the last pivot, the only one that is 0 at rank n - 1."""
    factors, pivots, permutation = la.lu(a)
    sign = _parity(pivots, dtype_of(a))
    diagonal = jnp.diagonal(factors, axis1=-2, axis2=-1)
    others = (jnp.prod(diagonal[..., :-1], axis=-1) * sign)[..., None, None]
    whole = others * diagonal[..., -1:, None]
    y = la.triangular_solve(factors, _permuted(b, permutation), left_side=True, lower=True, unit_diagonal=True)
    last = others * y[..., -1:, :]
    first = whole * y[..., :-1, :] - _product(factors[..., :-1, -1:], last)
    first = la.triangular_solve(factors[..., :-1, :-1], first, left_side=True)
    return whole[..., 0, 0], jnp.concatenate([first, last], axis=-2)


def _permuted(b: Any, permutation: Any) -> Any:
    """b with its rows in another order."""
    return jnp.take_along_axis(b, permutation[..., None], axis=-2)


def _parity(pivots: Any, dtype: Any) -> Any:
    """1 for an even number of row exchanges, -1 for an odd one."""
    *batch, count = shape_of(pivots)
    places = np.arange(count, dtype=np.int32).reshape((1,) * len(batch) + (count,))
    exchanges = jnp.sum(pivots != places, axis=-1, dtype=np.int32)
    return (1 - 2 * (exchanges % 2)).astype(dtype)


def slogdet(a, *, method: str | None = None) -> SlogdetResult:
    """Sign of the determinant and logarithm of its absolute value.

    Args:
      a: [..., n, n].
      method: "lu" (None is the same) or "qr", the factorization to use.

    Returns:
      The sign [...], a complex number of magnitude 1 for complex matrices and 0 for singular ones; and the logarithm
      [...], real, -inf for singular ones.

    Raises:
      ValueError: if a is not square, or for another method.
    """
    if method not in (None, "lu", "qr"):
        raise ValueError(f"slogdet: method must be None, 'lu' or 'qr', got {method!r}")
    return SlogdetResult(*_slogdet(a, method=method or "lu"))


@fused(static_argnames=("method",))
def _slogdet(a, method):
    a = _square("slogdet", a)
    return (_slogdet_by_lu if method == "lu" else _slogdet_by_qr)(a)


@custom_jvp
def _slogdet_by_lu(a):
    factors, pivots, _ = la.lu(a)
    return _sign_and_logarithm(jnp.diagonal(factors, axis1=-2, axis2=-1), _parity(pivots, dtype_of(a)))


@custom_jvp
def _slogdet_by_qr(a):
    factors, taus = la.geqrf(a)
    # A reflection I - tau v v^H has the determinant -tau / conj(tau), and is the identity for tau = 0.
    is_identity = taus == 0
    reflections = jnp.where(is_identity, jnp.ones_like(taus), -taus / jnp.where(is_identity, jnp.ones_like(taus), jnp.conj(taus)))
    return _sign_and_logarithm(jnp.diagonal(factors, axis1=-2, axis2=-1), jnp.prod(reflections, axis=-1))


def _sign_and_logarithm(diagonal, sign):
    return sign * jnp.prod(jnp.sign(diagonal), axis=-1), jnp.sum(jnp.log(jnp.abs(diagonal)), axis=-1)


def _slogdet_jvp(primals, tangents):
    """d log det = tr(A^-1 dA): the real part belongs to the logarithm, the imaginary one to the phase."""
    (a,), (a_dot,) = primals, tangents
    sign, logarithm = _slogdet_by_lu(a)
    change = jnp.trace(_solve_matrices(a, a_dot), axis1=-2, axis2=-1)
    if not jnp.iscomplexobj(a):
        return (sign, logarithm), (jnp.zeros_like(sign), change)
    return (sign, logarithm), (sign * (change - change.real), change.real)


_slogdet_by_lu.defjvp(_slogdet_jvp)
_slogdet_by_qr.defjvp(_slogdet_jvp)


# --- equations ---


@fused
def solve(a, b):
    """Solution x of a x = b.

    Args:
      a: [..., n, n].
      b: [n], a vector, or [..., n, k]; the leading axes are broadcast.

    Returns:
      [..., n] or [..., n, k].

    Raises:
      ValueError: if the shapes do not fit.
    """
    a, b = ensure_arrays("solve", a, b)
    dtype = dtypes.to_inexact_dtype(dtypes.result_type(a, b))
    a, b = _square("solve", convert(a, dtype)), convert(b, dtype)
    is_vector = len(shape_of(b)) == 1
    rows = shape_of(b)[-1 if is_vector else -2] if shape_of(b) else None
    if rows != shape_of(a)[-1]:
        raise MatrixShapeError(f"solve: b must be a vector of n or matrices [..., n, k] for a [..., n, n], got "
                               f"{get_aval(a).str_short()} and {get_aval(b).str_short()}")
    try:
        np.broadcast_shapes(shape_of(a)[:-2], shape_of(b)[:-2])
    except ValueError:
        raise MatrixShapeError(f"solve: the leading axes of {get_aval(a).str_short()} and {get_aval(b).str_short()} do not "
                               "broadcast. For one vector per matrix give b[..., None]; the result has that last axis too.") from None
    return _solve_matrices(a, b[:, None])[..., 0] if is_vector else _solve_matrices(a, b)


def _solve_matrices(a, b):
    """By LU factorization, made once: derivatives solve with the same factors."""
    batch = np.broadcast_shapes(shape_of(a)[:-2], shape_of(b)[:-2])
    n, k = shape_of(b)[-2:]
    b = jnp.broadcast_to(b, (*batch, n, k))
    if not math.prod(shape_of(b)):
        return b
    factors, _, permutation = la.lu(stop_gradient(a))
    factors = jnp.broadcast_to(factors, (*batch, n, n))
    permutation = jnp.broadcast_to(permutation, (*batch, n))

    def forward(_, b):
        y = la.triangular_solve(factors, _permuted(b, permutation), left_side=True, lower=True, unit_diagonal=True)
        return la.triangular_solve(factors, y, left_side=True)

    def backward(_, b):
        y = la.triangular_solve(factors, b, left_side=True, transpose_a=True)
        y = la.triangular_solve(factors, y, left_side=True, lower=True, unit_diagonal=True, transpose_a=True)
        return _permuted(y, jnp.argsort(permutation, axis=-1))

    return custom_linear_solve(lambda x: _product(a, x), b, forward, backward)


@fused
def inv(a):
    """Inverse of square matrices.

    Args:
      a: [..., n, n].

    Returns:
      [..., n, n]; of a singular matrix, infinities or NaN.

    Raises:
      ValueError: if a is not square.
    """
    a = _square("inv", a)
    return _solve_matrices(a, jnp.eye(shape_of(a)[-1], dtype=dtype_of(a)))


def lstsq(a, b, rcond=None, *, numpy_resid: bool = False):
    """Least-squares solution: the shortest x among those that make |a x - b| smallest.

    Args:
      a: [m, n].
      b: [m] or [m, k].
      rcond: singular values below rcond times the largest are taken for 0. By default, or if negative, the spacing of
        numbers at 1 times max(m, n).
      numpy_resid: whether the residuals are, like NumPy's, empty if rank < n or m <= n; not possible in `jit`.

    Returns:
      x, [n] or [n, k]; the sums of squared residuals, [k] or [1]; the rank, int32; the singular values of a.

    Raises:
      ValueError: if the shapes do not fit.
    """
    x, residuals, rank, s = _lstsq(a, b, rcond)
    m, n = shape_of(a)
    if numpy_resid and (m <= n or int(rank) < n):
        residuals = jnp.zeros((0,), dtype_of(s))
    return x, residuals, rank, s


@fused
def _lstsq(a, b, rcond):
    a, b = ensure_arrays("lstsq", a, b)
    dtype = dtypes.to_inexact_dtype(dtypes.result_type(a, b))
    a, b = convert(a, dtype), convert(b, dtype)
    if len(shape_of(a)) != 2 or len(shape_of(b)) not in (1, 2) or shape_of(a)[0] != shape_of(b)[0]:
        raise MatrixShapeError(f"lstsq: a must be [m, n] and b [m] or [m, k], got {get_aval(a).str_short()} and "
                               f"{get_aval(b).str_short()}")
    columns = b[:, None] if len(shape_of(b)) == 1 else b
    if rcond is None:
        rcond = _epsilon(a)
    else:
        rcond = jnp.where(jnp.asarray(rcond) < 0, float(dtypes.finfo(dtype).eps), rcond)
    x, s, kept = _shortest_solution(a, columns, rcond)
    residuals = jnp.sum(jnp.square(jnp.abs(columns - _product(a, x))), axis=0)
    rank = jnp.sum(kept, dtype=np.int32)
    return x if columns is b else x[:, 0], residuals, rank, s


@custom_jvp
def _shortest_solution(a, b, rcond):
    x, s, kept, _ = _by_svd(a, b, rcond)
    return x, s, kept


def _by_svd(a, b, rcond):
    """The solution, singular values, which of them are kept, and the functions that multiply by A^+ and its adjoint."""
    u, s, vh = la.svd(a, full_matrices=False)
    kept = s >= jnp.asarray(rcond, s.dtype) * s[:1]
    kept = kept & (s > 0)
    inverse = jnp.where(kept, 1 / jnp.where(kept, s, jnp.ones_like(s)), jnp.zeros_like(s)).astype(dtype_of(a))[:, None]

    def pinv_times(y):
        return _product(_adjoint(vh), inverse * _product(_adjoint(u), y))

    def pinv_adjoint_times(y):
        return _product(u, inverse * _product(vh, y))

    return pinv_times(b), s, kept, (u, vh, pinv_times, pinv_adjoint_times)


@_shortest_solution.defjvp
def _shortest_solution_jvp(primals, tangents):
    """dx = A^+ (db - dA x) + A^+ A^+^H dA^H r + (1 - A^+ A) dA^H A^+^H x, r = b - A x; it needs no distinct singular values."""
    (a, b, rcond), (a_dot, b_dot, _) = primals, tangents
    x, s, kept, (u, vh, times, adjoint_times) = _by_svd(a, b, rcond)
    a_dot_h = _adjoint(a_dot)
    along_null_space = _product(a_dot_h, adjoint_times(x))
    x_dot = (times(b_dot - _product(a_dot, x)) + times(adjoint_times(_product(a_dot_h, b - _product(a, x))))
             + along_null_space - times(_product(a, along_null_space)))
    s_dot = jnp.diagonal(_product(_adjoint(u), a_dot, _adjoint(vh))).real
    return (x, s, kept), (x_dot, s_dot, np.zeros(shape_of(kept), dtypes.float0))


def pinv(a, rtol=None, hermitian: bool = False, *, rcond=None):
    """Moore-Penrose pseudo-inverse.

    Args:
      a: [..., m, n].
      rtol: [...], singular values at most rtol times the largest are taken for 0; by default 10 max(m, n) times the
        spacing of numbers at 1.
      hermitian: whether a is Hermitian; then its eigenvalues are used.
      rcond: another name of rtol.

    Returns:
      [..., n, m]. Its derivative is right where the rank does not change.

    Raises:
      ValueError: if a is no matrix, or both rtol and rcond are given.
    """
    if rtol is not None and rcond is not None:
        raise ValueError("pinv: rtol and rcond are two names for one parameter; give only one of them")
    return _pinv(a, rcond if rtol is None else rtol, hermitian=bool(hermitian))


@fused(static_argnames=("hermitian",))
def _pinv(a, rtol, hermitian):
    a = (_square if hermitian else _matrices)("pinv", a)
    *batch, m, n = shape_of(a)
    if not m or not n:
        return jnp.zeros((*batch, n, m), dtype_of(a))
    rtol = 10 * _epsilon(a) if rtol is None else rtol
    return (_pinv_hermitian if hermitian else _pinv_general)(a, rtol)


def _for_each_matrix(tolerance, dtype):
    """A scalar, or one number per matrix with an axis for its singular values."""
    tolerance = jnp.asarray(tolerance, dtype)
    return tolerance[..., None] if tolerance.ndim else tolerance


def _pinv_by_svd(a, rtol, hermitian):
    u, s, vh = _hermitian_svd(a) if hermitian else la.svd(a, full_matrices=False)
    kept = s > _for_each_matrix(rtol, s.dtype) * s[..., :1]
    inverse = jnp.where(kept, 1 / jnp.where(kept, s, jnp.ones_like(s)), jnp.zeros_like(s)).astype(dtype_of(a))
    return _product(_adjoint(vh), inverse[..., None] * _adjoint(u))


@custom_jvp
def _pinv_general(a, rtol):
    return _pinv_by_svd(a, rtol, False)


@custom_jvp
def _pinv_hermitian(a, rtol):
    return _pinv_by_svd(a, rtol, True)


def _pinv_jvp(inverse):
    def rule(primals, tangents):
        """Golub and Pereyra, "The differentiation of pseudo-inverses", 1973, equation 4.12."""
        (a, rtol), (a_dot, _) = primals, tangents
        p = inverse(a, rtol)
        p_h, a_dot_h = _adjoint(p), _adjoint(a_dot)
        right = _product(p, p_h, a_dot_h)
        left = _product(a_dot_h, p_h, p)
        return p, right - _product(right, a, p) + left - _product(p, a, left) - _product(p, a_dot, p)
    return rule


_pinv_general.defjvp(_pinv_jvp(_pinv_general))
_pinv_hermitian.defjvp(_pinv_jvp(_pinv_hermitian))


def tensorinv(a, ind: int = 2):
    """Inverse of the linear map that `tensordot(a, ., ind)` is.

    Args:
      a: an array; the product of its first `ind` sizes equals that of the others.
      ind: how many axes the map's results have.

    Returns:
      An array of shape a.shape[ind:] + a.shape[:ind].

    Raises:
      ValueError: if the products differ, or ind is not positive.
    """
    a, ind = ensure_array("tensorinv", a), operator.index(ind)
    shape = shape_of(a)
    if ind <= 0:
        raise ValueError(f"tensorinv: ind must be a positive integer, got {ind}")
    rows, columns = math.prod(shape[:ind]), math.prod(shape[ind:])
    if rows != columns:
        raise ValueError(f"tensorinv: the product of the first {ind} sizes must equal that of the others, got "
                         f"{get_aval(a).str_short()}: {rows} and {columns}")
    return jnp.reshape(inv(jnp.reshape(a, (rows, columns))), (*shape[ind:], *shape[:ind]))


def tensorsolve(a, b, axes: Sequence[int] | None = None):
    """Solution x of tensordot(a, x, x.ndim) = b.

    Args:
      a: an array of shape b.shape + x.shape, as many elements in each part.
      b: an array.
      axes: axes of a to move to the end first.

    Returns:
      x, of a's last sizes.

    Raises:
      ValueError: if the sizes do not fit.
    """
    a, b = ensure_arrays("tensorsolve", a, b)
    rank = len(shape_of(a))
    if axes is not None:
        moved = axis_tuple("tensorsolve", tuple(axes), rank)
        a = jnp.transpose(a, (*(i for i in range(rank) if i not in moved), *moved))
    count, shape = math.prod(shape_of(b)), shape_of(a)[len(shape_of(b)):]
    if math.prod(shape_of(a)) != count ** 2 or math.prod(shape) != count:
        raise ValueError(f"tensorsolve: a must have b's number of elements in its first {len(shape_of(b))} axes and in the others, "
                         f"got {get_aval(a).str_short()} and {get_aval(b).str_short()}")
    return jnp.reshape(solve(jnp.reshape(a, (count, count)), jnp.ravel(b)), shape)


# --- factorizations ---


def cholesky(a, *, upper: bool = False, symmetrize_input: bool = True):
    """Cholesky factor of positive definite matrices: a = L L^H.

    Args:
      a: [..., n, n], symmetric or Hermitian.
      upper: whether the upper triangular L^H is returned.
      symmetrize_input: whether a is replaced by the mean of a and its adjoint first; else its lower triangle is read.

    Returns:
      [..., n, n], triangular; NaN for a matrix that is not positive definite.

    Raises:
      TypeError: if a is not square.
    """
    return _cholesky(a, upper=bool(upper), symmetrize_input=bool(symmetrize_input))


@fused(static_argnames=("upper", "symmetrize_input"))
def _cholesky(a, upper, symmetrize_input):
    factor = la.cholesky(_square("cholesky", a), symmetrize_input=symmetrize_input)
    return _adjoint(factor) if upper else factor


def qr(a, mode: str = "reduced"):
    """QR factorization, a = Q R.

    Args:
      a: [..., m, n].
      mode: "reduced": Q has min(m, n) columns; "complete": Q is square; "r": only R of the reduced form; "raw": what
        LAPACK's geqrf returns, the transposed array of Householder vectors and their factors.

    Returns:
      The pair (Q, R), or R alone.

    Raises:
      ValueError: if a is no matrix, or for another mode.
    """
    if mode not in ("reduced", "complete", "r", "raw"):
        raise ValueError(f"qr: mode must be 'reduced', 'complete', 'r' or 'raw', got {mode!r}")
    result = _qr(a, mode=mode)
    return result if mode == "r" else QRResult(*result)


@fused(static_argnames=("mode",))
def _qr(a, mode):
    a = _matrices("qr", a)
    if mode == "raw":
        factors, taus = la.geqrf(a)
        return la.swap_last(factors), taus
    q, r = la.qr(a, full_matrices=mode == "complete")
    return r if mode == "r" else (q, r)


def svd(a, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False, subset_by_index=None):
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
    """
    la.check_all_singular_values(a, subset_by_index, full_matrices)
    result = _svd(a, full_matrices=bool(full_matrices), compute_uv=bool(compute_uv), hermitian=bool(hermitian))
    return SVDResult(*result) if compute_uv else result


@fused(static_argnames=("full_matrices", "compute_uv", "hermitian"))
def _svd(a, full_matrices, compute_uv, hermitian):
    if not hermitian:
        return la.svd(_matrices("svd", a), full_matrices=full_matrices, compute_uv=compute_uv)
    u, s, vh = _hermitian_svd(_square("svd", a))
    return (u, s, vh) if compute_uv else s


def _hermitian_svd(a):
    v, w = la.eigh(a)
    order = jnp.argsort(-jnp.abs(w), axis=-1)
    w = jnp.take_along_axis(w, order, axis=-1)
    v = jnp.take_along_axis(v, order[..., None, :], axis=-1)
    sign = jnp.where(w < 0, -jnp.ones_like(w), jnp.ones_like(w)).astype(dtype_of(v))
    return v * sign[..., None, :], jnp.abs(w), _adjoint(v)


def svdvals(x, /):
    """Singular values of matrices [..., m, n]: real [..., min(m, n)], descending."""
    return _svd(x, full_matrices=False, compute_uv=False, hermitian=False)


def eig(a) -> EigResult:
    """Eigenvalues and eigenvectors of general matrices: a v[:, i] = w[i] v[:, i]. On CPU only; vectors have no derivative.

    Args:
      a: [..., n, n].

    Returns:
      (eigenvalues, eigenvectors): complex [..., n] in no order, and [..., n, n] with columns of norm 1.

    Raises:
      ValueError: if a is not square.
    """
    return EigResult(*_eig(a))


@fused
def _eig(a):
    return tuple(la.eig(_square("eig", a), compute_left_eigenvectors=False))


@fused
def eigvals(a):
    """Eigenvalues of general matrices [..., n, n]: complex [..., n], in no order. On CPU only."""
    return la.eig(_square("eigvals", a), compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]


def eigh(a, UPLO: str | None = None, symmetrize_input: bool = True) -> EighResult:
    """Eigenvalues and eigenvectors of Hermitian matrices: a v[:, i] = w[i] v[:, i].

    Args:
      a: [..., n, n].
      UPLO: "L" (None is the same) or "U": the triangle that is read if the input is not symmetrized.
      symmetrize_input: whether a is replaced by the mean of a and its adjoint first.

    Returns:
      (eigenvalues, eigenvectors): real [..., n], ascending, and [..., n, n] with orthonormal columns.

    Raises:
      ValueError: if a is not square, or for another UPLO.
    """
    return EighResult(*_eigh(a, lower=_is_lower("eigh", UPLO), symmetrize_input=bool(symmetrize_input)))


def _is_lower(name: str, UPLO: Any) -> bool:
    if UPLO not in (None, "L", "U"):
        raise ValueError(f"{name}: UPLO must be None, 'L' or 'U', got {UPLO!r}")
    return UPLO != "U"


@fused(static_argnames=("lower", "symmetrize_input"))
def _eigh(a, lower, symmetrize_input):
    v, w = la.eigh(_square("eigh", a), lower=lower, symmetrize_input=symmetrize_input)
    return w, v


def eigvalsh(a, UPLO: str | None = "L", *, symmetrize_input: bool = True):
    """Eigenvalues of Hermitian matrices [..., n, n]: real [..., n], ascending; parameters as for `eigh`."""
    return _eigh(a, lower=_is_lower("eigvalsh", UPLO), symmetrize_input=bool(symmetrize_input))[0]


# --- norms and ranks ---


def norm(x, ord=None, axis=None, keepdims: bool = False):
    """Norm of vectors or matrices.

    Args:
      x: an array.
      ord: for vectors a number p, inf or -inf, 0 counts nonzeros; 2 by default. For matrices "fro" (the default), "nuc",
        1, -1, 2, -2, inf, -inf.
      axis: one axis for vectors, two for matrices. None takes the vector or matrix x as it is, and without `ord` all
        elements as a vector.
      keepdims: whether the axes stay, with size 1.

    Returns:
      A real array.

    Raises:
      ValueError: for another order, or if there are neither one nor two axes.
    """
    return _norm(x, ord=ord, axis=tuple(axis) if isinstance(axis, list) else axis, keepdims=bool(keepdims))


@fused(static_argnames=("ord", "axis", "keepdims"))
def _norm(x, ord, axis, keepdims):
    x = inexact("norm", x)
    rank = len(shape_of(x))
    if axis is None and ord is None:
        return _vector_norm(x, 2, tuple(range(rank)), keepdims)
    axes = axis_tuple("norm", axis, rank)
    if len(axes) == 1:
        return _vector_norm(x, 2 if ord is None else ord, axes, keepdims)
    if len(axes) == 2:
        return _matrix_norm(x, "fro" if ord is None else ord, axes, keepdims)
    raise ValueError(f"norm: one axis makes a vector norm, two make a matrix norm; got axis={axis} for {get_aval(x).str_short()}")


def _vector_norm(x, ord, axes, keepdims):
    if isinstance(ord, str):
        raise ValueError(f"Invalid order {ord!r} for vector norm: a number is expected, such as numpy.inf")
    ord = float(ord)
    if ord == 2:
        squares = (x * jnp.conj(x)).real if jnp.iscomplexobj(x) else x * x
        return jnp.sqrt(jnp.sum(squares, axis=axes, keepdims=keepdims))
    if ord == math.inf:
        return jnp.max(jnp.abs(x), axis=axes, keepdims=keepdims, initial=0)
    if ord == -math.inf:
        return jnp.min(jnp.abs(x), axis=axes, keepdims=keepdims, initial=math.inf)
    if ord == 0:
        return jnp.sum(x != 0, axis=axes, keepdims=keepdims, dtype=la.real_dtype(dtype_of(x)))
    magnitude = jnp.abs(x)
    if ord == 1:
        return jnp.sum(magnitude, axis=axes, keepdims=keepdims)
    return jnp.power(jnp.sum(jnp.power(magnitude, ord), axis=axes, keepdims=keepdims), 1 / ord)


def _matrix_norm(x, ord, axes, keepdims):
    if ord in ("fro", "f"):
        return _vector_norm(x, 2, axes, keepdims)
    row, column = axes
    if ord in (1, -1, math.inf, -math.inf):
        summed, other = (row, column) if abs(ord) == 1 else (column, row)
        sums = jnp.sum(jnp.abs(x), axis=summed, keepdims=True)
        extreme = jnp.max(sums, axis=other, keepdims=True, initial=0) if ord > 0 else \
            jnp.min(sums, axis=other, keepdims=True, initial=math.inf)
        return extreme if keepdims else jnp.squeeze(extreme, axes)
    if ord not in ("nuc", 2, -2):
        raise ValueError(f"Invalid order {ord!r} for matrix norm: 'fro', 'nuc', 1, -1, 2, -2, inf or -inf is expected")
    s = la.svd(jnp.moveaxis(x, axes, (-2, -1)), compute_uv=False)
    result = jnp.sum(s, axis=-1) if ord == "nuc" else s[..., 0 if ord == 2 else -1]
    return jnp.expand_dims(result, tuple(sorted(axes))) if keepdims else result


def matrix_norm(x, /, *, keepdims: bool = False, ord="fro"):
    """Norm of the matrices in the last two axes; parameters as for `norm`."""
    return norm(x, ord, (-2, -1), keepdims)


def vector_norm(x, /, *, axis=None, keepdims: bool = False, ord=2):
    """Norm of vectors.

    Args:
      x: an array.
      axis: the axis, or axes, that hold a vector; None is all.
      keepdims: whether the axes stay, with size 1.
      ord: a number p, inf or -inf; 0 counts nonzeros.

    Returns:
      A real array.
    """
    return _flat_norm(x, ord=ord, axis=tuple(axis) if isinstance(axis, list) else axis, keepdims=bool(keepdims))


@fused(static_argnames=("ord", "axis", "keepdims"))
def _flat_norm(x, ord, axis, keepdims):
    x = inexact("vector_norm", x)
    return _vector_norm(x, ord, axis_tuple("vector_norm", axis, len(shape_of(x))), keepdims)


def cond(x, p=None):
    """Condition number: norm(x) times norm(inv(x)).

    Args:
      x: [..., m, n], square but for p in (None, 2, -2).
      p: the order of the norm; by default 2, the quotient of the largest and the smallest singular value.

    Returns:
      [...], real.

    Raises:
      ValueError: if x is no matrix, or not square where it must be.
    """
    return _cond(x, p=p)


@fused(static_argnames=("p",))
def _cond(x, p):
    x = _matrices("cond", x)
    if p in (None, 2, -2):
        s = la.svd(x, compute_uv=False)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    x = _square(f"cond (p={p})", x)
    result = norm(x, p, (-2, -1)) * norm(inv(x), p, (-2, -1))
    is_nan = jnp.isnan(result) & ~jnp.any(jnp.isnan(x), axis=(-2, -1))
    return jnp.where(is_nan, jnp.full_like(result, math.inf), result)


def matrix_rank(M, rtol=None, *, hermitian: bool = False, tol=None):
    """Number of singular values that are not nearly 0.

    Args:
      M: [..., m, n]; of a vector or scalar, whether it is not 0.
      rtol: [...], those at most rtol times the largest count as 0; by default max(m, n) times the spacing of numbers at 1.
      hermitian: whether M is Hermitian; then its eigenvalues are used.
      tol: [...], those at most tol count as 0.

    Returns:
      int32[...].

    Raises:
      ValueError: if both rtol and tol are given.
    """
    if rtol is not None and tol is not None:
        raise ValueError("matrix_rank: only one of rtol and tol may be given, they mean the relative and the absolute tolerance")
    return _matrix_rank(M, rtol, tol, hermitian=bool(hermitian))


@fused(static_argnames=("hermitian",))
def _matrix_rank(M, rtol, tol, hermitian):
    M = inexact("matrix_rank", M)
    if len(shape_of(M)) < 2:
        return jnp.any(M != 0).astype(np.int32)
    s = jnp.abs(la.eigh(_square("matrix_rank", M))[1]) if hermitian else la.svd(M, compute_uv=False)
    if tol is None:
        rtol = _epsilon(M) if rtol is None else rtol
        bound = _for_each_matrix(rtol, s.dtype) * jnp.max(s, axis=-1, keepdims=True, initial=0)
    else:
        bound = _for_each_matrix(tol, s.dtype)
    return jnp.sum(s > bound, axis=-1, dtype=np.int32)


# --- products ---


def matrix_power(a, n: int):
    """Power of square matrices, by repeated squaring.

    Args:
      a: [..., m, m].
      n: the exponent, an integer; the inverse is raised for a negative one.

    Returns:
      [..., m, m].

    Raises:
      TypeError: if a is not square or n no integer.
    """
    try:
        n = operator.index(n)
    except TypeError:
        raise TypeError(f"matrix_power: the exponent must be an integer, got {n!r}") from None
    return _matrix_power(a, n=n)


@fused(static_argnames=("n",))
def _matrix_power(a, n):
    a = ensure_array("matrix_power", a)
    shape = shape_of(a)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise MatrixShapeError(f"matrix_power: the argument must have shape [..., n, n], got {get_aval(a).str_short()}")
    if n == 0:
        return jnp.broadcast_to(jnp.eye(shape[-1], dtype=dtype_of(a)), shape)
    square = inv(a) if n < 0 else a
    n, result = abs(n), None
    while True:
        if n % 2:
            result = square if result is None else jnp.matmul(result, square)
        n //= 2
        if not n:
            return result
        square = jnp.matmul(square, square)


def multi_dot(arrays: Sequence, *, precision=None):
    """Matrix product of several arrays, multiplied in the order that takes the fewest operations.

    Args:
      arrays: at least two matrices; the first and the last may be vectors.
      precision: see `lax.Precision`.

    Returns:
      The product.

    Raises:
      ValueError: if there are fewer than two arrays, or their ranks or sizes do not fit.
    """
    arrays = list(ensure_arrays("multi_dot", *arrays))
    shapes = [shape_of(x) for x in arrays]
    if len(arrays) < 2:
        raise ValueError(f"multi_dot: at least two arrays are expected, got {len(arrays)}")
    if any(len(shape) != 2 for shape in shapes[1:-1]) or any(len(shapes[i]) not in (1, 2) for i in (0, -1)):
        raise ValueError(f"multi_dot: the arrays must be matrices, the first and last one may be vectors; got shapes {shapes}")
    sizes = [1 if len(shapes[0]) == 1 else shapes[0][0], *(shape[0] for shape in shapes[1:]), shapes[-1][-1]]
    sizes[-1] = 1 if len(shapes[-1]) == 1 else shapes[-1][1]
    if any(left[-1] != right[0] for left, right in zip(shapes, shapes[1:])):
        raise ValueError(f"multi_dot: the last size of each array must be the first of the next; got shapes {shapes}")
    splits = _best_splits(sizes)

    def product(first: int, last: int) -> Any:
        if first == last:
            return arrays[first]
        middle = splits[first, last]
        return jnp.dot(product(first, middle), product(middle + 1, last), precision=precision)

    return product(0, len(arrays) - 1)


def _best_splits(sizes: Sequence[int]) -> dict[tuple[int, int], int]:
    """Where to split each chain of matrices, by dynamic programming; matrix i is [sizes[i], sizes[i + 1]]."""
    count = len(sizes) - 1
    cost = {(i, i): 0 for i in range(count)}
    splits = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            cost[i, j], splits[i, j] = min((cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                                           for k in range(i, j))
    return splits


def matmul(x1, x2, /, *, precision=None, preferred_element_type=None):
    """Matrix product of the last two axes; the same as `numpy.matmul`."""
    return jnp.matmul(x1, x2, precision=precision, preferred_element_type=preferred_element_type)


def tensordot(x1, x2, /, *, axes=2, precision=None, preferred_element_type=None, out_sharding=None):
    """Sum of products over given axes; the same as `numpy.tensordot`."""
    return jnp.tensordot(x1, x2, axes, precision=precision, preferred_element_type=preferred_element_type,
                         out_sharding=out_sharding)


def vecdot(x1, x2, /, *, axis: int = -1, precision=None, preferred_element_type=None):
    """Inner products along an axis, the first argument conjugated; the same as `numpy.vecdot`."""
    return jnp.vecdot(x1, x2, axis=axis, precision=precision, preferred_element_type=preferred_element_type)


def outer(x1, x2, /):
    """Products of all elements of a vector [m] with all of a vector [n]: [m, n].

    Raises:
      ValueError: if an argument is no vector.
    """
    x1, x2 = ensure_arrays("outer", x1, x2)
    if len(shape_of(x1)) != 1 or len(shape_of(x2)) != 1:
        raise ValueError(f"outer: the arguments must be vectors, got {get_aval(x1).str_short()} and {get_aval(x2).str_short()}; "
                         "numpy.outer flattens")
    return jnp.outer(x1, x2)


def cross(x1, x2, /, *, axis: int = -1):
    """Cross product of vectors of 3 components along an axis; the other axes are broadcast.

    Raises:
      ValueError: if a vector has not 3 components.
    """
    x1, x2 = ensure_arrays("cross", x1, x2)
    if shape_of(x1)[axis] != 3 or shape_of(x2)[axis] != 3:
        raise ValueError(f"cross: vectors must have 3 components along axis {axis}, got {get_aval(x1).str_short()} and "
                         f"{get_aval(x2).str_short()}")
    return jnp.cross(x1, x2, axis=axis)


def matrix_transpose(x, /):
    """Matrices with their rows and columns exchanged: [..., n, m] from [..., m, n]."""
    return jnp.matrix_transpose(x)


def diagonal(x, /, *, offset: int = 0):
    """Diagonals of the matrices in the last two axes, along a new last axis; see `numpy.diagonal`."""
    return jnp.diagonal(x, offset, axis1=-2, axis2=-1)


def trace(x, /, *, offset: int = 0, dtype=None):
    """Sums of a diagonal of the matrices in the last two axes; see `numpy.trace`."""
    return jnp.trace(x, offset, axis1=-2, axis2=-1, dtype=user_dtype("trace", dtype))
