"""Matrices that depend on a size alone, as in `scipy.linalg`: made by NumPy, on the host."""

from __future__ import annotations

import itertools
import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.types import dtypes

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.numpy.arguments import user_dtype

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, DTypeLike


def _size(name: str, n: Any, least: int, greatest: int | None = None) -> int:
    n = operator.index(n)
    if n < least:
        raise ValueError(f"{name}: n must be a {'positive' if least else 'non-negative'} integer; got {n}")
    return _computable(name, n, greatest or _GREATEST)


_GREATEST = 2**15  # of which a matrix of doubles has 8 GiB
_GREATEST_INVERSE = 2**11  # with n**2 products of integers of n digits; from 215 on some are beyond the range of doubles


def _computable(name: str, n: int, greatest: int = _GREATEST) -> int:
    """The size of a matrix, checked: a greater one would take too long to compute on the host, or not fit into its memory."""
    if n > greatest:
        raise ValueError(f"{name}: n must be at most {greatest}, got {n}: the matrix has n**2 elements, and is computed on the host")
    return n


def _as_float(matrix: Any) -> Any:
    with np.errstate(over="ignore"):  # infinite where the dtype does not hold them
        return jnp.asarray(np.asarray(matrix, np.float64), dtype=dtypes.scalar_dtype(float))


def dft(n: int, scale: str | None = None, *, dtype: DTypeLike | None = None) -> Array:
    """The matrix of the discrete Fourier transform, exp(-2 pi i j k / n).

    Args:
      n: its size.
      scale: "sqrtn" or "n" divides by the root of n or by n; None does not.
      dtype: a complex dtype; complex64 by default, complex128 in x64 mode.

    Returns:
      [n, n].

    Raises:
      ValueError: if the scale is unknown, or the dtype is not complex.

    Example:
      >>> dft(2)
      Array([[ 1.+0.j,  1.+0.j],
             [ 1.+0.j, -1.+0.j]], dtype=complex64)
    """
    if scale not in (None, "sqrtn", "n"):
        raise ValueError(f"dft: scale must be None, 'sqrtn', or 'n'; got {scale!r}")
    dtype = dtypes.scalar_dtype(complex) if dtype is None else user_dtype("dft", dtype)
    if not dtypes.issubdtype(dtype, dtypes.complexfloating):
        raise ValueError(f"dft: dtype must be a complex floating-point type; got {dtypes.dtype_name(dtype)}")
    j = np.arange(_computable("dft", max(operator.index(n), 0)))
    matrix = np.exp(-2j * np.pi * (np.outer(j, j) % max(len(j), 1)) / max(len(j), 1))
    return jnp.asarray(matrix / {None: 1, "sqrtn": math.sqrt(max(len(j), 1)), "n": max(len(j), 1)}[scale], dtype=dtype)


def hadamard(n: int, dtype: DTypeLike = int) -> Array:
    """Sylvester's Hadamard matrix, of ones and minus ones with orthogonal rows.

    Args:
      n: its size, a power of 2.
      dtype: of the result.

    Returns:
      [n, n].

    Raises:
      ValueError: if n is no power of 2.

    Example:
      >>> hadamard(4)
      Array([[ 1,  1,  1,  1],
             [ 1, -1,  1, -1],
             [ 1,  1, -1, -1],
             [ 1, -1, -1,  1]], dtype=int32)
    """
    n = operator.index(n)
    if n < 1 or n & (n - 1):
        raise ValueError(f"hadamard: n must be a positive power of 2; got {n}")
    _computable("hadamard", n)
    matrix = np.ones((1, 1), np.int64)
    while len(matrix) < n:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return jnp.asarray(matrix.astype(np.int8), dtype=user_dtype("hadamard", dtype))


def helmert(n: int, full: bool = False) -> Array:
    """Helmert's matrix, with orthonormal rows: row k compares element k with the mean of those before.

    Args:
      n: its size, at least 1.
      full: whether the first row, constant, is included.

    Returns:
      [n - 1, n], or [n, n].

    Raises:
      ValueError: if n is less than 1.

    Example:
      >>> helmert(3)
      Array([[ 0.70710677, -0.70710677,  0.        ],
             [ 0.4082483 ,  0.4082483 , -0.8164966 ]], dtype=float32)
    """
    n = _size("helmert", n, 1)
    matrix = np.tril(np.ones((n, n)), -1) - np.diag(np.arange(n))
    matrix[0] = 1
    matrix /= np.sqrt(np.sum(matrix ** 2, axis=1, keepdims=True))
    return _as_float(matrix if full else matrix[1:])


