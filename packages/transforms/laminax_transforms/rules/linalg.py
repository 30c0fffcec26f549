"""Derivatives and batching of linear algebra.

All operations take leading batch axes, so batching puts the mapped axis in front. Derivatives are written per matrix
of a batch. Eigenvectors and singular vectors have no derivative where values coincide: divisions by their differences
give infinities there.

Sources: Giles, "Collected matrix derivative results for forward and reverse mode AD", 2008; Murray, "Differentiation of
the Cholesky decomposition", arXiv:1602.07527; de Hoog, Anderssen and Lukas, "Differentiation of matrix functionals using
triangular factorization", 2011; Townsend, "Differentiating the singular value decomposition", 2016.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Sequence

import numpy as np

from laminax_ir.ops import linalg as op
from laminax_ir.ops.elementwise import abs as magnitude
from laminax_ir.ops.elementwise import (
    add,
    conj,
    convert_element_type,
    div,
    eq,
    imag,
    mul,
    neg,
    real,
    sub,
)
from laminax_ir.ops.elementwise import complex as make_complex
from laminax_ir.ops.linalg import adjoint, matmul, swap_last, triangle, triangular_solve
from laminax_ir.ops.reduction import argmax, reduce_sum
from laminax_ir.ops.shape import broadcast_in_dim, broadcasted_iota, concatenate, expand_dims, full_like, pad
from laminax_ir.ops.slicing import slice as slice_
from laminax_ir.programs.primitive import Primitive
from laminax_ir.symbolic.symbolic_dims import min_dim
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval
from laminax_transforms.base.registry import axis_batching_rule, define_zero_derivative, jvp_rule, transpose_rule
from laminax_transforms.base.zeros import ZERO
from laminax_transforms.batching.batch_axes import batch_axis_first

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

# Batching


def batch_in_front(primitive: Primitive) -> Callable:
    """The batching rule of an operation on the last axes of its operands, whose other axes are batches."""
    def rule(axis: Any, operands: Sequence[Any], batch_axes: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
        result = primitive.bind(*[batch_axis_first(x, b, axis.size) for x, b in zip(operands, batch_axes)], **params)
        return (result, [0] * len(result)) if primitive.multiple_results else (result, 0)
    return rule


for _primitive in (op.cholesky_p, op.triangular_solve_p, op.lu_p, op.lu_pivots_to_permutation_p, op.geqrf_p,
                   op.householder_product_p, op.qr_p, op.eigh_p, op.svd_p, op.eig_p, op.schur_p, op.hessenberg_p,
                   op.tridiagonal_solve_p, op.symmetric_product_p):
    axis_batching_rule(_primitive)(batch_in_front(_primitive))

define_zero_derivative(op.lu_pivots_to_permutation_p)


# Matrices


def _eye(shape: Sequence[int], dtype: np.dtype) -> Array:
    """Identity matrices over the last two axes of a shape."""
    rank = len(shape)
    row, column = (broadcasted_iota(np.int32, shape, rank - 2 + i) for i in range(2))
    return convert_element_type(eq(row, column), dtype)


def _diagonal(x: ArrayLike) -> Array:
    return reduce_sum(mul(x, _eye(x.shape, x.dtype)), (len(x.shape) - 1,))


def _is_complex(x: ArrayLike) -> bool:
    return dtypes.issubdtype(get_aval(x).dtype, dtypes.complexfloating)


def _real(x: ArrayLike) -> Array:
    return real(x) if _is_complex(x) else x


def _like(x: ArrayLike, dtype: np.dtype) -> Array:
    """A real array in a possibly complex dtype."""
    return convert_element_type(x, dtype)


def _columns(x: ArrayLike) -> Array:
    """A vector per matrix as a factor of columns."""
    return expand_dims(x, (len(x.shape) - 1,))


def _rows(x: ArrayLike) -> Array:
    """A vector per matrix as a factor of rows."""
    return expand_dims(x, (len(x.shape),))


def _block(x: ArrayLike, rows: slice, columns: slice) -> Array:
    """A part of each matrix."""
    *batch, m, n = x.shape
    (r0, r1, _), (c0, c1, _) = rows.indices(m), columns.indices(n)
    return slice_(x, (0,) * len(batch) + (r0, c0), (*batch, r1, c1))


# Cholesky and triangular systems


@jvp_rule(op.cholesky_p)
def _cholesky_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """dL = L phi(L^-1 dA L^-H), phi keeping the lower triangle and half the diagonal."""
    (x,), (x_dot,) = primals, tangents
    factor = triangle(op.cholesky_p.bind(x))
    inner = triangular_solve(factor, x_dot, left_side=False, lower=True, transpose_a=True, conjugate_a=True)
    inner = triangle(triangular_solve(factor, inner, left_side=True, lower=True))
    halved = div(inner, add(_eye(x.shape, x.dtype), np.array(1, x.dtype)[()]))
    return factor, matmul(factor, halved)


@jvp_rule(op.triangular_solve_p, symbolic_zeros=True)
def _triangular_solve_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    (a, b), (a_dot, b_dot) = primals, tangents
    x = op.triangular_solve_p.bind(a, b, **params)
    right = b_dot
    if a_dot is not ZERO:
        a_dot = triangle(a_dot, params["lower"], k=(-1 if params["lower"] else 1) if params["unit_diagonal"] else 0)
        a_dot = swap_last(a_dot) if params["transpose_a"] else a_dot
        a_dot = conj(a_dot) if params["conjugate_a"] else a_dot
        moved = neg(matmul(a_dot, x) if params["left_side"] else matmul(x, a_dot))
        right = moved if right is ZERO else add(right, moved)
    return x, ZERO if right is ZERO else op.triangular_solve_p.bind(a, right, **params)


@transpose_rule(op.triangular_solve_p)
def _triangular_solve_transpose(ct: Any, a: Any, b: Any, **params: Any) -> list[Any]:
    params["transpose_a"] = not params["transpose_a"]
    return [None, op.triangular_solve_p.bind(a, ct, **params)]


# LU


@jvp_rule(op.lu_p)
def _lu_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """dL = L tril(L^-1 dA U^-1, -1), dU = triu(L^-1 dA U^-1) U, of L and U filled up to square ones."""
    (x,), (x_dot,) = primals, tangents
    factors, pivots, permutation = op.lu_p.bind(x)
    *batch, m, n = x.shape
    k: Any = min_dim(m, n)
    none = ((0, 0, 0),) * len(batch)
    zero = np.array(0, x.dtype)[()]
    lower = pad(triangle(_block(factors, slice(None), slice(k)), k=-1), zero, (*none, (0, 0, 0), (0, m - k, 0)))
    lower = add(lower, _eye((*batch, m, m), x.dtype))
    upper = pad(triangle(_block(factors, slice(k), slice(None)), lower=False), zero, (*none, (0, n - k, 0), (0, 0, 0)))
    rest = pad(_eye((*batch, n - k, n - k), x.dtype), zero, (*none, (k, 0, 0), (k, 0, 0)))
    upper = add(upper, rest)
    inner = triangular_solve(lower, matmul(_permutation_matrix(permutation, x.dtype), x_dot), left_side=True, lower=True,
                             unit_diagonal=True)
    inner = triangular_solve(upper, inner, left_side=False, lower=False)
    dot = add(matmul(lower, triangle(inner, k=-1)), matmul(triangle(inner, lower=False), upper))
    return [factors, pivots, permutation], [dot, ZERO, ZERO]


def _permutation_matrix(permutation: ArrayLike, dtype: np.dtype) -> Array:
    shape = (*permutation.shape, permutation.shape[-1])
    rank = len(shape)
    spread = broadcast_in_dim(permutation, shape, tuple(range(rank - 1)))
    return convert_element_type(eq(spread, broadcasted_iota(np.int32, shape, rank - 1)), dtype)


# QR


@jvp_rule(op.qr_p)
def _qr_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, pivoting: bool, full_matrices: bool,
            use_magma: bool | None) -> tuple[Any, Any]:
    (x,), (x_dot,) = primals, tangents
    *_, m, n = x.shape
    q, r, *permutation = op.qr_p.bind(x, pivoting=pivoting, full_matrices=full_matrices, use_magma=use_magma)
    if pivoting:  # small changes do not change the order of the columns
        exchange = adjoint(_permutation_matrix(permutation[0], x.dtype))
        x, x_dot = matmul(x, exchange), matmul(x_dot, exchange)
    if m > n and full_matrices:
        return [q, r, *permutation], [*_full_qr_jvp(q, r, x_dot), *[ZERO] * len(permutation)]
    if m >= n:
        return [q, r, *permutation], [*_thin_qr_jvp(q, r, x_dot), *[ZERO] * len(permutation)]
    # The square part decides Q; of the rest, R2 = Q^H X2.
    q_dot, left_dot = _thin_qr_jvp(q, _block(r, slice(None), slice(m)), _block(x_dot, slice(None), slice(m)))
    right_dot = add(matmul(adjoint(q_dot), _block(x, slice(None), slice(m, None))),
                    matmul(adjoint(q), _block(x_dot, slice(None), slice(m, None))))
    return [q, r, *permutation], [q_dot, concatenate((left_dot, right_dot), len(x.shape) - 1), *[ZERO] * len(permutation)]


def _thin_qr_jvp(q: ArrayLike, r: ArrayLike, x_dot: ArrayLike) -> tuple[Any, Any]:
    """With C = Q^H dX R^-1, Q^H dQ is the skew matrix with C's lower triangle; dQ and dR follow."""
    solved = triangular_solve(r, x_dot, left_side=False, lower=False)
    c = matmul(adjoint(q), solved)
    below = triangle(c, k=-1)
    skew = sub(below, adjoint(below))
    if _is_complex(c):  # a real diagonal of R leaves the imaginary part of C's to Q
        skew = add(skew, mul(sub(c, _like(real(c), c.dtype)), _eye(c.shape, c.dtype)))
    return add(matmul(q, sub(skew, c)), solved), matmul(sub(c, skew), r)


