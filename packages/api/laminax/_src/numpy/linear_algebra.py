"""Products of arrays and matrices, and the matrices made of diagonals and triangles."""

from __future__ import annotations

import math
import operator
from typing import Any, Sequence

import numpy as np

from laminax_ir import dtypes, operators
from laminax_ir import matmul as matmul_module
from laminax_ir.avals import get_aval
from laminax_ir.errors import ShapeError
from laminax_ir.ops import elementwise as op
from laminax_ir.ops import shape as shape_ops
from laminax_ir.ops.contraction import dot_general
from laminax_ir.ops.shape_arguments import canonical_shape

from laminax._src.fusion import fused
from laminax._src.numpy.arguments import (
    as_array,
    axis_tuple,
    convert,
    dtype_of,
    ensure_array,
    ensure_arrays,
    is_kind,
    one_axis,
    promote_dtypes,
    refuse_out,
    refuse_placement,
    shape_of,
    user_dtype,
)
from laminax._src.numpy.selection import _where

# --- products ---


def _precision(precision: Any) -> Any:
    return tuple(precision) if isinstance(precision, list) else precision


def dot(a, b, *, precision=None, preferred_element_type=None, out_sharding=None):
    """Product of two arrays: the last axis of a is summed against the last but one of b.

    Args:
      a: an array; a scalar multiplies elementwise.
      b: an array; of rank 1 its only axis is summed.
      precision: see `lax.Precision`.
      preferred_element_type: the dtype to sum in and return.
      out_sharding: must be None.

    Returns:
      An array of shape [*a.shape[:-1], *b.shape[:-2], b.shape[-1]].

    Raises:
      TypeError: if the summed sizes differ.
    """
    refuse_placement("dot", out_sharding=out_sharding)
    return _dot(a, b, precision=_precision(precision), preferred=user_dtype("dot", preferred_element_type))


@fused(static_argnames=("precision", "preferred"))
def _dot(a, b, precision, preferred):
    a, b = promote_dtypes("dot", a, b)
    a_rank, b_rank = len(shape_of(a)), len(shape_of(b))
    if not a_rank or not b_rank:
        return _converted(op.mul(*operators.promote_shapes("dot", a, b)), preferred) if dtype_of(a) != np.bool_ \
            else op.bitwise_and(*operators.promote_shapes("dot", a, b))
    summed = max(b_rank - 2, 0)
    if shape_of(a)[-1] != shape_of(b)[summed]:
        raise ShapeError(f"dot: dot_general requires contracting dimensions to have the same shape, got ({shape_of(a)[-1]},) and "
                         f"({shape_of(b)[summed]},): the last axis of a, {get_aval(a).str_short()}, is summed with the "
                         f"{'last but one' if b_rank > 1 else 'only'} axis of b, {get_aval(b).str_short()}")
    return dot_general(a, b, (((a_rank - 1,), (summed,)), ((), ())), precision, matmul_module.summed_in(a, preferred))


def _converted(x: Any, dtype: Any) -> Any:
    return x if dtype is None else convert(x, dtype)


def matmul(a, b, *, precision=None, preferred_element_type=None, out_sharding=None):
    """Matrix product of the last two axes, leading axes broadcast.

    Args:
      a: an array of rank at least 1; rank 1 is a row vector.
      b: an array of rank at least 1; rank 1 is a column vector.
      precision: see `lax.Precision`.
      preferred_element_type: the dtype to sum in and return.
      out_sharding: must be None.

    Raises:
      ValueError: for a scalar.
      TypeError: if the contracted sizes differ or leading axes do not broadcast.
    """
    refuse_placement("matmul", out_sharding=out_sharding)
    return _matmul(a, b, precision=_precision(precision), preferred=user_dtype("matmul", preferred_element_type))


@fused(static_argnames=("precision", "preferred"))
def _matmul(a, b, precision, preferred):
    a, b = ensure_arrays("matmul", a, b)
    return matmul_module.matmul(a, b, precision=precision, preferred_element_type=preferred)


