"""Powers and chains of products, and functions of `laminax.numpy` with the signatures that the array API gives them here."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Sequence

from laminax_ir.ops.shape_arguments import canonical_axis
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.numpy.arguments import dtype_of, ensure_array, ensure_arrays, shape_of, user_dtype
from laminax._src.numerics.numpy.linalg.equations import inv
from laminax._src.numerics.numpy.linalg.matrices import MatrixShapeError

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike, DTypeLike


def matrix_power(a: ArrayLike, n: int) -> Array:
    """Power of square matrices, by repeated squaring.

    Args:
      a: [..., m, m].
      n: the exponent, an integer; the inverse is raised for a negative one.

    Returns:
      [..., m, m].

    Raises:
      TypeError: if a is not square or n no integer.

    Example:
      >>> jnp.linalg.matrix_power(jnp.array([[1, 1], [0, 1]]), 3)
      Array([[1, 3],
             [0, 1]], dtype=int32)
    """
    try:
        n = operator.index(n)
    except TypeError:
        raise TypeError(f"matrix_power: the exponent must be an integer, got {n!r}") from None
    return _matrix_power(a, n=n)


@fused(static_argnames=("n",))
def _matrix_power(a: ArrayLike, n: int) -> Array:
    a = ensure_array("matrix_power", a)
    shape = shape_of(a)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise MatrixShapeError(f"matrix_power: the argument must have shape [..., n, n], got {get_aval(a).str_short()}")
    if n == 0:
        return jnp.broadcast_to(jnp.eye(shape[-1], dtype=dtype_of(a)), shape)
    square = inv(a) if n < 0 else a
    n, result = abs(n), None
    while True:
        if n % 2:
            result = square if result is None else jnp.matmul(result, square)
        n //= 2
        if not n:
            return result
        square = jnp.matmul(square, square)


def multi_dot(arrays: Sequence, *, precision: Any = None) -> Array:
    """Matrix product of several arrays, multiplied in the order that takes the fewest operations.

    Args:
      arrays: at least two matrices; the first and the last may be vectors.
      precision: see `lax.Precision`.

    Returns:
      The product.

    Raises:
      ValueError: if there are fewer than two arrays, or their ranks or sizes do not fit.

    Example:
      >>> jnp.linalg.multi_dot([jnp.ones((2, 3)), jnp.ones((3, 4)), jnp.ones((4, 1))])
      Array([[12.],
             [12.]], dtype=float32)
    """
    if not isinstance(arrays, (list, tuple)) and not shape_of(ensure_array("multi_dot", arrays)):
        raise TypeError(f"multi_dot: arrays must be a sequence of arrays, got {arrays!r}")
    arrays = list(ensure_arrays("multi_dot", *arrays))
    shapes = [shape_of(x) for x in arrays]
    if len(arrays) < 2:
        raise ValueError(f"multi_dot: at least two arrays are expected, got {len(arrays)}")
    if any(len(shape) != 2 for shape in shapes[1:-1]) or any(len(shapes[i]) not in (1, 2) for i in (0, -1)):
        raise ValueError(f"multi_dot: the arrays must be matrices, the first and last one may be vectors; got shapes {shapes}")
    sizes = [1 if len(shapes[0]) == 1 else shapes[0][0], *(shape[0] for shape in shapes[1:]), shapes[-1][-1]]
    sizes[-1] = 1 if len(shapes[-1]) == 1 else shapes[-1][1]
    if any(left[-1] != right[0] for left, right in zip(shapes, shapes[1:])):
        raise ValueError(f"multi_dot: the last size of each array must be the first of the next; got shapes {shapes}")
    splits = _best_splits(sizes)

    def product(first: int, last: int) -> Any:
        if first == last:
            return arrays[first]
        middle = splits[first, last]
        return jnp.dot(product(first, middle), product(middle + 1, last), precision=precision)

    return product(0, len(arrays) - 1)


def _best_splits(sizes: Sequence[int]) -> dict[tuple[int, int], int]:
    """Where to split each chain of matrices, by dynamic programming; matrix i is [sizes[i], sizes[i + 1]]."""
    count = len(sizes) - 1
    cost = {(i, i): 0 for i in range(count)}
    splits = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            cost[i, j], splits[i, j] = min((cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                                           for k in range(i, j))
    return splits


def matmul(x1: ArrayLike, x2: ArrayLike, /, *, precision: str | None = None, preferred_element_type: DTypeLike | None = None) -> Array:
    """Matrix product of the last two axes; the same as `numpy.matmul`.

    Args:
      x1: [..., m, k], or a vector [k].
      x2: [..., k, n], or a vector [k]; the leading axes are broadcast.
      precision: how exactly the product is computed, as for `lax.dot_general`.
      preferred_element_type: the dtype of the result, by default the promoted one.

    Returns:
      [..., m, n], without the axis that a vector lacks.

    Raises:
      TypeError, ValueError: if the shapes do not fit.

    Example:
      >>> jnp.linalg.matmul(jnp.array([[1., 2.], [3., 4.]]), jnp.array([1., 10.]))
      Array([21., 43.], dtype=float32)
    """
    return jnp.matmul(x1, x2, precision=precision, preferred_element_type=preferred_element_type)


def tensordot(x1: ArrayLike, x2: ArrayLike, /, *, axes: Any = 2, precision: Any = None, preferred_element_type: DTypeLike | None = None,
              out_sharding: Any = None) -> Array:
    """Sum of products over given axes; the same as `numpy.tensordot`.

    Args:
      x1: an array.
      x2: an array.
      axes: how many of the last axes of x1 and the first ones of x2 are summed over, or a pair of sequences of axes.
      precision: how exactly the product is computed, as for `lax.dot_general`.
      preferred_element_type: the dtype of the result, by default the promoted one.
      out_sharding: how the result is split over explicit mesh axes.

    Returns:
      An array with the axes of x1 that are left, then those of x2.

    Raises:
      TypeError, ValueError: if the axes do not fit.

    Example:
      >>> jnp.linalg.tensordot(jnp.array([[1., 2.], [3., 4.]]), jnp.eye(2))  # the trace
      Array(5., dtype=float32)
    """
    return jnp.tensordot(x1, x2, axes, precision=precision, preferred_element_type=preferred_element_type,
                         out_sharding=out_sharding)


def vecdot(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1, precision: Any = None,
           preferred_element_type: DTypeLike | None = None) -> Array:
    """Inner products along an axis, the first argument conjugated; the same as `numpy.vecdot`.

    Args:
      x1: an array.
      x2: an array that broadcasts with x1.
      axis: the axis of the vectors.
      precision: how exactly the product is computed, as for `lax.dot_general`.
      preferred_element_type: the dtype of the result, by default the promoted one.

    Returns:
      An array of the joint shape without the axis.

    Raises:
      ValueError: if the axis has different sizes, or the shapes do not broadcast.

    Example:
      >>> jnp.linalg.vecdot(jnp.array([[1., 2.], [3., 4.]]), jnp.array([1., 10.]))
      Array([21., 43.], dtype=float32)
    """
    return jnp.vecdot(x1, x2, axis=axis, precision=precision, preferred_element_type=preferred_element_type)


def outer(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Products of all elements of a vector with all of another one.

    Args:
      x1: [m].
      x2: [n].

    Returns:
      [m, n] of the promoted dtype.

    Raises:
      ValueError: if an argument is no vector.

    Example:
      >>> jnp.linalg.outer(jnp.array([1, 2]), jnp.array([3, 4, 5]))
      Array([[ 3,  4,  5],
             [ 6,  8, 10]], dtype=int32)
    """
    x1, x2 = ensure_arrays("outer", x1, x2)
    if len(shape_of(x1)) != 1 or len(shape_of(x2)) != 1:
        raise ValueError(f"outer: the arguments must be vectors, got {get_aval(x1).str_short()} and {get_aval(x2).str_short()}; "
                         "numpy.outer flattens")
    return jnp.outer(x1, x2)


