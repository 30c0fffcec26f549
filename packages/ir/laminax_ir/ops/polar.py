"""The polar decomposition of a matrix, by an iteration that uses nothing but QR and Cholesky factorizations."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.ops import elementwise as el
from laminax_ir.ops.linalg import adjoint, cholesky, matmul, qr, symmetrize, triangular_solve
from laminax_ir.ops.linalg_primitives import check_matrix, real_dtype
from laminax_ir.ops.loops import while_loop
from laminax_ir.ops.reduction import reduce_max, reduce_sum
from laminax_ir.ops.scalar_operands import scalar_like
from laminax_ir.ops.shape import broadcasted_iota, concatenate, full, full_like
from laminax_ir.ops.slicing import dynamic_index_in_dim, slice_in_dim
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval
from laminax_ir.types.errors import ShapeError

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


def qdwh(x: ArrayLike, *, is_hermitian: bool = False, max_iterations: int | None = None, eps: float | None = None,
         dynamic_shape: tuple | None = None) -> tuple[Any, Any, Any, Any]:
    """The polar decomposition x = u h by the dynamically weighted Halley iteration.

    Args:
      x: of full rank, float32, float64, complex64 or complex128, [m, n], m >= n.
      is_hermitian: whether x is Hermitian; u, which is Hermitian then, is made so exactly.
      max_iterations: after how many steps to stop in any case; 10 by default.
      eps: the precision: steps stop when one changes the iterate by at most the cube root of 4 eps, relative to it. That of
        the dtype by default.
      dynamic_shape: the sizes (m, n) of the matrix in the upper left corner of x, ints or traced; the rest of x is not
        read, and that of u and h is zero. By default all of x.

    Returns:
      (u, h, num_iters, is_converged): u [m, n] with orthonormal columns and h [n, n] Hermitian and positive semidefinite, of
      x's dtype; the number of steps, int32; and whether they went on until the change was small, bool.

    Raises:
      TypeError: if x is no matrix, or its dtype is another one.
      ValueError: if x has fewer rows than columns, or max_iterations is negative.

    Example:
      >>> u, h, iterations, is_converged = qdwh(np.float32([[0, -2], [3, 0]]))
      >>> u, h
      (array([[ 0., -1.],
             [ 1.,  0.]], dtype=float32), array([[3., 0.],
             [0., 2.]], dtype=float32))

    Source: Nakatsukasa, Bai and Gygi, "Optimizing Halley's iteration for computing the matrix polar decomposition", SIAM
    J. Matrix Anal. Appl. 31, 2010.
    """
    aval = get_aval(x)
    batch, m, n = check_matrix("qdwh", aval)
    if batch:
        raise ShapeError(f"qdwh: x must be one matrix, got {aval.str_short()}; use vmap for a batch of them")
    if m < n:
        raise ValueError(f"qdwh: x must have at least as many rows as columns, got {aval.str_short()}; decompose its adjoint")
    limit = 10 if max_iterations is None else int(max_iterations)
    if limit < 0:
        raise ValueError(f"qdwh: max_iterations must not be negative, got {max_iterations}")
    real = real_dtype(aval.dtype)
    precision = float(dtypes.finfo(real).eps) if eps is None else float(eps)
    if dynamic_shape is not None:
        x = _corner(x, dynamic_shape)
    u, count, is_converged = _iterate(x, real, limit, (4 * precision) ** (1 / 3)) if m and n else \
        (x, np.int32(0), np.bool_(True))
    u = symmetrize(u) if is_hermitian else u
    return u, symmetrize(matmul(adjoint(u), x)), count, is_converged


def _corner(x: ArrayLike, sizes: tuple[int, ...]) -> Array:
    """x with zeros outside of the corner of these sizes."""
    inside = [el.lt(broadcasted_iota(np.int32, x.shape, axis), full(x.shape, size, np.int32)) for axis, size in enumerate(sizes)]
    return el.select(el.bitwise_and(*inside), x, full_like(x, 0))


def _iterate(x: ArrayLike, real: np.dtype, limit: int, tolerance: float) -> tuple[Array, ...]:
    """The unitary factor, the number of steps, and whether the last one was small."""
    weights, by_qr, needed = _weights(float(dtypes.finfo(real).eps), max(limit, _ENOUGH))
    scale = _bound_of_norm(x)
    scale = el.select(el.eq(scale, full_like(scale, 0)), full_like(scale, 1), scale)
    state = np.int32(0), el.div(x, el.convert_element_type(scale, x.dtype)), np.bool_(False)
    table = np.array(weights, real)
    # QR while the weights are too large for Cholesky
    for step, last in ((_step_by_qr, min(by_qr, limit)), (_step_by_cholesky, limit)):
        if last:
            state = while_loop(lambda s, last=last: el.bitwise_and(el.lt(s[0], np.int32(last)), el.bitwise_not(s[2])),
                               lambda s, step=step: _advanced(step, table, needed, tolerance, s), state)
    count, u, is_converged = state
    return u, count, is_converged


_ENOUGH = 10  # steps for any matrix of full rank: six of them in double precision, as the source shows


def _advanced(step: Callable, table: ArrayLike, needed: int, tolerance: float, state: tuple[ArrayLike, ...]) -> tuple[Array, ...]:
    count, before, _ = state
    a, b, c = (dynamic_index_in_dim(table[:, i], count, keepdims=False) for i in range(3))
    after = step(before, *[el.convert_element_type(v, before.dtype) for v in (a, b, c)])
    change, size = _norm(el.sub(after, before)), _norm(after)
    is_small = el.le(change, el.mul(size, scalar_like(tolerance, size.dtype)))
    # The first steps lift the least singular values, by which a matrix changes little.
    return el.add(count, np.int32(1)), after, el.bitwise_and(is_small, el.ge(count, np.int32(needed - 1)))


def _weights(least: float, count: int) -> tuple[list[tuple[float, float, float]], int, int]:
    """The weights (a, b, c) of each step for singular values in [least, 1], and of how many steps they are.

    The first number is how many of the first steps need QR, the second after how many all singular values are near 1.

    Each step maps singular values by s (a + b s^2) / (1 + c s^2), the one that makes the least of them greatest.
    """
    weights, by_qr, needed = [], 0, 1
    for i in range(count):
        square = least * least
        d = (4 * max(1 - square, 0.0) / square**2) ** (1 / 3)
        a = (1 + d) ** 0.5 + 0.5 * (8 - 4 * d + 8 * (2 - square) / (square * (1 + d) ** 0.5)) ** 0.5
        b = (a - 1) ** 2 / 4
        c = a + b - 1
        weights.append((a, b, c))
        by_qr = i + 1 if c > 100 else by_qr
        needed = i + 1 if least < 0.9 else needed
        least = min(least * (a + b * square) / (1 + c * square), 1.0)
    return weights, by_qr, needed


def _bound_of_norm(x: ArrayLike) -> Array:
    """The geometric mean of the greatest sums of columns and rows: not below the greatest singular value."""
    size = el.abs(x)
    columns, rows = (reduce_max(reduce_sum(size, (axis,)), (0,)) for axis in (0, 1))
    return el.mul(el.sqrt(columns), el.sqrt(rows))


def _norm(x: ArrayLike) -> Array:
    size = el.abs(x)
    return el.sqrt(reduce_sum(el.mul(size, size), (0, 1)))


def _eye(n: int, dtype: np.dtype) -> Array:
    row, column = (broadcasted_iota(np.int32, (n, n), axis) for axis in (0, 1))
    return el.convert_element_type(el.eq(row, column), dtype)


def _step_by_qr(x: ArrayLike, a: ArrayLike, b: ArrayLike, c: ArrayLike) -> Array:
    """(b/c) x + (a - b/c) / sqrt(c) Q1 Q2^H, with the two parts of the Q of sqrt(c) x on top of the identity."""
    m, n = x.shape
    q, _ = qr(concatenate((el.mul(x, el.sqrt(c)), _eye(n, x.dtype)), 0), full_matrices=False)
    upper, lower = slice_in_dim(q, 0, m), slice_in_dim(q, m, m + n)
    ratio = el.div(b, c)
    return el.add(el.mul(x, ratio), el.mul(matmul(upper, adjoint(lower)), el.div(el.sub(a, ratio), el.sqrt(c))))


def _step_by_cholesky(x: ArrayLike, a: ArrayLike, b: ArrayLike, c: ArrayLike) -> Array:
    """(b/c) x + (a - b/c) x (I + c x^H x)^-1."""
    factor = cholesky(el.add(el.mul(matmul(adjoint(x), x), c), _eye(x.shape[1], x.dtype)))
    solved = triangular_solve(factor, x, left_side=False, lower=True, transpose_a=True, conjugate_a=True)
    solved = triangular_solve(factor, solved, left_side=False, lower=True)
    ratio = el.div(b, c)
    return el.add(el.mul(x, ratio), el.mul(solved, el.sub(a, ratio)))
