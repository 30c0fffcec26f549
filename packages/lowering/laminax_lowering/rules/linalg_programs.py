"""Linear algebra as programs of simpler operations, for platforms without a kernel."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.ops import elementwise as el
from laminax_ir.ops import linalg as op
from laminax_ir.ops.linalg_primitives import real_dtype
from laminax_ir.ops.loops import scan
from laminax_ir.ops.reduction import reduce_and, reduce_max, reduce_sum
from laminax_ir.ops.shape import broadcast_in_dim, broadcasted_iota, concatenate, full, reshape, rev, transpose
from laminax_ir.ops.slicing import slice as slice_
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.recording.staging import stage
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray
from laminax_lowering.writing.ssa_values import Value

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

# Tridiagonal systems


def solve_tridiagonal(dl: ArrayLike, d: ArrayLike, du: ArrayLike, b: Value) -> Any:
    """Solves tridiagonal systems by elimination without pivoting; for dominant diagonals or positive definite matrices.

    Args:
      dl, d, du: [..., n], the diagonals; dl[..., 0] and du[..., n-1] are not read.
      b: [..., n, k].

    Returns:
      [..., n, k].

    Source: Thomas's algorithm, as in Golub and Van Loan, "Matrix Computations", section 4.3.6.
    """
    rank, n = len(b.shape), d.shape[-1]
    to_front, back = (rank - 2, *range(rank - 2), rank - 1), (*range(1, rank - 1), 0, rank - 1)
    columns = [transpose(reshape(x, (*x.shape, 1)), to_front) for x in (dl, d, du)]  # [n, ..., 1]
    none = full((1, *columns[0].shape[1:]), 0, b.dtype)
    lower = concatenate([none, _part(columns[0], 1, n)], 0)
    upper = concatenate([_part(columns[2], 0, n - 1), none], 0)

    def eliminate(carry: tuple[ArrayLike, ...], row: tuple[ArrayLike, ...]) -> tuple[Any, Any]:
        ratio, value = carry
        lower, diagonal, upper, b = row
        pivot = el.sub(diagonal, el.mul(lower, ratio))
        carry = el.div(upper, pivot), el.div(el.sub(b, el.mul(lower, value)), pivot)
        return carry, carry

    def substitute(after: ArrayLike, row: tuple[ArrayLike, ...]) -> tuple[Any, Any]:
        ratio, value = row
        x = el.sub(value, el.mul(ratio, after))
        return x, x

    b = transpose(b, to_front)
    start = full(none.shape[1:], 0, b.dtype), full(b.shape[1:], 0, b.dtype)
    _, rows = scan(eliminate, start, (lower, columns[1], upper, b))
    _, x = scan(substitute, start[1], rows, reverse=True)
    return transpose(x, back)


def solve_perturbed_tridiagonal(dl: ArrayLike, d: ArrayLike, du: ArrayLike, b: Value) -> Any:
    """Solves tridiagonal systems by elimination with partial pivoting; pivots that are nearly 0 are moved away from it.

    Args:
      dl, d, du, b: as for `solve_tridiagonal`.

    Returns:
      [..., n, k], finite for singular matrices too. A pivot below eps max |U| becomes that, with its sign: for the triangular factor
      U of the matrix, and the spacing eps of numbers at 1.

    Source: LAPACK's DGTSV for the elimination, and DLAGTS for the pivots.
    """
    rank, n = len(b.shape), d.shape[-1]
    to_front, back = (rank - 2, *range(rank - 2), rank - 1), (*range(1, rank - 1), 0, rank - 1)
    b = transpose(b, to_front)  # [n, ..., k], as are the diagonals
    below, diagonal, above = (broadcast_in_dim(transpose(reshape(x, (*x.shape, 1)), to_front), b.shape, range(rank)) for x in (dl, d, du))
    none = full((1, *b.shape[1:]), 0, b.dtype)
    zero = reshape(none, b.shape[1:])
    above = concatenate([_part(above, 0, n - 1), none], 0)

    def eliminate(row: tuple[ArrayLike, ...], following: tuple[ArrayLike, ...]) -> tuple[Any, Any]:
        p, q, right = row  # what is left of a row: its coefficients of this variable and the next one
        a, c, e, b = following
        stays = el.ge(el.abs(p), el.abs(a))
        pivots = [el.select(stays, x, y) for x, y in zip((p, q, zero, right), (a, c, e, b))]
        others = [el.select(stays, y, x) for x, y in zip((p, q, zero, right), (a, c, e, b))]
        factor = el.select(el.eq(pivots[0], zero), zero, el.div(others[0], pivots[0]))
        return tuple(el.sub(x, el.mul(factor, pivot)) for x, pivot in zip(others[1:], pivots[1:])), pivots

    first = tuple(reshape(_part(x, 0, 1), zero.shape) for x in (diagonal, above, b))
    last, rows = scan(eliminate, first, tuple(_part(x, 1, n) for x in (below, diagonal, above, b)))
    pivots, *rest = (concatenate([x, reshape(y, none.shape)], 0) for x, y in zip(rows, (last[0], zero, zero, last[2])))
    sizes = [reduce_max(el.abs(x), (0,)) for x in (pivots, *rest[:2])]
    largest = functools.reduce(el.max, sizes)
    eps = np.array(dtypes.finfo(largest.dtype).eps, largest.dtype)[()]
    least = el.mul(eps, el.select(el.eq(largest, full(largest.shape, 0, largest.dtype)), full(largest.shape, 1, largest.dtype), largest))
    least = broadcast_in_dim(least, pivots.shape, range(1, rank))
    is_complex = dtypes.issubdtype(pivots.dtype, dtypes.complexfloating)
    is_negative = el.lt(el.real(pivots) if is_complex else pivots, full(pivots.shape, 0, least.dtype))
    moved = el.convert_element_type(el.select(is_negative, el.neg(least), least), pivots.dtype)
    pivots = el.select(el.lt(el.abs(pivots), least), moved, pivots)

    def substitute(after: tuple[ArrayLike, ...], row: tuple[ArrayLike, ...]) -> tuple[Any, Any]:
        pivot, second, third, right = row
        x = el.div(el.sub(el.sub(right, el.mul(second, after[0])), el.mul(third, after[1])), pivot)
        return (x, after[0]), x

    _, x = scan(substitute, (zero, zero), (pivots, *rest), reverse=True)
    return transpose(x, back)


def _part(x: Value, start: int, stop: int) -> Array:
    """A range along the first axis."""
    return slice_(x, (start, *[0] * (len(x.shape) - 1)), (stop, *x.shape[1:]))


# Singular values


@functools.lru_cache(maxsize=256)
def svd_program(aval: ShapedArray, full_matrices: bool, compute_uv: bool) -> ClosedJaxpr:
    """The program of `svd_by_polar` for matrices of a shape and dtype."""
    return stage(lambda x: list(svd_by_polar(x, full_matrices, compute_uv)), [aval], name="svd")


def svd_by_polar(x: Value, full_matrices: bool, compute_uv: bool) -> tuple:
    """The singular value decomposition by the polar decomposition x = U H and the eigenvalues of H.

    Args:
      x: [..., m, n], floating or complex.
      full_matrices: whether both factors are square.
      compute_uv: whether they are wanted.

    Returns:
      s and, if wanted, U and V^H, as `svd_p` has them.

    Source: Higham and Papadimitriou, "A parallel algorithm for computing the polar decomposition", 1994; Nakatsukasa and
    Higham, "Stable and efficient spectral divide and conquer algorithms", 2013.
    """
    if x.shape[-2] < x.shape[-1]:
        s, *factors = svd_by_polar(op.adjoint(x), full_matrices, compute_uv)
        return (s, *[op.adjoint(factor) for factor in reversed(factors)])
    *_, m, n = x.shape
    finite = el.is_finite(el.abs(x))
    is_finite = reduce_and(finite, axes=(len(x.shape) - 2, len(x.shape) - 1))
    q, r = op.qr(x, full_matrices=full_matrices)
    r = _rows(r, 0, n)
    isometry = polar_factor(r)
    v, s = op.eigh(op.matmul(op.adjoint(isometry), r))
    s, v = (rev(y, (len(y.shape) - 1,)) for y in (s, v))  # descending
    s = el.max(s, np.array(0, s.dtype)[()])
    if not compute_uv:
        return (_or_nan(is_finite, s),)
    u = _orthonormal(op.matmul(isometry, v))
    u = op.matmul(_columns(q, 0, n), u)
    if full_matrices and m > n:
        u = concatenate([u, _columns(q, n, m)], len(x.shape) - 1)
    return tuple([_or_nan(is_finite, y) for y in (s, u, op.adjoint(v))])


def polar_factor(x: Value) -> Any:
    """The unitary factor U of square matrices x = U H with H positive semidefinite.

    Halley's iteration with weights that take singular values between 1 and the unit roundoff to 1 in six steps (four in
    single precision). Smaller ones stay below 1: of singular matrices U is not unitary, but U^H x = H holds.
    Source: Nakatsukasa, Bai and Gygi, "Optimizing Halley's iteration for computing the matrix polar decomposition", 2010.
    """
    real = real_dtype(x.dtype)
    sizes = el.abs(x)
    rank = len(x.shape)
    bound = el.sqrt(el.mul(*[reduce_max(reduce_sum(sizes, axes=(axis,)), axes=(rank - 2,)) for axis in (rank - 2, rank - 1)]))
    bound = el.select(el.gt(bound, np.array(0, real)[()]), bound, full(bound.shape, 1, real))
    x = el.div(x, _as(x.dtype, reshape(bound, (*bound.shape, 1, 1))))
    identity = eye_like(x)
    for a, b, c in _weights(float(np.finfo(real).eps)):
        step = _step_by_qr if c > 100 else _step_by_cholesky  # the second squares the condition number, which is small later
        x = el.add(el.mul(_scalar(b / c, x), x), el.mul(_scalar(a - b / c, x), step(x, identity, c)))
    return x


@functools.lru_cache(maxsize=None)
def _weights(roundoff: float) -> list[tuple[float, float, float]]:
    """The weights of each step, for singular values from the roundoff on."""
    weights, low = [], roundoff
    while abs(1 - low) > 10 * roundoff:
        d = (4 * (1 - low**2) / low**4) ** (1 / 3)
        a = math.sqrt(1 + d) + math.sqrt(8 - 4 * d + 8 * (2 - low**2) / (low**2 * math.sqrt(1 + d))) / 2
        b = (a - 1) ** 2 / 4
        c = a + b - 1
        weights.append((a, b, c))
        low = min(low * (a + b * low**2) / (1 + c * low**2), 1.0)
    return weights


def _step_by_qr(x: Value, identity: ArrayLike, c: float) -> Array:
    """x (1 + c x^H x)^-1, by the orthonormal basis of the columns of [sqrt(c) x; 1]."""
    n = x.shape[-1]
    root = math.sqrt(c)
    q, _ = op.qr(concatenate([el.mul(_scalar(root, x), x), identity], len(x.shape) - 2), full_matrices=False)
    return el.mul(_scalar(1 / root, x), op.matmul(_rows(q, 0, n), op.adjoint(_rows(q, n, 2 * n))))


def _step_by_cholesky(x: Value, identity: ArrayLike, c: float) -> Array:
    """x (1 + c x^H x)^-1, by solving with the factors of the second matrix."""
    gram = el.add(identity, el.mul(_scalar(c, x), op.matmul(op.adjoint(x), x)))
    factor = op.cholesky(gram)
    half = op.triangular_solve(factor, x, left_side=False, lower=True, transpose_a=True, conjugate_a=True)
    return op.triangular_solve(factor, half, left_side=False, lower=True)


def _orthonormal(u: ArrayLike) -> Array:
    """Columns that are orthonormal already as they are, in place of those that are not (zeros) others that complete them."""
    q, r = op.qr(u, full_matrices=False)
    rank, n = len(u.shape), u.shape[-1]
    diagonal = reduce_sum(el.mul(r, eye_like(r)), axes=(rank - 1,))
    size = el.abs(diagonal)
    is_zero = el.eq(size, np.array(0, size.dtype)[()])
    phase = el.div(diagonal, _as(u.dtype, el.select(is_zero, full(size.shape, 1, size.dtype), size)))
    phase = el.select(is_zero, full(phase.shape, 1, u.dtype), phase)
    return el.mul(q, reshape(phase, (*phase.shape[:-1], 1, n)))


def _or_nan(is_good: ArrayLike, x: Value) -> Array:
    mask = reshape(is_good, (*is_good.shape, *[1] * (len(x.shape) - len(is_good.shape))))
    mask = el.bitwise_or(mask, full(x.shape, False, np.bool_))
    return el.select(mask, x, full(x.shape, np.nan, x.dtype))


def eye_like(x: Value) -> Any:
    """Identity matrices of the shape and dtype of x, [..., m, n]."""
    rank = len(x.shape)
    row, column = (broadcasted_iota(np.int32, x.shape, rank - 2 + i) for i in range(2))
    return el.convert_element_type(el.eq(row, column), x.dtype)


def _scalar(value: float, like: ArrayLike) -> Array:
    return np.array(value, like.dtype)[()]


def _as(dtype: np.dtype, x: Value) -> Array:
    return el.convert_element_type(x, dtype) if dtypes.issubdtype(dtype, dtypes.complexfloating) else x


def _rows(x: Value, start: int, stop: int) -> Array:
    *batch, _, n = x.shape
    return slice_(x, (*[0] * len(batch), start, 0), (*batch, stop, n))


def _columns(x: Value, start: int, stop: int) -> Array:
    *batch, m, _ = x.shape
    return slice_(x, (*[0] * len(batch), 0, start), (*batch, m, stop))
