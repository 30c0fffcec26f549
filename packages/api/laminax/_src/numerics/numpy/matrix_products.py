"""Products of arrays: dot, matmul and their kin, tensordot, kron, cross."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.functions import matmul as matmul_module
from laminax_ir.functions import operators, promoted_operands
from laminax_ir.ops import elementwise as op
from laminax_ir.ops import shape as shape_ops
from laminax_ir.ops.contraction import dot_general
from laminax_ir.ops.shape_arguments import canonical_axis
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval
from laminax_ir.types.errors import ShapeError

from laminax._src.numerics.floor import fused, split_result
from laminax._src.numerics.numpy.arguments import (
    axis_tuple,
    convert,
    dtype_of,
    ensure_arrays,
    is_kind,
    promote_dtypes,
    refuse_out,
    shape_of,
    user_dtype,
)
from laminax._src.numerics.numpy.joining import stack
from laminax._src.numerics.numpy.reshaping import broadcast_arrays, moveaxis

if TYPE_CHECKING:
    from laminax_ir.ops.contraction import Precision
    from laminax_ir.types.annotations import Array, ArrayLike, DTypeLike


def _precision(precision: Any) -> Any:
    return tuple(precision) if isinstance(precision, list) else precision


def dot(a: ArrayLike, b: ArrayLike, *, precision: Any = None, preferred_element_type: DTypeLike | None = None,
        out_sharding: Any = None) -> Array:
    """Product of two arrays: the last axis of a is summed against the last but one of b.

    Args:
      a: an array; a scalar multiplies elementwise.
      b: an array; of rank 1 its only axis is summed.
      precision: see `lax.Precision`.
      preferred_element_type: the dtype to sum in and return.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Returns:
      An array of shape [*a.shape[:-1], *b.shape[:-2], b.shape[-1]].

    Raises:
      TypeError: if the summed sizes differ.

    Example:
      >>> jnp.dot(jnp.array([[1, 2], [3, 4]]), jnp.array([1, 1]))
      Array([3, 7], dtype=int32)
    """
    if out_sharding is not None:
        return split_result("dot", out_sharding, lambda: dot(a, b, precision=precision, preferred_element_type=preferred_element_type),
                            leaves_sums=True)
    return _dot(a, b, precision=_precision(precision), preferred=user_dtype("dot", preferred_element_type))


@fused(static_argnames=("precision", "preferred"))
def _dot(a: Any, b: Any, precision: str | None, preferred: Any) -> Array:
    a, b = promote_dtypes("dot", a, b)
    a_rank, b_rank = len(shape_of(a)), len(shape_of(b))
    if not a_rank or not b_rank:
        return _converted(op.mul(*promoted_operands.promote_shapes("dot", a, b)), preferred) if dtype_of(a) != np.bool_ \
            else op.bitwise_and(*promoted_operands.promote_shapes("dot", a, b))
    summed = max(b_rank - 2, 0)
    if shape_of(a)[-1] != shape_of(b)[summed]:
        raise ShapeError(f"dot: dot_general requires contracting dimensions to have the same shape, got ({shape_of(a)[-1]},) and "
                         f"({shape_of(b)[summed]},): the last axis of a, {get_aval(a).str_short()}, is summed with the "
                         f"{'last but one' if b_rank > 1 else 'only'} axis of b, {get_aval(b).str_short()}")
    return dot_general(a, b, (((a_rank - 1,), (summed,)), ((), ())), precision, matmul_module.summed_in(a, preferred))


def _converted(x: Any, dtype: Any) -> Any:
    return x if dtype is None else convert(x, dtype)


def matmul(a: ArrayLike, b: ArrayLike, *, precision: str | None = None, preferred_element_type: DTypeLike | None = None,
           out_sharding: Any = None) -> Array:
    """Matrix product of the last two axes, leading axes broadcast.

    Args:
      a: an array of rank at least 1; rank 1 is a row vector.
      b: an array of rank at least 1; rank 1 is a column vector.
      precision: see `lax.Precision`.
      preferred_element_type: the dtype to sum in and return.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Raises:
      ValueError: for a scalar.
      TypeError: if the contracted sizes differ or leading axes do not broadcast.

    Example:
      >>> jnp.matmul(jnp.array([[1, 2], [3, 4]]), jnp.array([[1], [1]]))
      Array([[3],
             [7]], dtype=int32)
    """
    if out_sharding is not None:
        return split_result("matmul", out_sharding,
                            lambda: matmul(a, b, precision=precision, preferred_element_type=preferred_element_type),
                            leaves_sums=True)
    return _matmul(a, b, precision=_precision(precision), preferred=user_dtype("matmul", preferred_element_type))


@fused(static_argnames=("precision", "preferred"))
def _matmul(a: ArrayLike, b: ArrayLike, precision: str | None, preferred: Any) -> Array:
    a, b = ensure_arrays("matmul", a, b)
    return matmul_module.matmul(a, b, precision=precision, preferred_element_type=preferred)


@fused
def matvec(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Products of matrices [..., m, n] and vectors [..., n], leading axes broadcast; the result is [..., m].

    Args:
      x1: matrices, [..., m, n].
      x2: vectors, [..., n].

    Raises:
      ValueError: if an argument has too few axes.

    Example:
      >>> jnp.matvec(jnp.array([[1, 2], [3, 4]]), jnp.array([1, 1]))
      Array([3, 7], dtype=int32)
    """
    x1, x2 = ensure_arrays("matvec", x1, x2)
    if len(shape_of(x1)) < 2 or not shape_of(x2):
        raise ValueError(f"matvec: shapes [..., m, n] and [..., n] are expected, got {shape_of(x1)} and {shape_of(x2)}")
    product = _matmul(x1, shape_ops.expand_dims(x2, (-1,)), None, None)
    return shape_ops.squeeze(product, (-1,))