def _full_qr_jvp(q: ArrayLike, r: ArrayLike, x_dot: ArrayLike) -> tuple[Any, Any]:
    """A tall matrix, and Q with all columns, which is a product of n reflections: Q = I - V T V^H, where V has n columns.

    With V = [V1; V2], where V1 is square, Z = V2 V1^-1 has Q[n:, :n] = Z (Q[:n, :n] - I) and Q[:, n:] - I[:, n:] = (Q - I)[:, :n] Z^H.
    The first equation gives Z and its derivative, the second one that of the further columns.
    """
    m, n = get_aval(r).shape[-2:]
    q_dot, r_dot = _thin_qr_jvp(_block(q, slice(None), slice(n)), _block(r, slice(n), slice(None)), x_dot)
    less = sub(q, _eye(get_aval(q).shape, get_aval(q).dtype))
    columns, top, below = _block(less, slice(None), slice(n)), _block(less, slice(n), slice(n)), _block(less, slice(n, None), slice(n))
    z = adjoint(_solve(adjoint(top), adjoint(below)))
    rest_dot = sub(_block(q_dot, slice(n, None), slice(None)), matmul(z, _block(q_dot, slice(n), slice(None))))
    further_dot = add(matmul(q_dot, adjoint(z)), matmul(columns, _solve(adjoint(top), adjoint(rest_dot))))
    last = len(get_aval(r).shape) - 1
    zeros = full_like(_block(r, slice(n, None), slice(None)), 0)
    return concatenate((q_dot, further_dot), last), concatenate((r_dot, zeros), last - 1)


