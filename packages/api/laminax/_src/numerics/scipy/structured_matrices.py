"""Matrices that are made of arrays by a structure, as in `scipy.linalg`: blocks, diagonals and companions."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.ops.shape_arguments import common_shape
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.numpy.arguments import dtype_of, ensure_array, inexact, positions, promote_dtypes, shape_of, strong

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


def block_diag(*arrs: ArrayLike) -> Array:
    """A matrix with matrices along its diagonal, and zeros elsewhere.

    Args:
      *arrs: matrices, or vectors and scalars, which are taken for matrices of one row.

    Returns:
      A matrix of the promoted dtype; [1, 0] of no arguments.

    Raises:
      ValueError: if an argument has more than two axes.

    Example:
      >>> block_diag(jnp.array([[1, 2], [3, 4]]), jnp.array([5]))
      Array([[1, 2, 0],
             [3, 4, 0],
             [0, 0, 5]], dtype=int32)
    """
    return _block_diag(*(arrs or (jnp.zeros((1, 0)),)))


@fused
def _block_diag(*arrs: Any) -> Array:
    blocks = [jnp.atleast_2d(x) for x in promote_dtypes("block_diag", *arrs)]
    for i, x in enumerate(blocks):
        if x.ndim > 2:
            raise ValueError(f"block_diag: arguments must have at most 2 dimensions, got {get_aval(x).str_short()} at argument {i}. "
                             "Use vmap for batches.")
    width, before, rows = sum(x.shape[1] for x in blocks), 0, []
    for x in blocks:
        rows.append(jnp.pad(x, ((0, 0), (before, width - before - x.shape[1]))))
        before += x.shape[1]
    return strong(jnp.concatenate(rows))


def _vectors(name: str, x: Any) -> Any:
    """At least one axis; the last holds the vectors."""
    return jnp.atleast_1d(jnp.asarray(ensure_array(name, x)))


@fused
def circulant(c: ArrayLike) -> Array:
    """Circulant matrices, each column of which is the one before, rotated by one.

    Args:
      c: [..., n], the first column.

    Returns:
      [..., n, n] of c's dtype.

    Example:
      >>> circulant(jnp.array([1, 2, 3]))
      Array([[1, 3, 2],
             [2, 1, 3],
             [3, 2, 1]], dtype=int32)
    """
    c = _vectors("circulant", c)
    i = np.arange(c.shape[-1])
    return c[..., (i[:, None] - i[None, :]) % max(len(i), 1)]


@fused
def companion(a: ArrayLike) -> Array:
    """Companion matrices, whose eigenvalues are the roots of a polynomial.

    Args:
      a: [..., n], the coefficients, the highest first, which must not be 0.

    Returns:
      [..., n - 1, n - 1], floating or complex.

    Raises:
      ValueError: if there are fewer than two coefficients.

    Example:
      >>> companion(jnp.array([1., -3., 2.]))  # of x**2 - 3 x + 2, whose roots are 1 and 2
      Array([[ 3., -2.],
             [ 1.,  0.]], dtype=float32)
    """
    a = jnp.atleast_1d(inexact("companion", a))
    if a.shape[-1] < 2:
        raise ValueError(f"companion: the length of `a` along the last axis must be at least 2; got shape {a.shape}")
    n = a.shape[-1] - 1
    below = jnp.broadcast_to(jnp.eye(n - 1, n, dtype=a.dtype), (*a.shape[:-1], n - 1, n))
    return jnp.concatenate([(-a[..., 1:] / a[..., :1])[..., None, :], below], axis=-2)


@fused
def fiedler_companion(a: ArrayLike) -> Array:
    """Fiedler's companion matrices, pentadiagonal with the roots of a polynomial as eigenvalues.

    Args:
      a: [..., n], the coefficients, the highest first, which must not be 0.

    Returns:
      [..., n - 1, n - 1], floating or complex.

    Raises:
      ValueError: if there are no coefficients.

    Example:
      >>> fiedler_companion(jnp.array([1., -6., 11., -6.]))  # of (x - 1) (x - 2) (x - 3)
      Array([[  6., -11.,   1.],
             [  1.,   0.,   0.],
             [  0.,   6.,   0.]], dtype=float32)

    Source: M. Fiedler, "A note on companion matrices", Linear Algebra and its Applications 372 (2003).
    """
    a = jnp.atleast_1d(inexact("fiedler_companion", a))
    if not a.shape[-1]:
        raise ValueError(f"fiedler_companion: the last axis of 'a' must have nonzero length, got an array of shape {a.shape}")
    n = a.shape[-1] - 1
    a = a / a[..., :1]
    result = jnp.zeros((*a.shape[:-1], n, n), a.dtype)
    even = np.arange(0, n, 2)
    for rows, columns, values in (
        (even[even + 1 < n], even[even + 1 < n] + 1, -a[..., 2::2]), (even[even >= 2], even[even >= 2] - 1, -a[..., 3::2]),
        (np.arange(0, n - 2, 2), np.arange(2, n, 2), 1.0), (np.arange(3, n, 2), np.arange(1, n - 2, 2), 1.0),
    ):
        result = result.at[..., rows, columns].set(values)
    return result.at[..., 0, 0].set(-a[..., 1]).at[..., 1, 0].set(1.0) if n > 1 else result.at[..., :1, :1].set(-a[..., 1:2, None])


@fused
def fiedler(a: ArrayLike) -> Array:
    """Fiedler's matrices, of the distances of the elements of a vector.

    Args:
      a: [..., n].

    Returns:
      [..., n, n], real: |a[i] - a[j]|.

    Example:
      >>> fiedler(jnp.array([1, 4, 9]))
      Array([[0, 3, 8],
             [3, 0, 5],
             [8, 5, 0]], dtype=int32)
    """
    a = _vectors("fiedler", a)
    return jnp.abs(a[..., :, None] - a[..., None, :])


@fused
def leslie(f: ArrayLike, s: ArrayLike) -> Array:
    """Leslie matrices of population dynamics: birth rates in the first row, survival rates on the subdiagonal.

    Args:
      f: [..., n], the birth rates of each age.
      s: [..., n - 1], the survival rates.

    Returns:
      [..., n, n] of the promoted dtype.

    Raises:
      ValueError: if the lengths do not match, or n is less than 2.

    Example:
      >>> leslie(jnp.array([0., 2., 1.]), jnp.array([0.5, 0.25]))
      Array([[0.  , 2.  , 1.  ],
             [0.5 , 0.  , 0.  ],
             [0.  , 0.25, 0.  ]], dtype=float32)
    """
    f, s = promote_dtypes("leslie", f, s)
    f, s = jnp.atleast_1d(f), jnp.atleast_1d(s)
    n = f.shape[-1]
    if n < 2:
        raise ValueError(f"leslie: the length of f along the last axis must be at least 2; got shape {f.shape}")
    if s.shape[-1] != n - 1:
        raise ValueError("leslie: Incorrect lengths for f and s. The length of s along the last axis must be one less than the length "
                         f"of f; got f shape {f.shape} and s shape {s.shape}")
    batch = common_shape(f.shape[:-1], s.shape[:-1])
    first = jnp.broadcast_to(f, (*batch, n))[..., None, :]
    eye = jnp.eye(n - 1, n, dtype=s.dtype).reshape((1,) * len(batch) + (n - 1, n))
    below = eye * jnp.broadcast_to(s, (*batch, n - 1))[..., None]
    return jnp.concatenate([first, below], axis=-2)


def toeplitz(c: ArrayLike, r: ArrayLike | None = None) -> Array:
    """Toeplitz matrices, constant along each diagonal.

    Args:
      c: [..., m], the first column.
      r: [..., n], the first row, whose first element is not read; by default the conjugate of c.

    Returns:
      [..., m, n] of the promoted dtype.

    Example:
      >>> toeplitz(jnp.array([1, 2, 3]), jnp.array([1, 4]))
      Array([[1, 4],
             [2, 1],
             [3, 2]], dtype=int32)
    """
    return _toeplitz(c) if r is None else _toeplitz(c, r)


@fused
def _toeplitz(c: ArrayLike, r: ArrayLike | None = None) -> Array:
    c = _vectors("toeplitz", c)
    c, r = promote_dtypes("toeplitz", c, jnp.conj(c) if r is None else _vectors("toeplitz", r))
    m, n = c.shape[-1], r.shape[-1]
    if not m or not n:
        return jnp.zeros((*common_shape(c.shape[:-1], r.shape[:-1]), m, n), c.dtype)
    batch = common_shape(c.shape[:-1], r.shape[:-1])
    c, r = jnp.broadcast_to(c, (*batch, m)), jnp.broadcast_to(r, (*batch, n))
    values = jnp.concatenate([c[..., ::-1], r[..., 1:]], axis=-1)  # by the number of the diagonal, from the lowest
    return strong(values[..., positions(n)[None, :] - positions(m)[:, None] + (m - 1)])


def hankel(c: ArrayLike, r: ArrayLike | None = None) -> Array:
    """Hankel matrices, constant along each antidiagonal.

    Args:
      c: [..., m], the first column.
      r: [..., n], the last row, whose first element is not read; by default zeros.

    Returns:
      [..., m, n] of the promoted dtype.

    Raises:
      ValueError: if c or r is a scalar.

    Example:
      >>> hankel(jnp.array([1, 2, 3]), jnp.array([3, 4]))
      Array([[1, 2],
             [2, 3],
             [3, 4]], dtype=int32)
    """
    return _hankel(c) if r is None else _hankel(c, r)


@fused
def _hankel(c: ArrayLike, r: ArrayLike | None = None) -> Array:
    c = ensure_array("hankel", c)
    c, r = promote_dtypes("hankel", c, jnp.zeros_like(c) if r is None else ensure_array("hankel", r))
    if not shape_of(c) or not shape_of(r):
        raise ValueError(f"hankel: {'r' if shape_of(c) else 'c'} must be at least 1-dimensional, got a scalar")
    m, n = shape_of(c)[-1], shape_of(r)[-1]
    batch = common_shape(shape_of(c)[:-1], shape_of(r)[:-1])
    if not m or not n:
        return jnp.zeros((*batch, m, n), dtype_of(c))
    values = jnp.concatenate([jnp.broadcast_to(c, (*batch, m)), jnp.broadcast_to(r, (*batch, n))[..., 1:]], axis=-1)
    return values[..., positions(m)[:, None] + positions(n)[None, :]]


def convolution_matrix(a: ArrayLike, n: int, mode: str = "full") -> Array:
    """The matrix that convolves a vector of size n with a.

    Args:
      a: [..., m].
      n: a static positive integer.
      mode: "full", "same" or "valid", as of `numpy.convolve`.

    Returns:
      [..., k, n], k being m + n - 1, max(m, n) or max(m, n) - min(m, n) + 1.

    Raises:
      ValueError: if n is not positive, a is a scalar or empty, or the mode is unknown.

    Example:
      >>> convolution_matrix(jnp.array([1, 2]), 2)
      Array([[1, 0],
             [2, 1],
             [0, 2]], dtype=int32)
      >>> convolution_matrix(jnp.array([1, 2]), 2) @ jnp.array([1, 10])  # numpy.convolve([1, 2], [1, 10])
      Array([ 1, 12, 20], dtype=int32)
    """
    n = operator.index(n)
    if not shape_of(ensure_array("convolution_matrix", a)):
        raise ValueError(f"convolution_matrix: a must be at least 1-dimensional, got {get_aval(a).str_short()}. Give [a] for a vector of "
                         "one element.")
    if n <= 0:
        raise ValueError(f"convolution_matrix: n must be a positive integer; got {n}")
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"convolution_matrix: mode must be one of 'full', 'valid', 'same'; got {mode!r}")
    return _convolution_matrix(a, n=n, mode=mode)


@fused(static_argnames=("n", "mode"))
def _convolution_matrix(a: ArrayLike, n: int, mode: str) -> Array:
    a = _vectors("convolution_matrix", a)
    m = a.shape[-1]
    if not m:
        raise ValueError(f"convolution_matrix: len(a) must be at least 1, got shape {a.shape}")
    first, count = {"full": (0, m + n - 1), "same": ((min(m, n) - 1) // 2, max(m, n)),
                    "valid": (min(m, n) - 1, max(m, n) - min(m, n) + 1)}[mode]
    distance = first + np.arange(count)[:, None] - np.arange(n)[None, :]
    inside = (distance >= 0) & (distance < m)
    return jnp.where(inside, a[..., np.where(inside, distance, 0)], jnp.zeros((), a.dtype))
