"""Norms, condition numbers and ranks of matrices, and norms of vectors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.ops import linalg as la
from laminax_ir.ops.linalg_primitives import real_dtype
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.numpy.arguments import axis_tuple, dtype_of, inexact, shape_of
from laminax._src.numerics.numpy.linalg.equations import inv
from laminax._src.numerics.numpy.linalg.matrices import as_matrices, as_square, for_each_matrix, relative_spacing

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


@fused(static_argnames=("ord", "axis", "keepdims"))
def norm(x: ArrayLike, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Array:
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

    Example:
      >>> jnp.linalg.norm(jnp.array([3.0, 4.0]))
      Array(5., dtype=float32)
    """
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


def _vector_norm(x: ArrayLike, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Array:
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
        return jnp.sum(x != 0, axis=axes, keepdims=keepdims, dtype=real_dtype(dtype_of(x)))
    magnitude = jnp.abs(x)
    if ord == 1:
        return jnp.sum(magnitude, axis=axes, keepdims=keepdims)
    return jnp.power(jnp.sum(jnp.power(magnitude, ord), axis=axes, keepdims=keepdims), 1 / ord)


def _matrix_norm(x: ArrayLike, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Array:
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
    result = jnp.sum(s, axis=-1) if ord == "nuc" else s[..., -1] if ord == -2 else \
        s[..., 0] if s.shape[-1] else jnp.zeros(s.shape[:-1], s.dtype)  # the largest of no singular values is 0, as their sum
    return jnp.expand_dims(result, tuple(sorted(axes))) if keepdims else result


def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    """Norm of the matrices in the last two axes; parameters as for `norm`.

    Example:
      >>> jnp.linalg.matrix_norm(jnp.array([[3.0, 0.0], [0.0, 4.0]]))
      Array(5., dtype=float32)
    """
    return norm(x, ord, (-2, -1), keepdims)


def vector_norm(x: ArrayLike, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, ord: Any = 2) -> Array:
    """Norm of vectors.

    Args:
      x: an array.
      axis: the axis, or axes, that hold a vector; None is all.
      keepdims: whether the axes stay, with size 1.
      ord: a number p, inf or -inf; 0 counts nonzeros.

    Returns:
      A real array.

    Example:
      >>> jnp.linalg.vector_norm(jnp.array([3.0, 4.0]))
      Array(5., dtype=float32)
    """
    return _flat_norm(x, ord=ord, axis=tuple(axis) if isinstance(axis, list) else axis, keepdims=bool(keepdims))


@fused(static_argnames=("ord", "axis", "keepdims"))
def _flat_norm(x: ArrayLike, ord: float, axis: tuple[int, ...], keepdims: bool) -> Array:
    x = inexact("vector_norm", x)
    return _vector_norm(x, ord, axis_tuple("vector_norm", axis, len(shape_of(x))), keepdims)


def cond(x: ArrayLike, p: Any = None) -> Any:
    """Condition number: norm(x) times norm(inv(x)).

    Args:
      x: [..., m, n], square but for p in (None, 2, -2).
      p: the order of the norm; by default 2, the quotient of the largest and the smallest singular value.

    Returns:
      [...], real.

    Raises:
      ValueError: if x is no matrix, or not square where it must be.

    Example:
      >>> jnp.linalg.cond(jnp.diag(jnp.array([1.0, 10.0]))).round(3)
      Array(10., dtype=float32)
    """
    return _cond(x, p=p)


@fused(static_argnames=("p",))
def _cond(x: ArrayLike, p: Any) -> Array:
    x = as_matrices("cond", x)
    if p in (None, 2, -2):
        s = la.svd(x, compute_uv=False)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    x = as_square(f"cond (p={p})", x)
    result = norm(x, p, (-2, -1)) * norm(inv(x), p, (-2, -1))
    is_nan = jnp.isnan(result) & ~jnp.any(jnp.isnan(x), axis=(-2, -1))
    return jnp.where(is_nan, jnp.full_like(result, math.inf), result)


def matrix_rank(M: ArrayLike, rtol: ArrayLike | None = None, *, hermitian: bool = False, tol: ArrayLike | None = None) -> Array:
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

    Example:
      >>> jnp.linalg.matrix_rank(jnp.ones((2, 2)))
      Array(1, dtype=int32)
    """
    if rtol is not None and tol is not None:
        raise ValueError("matrix_rank: only one of tol or rtol may be specified.")
    return _matrix_rank(M, rtol, tol, hermitian=bool(hermitian))


@fused(static_argnames=("hermitian",))
def _matrix_rank(M: ArrayLike, rtol: ArrayLike | None, tol: ArrayLike | None, hermitian: bool) -> Array:
    M = inexact("matrix_rank", M)
    if len(shape_of(M)) < 2:
        return jnp.any(M != 0).astype(np.int32)
    s = jnp.abs(la.eigh(as_square("matrix_rank", M))[1]) if hermitian else la.svd(M, compute_uv=False)
    if tol is None:
        rtol = relative_spacing(M) if rtol is None else rtol
        bound = for_each_matrix(rtol, s.dtype) * jnp.max(s, axis=-1, keepdims=True, initial=0)
    else:
        bound = for_each_matrix(tol, s.dtype)
    return jnp.sum(s > bound, axis=-1, dtype=np.int32)