# Eigenvalues and singular values


@jvp_rule(op.eigh_p)
def _eigh_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    """dw = diag(V^H dA V), dV = V (F * V^H dA V), F = 1 / (w_j - w_i) off the diagonal."""
    (x,), (x_dot,) = primals, tangents
    v, w = op.eigh_p.bind(x, **params)
    eye = _eye(x.shape, w.dtype)
    factor = sub(div(np.array(1, w.dtype)[()], add(eye, sub(_columns(w), _rows(w)))), eye)
    inner = matmul(adjoint(v), matmul(x_dot, v))
    return [v, w], [matmul(v, mul(_like(factor, x.dtype), inner)), _real(_diagonal(inner))]


@jvp_rule(op.svd_p)
def _svd_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, full_matrices: bool, compute_uv: bool, **params: Any) -> tuple[Any, Any]:
    (x,), (x_dot,) = primals, tangents
    *_, m, n = x.shape
    if compute_uv and full_matrices and m != n:
        raise NotImplementedError(f"the derivative of svd of a matrix that is not square, {get_aval(x).str_short()}, is implemented "
                                  "for full_matrices=False only: the further vectors are not determined by the matrix")
    s, u, vh = op.svd_p.bind(x, full_matrices=False, compute_uv=True, **params)
    v, uh = adjoint(vh), adjoint(u)
    inner = matmul(uh, matmul(x_dot, v))
    s_dot = _real(_diagonal(inner))
    if not compute_uv:
        return [s], [s_dot]
    dtype, one = s.dtype, np.array(1, s.dtype)[()]
    eye = _eye(inner.shape, dtype)
    row, column = _rows(s), _columns(s)
    # The difference of squares as a product keeps its accuracy.
    factor = _like(sub(div(one, add(mul(add(column, row), sub(column, row)), eye)), eye), x.dtype)
    is_zero = convert_element_type(eq(s, np.array(0, dtype)[()]), dtype)
    inverse = sub(div(one, add(s, is_zero)), is_zero)
    s_column, s_row = _like(column, x.dtype), _like(row, x.dtype)
    right, left = mul(inner, s_column), mul(s_row, inner)
    phase = mul(sub(inner, adjoint(inner)), _like(mul(eye, mul(_columns(inverse), np.array(0.5, dtype)[()])), x.dtype))
    u_dot = matmul(u, add(mul(factor, add(right, adjoint(right))), phase))
    v_dot = matmul(v, mul(factor, add(left, adjoint(left))))
    if m > n:
        moved = matmul(x_dot, v)
        u_dot = add(u_dot, div(sub(moved, matmul(u, matmul(uh, moved))), s_column))
    if n > m:
        moved = matmul(adjoint(x_dot), u)
        v_dot = add(v_dot, div(sub(moved, matmul(v, matmul(vh, moved))), s_column))
    return [s, u, vh], [s_dot, u_dot, adjoint(v_dot)]


