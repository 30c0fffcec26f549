"""Arrangement: shapes and the order of axes. What NumPy returns as views are new arrays here."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from laminax_ir.ops import shape as shape_ops
from laminax_ir.ops import shape_arguments
from laminax_ir.ops.shape_arguments import canonical_shape
from laminax_ir.symbolic.symbolic_dims import is_constant_shape
from laminax_ir.tracing.trace import Tracer
from laminax_ir.types.avals import get_aval
from laminax_ir.types.errors import InconclusiveDimensionOperation

from laminax._src.numerics.floor import fused, split_result
from laminax._src.numerics.numpy.arguments import as_array, axis_tuple, ensure_array, ensure_arrays, one_axis, shape_of
from laminax._src.numerics.numpy.conversion import asarray
from laminax._src.numerics.splits import check_sums_are_kept

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

# --- shape ---


def shape(a: ArrayLike) -> tuple[int, ...]:
    """The sizes of the axes of an array or scalar; of a list too, which is deprecated.

    Example:
      >>> jnp.shape(jnp.ones((2, 3)))
      (2, 3)
    """
    return _shape("shape", a)


def _shape(name: str, a: Any) -> tuple[int, ...]:
    if hasattr(a, "shape"):
        return tuple(a.shape)
    try:
        return shape_of(ensure_array(name, a))
    except TypeError as error:
        import warnings
        warnings.warn(f"{error} It is deprecated to pass another type.", DeprecationWarning, stacklevel=3)
        return np.shape(a)


def ndim(a: Any) -> int:
    """The number of axes of an array or scalar; of a list too, which is deprecated.

    Example:
      >>> jnp.ndim(jnp.ones((2, 3)))
      2
    """
    return len(_shape("ndim", a))


def size(a: ArrayLike, axis: int | Sequence[int] | None = None) -> int:
    """The number of elements of an array or scalar, or along some of its axes; of a list too, which is deprecated.

    Args:
      a: an array or scalar.
      axis: the axis or axes; None is all.

    Raises:
      ValueError: if an axis is out of range or given twice.

    Example:
      >>> jnp.size(jnp.ones((2, 3)))
      6
    """
    sizes = _shape("size", a)
    axes = axis_tuple("size", axis, len(sizes))
    return math.prod(sizes[i] for i in axes)


def reshape(a: ArrayLike, shape: Any, order: str = "C", *, copy: bool | None = None, out_sharding: Any = None) -> Array:
    """The same elements in another shape.

    Args:
      a: an array or scalar.
      shape: the sizes, or one size; one of them may be -1, for what fits.
      order: "C", the last axis varies fastest, or "F", the first one.
      copy: must not be False.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Raises:
      TypeError: if the number of elements does not fit.
      ValueError: if out_sharding leaves sums open along other mesh axes than the array.
      NotImplementedError: for order "A".

    Example:
      >>> jnp.reshape(jnp.arange(6), (2, -1))
      Array([[0, 1, 2],
             [3, 4, 5]], dtype=int32)
    """
    if copy is False:
        raise NotImplementedError("reshape: copy=False is not supported, because arrays share no memory that changes")
    if out_sharding is not None:
        check_sums_are_kept("reshape", as_array(ensure_array("reshape", a)), out_sharding)
        return split_result("reshape", out_sharding, lambda: reshape(a, shape, order, copy=copy))
    a = as_array(ensure_array("reshape", a))
    new = _resolved_shape(a, shape)
    if order == "C":
        return shape_ops.reshape(a, new)
    if order == "F":
        reversed_axes = tuple(reversed(range(len(a.shape))))
        return transpose(shape_ops.reshape(shape_ops.transpose(a, reversed_axes), new[::-1]))
    if order == "A":
        raise NotImplementedError("reshape: order='A' is not supported; use 'C' or 'F'")
    raise ValueError(f"reshape: order must be 'C' or 'F', got {order!r}")


def _resolved_shape(a: Any, shape: Any) -> tuple[int, ...]:
    if isinstance(shape, Tracer) or type(shape) in (list, tuple) and any(isinstance(s, Tracer) and s.concrete_value() is None
                                                                         for s in shape):
        raise TypeError(f"reshape: Shapes must be 1D sequences of concrete values of integer type, got {shape!r}. Mark the "
                        "argument it comes from as static (static_argnums).")
    new = canonical_shape("reshape", shape)
    if -1 not in new:
        if math.prod(new) != a.size:
            raise TypeError(f"cannot reshape array of shape {tuple(a.shape)} (size {a.size}) into shape {new} "
                            f"(size {math.prod(new)})")
        return new
    if new.count(-1) > 1:
        raise ValueError(f"reshape: at most one size may be -1, got {new}")
    rest = math.prod(n for n in new if n != -1)
    if not (is_constant_shape(a.shape) and is_constant_shape(new)):
        return _resolved_symbolic_shape(a, new, rest)
    if rest == 0 or a.size % rest:
        raise TypeError(f"cannot reshape array of shape {tuple(a.shape)} (size {a.size}) into shape {new} because the product "
                        "of specified axis sizes does not evenly divide it" if rest else
                        f"cannot reshape array of shape {tuple(a.shape)} into shape {new}: the size for -1 is not determined")
    return tuple(a.size // rest if n == -1 else n for n in new)


def _resolved_symbolic_shape(a: Any, new: tuple[Any, ...], rest: Any) -> tuple[Any, ...]:
    """The shape with a size for -1, of which `rest` is the product of the others."""
    why = "there is a remainder"
    try:
        if rest != 0 and a.size % rest == 0:
            return tuple(a.size // rest if n == -1 else n for n in new)
    except InconclusiveDimensionOperation as error:
        why = str(error)
    sizes, sought = (f"({', '.join(map(str, shape))})" for shape in (a.shape, new))
    raise InconclusiveDimensionOperation(f"reshape: Cannot divide evenly the sizes of shapes {sizes} and {sought}: {why}")


def ravel(a: ArrayLike, order: str = "C", *, out_sharding: Any = None) -> Array:
    """The elements in one axis; parameters as for `reshape`.

    Raises:
      NotImplementedError: for the order "K".

    Example:
      >>> jnp.ravel(jnp.array([[1, 2], [3, 4]]))
      Array([1, 2, 3, 4], dtype=int32)
    """
    if order == "K":
        raise NotImplementedError("ravel: order='K' is not supported; use 'C' or 'F'")
    if out_sharding is not None:
        return reshape(a, (-1,), order, out_sharding=out_sharding)
    return _ravel(a, order=order)


@fused(static_argnames=("order",))
def _ravel(a: Any, order: str) -> Any:
    return reshape(a, (math.prod(shape_of(ensure_array("ravel", a))),), order)


def squeeze(a: ArrayLike, axis: int | Sequence[int] | None = None) -> Array:
    """Removes axes of size 1.

    Args:
      a: an array or scalar.
      axis: the axis or axes; None is all of size 1.

    Raises:
      ValueError: if an axis is out of range or not of size 1.

    Example:
      >>> jnp.squeeze(jnp.ones((2, 1))).shape
      (2,)
    """
    a = as_array(ensure_array("squeeze", a))
    if axis is None:
        if not is_constant_shape(a.shape):
            raise ValueError(f"jnp.squeeze with axis=None is not supported with shape polymorphism, since a symbolic dimension may stand "
                             f"for 1; got the shape {tuple(a.shape)}. Give axis the axes of size 1.")
        axes = tuple(i for i, n in enumerate(a.shape) if n == 1)
    else:
        axes = axis_tuple("squeeze", axis, len(a.shape))
    for i in axes:
        if a.shape[i] != 1:
            raise ValueError(f"cannot select an axis to squeeze out which has size not equal to one, got shape={tuple(a.shape)} "
                             f"and dimensions={axes}")
    return shape_ops.squeeze(a, axes)


def expand_dims(a: ArrayLike, axis: int | Sequence[int]) -> Array:
    """Adds axes of size 1, at the given places of the result.

    Args:
      a: an array.
      axis: the place or places, negative ones from the end of the result.

    Returns:
      An array of a's dtype.

    Raises:
      ValueError: if a place is out of range or given twice.

    Example:
      >>> jnp.expand_dims(jnp.array([1, 2]), 0)
      Array([[1, 2]], dtype=int32)
    """
    a = as_array(ensure_array("expand_dims", a))
    places: Any = axis
    axes = (places,) if np.ndim(places) == 0 else tuple(places)
    if len(axes) > 1 and len({int(i) % (len(a.shape) + len(axes)) for i in axes}) < len(axes):
        raise ValueError(f"expand_dims: repeated axis in {axes}, for {get_aval(a).str_short()}")
    return shape_ops.expand_dims(a, axes)


def broadcast_to(array: ArrayLike, shape: int | Sequence[int], *, out_sharding: Any = None) -> Array:
    """Repeats an array along new leading axes and axes of size 1, to a shape.

    Args:
      array: an array.
      shape: the shape of the result.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Returns:
      An array of this shape.

    Raises:
      ValueError: if the array does not broadcast to the shape.

    Example:
      >>> jnp.broadcast_to(jnp.array([1, 2]), (2, 2))
      Array([[1, 2],
             [1, 2]], dtype=int32)
    """
    if out_sharding is not None:
        return split_result("broadcast_to", out_sharding, lambda: broadcast_to(array, shape))
    array = as_array(ensure_array("broadcast_to", array))
    shape = canonical_shape("broadcast_to", shape)
    own = tuple(array.shape)
    if own == shape:
        return array
    if len(own) > len(shape):
        raise ValueError(f"Cannot broadcast to shape with fewer dimensions: array of shape {own}, requested shape {shape}")
    if any(n not in (1, m) for n, m in zip(reversed(own), reversed(shape))):
        raise ValueError(f"Incompatible shapes for broadcasting: {own} and requested shape {shape}")
    return shape_ops.broadcast_to_shape(array, shape)


def broadcast_shapes(*shapes: int | Sequence[int]) -> tuple[int, ...]:
    """The shape that arrays of the given shapes broadcast to.

    Raises:
      ValueError: if there is none.

    Example:
      >>> jnp.broadcast_shapes((2, 1), (3,))
      (2, 3)
    """
    return shape_arguments.broadcast_shapes(*[(s,) if isinstance(s, (int, np.integer)) else tuple(s) for s in shapes])


def broadcast_arrays(*args: Any) -> tuple:
    """The arguments, broadcast to one shape.

    Raises:
      ValueError: if there is none.

    Example:
      >>> [x.shape for x in jnp.broadcast_arrays(jnp.ones((2, 1)), jnp.ones(3))]
      [(2, 3), (2, 3)]
    """
    arrays = [as_array(x) for x in ensure_arrays("broadcast_arrays", *args)]
    shapes = [tuple(x.shape) for x in arrays]
    if len(set(shapes)) == 1:
        return tuple(arrays)
    common = shape_arguments.broadcast_shapes(*shapes)
    return tuple([x if s == common else shape_ops.broadcast_to_shape(x, common) for x, s in zip(arrays, shapes)])


def atleast_1d(*arys: Any) -> Any:
    """The arguments with at least one axis: one array, or a tuple of several.

    Example:
      >>> jnp.atleast_1d(3.0)
      Array([3.], dtype=float32, weak_type=True)
    """
    return _at_least("atleast_1d", arys, ((0,),))


def atleast_2d(*arys: Any) -> Any:
    """The arguments with at least two axes, new ones in front: one array, or a tuple of several.

    Example:
      >>> jnp.atleast_2d(jnp.array([1, 2]))
      Array([[1, 2]], dtype=int32)
    """
    return _at_least("atleast_2d", arys, ((0, 1), (0,)))


def atleast_3d(*arys: ArrayLike) -> Array:
    """The arguments with at least three axes: [n] becomes [1, n, 1], [m, n] becomes [m, n, 1].

    Example:
      >>> jnp.atleast_3d(jnp.array([1, 2])).shape
      (1, 2, 1)
    """
    return _at_least("atleast_3d", arys, ((0, 1, 2), (0, 2), (2,)))


def _at_least(name: str, arrays: tuple, new_axes: tuple[tuple[int, ...], ...]) -> Any:
    """The arrays, each with the new axes that its rank asks for."""
    if len(arrays) == 1 and isinstance(arrays[0], (list, tuple)):
        arrays = (asarray(arrays[0]),)
    operands = ensure_arrays(name, *arrays)
    ranks = [len(shape_of(x)) for x in operands]
    results = [_with_axes(x, axes=new_axes[rank]) if rank < len(new_axes) else as_array(x) for x, rank in zip(operands, ranks)]
    return results[0] if len(results) == 1 else tuple(results)


@fused(static_argnames=("axes",))
def _with_axes(x: ArrayLike, axes: tuple[int, ...]) -> Array:
    return shape_ops.expand_dims(as_array(x), axes)


# --- order of axes ---


def transpose(a: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """Reorders the axes: axis i of the result is axis axes[i] of the argument; by default they are reversed.

    Args:
      a: an array.
      axes: a permutation of the axes; None reverses them.

    Returns:
      An array of a's dtype.

    Raises:
      ValueError: if axes is no permutation.

    Example:
      >>> jnp.transpose(jnp.array([[1, 2], [3, 4]]))
      Array([[1, 3],
             [2, 4]], dtype=int32)
    """
    a = as_array(ensure_array("transpose", a))
    rank = len(a.shape)
    permutation = tuple(reversed(range(rank))) if axes is None else axis_tuple("transpose", tuple(axes), rank)
    if len(permutation) != rank:
        raise ValueError(f"transpose: axes must be a permutation of the {rank} axes of {get_aval(a).str_short()}, got {axes}")
    return shape_ops.transpose(a, permutation)


def permute_dims(a: ArrayLike, /, axes: Sequence[int]) -> Array:
    """Reorders the axes; see `transpose`.

    Example:
      >>> jnp.permute_dims(jnp.ones((2, 3, 4)), (2, 0, 1)).shape
      (4, 2, 3)
    """
    return transpose(a, axes)


def matrix_transpose(x: ArrayLike, /) -> Array:
    """Swaps the last two axes.

    Raises:
      ValueError: if there are fewer than two.

    Example:
      >>> jnp.matrix_transpose(jnp.array([[1, 2], [3, 4]]))
      Array([[1, 3],
             [2, 4]], dtype=int32)
    """
    x = as_array(ensure_array("matrix_transpose", x))
    if len(x.shape) < 2:
        raise ValueError(f"x must be at least two-dimensional for matrix_transpose; got ndim={len(x.shape)}")
    return swapaxes(x, -1, -2)


def swapaxes(a: ArrayLike, axis1: int, axis2: int) -> Array:
    """Swaps two axes.

    Args:
      a: an array.
      axis1: the one axis.
      axis2: the other.

    Returns:
      An array of a's dtype.

    Raises:
      ValueError: if an axis is out of range.

    Example:
      >>> jnp.swapaxes(jnp.ones((2, 3, 4)), 0, 2).shape
      (4, 3, 2)
    """
    return _swapaxes(a, axis1=operator.index(axis1), axis2=operator.index(axis2))


@fused(static_argnames=("axis1", "axis2"))
def _swapaxes(a: ArrayLike, axis1: int, axis2: int) -> Array:
    a = as_array(ensure_array("swapaxes", a))
    rank = len(a.shape)
    i, j = one_axis("swapaxes", axis1, rank), one_axis("swapaxes", axis2, rank)
    order = list(range(rank))
    order[i], order[j] = j, i
    return shape_ops.transpose(a, tuple(order))


def moveaxis(a: ArrayLike, source: int | Sequence[int], destination: int | Sequence[int]) -> Array:
    """Moves axes to other places; the rest stay in order.

    Args:
      a: an array.
      source: the axis or axes.
      destination: where each of them is in the result.

    Returns:
      An array of a's dtype.

    Raises:
      ValueError: if the numbers of sources and destinations differ, or an axis is out of range or given twice.

    Example:
      >>> jnp.moveaxis(jnp.ones((2, 3, 4)), 0, -1).shape
      (3, 4, 2)
    """
    source, destination = (axes.tolist() if isinstance(axes, np.ndarray) else axes for axes in (source, destination))
    return _moveaxis(a, source=source, destination=destination)


@fused(static_argnames=("source", "destination"))
def _moveaxis(a: Any, source: Any, destination: Any) -> Any:
    a = as_array(ensure_array("moveaxis", a))
    rank = len(a.shape)
    sources = axis_tuple("moveaxis", source, rank)
    destinations = axis_tuple("moveaxis", destination, rank)
    if len(sources) != len(destinations):
        raise ValueError(f"moveaxis: there must be as many destinations as sources, got {sources} and {destinations}")
    order = [i for i in range(rank) if i not in sources]
    for place, axis in sorted(zip(destinations, sources)):
        order.insert(place, axis)
    return shape_ops.transpose(a, tuple(order))


@fused(static_argnames=("axis", "start"))
def rollaxis(a: ArrayLike, axis: int, start: int = 0) -> Array:
    """Moves an axis to before another one; `moveaxis` says it more clearly.

    Args:
      a: an array.
      axis: the axis.
      start: the axis before which it is put.

    Returns:
      An array of a's dtype.

    Raises:
      ValueError: if axis or start is out of range.

    Example:
      >>> jnp.rollaxis(jnp.ones((2, 3, 4)), 2).shape
      (4, 2, 3)
    """
    a = as_array(ensure_array("rollaxis", a))
    rank = len(a.shape)
    axis = one_axis("rollaxis", axis, rank)
    if not -rank <= start <= rank:
        raise ValueError(f"rollaxis: start={start} must be between {-rank} and {rank}")
    start = start + rank if start < 0 else start
    return moveaxis(a, axis, start - 1 if axis < start else start)


def flip(m: ArrayLike, axis: int | Sequence[int] | None = None) -> Array:
    """Reverses the order of the elements along axes; None is all.

    Args:
      m: an array.
      axis: the axis or axes; None is all.

    Returns:
      An array like m.

    Raises:
      ValueError: if an axis is out of range or given twice.

    Example:
      >>> jnp.flip(jnp.array([[1, 2], [3, 4]]), 1)
      Array([[2, 1],
             [4, 3]], dtype=int32)
    """
    m = as_array(ensure_array("flip", m))
    return shape_ops.rev(m, axis_tuple("flip", axis, len(m.shape)))


def fliplr(m: ArrayLike) -> Array:
    """Reverses the second axis.

    Example:
      >>> jnp.fliplr(jnp.array([[1, 2], [3, 4]]))
      Array([[2, 1],
             [4, 3]], dtype=int32)
    """
    return flip(m, 1)


def flipud(m: ArrayLike) -> Array:
    """Reverses the first axis.

    Example:
      >>> jnp.flipud(jnp.array([[1, 2], [3, 4]]))
      Array([[3, 4],
             [1, 2]], dtype=int32)
    """
    return flip(m, 0)


@fused(static_argnames=("k", "axes"))
def rot90(m: ArrayLike, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Array:
    """Rotates by k quarter turns in the plane of two axes, from the first towards the second.

    Args:
      m: an array of at least two axes.
      k: how often, an integer; negative ones rotate the other way.
      axes: the two axes of the plane.

    Returns:
      An array of m's dtype.

    Raises:
      ValueError: if m has fewer than two axes, or axes are out of range or equal.

    Example:
      >>> jnp.rot90(jnp.array([[1, 2], [3, 4]]))
      Array([[2, 4],
             [1, 3]], dtype=int32)
    """
    m = as_array(ensure_array("rot90", m))
    if len(m.shape) < 2:
        raise ValueError(f"rot90 requires its first argument to have ndim at least two, but got first argument of shape {m.shape}")
    first, second = axis_tuple("rot90", tuple(axes), len(m.shape))
    k = operator.index(k) % 4
    if k == 2:
        return flip(m, (first, second))
    if k == 1:
        return swapaxes(flip(m, second), first, second)
    return flip(swapaxes(m, first, second), second) if k == 3 else m


# --- as methods of arrays, whose parameters are more ways to say the same ---


def reshape_method(self: Any, *args: Any, order: str = "C", copy: bool | None = None, out_sharding: Any = None) -> Any:
    """The same elements in another shape, given as one tuple or as separate sizes, none for a scalar; see `laminax.numpy.reshape`."""
    shape = args[0] if len(args) == 1 else args
    return reshape(self, shape, order, copy=copy, out_sharding=out_sharding)


def transpose_method(self: Any, *axes: Any) -> Any:
    """The axes reordered, given as one tuple or separately; see `laminax.numpy.transpose`."""
    if not axes or axes == (None,):
        return transpose(self)
    return transpose(self, axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes)


def flatten(self: Any, order: str = "C", *, out_sharding: Any = None) -> Any:
    """The elements in one axis; see `laminax.numpy.ravel`."""
    return ravel(self, order, out_sharding=out_sharding)