def hilbert(n: int) -> Array:
    """Hilbert's matrix, 1 / (i + j + 1).

    Args:
      n: its size.

    Returns:
      A float array [n, n].

    Raises:
      ValueError: if n is negative.

    Example:
      >>> hilbert(2)
      Array([[1.        , 0.5       ],
             [0.5       , 0.33333334]], dtype=float32)
    """
    i = np.arange(_size("hilbert", n, 0))
    return _as_float(1.0 / (1.0 + i[:, None] + i[None, :]))


def invhilbert(n: int) -> Array:
    """The inverse of Hilbert's matrix, which has integer elements.

    Args:
      n: its size.

    Returns:
      A float array [n, n]; infinite where doubles do not hold the elements.

    Raises:
      ValueError: if n is negative, or above 2048.

    Example:
      >>> invhilbert(2)
      Array([[ 4., -6.],
             [-6., 12.]], dtype=float32)
    """
    n = _size("invhilbert", n, 0, _GREATEST_INVERSE)
    rows = [n]  # element [i, j] is (-1)**(i + j) rows[i] rows[j] / (i + j + 1)
    for i in range(1, n):
        rows.append(rows[-1] * (n + i) * (n - i) // i**2)
    matrix = np.zeros((n, n))
    for i in range(n):
        matrix[i, i:] = matrix[i:, i] = [(-1) ** (i + j) * _double(rows[i] * rows[j] // (i + j + 1)) for j in range(i, n)]
    return _as_float(matrix)


def _double(value: int) -> float:
    """A natural number as a double, infinity where there is none."""
    return float(value) if value.bit_length() < 1024 else math.inf


def pascal(n: int, kind: str | None = None) -> Array:
    """Pascal's matrix, of binomial coefficients; infinite where doubles do not hold them.

    Args:
      n: its size.
      kind: "symmetric" (None too), "lower" or "upper".

    Returns:
      [n, n].

    Raises:
      ValueError: if the kind is unknown.

    Example:
      >>> pascal(3)
      Array([[1., 1., 1.],
             [1., 2., 3.],
             [1., 3., 6.]], dtype=float32)
    """
    return _as_float(_pascal("pascal", n, kind, 1))


def invpascal(n: int, kind: str | None = None) -> Array:
    """The inverse of Pascal's matrix, which has integer elements.

    Args:
      n: its size.
      kind: "symmetric" (None too), "lower" or "upper", that of the matrix to invert.

    Returns:
      A float array [n, n].

    Raises:
      ValueError: if the kind is unknown.

    Example:
      >>> invpascal(3)
      Array([[ 3., -3.,  1.],
             [-3.,  5., -2.],
             [ 1., -2.,  1.]], dtype=float32)
    """
    return _as_float(_pascal("invpascal", n, kind, -1))


def _pascal(name: str, n: int, kind: str | None, sign: int) -> np.ndarray:
    if kind not in (None, "symmetric", "lower", "upper"):
        raise ValueError(f"{name}: Expected kind to be one of 'symmetric', 'lower', 'upper' and None; got {kind!r}")
    n = _computable(name, max(operator.index(n), 0))
    symmetric = _binomials(n)
    if kind in (None, "symmetric") and sign > 0:
        return symmetric
    lower = np.zeros((n, n))
    for j in range(n):
        lower[j:, j] = symmetric[:n - j, j]
    if sign < 0:
        lower *= 1 - 2 * (np.add.outer(np.arange(n), np.arange(n)) % 2)
    if kind in ("lower", "upper"):
        return lower if kind == "lower" else lower.T
    return _inverse_of_symmetric(lower)


def _binomials(n: int) -> np.ndarray:
    """C(i + j, i) as doubles: each row has the sums of the one before, exactly, up to the first that is no double."""
    matrix = np.full((n, n), math.inf)
    row = [1] * n
    for i in range(n):
        matrix[i, :len(row)] = row
        row = list(itertools.takewhile(lambda value: value.bit_length() < 1024, itertools.accumulate(row)))
    return matrix


def _inverse_of_symmetric(lower: np.ndarray) -> np.ndarray:
    """U^-1 L^-1: exact for small matrices, else to the rounding of sums whose terms have one sign."""
    if len(lower) <= 128:
        exact = np.array([[int(value) for value in row] for row in lower], dtype=object).reshape(lower.shape)
        return exact.T @ exact
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.abs(lower).T @ np.abs(np.where(lower == 0, 0, lower))
    return np.where(np.isnan(found), math.inf, found) * np.sign(np.where(lower == 0, lower.T, lower))