def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Array:
    """Cross product of vectors of 3 components along an axis; the other axes are broadcast.

    Args:
      x1: an array.
      x2: an array.
      axis: the axis of the components.

    Returns:
      An array of the joint shape and of the promoted dtype.

    Raises:
      ValueError: if a vector has not 3 components.

    Example:
      >>> jnp.linalg.cross(jnp.array([1., 0., 0.]), jnp.array([0., 1., 0.]))
      Array([0., 0., 1.], dtype=float32)
    """
    x1, x2 = ensure_arrays("cross", x1, x2)
    for name, x in (("x1", x1), ("x2", x2)):
        if not shape_of(x):
            raise ValueError(f"linalg.cross: axis {axis} is out of bounds for array of dimension 0. {name} is a scalar; give vectors of 3 "
                             "components.")
        canonical_axis("linalg.cross", axis, len(shape_of(x)))
    if shape_of(x1)[axis] != 3 or shape_of(x2)[axis] != 3:
        raise ValueError(f"cross: vectors must have 3 components along axis {axis}, got {get_aval(x1).str_short()} and "
                         f"{get_aval(x2).str_short()}")
    return jnp.cross(x1, x2, axis=axis)


def matrix_transpose(x: ArrayLike, /) -> Array:
    """Matrices with their rows and columns exchanged.

    Args:
      x: [..., m, n].

    Returns:
      [..., n, m] of x's dtype.

    Raises:
      ValueError: if x has fewer than two axes.

    Example:
      >>> jnp.linalg.matrix_transpose(jnp.array([[1, 2], [3, 4]]))
      Array([[1, 3],
             [2, 4]], dtype=int32)
    """
    return jnp.matrix_transpose(x)


def diagonal(x: ArrayLike, /, *, offset: int = 0) -> Array:
    """Diagonals of the matrices in the last two axes; see `numpy.diagonal`.

    Args:
      x: [..., m, n].
      offset: which diagonal: 0 is the main one, positive ones lie above it.

    Returns:
      [..., k], the diagonal along the last axis.

    Raises:
      ValueError: if x has fewer than two axes.

    Example:
      >>> jnp.linalg.diagonal(jnp.array([[1, 2], [3, 4]]))
      Array([1, 4], dtype=int32)
    """
    return jnp.diagonal(x, offset, axis1=-2, axis2=-1)


def trace(x: ArrayLike, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> Array:
    """Sums of a diagonal of the matrices in the last two axes; see `numpy.trace`.

    Args:
      x: [..., m, n].
      offset: which diagonal: 0 is the main one, positive ones lie above it.
      dtype: the dtype of the result, by default x's, integers widened to the default.

    Returns:
      An array [...].

    Raises:
      ValueError: if x has fewer than two axes.

    Example:
      >>> jnp.linalg.trace(jnp.array([[1, 2], [3, 4]]))
      Array(5, dtype=int32)
    """
    return jnp.trace(x, offset, axis1=-2, axis2=-1, dtype=user_dtype("trace", dtype))