@jvp_rule(op.eig_p)
def _eig_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, compute_left_eigenvectors: bool, compute_right_eigenvectors: bool,
             enable_eigvec_derivs: bool, **params: Any) -> tuple[Any, Any]:
    """dw = diag(V^-1 dA V); left eigenvectors are right ones of the adjoint, with conjugate eigenvalues."""
    if (compute_left_eigenvectors or compute_right_eigenvectors) and not enable_eigvec_derivs:
        raise NotImplementedError("the derivatives of eigenvectors of general matrices are right only where all eigenvalues are different "
                                  "and each vector has one component of greatest magnitude. Pass enable_eigvec_derivs=True to "
                                  "lax.linalg.eig if that is so, or both compute_left_eigenvectors and compute_right_eigenvectors False.")
    (x,), (x_dot,) = primals, tangents
    w, *left, v = op.eig_p.bind(x, compute_left_eigenvectors=compute_left_eigenvectors, compute_right_eigenvectors=True,
                                enable_eigvec_derivs=enable_eigvec_derivs, **params)
    x_dot = x_dot if _is_complex(x_dot) else make_complex(x_dot, full_like(x_dot, 0))
    inner = _solve(v, matmul(x_dot, v))
    results, dots = [w, *left], [_diagonal(inner)]
    for u in left:
        dots.append(_eigenvectors_dot(u, conj(w), _solve(u, matmul(adjoint(x_dot), u))))
    if compute_right_eigenvectors:
        results.append(v)
        dots.append(_eigenvectors_dot(v, w, inner))
    return results, dots


