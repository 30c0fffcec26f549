"""Systems of equations: solutions, inverses, least squares.

The derivative of a factorization can be infinite where that of the solution is not, and costs more: `solve`, `inv`,
`pinv` and `lstsq` have their own.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from laminax_ir.ops import linalg as la
from laminax_ir.ops.shape_arguments import common_shape
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval
from laminax_transforms import custom_jvp, stop_gradient
from laminax_transforms.custom.custom_solve import custom_linear_solve

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.numpy.arguments import axis_tuple, convert, dtype_of, ensure_array, ensure_arrays, shape_of
from laminax._src.numerics.numpy.linalg.factorizations import hermitian_svd
from laminax._src.numerics.numpy.linalg.matrices import (
    MatrixShapeError,
    as_matrices,
    as_square,
    for_each_matrix,
    permuted_rows,
    product,
    relative_spacing,
)

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


@fused
def solve(a: ArrayLike, b: ArrayLike) -> Array:
    """Solution x of a x = b.

    Args:
      a: [..., n, n].
      b: [n], a vector, or [..., n, k]; the leading axes are broadcast.

    Returns:
      [..., n] or [..., n, k].

    Raises:
      ValueError: if the shapes do not fit.

    Example:
      >>> jnp.linalg.solve(jnp.array([[2.0, 0.0], [0.0, 4.0]]), jnp.array([2.0, 8.0]))
      Array([1., 2.], dtype=float32)
    """
    a, b = ensure_arrays("solve", a, b)
    dtype = dtypes.to_inexact_dtype(dtypes.result_type(a, b))
    a, b = as_square("solve", convert(a, dtype)), convert(b, dtype)
    is_vector = len(shape_of(b)) == 1
    rows = shape_of(b)[-1 if is_vector else -2] if shape_of(b) else None
    if rows != shape_of(a)[-1]:
        raise MatrixShapeError(f"solve: b must be a vector of n or matrices [..., n, k] for a [..., n, n], got "
                               f"{get_aval(a).str_short()} and {get_aval(b).str_short()}")
    try:
        common_shape(shape_of(a)[:-2], shape_of(b)[:-2])
    except ValueError:
        raise MatrixShapeError(f"solve: the leading axes of {get_aval(a).str_short()} and {get_aval(b).str_short()} do not "
                               "broadcast. For one vector per matrix give b[..., None]; the result has that last axis too.") from None
    return solve_matrices(a, b[:, None])[..., 0] if is_vector else solve_matrices(a, b)


def solve_matrices(a: ArrayLike, b: ArrayLike) -> Array:
    """By LU factorization, made once: derivatives solve with the same factors."""
    batch = common_shape(shape_of(a)[:-2], shape_of(b)[:-2])
    n, k = shape_of(b)[-2:]
    b = jnp.broadcast_to(b, (*batch, n, k))
    if not math.prod(shape_of(b)):
        return b
    factors, _, permutation = la.lu(stop_gradient(a))
    factors = jnp.broadcast_to(factors, (*batch, n, n))
    permutation = jnp.broadcast_to(permutation, (*batch, n))

    def forward(_: Callable, b: ArrayLike) -> Array:
        y = la.triangular_solve(factors, permuted_rows(b, permutation), left_side=True, lower=True, unit_diagonal=True)
        return la.triangular_solve(factors, y, left_side=True)

    def backward(_: Callable, b: ArrayLike) -> Array:
        y = la.triangular_solve(factors, b, left_side=True, transpose_a=True)
        y = la.triangular_solve(factors, y, left_side=True, lower=True, unit_diagonal=True, transpose_a=True)
        return permuted_rows(y, jnp.argsort(permutation, axis=-1))

    return custom_linear_solve(lambda x: product(a, x), b, forward, backward)


@fused
def inv(a: ArrayLike) -> Array:
    """Inverse of square matrices.

    Args:
      a: [..., n, n].

    Returns:
      [..., n, n]; of a singular matrix, infinities or NaN.

    Raises:
      ValueError: if a is not square.

    Example:
      >>> jnp.linalg.inv(jnp.array([[2.0, 0.0], [0.0, 4.0]]))
      Array([[0.5 , 0.  ],
             [0.  , 0.25]], dtype=float32)
    """
    a = as_square("inv", a)
    return solve_matrices(a, jnp.eye(shape_of(a)[-1], dtype=dtype_of(a)))


def lstsq(a: ArrayLike, b: ArrayLike, rcond: float | None = None, *, numpy_resid: bool = False) -> tuple[Any, ...]:
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

    Example:
      >>> jnp.linalg.lstsq(jnp.array([[1.0], [1.0]]), jnp.array([1.0, 3.0]))[0].round(3)
      Array([2.], dtype=float32)
    """
    x, residuals, rank, s = _lstsq(a, b, rcond)
    m, n = shape_of(a)
    if numpy_resid and (m <= n or int(rank) < n):
        residuals = jnp.zeros((0,), dtype_of(s))
    return x, residuals, rank, s