@fused
def matvec(x1, x2, /):
    """Products of matrices [..., m, n] and vectors [..., n], leading axes broadcast; the result is [..., m]."""
    x1, x2 = ensure_arrays("matvec", x1, x2)
    if len(shape_of(x1)) < 2 or not shape_of(x2):
        raise ValueError(f"matvec: shapes [..., m, n] and [..., n] are expected, got {shape_of(x1)} and {shape_of(x2)}")
    product = _matmul(x1, shape_ops.expand_dims(x2, (-1,)), None, None)
    return shape_ops.squeeze(product, (-1,))


@fused
def vecmat(x1, x2, /):
    """Products of conjugated vectors [..., n] and matrices [..., n, m], leading axes broadcast; the result is [..., m]."""
    x1, x2 = ensure_arrays("vecmat", x1, x2)
    if len(shape_of(x2)) < 2 or not shape_of(x1):
        raise ValueError(f"vecmat: shapes [..., n] and [..., n, m] are expected, got {shape_of(x1)} and {shape_of(x2)}")
    product = _matmul(shape_ops.expand_dims(_conjugated(x1), (-2,)), x2, None, None)
    return shape_ops.squeeze(product, (-2,))


def _conjugated(x: Any) -> Any:
    return op.conj(x) if is_kind(x, dtypes.complexfloating) else x


def vdot(a, b, *, precision=None, preferred_element_type=None):
    """Inner product of the flat arrays, the first conjugated.

    Args:
      a, b: arrays of as many elements.
      precision, preferred_element_type: as for `dot`.

    Returns:
      A scalar.
    """
    return _vdot(a, b, precision=_precision(precision), preferred=user_dtype("vdot", preferred_element_type))


@fused(static_argnames=("precision", "preferred"))
def _vdot(a, b, precision, preferred):
    a, b = ensure_arrays("vdot", a, b)
    flat = [shape_ops.reshape(x, (math.prod(shape_of(x)),)) for x in (_conjugated(a), b)]
    return _dot(*flat, precision, preferred)


def vecdot(x1, x2, /, *, axis: int = -1, precision=None, preferred_element_type=None):
    """Inner products along an axis, the first argument conjugated, the other axes broadcast.

    Args:
      x1, x2: arrays with one size along the axis.
      axis: the axis, counted from the end.
      precision, preferred_element_type: as for `dot`.
    """
    return _vecdot(x1, x2, axis=axis, precision=_precision(precision), preferred=user_dtype("vecdot", preferred_element_type))


@fused(static_argnames=("axis", "precision", "preferred"))
def _vecdot(x1, x2, axis, precision, preferred):
    from laminax._src.numpy.reshaping import moveaxis
    x1, x2 = ensure_arrays("vecdot", x1, x2)
    if not shape_of(x1) or not shape_of(x2) or shape_of(x1)[axis] != shape_of(x2)[axis]:
        raise ValueError(f"vecdot requires one size along axis {axis}, got shapes {shape_of(x1)} and {shape_of(x2)}")
    x1, x2 = moveaxis(x1, axis, -1), moveaxis(x2, axis, -1)
    product = _matmul(shape_ops.expand_dims(_conjugated(x1), (-2,)), shape_ops.expand_dims(x2, (-1,)), precision, preferred)
    return shape_ops.squeeze(product, (-2, -1))


def inner(a, b, *, precision=None, preferred_element_type=None):
    """Sum of products over the last axes of both arrays; a scalar multiplies elementwise. Parameters as for `dot`."""
    return _inner(a, b, precision=_precision(precision), preferred=user_dtype("inner", preferred_element_type))


@fused(static_argnames=("precision", "preferred"))
def _inner(a, b, precision, preferred):
    a, b = ensure_arrays("inner", a, b)
    if not shape_of(a) or not shape_of(b):
        return _converted(operators.multiply(a, b), preferred)
    return _tensordot(a, b, (-1, -1), precision, preferred)