@fused
def vecmat(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Products of conjugated vectors [..., n] and matrices [..., n, m], leading axes broadcast; the result is [..., m].

    Args:
      x1: vectors, [..., n].
      x2: matrices, [..., n, m].

    Raises:
      ValueError: if an argument has too few axes.

    Example:
      >>> jnp.vecmat(jnp.array([1, 1]), jnp.array([[1, 2], [3, 4]]))
      Array([4, 6], dtype=int32)
    """
    x1, x2 = ensure_arrays("vecmat", x1, x2)
    if len(shape_of(x2)) < 2 or not shape_of(x1):
        raise ValueError(f"vecmat: shapes [..., n] and [..., n, m] are expected, got {shape_of(x1)} and {shape_of(x2)}")
    product = _matmul(shape_ops.expand_dims(_conjugated(x1), (-2,)), x2, None, None)
    return shape_ops.squeeze(product, (-2,))


def _conjugated(x: Any) -> Any:
    return op.conj(x) if is_kind(x, dtypes.complexfloating) else x


def vdot(a: ArrayLike, b: ArrayLike, *, precision: str | None = None, preferred_element_type: DTypeLike | None = None) -> Array:
    """Inner product of the flat arrays, the first conjugated.

    Args:
      a, b: arrays of as many elements.
      precision, preferred_element_type: as for `dot`.

    Returns:
      A scalar.

    Example:
      >>> jnp.vdot(jnp.array([1j, 2]), jnp.array([1j, 2]))
      Array(5.+0.j, dtype=complex64)
    """
    return _vdot(a, b, precision=_precision(precision), preferred=user_dtype("vdot", preferred_element_type))


@fused(static_argnames=("precision", "preferred"))
def _vdot(a: ArrayLike, b: ArrayLike, precision: str | None, preferred: Any) -> Array:
    a, b = ensure_arrays("vdot", a, b)
    flat = [shape_ops.reshape(x, (math.prod(shape_of(x)),)) for x in (_conjugated(a), b)]
    return _dot(*flat, precision, preferred)


def vecdot(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1, precision: Any = None,
           preferred_element_type: DTypeLike | None = None) -> Array:
    """Inner products along an axis, the first argument conjugated, the other axes broadcast.

    Args:
      x1, x2: arrays with one size along the axis.
      axis: the axis, counted from the end.
      precision, preferred_element_type: as for `dot`.

    Example:
      >>> jnp.vecdot(jnp.ones((2, 3)), jnp.ones(3))
      Array([3., 3.], dtype=float32)
    """
    return _vecdot(x1, x2, axis=axis, precision=_precision(precision), preferred=user_dtype("vecdot", preferred_element_type))


@fused(static_argnames=("axis", "precision", "preferred"))
def _vecdot(x1: ArrayLike, x2: ArrayLike, axis: int, precision: Any, preferred: Any) -> Array:
    x1, x2 = ensure_arrays("vecdot", x1, x2)
    if not shape_of(x1) or not shape_of(x2) or shape_of(x1)[axis] != shape_of(x2)[axis]:
        raise ValueError(f"vecdot requires one size along axis {axis}, got shapes {shape_of(x1)} and {shape_of(x2)}")
    x1, x2 = moveaxis(x1, axis, -1), moveaxis(x2, axis, -1)
    product = _matmul(shape_ops.expand_dims(_conjugated(x1), (-2,)), shape_ops.expand_dims(x2, (-1,)), precision, preferred)
    return shape_ops.squeeze(product, (-2, -1))


def inner(a: ArrayLike, b: ArrayLike, *, precision: Any = None, preferred_element_type: DTypeLike | None = None) -> Array:
    """Sum of products over the last axes of both arrays; a scalar multiplies elementwise. Parameters as for `dot`.

    Example:
      >>> jnp.inner(jnp.array([1, 2]), jnp.array([3, 4]))
      Array(11, dtype=int32)
    """
    return _inner(a, b, precision=_precision(precision), preferred=user_dtype("inner", preferred_element_type))


@fused(static_argnames=("precision", "preferred"))
def _inner(a: ArrayLike, b: ArrayLike, precision: Any, preferred: Any) -> Array:
    a, b = ensure_arrays("inner", a, b)
    if not shape_of(a) or not shape_of(b):
        return _converted(operators.multiply(a, b), preferred)
    return _tensordot(a, b, (-1, -1), precision, preferred)


@fused
def outer(a: ArrayLike, b: ArrayLike, out: None = None) -> Array:
    """Products of all elements of the flat a with all of the flat b: [m, n].

    Args:
      a: an array of m elements.
      b: an array of n elements.
      out: must be None.

    Returns:
      A matrix of the promoted dtype.

    Example:
      >>> jnp.outer(jnp.array([1, 2]), jnp.array([3, 4]))
      Array([[3, 4],
             [6, 8]], dtype=int32)
    """
    refuse_out("outer", out)
    a, b = promote_dtypes("outer", a, b)
    m, n = math.prod(shape_of(a)), math.prod(shape_of(b))
    return operators.multiply(shape_ops.reshape(a, (m, 1)), shape_ops.reshape(b, (1, n)))


def tensordot(a: ArrayLike, b: ArrayLike, axes: int | list | tuple = 2, *, precision: Precision | str | None = None,
              preferred_element_type: DTypeLike | None = None,
              out_sharding: Any = None) -> Array:
    """Sum of products over given axes.

    Args:
      a, b: arrays.
      axes: how many of a's last and b's first axes are summed; or a pair of axes, or of lists of axes.
      precision, preferred_element_type: as for `dot`.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Returns:
      An array with the other axes of a, then those of b.

    Raises:
      TypeError: if the axes do not fit.

    Example:
      >>> jnp.tensordot(jnp.ones((2, 3)), jnp.ones((3, 2)), axes=1)
      Array([[3., 3.],
             [3., 3.]], dtype=float32)
    """
    if out_sharding is not None:
        return split_result("tensordot", out_sharding,
                            lambda: tensordot(a, b, axes, precision=precision, preferred_element_type=preferred_element_type),
                            leaves_sums=True)
    if isinstance(axes, (list, tuple)) and len(axes) == 2 and not all(isinstance(side, (int, np.integer, list, tuple)) for side in axes):
        raise TypeError(f"tensordot requires both axes lists to be either ints, tuples or lists, got {axes[0]!r} and {axes[1]!r}")
    try:
        if isinstance(axes, (list, tuple)):
            sides: Any = tuple(tuple(operator.index(i) for i in side) if np.ndim(side) else operator.index(side) for side in axes)
        else:
            sides = operator.index(axes)
    except TypeError:
        raise TypeError(f"tensordot axes argument must be an int, a pair of ints, or a pair of lists of ints, got {axes!r}") from None
    return _tensordot(a, b, axes=sides, precision=_precision(precision), preferred=user_dtype("tensordot", preferred_element_type))


@fused(static_argnames=("axes", "precision", "preferred"))
def _tensordot(a: Any, b: Any, axes: Any, precision: Precision | str | None, preferred: Any) -> Array:
    a, b = promote_dtypes("tensordot", a, b)
    a_rank, b_rank = len(shape_of(a)), len(shape_of(b))
    if isinstance(axes, int):
        if not 0 <= axes <= min(a_rank, b_rank):
            raise TypeError(f"Number of tensordot axes (axes {axes}) exceeds input ranks ({a_rank} and {b_rank}), or is negative")
        contracting = tuple(range(a_rank - axes, a_rank)), tuple(range(axes))
    else:
        if len(axes) != 2:
            raise TypeError(f"tensordot: axes must be an integer or a pair, got {axes}")
        if np.size(axes[0]) != np.size(axes[1]):
            raise TypeError(f"tensordot requires axes lists to have equal length, got {axes[0]} and {axes[1]}")
        contracting = axis_tuple("tensordot", axes[0], a_rank), axis_tuple("tensordot", axes[1], b_rank)
    return dot_general(a, b, (contracting, ((), ())), precision, matmul_module.summed_in(a, preferred))


@fused
def kron(a: ArrayLike, b: ArrayLike) -> Array:
    """Kronecker product: each element of a replaced by its product with b.

    Args:
      a: an array.
      b: an array; the one with fewer axes gets axes of size 1 in front.

    Returns:
      An array of the promoted dtype; its sizes are the products of those of a and b.

    Example:
      >>> jnp.kron(jnp.eye(2), jnp.array([[1.0, 2.0]]))
      Array([[1., 2., 0., 0.],
             [0., 0., 1., 2.]], dtype=float32)
    """
    a, b = promote_dtypes("kron", a, b)
    rank = max(len(shape_of(a)), len(shape_of(b)))
    a_shape = (1,) * (rank - len(shape_of(a))) + shape_of(a)
    b_shape = (1,) * (rank - len(shape_of(b))) + shape_of(b)
    a = shape_ops.reshape(a, tuple(n for size in a_shape for n in (size, 1)))
    b = shape_ops.reshape(b, tuple(n for size in b_shape for n in (1, size)))
    return shape_ops.reshape(operators.multiply(a, b), tuple(m * n for m, n in zip(a_shape, b_shape)))


def cross(a: ArrayLike, b: ArrayLike, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Array:
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

    Example:
      >>> jnp.cross(jnp.array([1.0, 0.0, 0.0]), jnp.array([0.0, 1.0, 0.0]))
      Array([0., 0., 1.], dtype=float32)
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    return _cross(a, b, axisa=axisa, axisb=axisb, axisc=axisc)


@fused(static_argnames=("axisa", "axisb", "axisc"))
def _cross(a: ArrayLike, b: ArrayLike, axisa: int, axisb: int, axisc: int) -> Array:
    a, b = promote_dtypes("cross", a, b)
    for name, x, axis in (("a", a, axisa), ("b", b, axisb)):
        if not shape_of(x):
            raise ValueError(f"cross: axis {axis} is out of bounds for array of dimension 0. {name} is a scalar; give vectors of 2 or 3 "
                             "components.")
        canonical_axis("cross", axis, len(shape_of(x)))
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
