"""Diagonals, triangles and their indices, and matrices made of them."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.functions import operators
from laminax_ir.ops import elementwise as op
from laminax_ir.ops import shape as shape_ops
from laminax_ir.ops.shape_arguments import canonical_shape
from laminax_ir.symbolic.symbolic_dims import DimSize, SymbolicDim, is_constant_shape, max_dim, min_dim, size_of
from laminax_ir.types import dtypes
from laminax_ir.types.arguments import check_rank, check_size
from laminax_ir.types.avals import get_aval
from laminax_ir.types.errors import InconclusiveDimensionOperation

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy import reductions
from laminax._src.numerics.numpy.arguments import (
    as_array,
    concrete_int,
    convert,
    dtype_of,
    ensure_array,
    is_kind,
    one_axis,
    positions,
    refuse_out,
    shape_of,
    strong,
    user_dtype,
    weak_like,
)
from laminax._src.numerics.numpy.conditions import _where
from laminax._src.numerics.numpy.creation import ones
from laminax._src.numerics.numpy.finding import nonzero
from laminax._src.numerics.numpy.placing import refuse_inplace
from laminax._src.numerics.numpy.reducing import sum_dtype
from laminax._src.numerics.numpy.repeating import resize
from laminax._src.numerics.numpy.reshaping import moveaxis, ravel
from laminax._src.numerics.numpy.updates import update

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike, DTypeLike


def trace(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: DTypeLike | None = None, out: None = None) -> Array:
    """Sum of a diagonal.

    Args:
      a: an array of rank at least 2.
      offset: which diagonal: 0 is the main one, positive ones are above it.
      axis1, axis2: the axes of the matrices; the others stay.
      dtype: the dtype of the result; by default a's, bools and narrow integers widened.
      out: must be None.

    Example:
      >>> jnp.trace(jnp.array([[1, 2], [3, 4]]))
      Array(5, dtype=int32)
    """
    refuse_out("trace", out)
    dtype = user_dtype("trace", dtype)
    if type(offset) is int:
        return _trace_of_known(a, offset=offset, axis1=axis1, axis2=axis2, dtype=dtype)
    return _trace_of(a, offset, axis1=axis1, axis2=axis2, dtype=dtype)


@fused(static_argnames=("offset", "axis1", "axis2", "dtype"))
def _trace_of_known(a: Any, offset: int, axis1: int, axis2: int, dtype: Any) -> Array:
    return _trace(a, offset, axis1, axis2, dtype)


@fused(static_argnames=("axis1", "axis2", "dtype"))
def _trace_of(a: Any, offset: int, axis1: int, axis2: int, dtype: Any) -> Any:
    return _trace(a, offset, axis1, axis2, dtype)


def _trace(a: Any, offset: int, axis1: Any, axis2: Any, dtype: Any) -> Array:
    a = ensure_array("trace", a)
    if len(shape_of(a)) < 2:
        raise ValueError(f"trace requires an array of at least two dimensions, got {get_aval(a).str_short()}")
    rank = len(shape_of(a))
    if one_axis("trace", axis1, rank) == one_axis("trace", axis2, rank):
        raise ValueError(f"trace: axis1 and axis2 can not be same, got {axis1} and {axis2} for {get_aval(a).str_short()}")
    a = moveaxis(a, (axis1, axis2), (-2, -1))
    mask = _band(shape_of(a)[-2:], offset, op.eq)
    if dtype is None:
        dtype = sum_dtype(dtype_of(a))
    return reductions.sum(_where(mask, a, np.zeros((), dtype_of(a))[()]), axis=(-2, -1), dtype=dtype)


# XLA's CPU compiler unrolls comparisons of indices in small matrices: a causal mask of [32, 32] takes it 440 ms, as a constant 60.
_SMALL_BAND = 1024


def _band(shape: tuple[int, ...], k: Any, compare: Callable) -> Any:
    """A bool matrix: where the comparison of column - row with k holds."""
    if type(k) is int and is_constant_shape(shape) and shape[0] * shape[1] <= _SMALL_BAND:
        return _small_band(shape, k, compare is op.eq)
    row = shape_ops.broadcasted_iota(np.int32, shape, 0)
    if type(k) is not int or k:
        row = op.add(row, k if type(k) is int else convert(k, np.dtype(np.int32)))
    return compare(row, shape_ops.broadcasted_iota(np.int32, shape, 1))


@functools.lru_cache(maxsize=256)
def _small_band(shape: tuple[int, int], k: int, is_line: bool) -> np.ndarray:
    """`_band` as a constant: one object for equal arguments, so that programs with it are found to be equal."""
    distance = np.arange(shape[0])[:, None] + k - np.arange(shape[1])
    mask = distance == 0 if is_line else distance >= 0
    mask.flags.writeable = False
    return mask


def tri(N: int, M: int | None = None, k: int = 0, dtype: DTypeLike | None = None) -> Array:
    """Ones at and below a diagonal, zeros above.

    Args:
      N, M: rows and columns; M is N by default.
      k: which diagonal.
      dtype: the dtype, by default float32, with 64-bit types float64.

    Example:
      >>> jnp.tri(2)
      Array([[1., 0.],
             [1., 1.]], dtype=float32)
    """
    dtype = user_dtype("tri", float if dtype is None else dtype)
    return _tri(k, shape=canonical_shape("tri", (N, N if M is None else M)), dtype=dtype)


@fused(static_argnames=("shape", "dtype"))
def _tri(k: ArrayLike, shape: Any, dtype: np.dtype) -> Array:
    return convert(_band(shape, k, op.ge), dtype)


def tril(m: ArrayLike, k: int = 0) -> Array:
    """The matrices in the last two axes with zeros above diagonal k.

    Args:
      m: an array of at least two axes.
      k: the diagonal: 0 is the main one, positive ones are above it.

    Returns:
      An array like m.

    Example:
      >>> jnp.tril(jnp.ones((2, 2)))
      Array([[1., 0.],
             [1., 1.]], dtype=float32)
    """
    return _tril(m, k=k if isinstance(k, int) else size_of(k))


def triu(m: ArrayLike, k: int = 0) -> Array:
    """The matrices in the last two axes with zeros below diagonal k.

    Args:
      m: an array of at least two axes.
      k: the diagonal: 0 is the main one, positive ones are above it.

    Returns:
      An array like m.

    Example:
      >>> jnp.triu(jnp.ones((2, 2)))
      Array([[1., 1.],
             [0., 1.]], dtype=float32)
    """
    return _triu(m, k=k if isinstance(k, int) else size_of(k))


@fused(static_argnames=("k",))
def _tril(m: ArrayLike, k: int) -> Array:
    return _triangle("tril", m, k, op.ge, True)


@fused(static_argnames=("k",))
def _triu(m: ArrayLike, k: int) -> Array:
    return _triangle("triu", m, k - 1, op.ge, False)


def _triangle(name: str, m: Any, k: int, compare: Callable, keep: bool) -> Array:
    m = ensure_array(name, m)
    shape = shape_of(m)
    if len(shape) < 2:
        raise ValueError(f"Argument to {name} must be at least 2D, got {get_aval(m).str_short()}")
    mask = _band(shape[-2:], k, compare)
    if len(shape) > 2:
        mask = shape_ops.broadcast_to_shape(mask, shape)
    zeros = shape_ops.full_like(m, 0, shape=shape)
    return op.select(mask, m, zeros) if keep else op.select(mask, zeros, m)


def diagonal(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """The diagonals of matrices, along a new last axis.

    Args:
      a: an array of rank at least 2.
      offset: which diagonal: 0 is the main one, positive ones are above it.
      axis1, axis2: the axes of the matrices.

    Example:
      >>> jnp.diagonal(jnp.array([[1, 2], [3, 4]]))
      Array([1, 4], dtype=int32)
    """
    return _diagonal(a, offset=operator.index(offset), axis1=axis1, axis2=axis2)


@fused(static_argnames=("offset", "axis1", "axis2"))
def _diagonal(a: ArrayLike, offset: int, axis1: int, axis2: int) -> Array:
    a = ensure_array("diagonal", a)
    rank = len(shape_of(a))
    if rank < 2:
        raise ValueError(f"diagonal requires an array of at least two dimensions, got {get_aval(a).str_short()}")
    first, second = one_axis("diagonal", axis1, rank), one_axis("diagonal", axis2, rank)
    a = moveaxis(as_array(a), (first, second), (-2, -1))
    rows, columns = a.shape[-2:]
    count = max_dim(min_dim(rows + min(offset, 0), columns - max(offset, 0)), 0)
    places = positions(count)
    return a[..., places - min(offset, 0), places + max(offset, 0)]


def diag(v: ArrayLike, k: int = 0) -> Array:
    """A matrix with a diagonal, or the diagonal of a matrix.

    Args:
      v: an array of rank 1, to be put on the diagonal, or of rank 2.
      k: which diagonal.

    Raises:
      ValueError: for other ranks.

    Example:
      >>> jnp.diag(jnp.array([1, 2]))
      Array([[1, 0],
             [0, 2]], dtype=int32)
    """
    return _diag(v, k=operator.index(k))


@fused(static_argnames=("k",))
def _diag(v: ArrayLike, k: int) -> Array:
    v = ensure_array("diag", v)
    rank = len(shape_of(v))
    if rank == 2:
        return _diagonal(v, k, 0, 1)
    if rank != 1:
        raise ValueError(f"diag input must be 1d or 2d, got {get_aval(v).str_short()}")
    n = shape_of(v)[0] + abs(k)
    zero = np.zeros((), dtype_of(v))[()]
    row = shape_ops.pad(v, zero, [(max(0, k), max(0, -k), 0)])
    wide = shape_ops.broadcast_in_dim(row, (n, n), (1,))
    return weak_like(op.select(_band((n, n), k, op.eq), wide, shape_ops.full((n, n), 0, dtype_of(v))), v)


def diagflat(v: ArrayLike, k: int = 0) -> Array:
    """A matrix with the elements of the flat v on diagonal k.

    Args:
      v: an array.
      k: the diagonal: 0 is the main one, positive ones are above it.

    Returns:
      A square matrix of v's dtype with v.size + |k| rows.

    Example:
      >>> jnp.diagflat(jnp.array([1, 2]))
      Array([[1, 0],
             [0, 2]], dtype=int32)
    """
    return strong(diag(ravel(v), k))


def fill_diagonal(a: ArrayLike, val: ArrayLike, wrap: bool = False, *, inplace: bool = True) -> Array:
    """An array with a value, or values, on its diagonal.

    Args:
      a: an array of rank at least 2; of rank above 2 all sizes must be equal.
      val: a scalar, or values for the diagonal in order, repeated if there are fewer.
      wrap: must be False.
      inplace: must be False, because arrays do not change.

    Returns:
      A changed copy of a.

    Raises:
      NotImplementedError: if wrap is True.
      ValueError: if a has fewer than two axes, or more of different sizes; or inplace is True.

    Example:
      >>> jnp.fill_diagonal(jnp.zeros((2, 2)), 5, inplace=False)
      Array([[5., 0.],
             [0., 5.]], dtype=float32)
    """
    refuse_inplace("fill_diagonal", inplace)
    if wrap:
        raise NotImplementedError("fill_diagonal: wrap=True is not supported")
    a, val = as_array(ensure_array("fill_diagonal", a)), ensure_array("fill_diagonal", val)
    if len(a.shape) < 2:
        raise ValueError(f"fill_diagonal: array must be at least 2-d, got {get_aval(a).str_short()}")
    if len(a.shape) > 2 and len(set(a.shape)) > 1:
        raise ValueError(f"fill_diagonal: all dimensions of input must be of equal length, got {get_aval(a).str_short()}")
    places = np.arange(min(a.shape), dtype=np.int32)
    values = val if not shape_of(val) else resize(ravel(val), places.shape)
    return update("set", a, (places,) * len(a.shape), values, unique_indices=True, indices_are_sorted=True)


def diag_indices(n: int, ndim: int = 2) -> tuple:
    """The indices of the main diagonal of an array with `ndim` axes of size n.

    Args:
      n: the size of each axis.
      ndim: the number of axes.

    Returns:
      One integer array [n] for each axis.

    Raises:
      ValueError: if n or ndim is negative or too large.

    Example:
      >>> jnp.diag_indices(2)
      (Array([0, 1], dtype=int32), Array([0, 1], dtype=int32))
    """
    n, ndim = operator.index(n), operator.index(ndim)
    if n < 0 or ndim < 0:
        raise ValueError(f"diag_indices: n and ndim must be nonnegative, got n={n} and ndim={ndim}")
    check_size("diag_indices", "n", n)
    check_rank("diag_indices", ndim)
    return (shape_ops.iota(dtypes.scalar_dtype(int), n),) * ndim


def diag_indices_from(arr: ArrayLike) -> tuple:
    """The indices of the main diagonal of an array with equal sizes.

    Args:
      arr: an array of at least two axes, all of one size.

    Returns:
      One integer array for each axis.

    Raises:
      ValueError: if it has fewer axes, or sizes that differ.

    Example:
      >>> jnp.diag_indices_from(jnp.ones((2, 2)))
      (Array([0, 1], dtype=int32), Array([0, 1], dtype=int32))
    """
    shape = shape_of(ensure_array("diag_indices_from", arr))
    if len(shape) < 2 or len(set(shape)) > 1:
        raise ValueError(f"diag_indices_from: the array must have at least 2 axes, all of one size, got shape {shape}")
    return diag_indices(shape[0], len(shape))


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple:
    """The indices of the lower triangle, at and below diagonal k, of an [n, m] matrix.

    Args:
      n: the number of rows.
      k: the diagonal: 0 is the main one, positive ones are above it.
      m: the number of columns, by default n.

    Returns:
      The row and the column of each place, two integer arrays.

    Example:
      >>> jnp.tril_indices(2)
      (Array([0, 1, 1], dtype=int32), Array([0, 0, 1], dtype=int32))
    """
    return _triangle_indices("tril_indices", np.tril_indices, n, k, m)


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple:
    """The indices of the upper triangle, at and above diagonal k, of an [n, m] matrix.

    Args:
      n: the number of rows.
      k: the diagonal: 0 is the main one, positive ones are above it.
      m: the number of columns, by default n.

    Returns:
      The row and the column of each place, two integer arrays.

    Example:
      >>> jnp.triu_indices(2)
      (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    return _triangle_indices("triu_indices", np.triu_indices, n, k, m)


def _triangle_indices(name: str, function: Any, n: Any, k: Any, m: Any) -> tuple:
    if SymbolicDim in map(type, (n, k, m)):
        return _symbolic_triangle_indices(name, n, k, n if m is None else m)
    n, k = concrete_int(name, "n", n), concrete_int(name, "k", k)
    m = None if m is None else concrete_int(name, "m", m)
    for what, size in (("n", n), ("m", m or 0)):
        check_size(name, what, max(size, 0))
    return tuple(as_array(x.astype(dtypes.scalar_dtype(int))) for x in function(n, k, m))


def _symbolic_triangle_indices(name: str, n: Any, k: Any, m: Any) -> tuple:
    """The indices where the sizes or the diagonal are symbolic dimensions."""
    is_upper = name == "triu_indices"
    mask = tri(n, m, k - 1 if is_upper else k, dtype=bool)
    size: Any = _size_above(n, m, k) if is_upper else _size_above(m, n, -k)
    return nonzero(op.bitwise_not(mask) if is_upper else mask, size=size)


def _size_above(n: DimSize, m: DimSize, k: DimSize) -> DimSize:
    """How many elements of an [n, m] matrix are at and above diagonal k: m - k in the first row, and one less in each that follows.

    Raises:
      InconclusiveDimensionOperation: if the sign of k depends on the sizes.
    """
    try:
        is_lower = not k >= 0
    except InconclusiveDimensionOperation:
        is_lower = k <= 0
    if is_lower:  # or 0, for which the other way is as good
        return max_dim(n * m - _size_above(m, n, 1 - k), 0)  # which it is anyway; bounds do not tell
    rows = min_dim(n, max_dim(m - k, 0))
    return max_dim(rows * (2 * (m - k) - rows + 1) // 2, 0)


def tril_indices_from(arr: ArrayLike, k: int = 0) -> tuple:
    """The indices of the lower triangle of a matrix.

    Args:
      arr: a matrix.
      k: as for `tril_indices`.

    Returns:
      The row and the column of each place, two integer arrays.

    Example:
      >>> jnp.tril_indices_from(jnp.ones((2, 2)))
      (Array([0, 1, 1], dtype=int32), Array([0, 0, 1], dtype=int32))
    """
    return tril_indices(*_matrix_args("tril_indices_from", arr, k))


def triu_indices_from(arr: ArrayLike, k: int = 0) -> tuple:
    """The indices of the upper triangle of a matrix.

    Args:
      arr: a matrix.
      k: as for `triu_indices`.

    Returns:
      The row and the column of each place, two integer arrays.

    Example:
      >>> jnp.triu_indices_from(jnp.ones((2, 2)))
      (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    return triu_indices(*_matrix_args("triu_indices_from", arr, k))


def _matrix_args(name: str, arr: Any, k: Any) -> Any:
    shape = shape_of(ensure_array(name, arr))
    if len(shape) != 2:
        raise ValueError(f"{name}: only 2-D inputs are accepted, got shape {shape}")
    return shape[0], k, shape[1]


def mask_indices(n: int, mask_func: Any, k: int = 0, *, size: int | None = None) -> tuple:
    """The indices where `mask_func(ones((n, n)), k)` is not 0, such as those of a triangle with `triu`.

    Args:
      n: the number of rows and of columns.
      mask_func: takes a matrix and k; returns a matrix of the same shape.
      k: the second argument of the function.
      size: how many places there are in the result, where the function's result is traced.

    Returns:
      The row and the column of each place, two integer arrays.

    Example:
      >>> jnp.mask_indices(2, jnp.triu)
      (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    return nonzero(mask_func(ones((n, n)), k), size=size)


def vander(x: ArrayLike, N: int | None = None, increasing: bool = False) -> Array:
    """Matrix of the powers of a vector: column i is x**(N - 1 - i), or x**i if increasing.

    Args:
      x: a vector.
      N: the number of columns, by default that of x's elements.
      increasing: whether the powers increase from left to right.

    Returns:
      A matrix [x.size, N].

    Example:
      >>> jnp.vander(jnp.array([1, 2, 3]))
      Array([[1, 1, 1],
             [4, 2, 1],
             [9, 3, 1]], dtype=int32)
    """
    return _vander(x, N=None if N is None else operator.index(N), increasing=bool(increasing))


@fused(static_argnames=("N", "increasing"))
def _vander(x: ArrayLike, N: int | None, increasing: bool) -> Array:
    x = ensure_array("vander", x)
    if len(shape_of(x)) != 1:
        raise ValueError(f"vander: x must be a one-dimensional array, got {get_aval(x).str_short()}")
    N = shape_of(x)[0] if N is None else N
    if N < 0:
        raise ValueError(f"vander: N must be nonnegative, got {N}")
    x, exponents = strong(x), shape_ops.iota(np.int32, N)
    if dtype_of(x) == np.bool_:
        x = convert(x, np.int32)
    if not increasing:
        exponents = op.sub(np.int32(N - 1), exponents)
    if N and is_kind(x, dtypes.integer):
        exponents = convert(exponents, dtype_of(x))  # so that narrow integers stay narrow
    return operators.power(shape_ops.expand_dims(x, (1,)), shape_ops.expand_dims(exponents, (0,))) if N else \
        shape_ops.full((shape_of(x)[0], 0), 0, dtype_of(x))