def _eigenvectors_dot(v: ArrayLike, w: ArrayLike, inner: ArrayLike) -> Array:
    """V (F * V^-1 dA V), F = 1 / (w_j - w_i) off the diagonal, and a multiple of each vector, so that as LAPACK's (zgeev) it stays of
    norm 1 with a real component of greatest magnitude."""
    dtype, rows = v.dtype, len(v.shape) - 2
    eye = _eye(v.shape, dtype)
    factor = sub(div(np.array(1, dtype)[()], add(eye, sub(_columns(w), _rows(w)))), eye)
    moved = matmul(v, mul(factor, inner))
    stretch = reduce_sum(real(mul(conj(v), moved)), (rows,))
    greatest = _columns(argmax(magnitude(v), rows, np.int32))
    is_greatest = convert_element_type(eq(broadcasted_iota(np.int32, v.shape, rows), greatest), stretch.dtype)
    turn = div(reduce_sum(mul(imag(moved), is_greatest), (rows,)), reduce_sum(mul(real(v), is_greatest), (rows,)))
    return sub(moved, mul(v, _columns(make_complex(stretch, turn))))


def _solve(a: ArrayLike, b: ArrayLike) -> Array:
    factors, _, permutation = op.lu(a)
    b = matmul(_permutation_matrix(permutation, b.dtype), b)
    b = triangular_solve(factors, b, left_side=True, lower=True, unit_diagonal=True)
    return triangular_solve(factors, b, left_side=True, lower=False)


# Others


@jvp_rule(op.tridiagonal_solve_p, symbolic_zeros=True)
def _tridiagonal_solve_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    (*diagonals, _), (*diagonal_dots, right) = primals, tangents
    x = op.tridiagonal_solve_p.bind(*primals, **params)
    for shift, dot in zip((1, 0, -1), diagonal_dots):
        if dot is not ZERO:
            moved = neg(mul(_rows(dot), _shifted(x, shift)))
            right = moved if right is ZERO else add(right, moved)
    return x, ZERO if right is ZERO else op.tridiagonal_solve_p.bind(*diagonals, right, **params)


def _shifted(x: ArrayLike, by: int) -> Array:
    """The rows moved down (or, if negative, up) by one, with zeros in the gap."""
    if not by:
        return x
    none = ((0, 0, 0),) * (len(x.shape) - 2)
    return pad(x, np.array(0, x.dtype)[()], (*none, (by, -by, 0), (0, 0, 0)))


@transpose_rule(op.tridiagonal_solve_p)
def _tridiagonal_solve_transpose(ct: Any, dl: Any, d: Any, du: Any, b: Any, **params: Any) -> list[Any]:
    none = ((0, 0, 0),) * (len(dl.shape) - 1)
    zero = np.array(0, d.dtype)[()]
    below = pad(du, zero, (*none, (1, -1, 0)))
    above = pad(dl, zero, (*none, (-1, 1, 0)))
    return [None, None, None, op.tridiagonal_solve_p.bind(below, d, above, ct, **params)]


@jvp_rule(op.symmetric_product_p)
def _symmetric_product_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, alpha: float, beta: float) -> tuple[Any, Any]:
    (a, c), (a_dot, c_dot) = primals, tangents
    half = matmul(a_dot, swap_last(a))
    product = mul(np.array(alpha, a.dtype)[()], add(half, swap_last(half)))
    return (op.symmetric_product_p.bind(a, c, alpha=alpha, beta=beta),
            product if beta == 0 else add(product, mul(np.array(beta, a.dtype)[()], c_dot)))