@fused
def _lstsq(a: ArrayLike, b: ArrayLike, rcond: float | None) -> tuple[Array, ...]:
    a, b = ensure_arrays("lstsq", a, b)
    dtype = dtypes.to_inexact_dtype(dtypes.result_type(a, b))
    a, b = convert(a, dtype), convert(b, dtype)
    if len(shape_of(a)) != 2 or len(shape_of(b)) not in (1, 2) or shape_of(a)[0] != shape_of(b)[0]:
        raise MatrixShapeError(f"lstsq: a must be [m, n] and b [m] or [m, k], got {get_aval(a).str_short()} and "
                               f"{get_aval(b).str_short()}")
    columns = b[:, None] if len(shape_of(b)) == 1 else b
    if rcond is None:
        rcond = relative_spacing(a)
    else:
        rcond = jnp.where(jnp.asarray(rcond) < 0, float(dtypes.finfo(dtype).eps), rcond)
    x, s, kept = _shortest_solution(a, columns, rcond)
    residuals = jnp.sum(jnp.square(jnp.abs(columns - product(a, x))), axis=0)
    rank = jnp.sum(kept, dtype=np.int32)
    return x if columns is b else x[:, 0], residuals, rank, s


@custom_jvp
def _shortest_solution(a: ArrayLike, b: ArrayLike, rcond: ArrayLike) -> tuple[Array, ...]:
    x, s, kept, _ = _by_svd(a, b, rcond)
    return x, s, kept


def _by_svd(a: ArrayLike, b: ArrayLike, rcond: ArrayLike) -> tuple[Array, Array, Array, tuple[Array, Array, Callable, Callable]]:
    """The solution, singular values, which of them are kept, and the functions that multiply by A^+ and its adjoint."""
    u, s, vh = la.svd(a, full_matrices=False)
    kept = s >= jnp.asarray(rcond, s.dtype) * s[:1]
    kept = kept & (s > 0)
    inverse = jnp.where(kept, 1 / jnp.where(kept, s, jnp.ones_like(s)), jnp.zeros_like(s)).astype(dtype_of(a))[:, None]

    def pinv_times(y: ArrayLike) -> Array:
        return product(la.adjoint(vh), inverse * product(la.adjoint(u), y))

    def pinv_adjoint_times(y: ArrayLike) -> Array:
        return product(u, inverse * product(vh, y))

    return pinv_times(b), s, kept, (u, vh, pinv_times, pinv_adjoint_times)


@_shortest_solution.defjvp
def _shortest_solution_jvp(primals: tuple[ArrayLike, ...],
                           tangents: tuple[ArrayLike, ...]) -> tuple[tuple[Array, ...], tuple[Array, Array, Array]]:
    """dx = A^+ (db - dA x) + A^+ A^+^H dA^H r + (1 - A^+ A) dA^H A^+^H x, r = b - A x; it needs no distinct singular values."""
    (a, b, rcond), (a_dot, b_dot, _) = primals, tangents
    x, s, kept, (u, vh, times, adjoint_times) = _by_svd(a, b, rcond)
    a_dot_h = la.adjoint(a_dot)
    along_null_space = product(a_dot_h, adjoint_times(x))
    x_dot = (times(b_dot - product(a_dot, x)) + times(adjoint_times(product(a_dot_h, b - product(a, x))))
             + along_null_space - times(product(a, along_null_space)))
    s_dot = jnp.diagonal(product(la.adjoint(u), a_dot, la.adjoint(vh))).real
    return (x, s, kept), (x_dot, s_dot, np.zeros(shape_of(kept), dtypes.float0))