@fused
def outer(a, b, out: None = None):
    """Products of all elements of the flat a with all of the flat b: [m, n]."""
    refuse_out("outer", out)
    a, b = promote_dtypes("outer", a, b)
    m, n = math.prod(shape_of(a)), math.prod(shape_of(b))
    return operators.multiply(shape_ops.reshape(a, (m, 1)), shape_ops.reshape(b, (1, n)))


def tensordot(a, b, axes: int | Sequence = 2, *, precision=None, preferred_element_type=None, out_sharding=None):
    """Sum of products over given axes.

    Args:
      a, b: arrays.
      axes: how many of a's last and b's first axes are summed; or a pair of axes, or of lists of axes.
      precision, preferred_element_type: as for `dot`.
      out_sharding: must be None.

    Returns:
      An array with the other axes of a, then those of b.

    Raises:
      TypeError: if the axes do not fit.
    """
    refuse_placement("tensordot", out_sharding=out_sharding)
    if isinstance(axes, (list, tuple)) and len(axes) == 2 and not all(isinstance(side, (int, np.integer, list, tuple)) for side in axes):
        raise TypeError(f"tensordot requires both axes lists to be either ints, tuples or lists, got {axes[0]!r} and {axes[1]!r}")
    try:
        if not isinstance(axes, (list, tuple)):
            axes = operator.index(axes)
        else:
            axes = tuple(tuple(operator.index(i) for i in side) if np.ndim(side) else operator.index(side) for side in axes)
    except TypeError:
        raise TypeError(f"tensordot axes argument must be an int, a pair of ints, or a pair of lists of ints, got {axes!r}") from None
    return _tensordot(a, b, axes=axes, precision=_precision(precision), preferred=user_dtype("tensordot", preferred_element_type))


@fused(static_argnames=("axes", "precision", "preferred"))
def _tensordot(a, b, axes, precision, preferred):
    a, b = promote_dtypes("tensordot", a, b)
    a_rank, b_rank = len(shape_of(a)), len(shape_of(b))
    if isinstance(axes, int):
        if not 0 <= axes <= min(a_rank, b_rank):
            raise TypeError(f"Number of tensordot axes (axes {axes}) exceeds input ranks ({a_rank} and {b_rank}), or is negative")
        contracting = tuple(range(a_rank - axes, a_rank)), tuple(range(axes))
    else:
        if len(axes) != 2:
            raise TypeError(f"tensordot: axes must be an integer or a pair, got {axes}")
        contracting = axis_tuple("tensordot", axes[0], a_rank), axis_tuple("tensordot", axes[1], b_rank)
        if len(contracting[0]) != len(contracting[1]):
            raise TypeError(f"tensordot requires axes lists to have equal length, got {axes[0]} and {axes[1]}")
    return dot_general(a, b, (contracting, ((), ())), precision, matmul_module.summed_in(a, preferred))


@fused
def kron(a, b):
    """Kronecker product: each element of a replaced by its product with b."""
    a, b = promote_dtypes("kron", a, b)
    rank = max(len(shape_of(a)), len(shape_of(b)))
    a_shape = (1,) * (rank - len(shape_of(a))) + shape_of(a)
    b_shape = (1,) * (rank - len(shape_of(b))) + shape_of(b)
    a = shape_ops.reshape(a, tuple(n for size in a_shape for n in (size, 1)))
    b = shape_ops.reshape(b, tuple(n for size in b_shape for n in (1, size)))
    return shape_ops.reshape(operators.multiply(a, b), tuple(m * n for m, n in zip(a_shape, b_shape)))


