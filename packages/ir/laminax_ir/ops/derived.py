"""Functions of lax that are compositions of operations, on arrays or on pytrees of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.shape import broadcast_in_dim, full
from laminax_ir.pytrees.pytree import tree_flatten, tree_unflatten
from laminax_ir.refs.refs import Ref, values_in, write
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_ir.types.dtypes import result_type
from laminax_ir.types.shape_dtype_structs import ShapeDtypeStruct

if TYPE_CHECKING:
    import numpy as np

    from laminax_ir.types.annotations import Array, ArrayLike, DTypeLike


def optimization_barrier(operand: Any, /) -> Any:
    """The same values, across which the compiler moves nothing.

    Args:
      operand: pytree of arrays and references.

    Returns:
      The same pytree, shapes and dtypes; everything it holds is computed before anything that uses the result. For a reference that is the
      array in it, and what reads it afterwards.

    Example:
      >>> optimization_barrier((np.float32(1), np.float32(2)))
      (array(1., dtype=float32), array(2., dtype=float32))
    """
    leaves, treedef = tree_flatten(operand)
    results = op.optimization_barrier_flat(*values_in(leaves)) if leaves else []
    for i, x in enumerate(leaves):
        if isinstance(x, Ref):
            write("ref_set", x, (), results[i])
            results[i] = x
    return tree_unflatten(treedef, results)


def reciprocal(x: ArrayLike) -> Array:
    """Elementwise reciprocal, 1 / x.

    Args:
      x: floating or complex, of any shape.

    Returns:
      An array of x's shape and dtype.

    Raises:
      TypeError: if x is of integers or bools.

    Example:
      >>> reciprocal(np.float32([2, 4]))
      array([0.5 , 0.25], dtype=float32)
    """
    return op.integer_pow(x, -1)


def empty(shape: Sequence[int], dtype: DTypeLike, *, out_sharding: Any = None) -> Array:
    """An array whose values the caller promises not to rely on; they are zeros.

    Args:
      shape: the result's shape; an integer stands for one axis.
      dtype: the result's dtype.
      out_sharding: must be None.

    Returns:
      An array of that shape and dtype.

    Example:
      >>> empty((2,), np.float32).shape
      (2,)
    """
    return full(shape, 0, dtype, sharding=out_sharding)


def broadcast_like(arr: ArrayLike, like_arr: ArrayLike) -> Array:
    """An array broadcast to the shape of another one, by NumPy's rule.

    Args:
      arr: an array or scalar, of any dtype.
      like_arr: an array, a scalar or a `ShapeDtypeStruct`: the shape, and how it is split over explicit mesh axes, matter.

    Returns:
      An array of like_arr's shape and arr's dtype.

    Raises:
      ValueError: if arr has more axes than like_arr, or is split over explicit mesh axes otherwise.
      TypeError: if a size of arr is neither like_arr's nor 1.

    Example:
      >>> broadcast_like(np.array([1, 2]), np.zeros((2, 2)))
      array([[1, 2],
             [1, 2]], dtype=int32)
    """
    aval = get_aval(arr)
    like = ShapedArray(like_arr.shape, like_arr.dtype, sharding=like_arr.sharding) if isinstance(like_arr, ShapeDtypeStruct) \
        else get_aval(like_arr)
    if aval.ndim > like.ndim:
        raise ValueError(f"broadcast_like: arr has more axes than like_arr and cannot be broadcast to its shape, got "
                         f"{aval.str_short()} and {like.str_short()}")
    if aval.shape == like.shape:
        return arr
    split = None if like._split is None else like._split.along_explicit_axes()
    if split is not None and aval._split is not None:
        offset = like.ndim - aval.ndim
        if any(entry not in (None, split.spec.partitions[offset + axis]) for axis, entry in enumerate(aval._split.spec.partitions)):
            raise ValueError(f"broadcast_like: Incompatible types for broadcasting: {aval.str_short()} is split otherwise than "
                             f"{like.str_short()}. Use reshard on one of them.")
    return broadcast_in_dim(arr, like.shape, range(like.ndim - aval.ndim, like.ndim), out_sharding=split)


def dtype(x: Any) -> np.dtype:
    """The dtype that a value has, or would have, as an array.

    Args:
      x: an array, a scalar, a dtype, or a Python or NumPy scalar type.

    Returns:
      A dtype, of 64 bits only if x64 is enabled.

    Raises:
      TypeError: if x is none of these.

    Example:
      >>> dtype(np.float32(1))
      dtype('float32')
    """
    return result_type(x)