def pinv(a: ArrayLike, rtol: ArrayLike | None = None, hermitian: bool = False, *, rcond: ArrayLike | None = None) -> Array:
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

    Example:
      >>> jnp.linalg.pinv(jnp.array([[2.0], [0.0]])).round(3)
      Array([[0.5, 0. ]], dtype=float32)
    """
    if rtol is not None and rcond is not None:
        raise ValueError("pinv: only one of rtol and rcond may be specified.")
    return _pinv(a, rcond if rtol is None else rtol, hermitian=bool(hermitian))


@fused(static_argnames=("hermitian",))
def _pinv(a: ArrayLike, rtol: ArrayLike | None, hermitian: bool) -> Array:
    a = (as_square if hermitian else as_matrices)("pinv", a)
    *batch, m, n = shape_of(a)
    if not m or not n:
        return jnp.zeros((*batch, n, m), dtype_of(a))
    rtol = 10 * relative_spacing(a) if rtol is None else rtol
    return (_pinv_hermitian if hermitian else _pinv_general)(a, rtol)


def _pinv_by_svd(a: ArrayLike, rtol: ArrayLike, hermitian: bool) -> Array:
    u, s, vh = hermitian_svd(a) if hermitian else la.svd(a, full_matrices=False)
    kept = s > for_each_matrix(rtol, s.dtype) * s[..., :1]
    inverse = jnp.where(kept, 1 / jnp.where(kept, s, jnp.ones_like(s)), jnp.zeros_like(s)).astype(dtype_of(a))
    return product(la.adjoint(vh), inverse[..., None] * la.adjoint(u))


@custom_jvp
def _pinv_general(a: ArrayLike, rtol: ArrayLike) -> Array:
    return _pinv_by_svd(a, rtol, False)


@custom_jvp
def _pinv_hermitian(a: ArrayLike, rtol: ArrayLike) -> Array:
    return _pinv_by_svd(a, rtol, True)


def _pinv_jvp(inverse: custom_jvp) -> Callable:
    def rule(primals: tuple[ArrayLike, ...], tangents: tuple[ArrayLike, ...]) -> tuple[Array, Array]:
        """Golub and Pereyra, "The differentiation of pseudo-inverses", 1973, equation 4.12."""
        (a, rtol), (a_dot, _) = primals, tangents
        p = inverse(a, rtol)
        p_h, a_dot_h = la.adjoint(p), la.adjoint(a_dot)
        if shape_of(a)[-2] >= shape_of(a)[-1]:  # the order of the products in which no matrix has two long sides
            right, left = product(p, p_h, a_dot_h), product(a_dot_h, p_h, p)
            return p, right - product(right, a, p) + left - product(product(p, a), left) - product(p, a_dot, p)
        right, left = product(p, product(p_h, a_dot_h)), product(a_dot_h, product(p_h, p))
        return p, right - product(right, product(a, p)) + left - product(p, product(a, left)) - product(p, product(a_dot, p))
    return rule


_pinv_general.defjvp(_pinv_jvp(_pinv_general))
_pinv_hermitian.defjvp(_pinv_jvp(_pinv_hermitian))


def tensorinv(a: ArrayLike, ind: int = 2) -> Array:
    """Inverse of the linear map that `tensordot(a, ., ind)` is.

    Args:
      a: an array; the product of its first `ind` sizes equals that of the others.
      ind: how many axes the map's results have.

    Returns:
      An array of shape a.shape[ind:] + a.shape[:ind].

    Raises:
      ValueError: if the products differ, or ind is not positive.

    Example:
      >>> jnp.linalg.tensorinv(jnp.eye(4).reshape(2, 2, 2, 2)).shape
      (2, 2, 2, 2)
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


def tensorsolve(a: ArrayLike, b: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """Solution x of tensordot(a, x, x.ndim) = b.

    Args:
      a: an array of shape b.shape + x.shape, as many elements in each part.
      b: an array.
      axes: axes of a to move to the end first.

    Returns:
      x, of a's last sizes.

    Raises:
      ValueError: if the sizes do not fit.

    Example:
      >>> jnp.linalg.tensorsolve(jnp.eye(4).reshape(2, 2, 2, 2), jnp.ones((2, 2)))
      Array([[1., 1.],
             [1., 1.]], dtype=float32)
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