def cross(a, b, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None):
    """Cross product of vectors of 2 or 3 components.

    Args:
      a, b: arrays; the other axes are broadcast.
      axisa, axisb: the axis of the components in each.
      axisc: where the axis of the components is in the result.
      axis: one axis for all three.

    Returns:
      The vectors; of two vectors of 2 components the third component alone, without the axis.

    Raises:
      ValueError: if a vector has neither 2 nor 3 components.
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    return _cross(a, b, axisa=axisa, axisb=axisb, axisc=axisc)


@fused(static_argnames=("axisa", "axisb", "axisc"))
def _cross(a, b, axisa, axisb, axisc):
    from laminax._src.numpy.joining import stack
    from laminax._src.numpy.reshaping import broadcast_arrays, moveaxis
    a, b = promote_dtypes("cross", a, b)
    a, b = moveaxis(a, axisa, -1), moveaxis(b, axisb, -1)
    if a.shape[-1] not in (2, 3) or b.shape[-1] not in (2, 3):
        raise ValueError(f"cross: vectors must have 2 or 3 components, got shapes {a.shape} and {b.shape}")
    is_flat = a.shape[-1] == b.shape[-1] == 2
    a0, a1, b0, b1 = a[..., 0], a[..., 1], b[..., 0], b[..., 1]
    third = operators.subtract(operators.multiply(a0, b1), operators.multiply(a1, b0))
    if is_flat:
        return third
    zero = np.zeros((), dtype_of(a))[()]
    a2 = a[..., 2] if a.shape[-1] == 3 else zero
    b2 = b[..., 2] if b.shape[-1] == 3 else zero
    first = operators.subtract(operators.multiply(a1, b2), operators.multiply(a2, b1))
    second = operators.subtract(operators.multiply(a2, b0), operators.multiply(a0, b2))
    return stack(broadcast_arrays(first, second, third), axisc)


# --- diagonals and triangles ---


def trace(a, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype=None, out: None = None):
    """Sum of a diagonal.

    Args:
      a: an array of rank at least 2.
      offset: which diagonal: 0 is the main one, positive ones are above it.
      axis1, axis2: the axes of the matrices; the others stay.
      dtype: the dtype of the result; by default a's, bools and narrow integers widened.
      out: must be None.
    """
    refuse_out("trace", out)
    return _trace(a, offset, axis1=axis1, axis2=axis2, dtype=user_dtype("trace", dtype))


@fused(static_argnames=("axis1", "axis2", "dtype"))
def _trace(a, offset, axis1, axis2, dtype):
    from laminax._src.numpy.reductions import sum
    from laminax._src.numpy.reshaping import moveaxis
    a = ensure_array("trace", a)
    if len(shape_of(a)) < 2:
        raise ValueError(f"trace requires an array of at least two dimensions, got {get_aval(a).str_short()}")
    rank = len(shape_of(a))
    if one_axis("trace", axis1, rank) == one_axis("trace", axis2, rank):
        raise ValueError(f"trace: axis1 and axis2 can not be same, got {axis1} and {axis2} for {get_aval(a).str_short()}")
    a = moveaxis(a, (axis1, axis2), (-2, -1))
    mask = _band(shape_of(a)[-2:], offset, op.eq)
    if dtype is None:
        dtype, integer = dtype_of(a), dtypes.scalar_dtype(int)
        is_narrow = dtypes.issubdtype(dtype, dtypes.integer) and dtypes.bit_width(dtype) < dtypes.bit_width(integer)
        dtype = integer if is_narrow or dtype == np.bool_ else dtype
    return sum(_where(mask, a, np.zeros((), dtype_of(a))[()]), axis=(-2, -1), dtype=dtype)


def _band(shape: tuple[int, int], k: Any, compare) -> Any:
    """Where column - row compares so with k."""
    row = shape_ops.broadcasted_iota(np.int32, shape, 0)
    if type(k) is not int or k:
        row = op.add(row, k if type(k) is int else convert(k, np.dtype(np.int32)))
    return compare(row, shape_ops.broadcasted_iota(np.int32, shape, 1))


def tri(N: int, M: int | None = None, k: int = 0, dtype=None):
    """Ones at and below a diagonal, zeros above.

    Args:
      N, M: rows and columns; M is N by default.
      k: which diagonal.
      dtype: the dtype, by default float32.
    """
    dtype = user_dtype("tri", np.float32 if dtype is None else dtype)
    return _tri(k, shape=canonical_shape("tri", (N, N if M is None else M)), dtype=dtype)


@fused(static_argnames=("shape", "dtype"))
def _tri(k, shape, dtype):
    return convert(_band(shape, k, op.ge), dtype)


def tril(m, k: int = 0):
    """The matrices in the last two axes with zeros above diagonal k."""
    return _tril(m, k=k if isinstance(k, int) else operator.index(k))


def triu(m, k: int = 0):
    """The matrices in the last two axes with zeros below diagonal k."""
    return _triu(m, k=k if isinstance(k, int) else operator.index(k))


@fused(static_argnames=("k",))
def _tril(m, k):
    return _triangle("tril", m, k, op.ge, True)


@fused(static_argnames=("k",))
def _triu(m, k):
    return _triangle("triu", m, k - 1, op.ge, False)


def _triangle(name, m, k, compare, keep):
    m = ensure_array(name, m)
    shape = shape_of(m)
    if len(shape) < 2:
        raise ValueError(f"Argument to {name} must be at least 2D, got {get_aval(m).str_short()}")
    mask = _band(shape[-2:], k, compare)
    if len(shape) > 2:
        mask = shape_ops.broadcast_to_shape(mask, shape)
    zeros = shape_ops.full(shape, 0, dtype_of(m))
    return op.select(mask, m, zeros) if keep else op.select(mask, zeros, m)


def diagonal(a, offset: int = 0, axis1: int = 0, axis2: int = 1):
    """The diagonals of matrices, along a new last axis.

    Args:
      a: an array of rank at least 2.
      offset: which diagonal: 0 is the main one, positive ones are above it.
      axis1, axis2: the axes of the matrices.
    """
    return _diagonal(a, offset=operator.index(offset), axis1=axis1, axis2=axis2)


@fused(static_argnames=("offset", "axis1", "axis2"))
def _diagonal(a, offset, axis1, axis2):
    from laminax._src.numpy.reshaping import moveaxis
    a = ensure_array("diagonal", a)
    rank = len(shape_of(a))
    if rank < 2:
        raise ValueError(f"diagonal requires an array of at least two dimensions, got {get_aval(a).str_short()}")
    first, second = one_axis("diagonal", axis1, rank), one_axis("diagonal", axis2, rank)
    a = moveaxis(as_array(a), (first, second), (-2, -1))
    rows, columns = a.shape[-2:]
    count = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    places = np.arange(count, dtype=np.int32)
    return a[..., places - min(offset, 0), places + max(offset, 0)]


def diag(v, k: int = 0):
    """A matrix with a diagonal, or the diagonal of a matrix.

    Args:
      v: an array of rank 1, to be put on the diagonal, or of rank 2.
      k: which diagonal.

    Raises:
      ValueError: for other ranks.
    """
    return _diag(v, k=operator.index(k))


@fused(static_argnames=("k",))
def _diag(v, k):
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
    return op.select(_band((n, n), k, op.eq), wide, shape_ops.full((n, n), 0, dtype_of(v)))


def diagflat(v, k: int = 0):
    """A matrix with the elements of the flat v on diagonal k."""
    from laminax._src.numpy.reshaping import ravel
    return diag(ravel(v), k)


def fill_diagonal(a, val, wrap: bool = False, *, inplace: bool = True):
    """An array with a value, or values, on its diagonal.

    Args:
      a: an array of rank at least 2; of rank above 2 all sizes must be equal.
      val: a scalar, or values for the diagonal in order, repeated if there are fewer.
      wrap: must be False.
      inplace: must be False, because arrays do not change.

    Returns:
      A changed copy of a.
    """
    from laminax._src.numpy.taking import _refuse_inplace
    _refuse_inplace("fill_diagonal", inplace)
    if wrap:
        raise NotImplementedError("fill_diagonal: wrap=True is not supported")
    a, val = as_array(ensure_array("fill_diagonal", a)), ensure_array("fill_diagonal", val)
    if len(a.shape) < 2:
        raise ValueError(f"fill_diagonal: array must be at least 2-d, got {get_aval(a).str_short()}")
    if len(a.shape) > 2 and len(set(a.shape)) > 1:
        raise ValueError(f"fill_diagonal: all dimensions of input must be of equal length, got {get_aval(a).str_short()}")
    places = np.arange(min(a.shape), dtype=np.int32)
    from laminax._src.numpy.repeating import resize
    from laminax._src.numpy.reshaping import ravel
    from laminax._src.numpy.updates import update
    values = val if not shape_of(val) else resize(ravel(val), places.shape)
    return update("set", a, (places,) * len(a.shape), values, unique_indices=True, indices_are_sorted=True)


def diag_indices(n: int, ndim: int = 2) -> tuple:
    """The indices of the main diagonal of an array with `ndim` axes of size n."""
    n, ndim = operator.index(n), operator.index(ndim)
    if n < 0 or ndim < 0:
        raise ValueError(f"diag_indices: n and ndim must be nonnegative, got n={n} and ndim={ndim}")
    return (shape_ops.iota(dtypes.scalar_dtype(int), n),) * ndim


def diag_indices_from(arr) -> tuple:
    """The indices of the main diagonal of an array with equal sizes."""
    shape = shape_of(ensure_array("diag_indices_from", arr))
    if len(shape) < 2 or len(set(shape)) > 1:
        raise ValueError(f"diag_indices_from: the array must have at least 2 axes, all of one size, got shape {shape}")
    return diag_indices(shape[0], len(shape))


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple:
    """The indices of the lower triangle, at and below diagonal k, of an [n, m] matrix."""
    return tuple(as_array(x.astype(dtypes.scalar_dtype(int))) for x in np.tril_indices(n, k, m))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple:
    """The indices of the upper triangle, at and above diagonal k, of an [n, m] matrix."""
    return tuple(as_array(x.astype(dtypes.scalar_dtype(int))) for x in np.triu_indices(n, k, m))


def tril_indices_from(arr, k: int = 0) -> tuple:
    """The indices of the lower triangle of a matrix."""
    return tril_indices(*_matrix_args("tril_indices_from", arr, k))


def triu_indices_from(arr, k: int = 0) -> tuple:
    """The indices of the upper triangle of a matrix."""
    return triu_indices(*_matrix_args("triu_indices_from", arr, k))


def _matrix_args(name, arr, k):
    shape = shape_of(ensure_array(name, arr))
    if len(shape) != 2:
        raise ValueError(f"{name}: only 2-D inputs are accepted, got shape {shape}")
    return shape[0], k, shape[1]


def mask_indices(n: int, mask_func, k: int = 0, *, size: int | None = None) -> tuple:
    """The indices where `mask_func(ones((n, n)), k)` is not 0, such as those of a triangle with `triu`."""
    from laminax._src.numpy.creation import ones
    from laminax._src.numpy.sorting import nonzero
    return nonzero(mask_func(ones((n, n)), k), size=size)


def vander(x, N: int | None = None, increasing: bool = False):
    """Matrix of the powers of a vector: column i is x**(N - 1 - i), or x**i if increasing."""
    x = ensure_array("vander", x)
    if len(shape_of(x)) != 1:
        raise ValueError(f"vander: x must be a one-dimensional array, got {get_aval(x).str_short()}")
    N = shape_of(x)[0] if N is None else operator.index(N)
    if N < 0:
        raise ValueError(f"vander: N must be nonnegative, got {N}")
    return _vander(x, N=N, increasing=bool(increasing))


@fused(static_argnames=("N", "increasing"))
def _vander(x, N, increasing):
    exponents = shape_ops.iota(np.int32, N)
    if not increasing:
        exponents = op.sub(np.int32(N - 1), exponents)
    return operators.power(shape_ops.expand_dims(x, (1,)), shape_ops.expand_dims(exponents, (0,))) if N else \
        shape_ops.full((shape_of(x)[0], 0), 0, dtype_of(x))
