"""Factorizations and linear equations, as in `scipy.linalg`, on matrices in the last two axes.

SciPy's parameters `overwrite_*` and `check_finite` have no effect: arrays do not change, and their values are not looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.ops import linalg as la
from laminax_ir.ops.linalg_primitives import real_dtype
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.numpy.arguments import convert, dtype_of, ensure_arrays, inexact, shape_of
from laminax._src.numerics.numpy.linalg import determinants, equations

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

_TRANSPOSITIONS = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}


def _promoted(name: str, *args: Any) -> list[Any]:
    """Operands in one floating or complex dtype; shapes are left alone."""
    arrays = ensure_arrays(name, *args)
    dtype = dtypes.to_inexact_dtype(dtypes.result_type(*arrays))
    return [convert(x, dtype) for x in arrays]


def _transposition(name: str, trans: Any) -> int:
    try:
        return _TRANSPOSITIONS[trans]
    except (KeyError, TypeError):
        raise ValueError(f"{name}: trans must be 0, 1 or 2 ('N', 'T' or 'C'), got {trans!r}") from None


def det(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """Determinant of square matrices.

    Args:
      a: [..., n, n].
      overwrite_a, check_finite: have no effect.

    Returns:
      A float or complex array [...].

    Raises:
      ValueError: if the last two axes differ in size, or there are not two.

    Example:
      >>> det(jnp.array([[1., 2.], [3., 4.]]))
      Array(-2., dtype=float32)
    """
    return determinants.det(a)


def inv(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """Inverse of square matrices.

    Args:
      a: [..., n, n].
      overwrite_a, check_finite: have no effect.

    Returns:
      A float or complex array [..., n, n]; inf or NaN for a singular matrix.

    Raises:
      ValueError: if the last two axes differ in size, or there are not two.

    Example:
      >>> inv(jnp.array([[1., 2.], [3., 4.]]))
      Array([[-2. ,  1. ],
             [ 1.5, -0.5]], dtype=float32)
    """
    return equations.inv(a)


# --- Cholesky ---


def cholesky(a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """Cholesky factor of positive definite matrices: a = U^H U, or a = L L^H.

    Args:
      a: [..., n, n], symmetric or Hermitian; the triangle that is asked for is read.
      lower: whether the lower triangular L is returned; else the upper triangular U.
      overwrite_a, check_finite: have no effect.

    Returns:
      [..., n, n], triangular; NaN for a matrix that is not positive definite.

    Example:
      >>> cholesky(jnp.array([[4., 2.], [2., 5.]]), lower=True)
      Array([[2., 0.],
             [1., 2.]], dtype=float32)
    """
    return _cholesky(a, lower=bool(lower))


@fused(static_argnames=("lower",))
def _cholesky(a: ArrayLike, lower: bool) -> Array:
    a = inexact("cholesky", a)
    factor = la.cholesky(a if lower else la.adjoint(a), symmetrize_input=False)
    return factor if lower else la.adjoint(factor)


def cho_factor(a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, bool]:
    """The Cholesky factorization as `cho_solve` takes it; see `cholesky`.

    Args:
      a: [..., n, n], symmetric or Hermitian, positive definite.
      lower: whether the factor is lower triangular.
      overwrite_a, check_finite: have no effect.

    Returns:
      The factor [..., n, n], and `lower`.

    Example:
      >>> factor, lower = cho_factor(jnp.array([[4., 2.], [2., 5.]]))
      >>> cho_solve((factor, lower), jnp.array([2., 5.]))
      Array([0., 1.], dtype=float32)
    """
    return cholesky(a, lower=lower), lower


def cho_solve(c_and_lower: tuple[Any, bool], b: ArrayLike, overwrite_b: bool = False, check_finite: bool = True) -> Array:
    """Solution x of a x = b from the Cholesky factorization of a.

    Args:
      c_and_lower: what `cho_factor` returns.
      b: [n], or [..., n, k]; its batch axes are broadcast with those of the factor.
      overwrite_b, check_finite: have no effect.

    Returns:
      An array of b's shape, with the batch axes of both.

    Example:
      >>> factor = cho_factor(jnp.array([[4., 2.], [2., 5.]]))
      >>> cho_solve(factor, jnp.array([8., 12.]))
      Array([1., 2.], dtype=float32)
    """
    c, lower = c_and_lower
    return _cho_solve(c, b, lower=bool(lower))


@fused(static_argnames=("lower",))
def _cho_solve(c: ArrayLike, b: ArrayLike, lower: bool) -> Array:
    c, b = _with_one_batch("cho_solve", *_promoted("cho_solve", c, b))
    b = la.triangular_solve(c, b, left_side=True, lower=lower, transpose_a=not lower, conjugate_a=not lower)
    return la.triangular_solve(c, b, left_side=True, lower=lower, transpose_a=lower, conjugate_a=lower)


def _check_right_side(name: str, a: Any, b: Any) -> None:
    rows, shape = shape_of(a)[-1:], shape_of(b)
    if shape_of(a)[-2:-1] != rows or not (shape[-1:] == rows if len(shape) == len(shape_of(a)) - 1 else shape[-2:-1] == rows):
        raise _shapes_do_not_fit(name, a, b)


def _shapes_do_not_fit(name: str, a: Any, b: Any) -> ValueError:
    return ValueError(f"{name}: a must be [..., n, n] and b [..., n] or [..., n, k], got {get_aval(a).str_short()} and "
                      f"{get_aval(b).str_short()}")


def _with_one_batch(name: str, a: Any, b: Any) -> tuple[Any, Any]:
    """The matrices [..., n, n] and the right sides [..., n] or [..., n, k] with the same batch axes, broadcast where they differ.

    A right side with one axis less than a is a batch of vectors where these have the length of the matrix, else matrices.
    """
    (*batch, rows, columns), shape = shape_of(a) if len(shape_of(a)) > 1 else (0, -1), shape_of(b)
    is_vector = len(shape) == 1 or len(shape) == len(batch) + 1 and shape[-1] == columns
    core = shape[len(shape) - (1 if is_vector else 2):]
    try:
        together = np.broadcast_shapes(tuple(batch), shape[:len(shape) - len(core)])
    except ValueError:
        together = None
    if rows != columns or core[:1] != (rows,) or together is None:
        raise _shapes_do_not_fit(name, a, b)
    return jnp.broadcast_to(a, (*together, rows, columns)), jnp.broadcast_to(b, (*together, *core))


# --- LU ---


def lu_factor(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, Any]:
    """LU factorization with partial pivoting, as `lu_solve` takes it.

    Args:
      a: [..., m, n].
      overwrite_a, check_finite: have no effect.

    Returns:
      Both factors in one array [..., m, n], and the pivots i32[..., min(m, n)].

    Example:
      >>> factors, pivots = lu_factor(jnp.array([[1., 2.], [4., 4.]]))
      >>> factors
      Array([[4.  , 4.  ],
             [0.25, 1.  ]], dtype=float32)
      >>> pivots
      Array([1, 1], dtype=int32)
    """
    return _lu_factor(a)


@fused
def _lu_factor(a: ArrayLike) -> tuple[Array, Any]:
    factors, pivots, _ = la.lu(inexact("lu_factor", a))
    return factors, pivots


def lu_solve(lu_and_piv: tuple[Any, Any], b: ArrayLike, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True) -> Array:
    """Solution x of op(a) x = b from the LU factorization of a.

    Args:
      lu_and_piv: what `lu_factor` returns.
      b: [n], or [..., n, k].
      trans: what op is: 0 for a itself, 1 for its transpose, 2 for its adjoint.
      overwrite_b, check_finite: have no effect.

    Returns:
      An array of b's shape.

    Raises:
      ValueError: if trans is none of these, or the shapes do not fit.

    Example:
      >>> factorization = lu_factor(jnp.array([[1., 2.], [3., 4.]]))
      >>> lu_solve(factorization, jnp.array([5., 11.]))
      Array([1., 2.], dtype=float32)
    """
    factors, pivots = lu_and_piv
    if trans not in (0, 1, 2):
        raise ValueError(f"lu_solve: trans must be 0, 1 or 2, got {trans!r}")
    return _lu_solve(factors, pivots, b, trans=int(trans))


@fused(static_argnames=("trans",))
def _lu_solve(factors: ArrayLike, pivots: Any, b: ArrayLike, trans: int) -> Array:
    factors, b = _promoted("lu_solve", factors, b)
    _check_right_side("lu_solve", factors, b)
    is_vector = len(shape_of(b)) == len(shape_of(factors)) - 1
    x = b[..., None] if is_vector else b
    permutation = la.lu_pivots_to_permutation(pivots, shape_of(factors)[-1])[..., None]
    if trans == 0:
        x = jnp.take_along_axis(x, permutation, axis=-2)
        x = la.triangular_solve(factors, x, left_side=True, lower=True, unit_diagonal=True)
        x = la.triangular_solve(factors, x, left_side=True)
    else:
        options = {"left_side": True, "transpose_a": True, "conjugate_a": trans == 2}
        x = la.triangular_solve(factors, x, **options)
        x = la.triangular_solve(factors, x, lower=True, unit_diagonal=True, **options)
        x = jnp.take_along_axis(x, jnp.argsort(permutation, axis=-2), axis=-2)
    return x[..., 0] if is_vector else x


def lu(a: ArrayLike, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Array, ...]:
    """LU factorization, a = P L U.

    Args:
      a: [..., m, n].
      permute_l: whether P L is returned in place of P and L.
      overwrite_a, check_finite: have no effect.

    Returns:
      P [..., m, m], L [..., m, k] with ones on its diagonal, and U [..., k, n], for k = min(m, n); or P L and U.

    Example:
      >>> p, l, u = lu(jnp.array([[1., 2.], [4., 4.]]))
      >>> l
      Array([[1.  , 0.  ],
             [0.25, 1.  ]], dtype=float32)
      >>> u
      Array([[4., 4.],
             [0., 1.]], dtype=float32)
      >>> p @ l @ u
      Array([[1., 2.],
             [4., 4.]], dtype=float32)
    """
    return _lu(a, permute_l=bool(permute_l))


@fused(static_argnames=("permute_l",))
def _lu(a: ArrayLike, permute_l: bool) -> tuple[Array, ...]:
    factors, _, permutation = la.lu(inexact("lu", a))
    *batch, m, n = shape_of(factors)
    k, dtype = min(m, n), dtype_of(factors)
    lower = jnp.tril(factors[..., :, :k], -1) + jnp.broadcast_to(jnp.eye(m, k, dtype=dtype), (*batch, m, k))
    upper = jnp.triu(factors[..., :k, :])
    if permute_l:
        return jnp.take_along_axis(lower, jnp.argsort(permutation, axis=-1)[..., None], axis=-2), upper
    return jnp.asarray(jnp.expand_dims(jnp.arange(m), (*range(len(batch)), -1)) == permutation[..., None, :],
                       dtype=real_dtype(dtype)), lower, upper


# --- equations ---


def solve(a: ArrayLike, b: ArrayLike, lower: bool = False, overwrite_a: bool = False, overwrite_b: bool = False, debug: bool = False,
          check_finite: bool = True, assume_a: str = "gen") -> Array:
    """Solution x of a x = b.

    Args:
      a: [..., n, n].
      b: [n], or [..., n, k].
      lower: with "pos", whether the lower triangle of a is read.
      overwrite_a, overwrite_b, debug, check_finite: have no effect.
      assume_a: what a is known to be: "gen" for nothing, "sym" symmetric, "her" Hermitian, "pos" positive definite, which
        is solved by a Cholesky factorization; the others by LU.

    Returns:
      An array of b's shape.

    Raises:
      ValueError: if `assume_a` is none of these, or the shapes do not fit.

    Example:
      >>> solve(jnp.array([[2., 1.], [1., 3.]]), jnp.array([4., 7.]), assume_a="pos")
      Array([1., 2.], dtype=float32)
    """
    if assume_a not in ("gen", "sym", "her", "pos"):
        raise ValueError(f"solve: assume_a must be one of 'gen', 'sym', 'her' and 'pos'; got {assume_a!r}")
    if assume_a != "pos":
        return equations.solve(a, b)
    return cho_solve(cho_factor(a, lower=lower), b)


def solve_triangular(a: ArrayLike, b: ArrayLike, trans: int | str = 0, lower: bool = False, unit_diagonal: bool = False,
                     overwrite_b: bool = False, debug: Any = None, check_finite: bool = True) -> Array:
    """Solution x of op(a) x = b for a triangular a.

    Args:
      a: [..., n, n]; one triangle is read.
      b: [n], [..., n] with the batch axes of a, or [..., n, k], whose batch axes are broadcast with those of a.
      trans: what op is: 0 or "N" for a itself, 1 or "T" for its transpose, 2 or "C" for its adjoint.
      lower: whether the lower triangle is read.
      unit_diagonal: whether the diagonal is taken for ones.
      overwrite_b, debug, check_finite: have no effect.

    Returns:
      An array of b's shape, with the batch axes of both.

    Raises:
      ValueError: if trans is none of these, or the shapes do not fit.

    Example:
      >>> solve_triangular(jnp.array([[2., 0.], [1., 4.]]), jnp.array([2., 9.]), lower=True)
      Array([1., 2.], dtype=float32)
    """
    return _solve_triangular(a, b, trans=_transposition("solve_triangular", trans), lower=bool(lower), unit_diagonal=bool(unit_diagonal))


@fused(static_argnames=("trans", "lower", "unit_diagonal"))
def _solve_triangular(a: ArrayLike, b: ArrayLike, trans: int, lower: bool, unit_diagonal: bool) -> Array:
    a, b = _with_one_batch("solve_triangular", *_promoted("solve_triangular", a, b))
    return la.triangular_solve(a, b, left_side=True, lower=lower, transpose_a=trans > 0, conjugate_a=trans == 2,
                               unit_diagonal=unit_diagonal)


# --- QR ---


def qr(a: ArrayLike, overwrite_a: bool = False, lwork: Any = None, mode: str = "full", pivoting: bool = False,
       check_finite: bool = True) -> tuple[Array, ...]:
    """QR factorization, a = Q R.

    Args:
      a: [..., m, n].
      overwrite_a, lwork, check_finite: have no effect.
      mode: "full": Q [..., m, m] and R [..., m, n]; "economic": [..., m, k] and [..., k, n] for k = min(m, n); "r": R of
        the full form, in a tuple.
      pivoting: whether columns are exchanged so that the diagonal of R descends in magnitude; the result then ends with the
        order of the columns, p of i32[..., n], a[..., p] = Q R.

    Returns:
      Q, with orthonormal columns, R, upper triangular, and with pivoting the order of the columns.

    Raises:
      ValueError: if the mode is unknown.

    Example:
      >>> q, r = qr(jnp.array([[3., 1.], [4., 3.]]), mode="economic")
      >>> jnp.abs(r)
      Array([[5., 3.],
             [0., 1.]], dtype=float32)
      >>> q @ r
      Array([[3., 1.],
             [4., 3.]], dtype=float32)
    """
    if mode not in ("full", "r", "economic"):
        raise ValueError(f"qr: mode must be 'full', 'r' or 'economic', got {mode!r}")
    return _qr(a, mode=mode, pivoting=bool(pivoting))


@fused(static_argnames=("mode", "pivoting"))
def _qr(a: ArrayLike, mode: str, pivoting: bool) -> tuple[Array, ...]:
    q, *rest = la.qr(inexact("qr", a), full_matrices=mode != "economic", pivoting=pivoting)
    return tuple(rest) if mode == "r" else (q, *rest)


def qr_multiply(a: ArrayLike, c: ArrayLike, mode: str = "right", pivoting: bool = False, conjugate: bool = False, overwrite_a: bool = False,
                overwrite_c: bool = False) -> tuple[Any, ...]:
    """The product of Q, of the economic QR factorization of a, with c; and R.

    Args:
      a: [..., m, n].
      c: for "right" [..., k, m] or [m], for "left" [..., min(m, n), k] or [min(m, n)].
      mode: "right" for c Q, "left" for Q c.
      pivoting: as for `qr`.
      conjugate: whether Q is conjugated.
      overwrite_a, overwrite_c: have no effect.

    Returns:
      The product, of as many axes as c has, and R [..., min(m, n), n]; with pivoting also the order of the columns.

    Raises:
      ValueError: if the mode is unknown, or the shapes do not fit.

    Example:
      >>> a = jnp.array([[3., 1.], [4., 3.]])
      >>> c_q, r = qr_multiply(a, jnp.array([[1., 2.]]))
      >>> c_q @ r  # c a
      Array([[11.,  7.]], dtype=float32)
    """
    if mode not in ("right", "left"):
        raise ValueError(f"qr_multiply: mode must be 'right' or 'left', got {mode!r}")
    return _qr_multiply(a, c, mode=mode, conjugate=bool(conjugate), pivoting=bool(pivoting))


@fused(static_argnames=("mode", "conjugate", "pivoting"))
def _qr_multiply(a: ArrayLike, c: ArrayLike, mode: str, conjugate: bool, pivoting: bool) -> tuple[Array, ...]:
    a, c = _promoted("qr_multiply", a, c)
    q, *rest = la.qr(a, full_matrices=False, pivoting=pivoting)
    q = jnp.conj(q) if conjugate else q
    m, k = shape_of(q)[-2:]
    is_vector = len(shape_of(c)) == 1
    inner = shape_of(c)[-1] if is_vector or mode == "right" else shape_of(c)[-2]
    if inner != (m if mode == "right" else k):
        raise ValueError(f"qr_multiply: for the product {'c @ Q' if mode == 'right' else 'Q @ c'}, c must have "
                         f"{m if mode == 'right' else k} {'columns' if mode == 'right' else 'rows'}; got {get_aval(a).str_short()} and "
                         f"{get_aval(c).str_short()}")
    left, right = (c, q) if mode == "right" else (q, c)
    return jnp.matmul(left, right, precision="highest"), *rest
