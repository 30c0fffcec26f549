"""Arrays from shapes: zeros, ones, identities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import laminax_runtime as runtime
from laminax_ir.ops import elementwise as op
from laminax_ir.ops import shape as shape_ops
from laminax_ir.ops.shape_arguments import canonical_shape
from laminax_ir.tracing.trace import is_tracing
from laminax_ir.types import dtypes
from laminax_ir.types.partition_specs import PartitionSpec
from laminax_ir.types.shape_dtype_structs import ShapeDtypeStruct

from laminax._src.numerics.floor import fused, split_result
from laminax._src.numerics.numpy.arguments import as_array, convert, ensure_array, is_kind, user_dtype
from laminax._src.numerics.numpy.conversion import placed, with_dtype

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike, DTypeLike


def full(shape: Any, fill_value: ArrayLike, dtype: DTypeLike | None = None, *, device: Any = None, out_sharding: Any = None) -> Array:
    """An array filled with a value.

    Args:
      shape: a sequence of sizes, or one size.
      fill_value: a scalar, or an array that broadcasts to the shape.
      dtype: the dtype; by default that of the value.
      device: the device or sharding that holds the result.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Returns:
      The array; weakly typed if the value is a Python scalar and no dtype is given.

    Example:
      >>> jnp.full((2, 2), 7)
      Array([[7, 7],
             [7, 7]], dtype=int32, weak_type=True)
    """
    if out_sharding is not None:
        return split_result("full", out_sharding, lambda: full(shape, fill_value, dtype, device=device))
    dtype = user_dtype("full", dtype)
    fill_value = ensure_array("full", fill_value)
    if type(fill_value) in dtypes.python_scalar_types or np.ndim(fill_value) == 0:
        return placed(shape_ops.full(canonical_shape("full", shape), fill_value, dtype), device)
    result = shape_ops.broadcast_to_shape(as_array(fill_value), canonical_shape("full", shape))
    return placed(with_dtype(result, dtype), device)


def zeros(shape: Any, dtype: DTypeLike | None = None, *, device: Any = None, out_sharding: Any = None) -> Array:
    """An array of zeros, by default of the default float; parameters as for `full`.

    Example:
      >>> jnp.zeros((2, 2))
      Array([[0., 0.],
             [0., 0.]], dtype=float32)
    """
    _check_is_one_shape("zeros", shape, dtype)
    return full(shape, 0, float if dtype is None else dtype, device=device, out_sharding=out_sharding)


def ones(shape: Any, dtype: DTypeLike | None = None, *, device: Any = None, out_sharding: Any = None) -> Array:
    """An array of ones, by default of the default float; parameters as for `full`.

    Example:
      >>> jnp.ones((2, 2))
      Array([[1., 1.],
             [1., 1.]], dtype=float32)
    """
    _check_is_one_shape("ones", shape, dtype)
    return full(shape, 1, float if dtype is None else dtype, device=device, out_sharding=out_sharding)


def empty(shape: Any, dtype: DTypeLike | None = None, *, device: Any = None, out_sharding: Any = None) -> Array:
    """The same as `zeros`: there are no arrays without values here.

    Example:
      >>> jnp.empty((2, 3)).shape
      (2, 3)
    """
    _check_is_one_shape("empty", shape, dtype)
    return zeros(shape, dtype, device=device, out_sharding=out_sharding)


def _check_is_one_shape(name: str, shape: Any, dtype: Any) -> None:
    """Raises for a second size in the place of the dtype: `ones(2, 3)`."""
    if type(dtype) is int and isinstance(shape, int):
        raise TypeError(f"{name}: Cannot interpret '{dtype}' as a data type.\n\n"
                        f"Did you accidentally write `jax.numpy.{name}({shape}, {dtype})` when you meant `jax.numpy."
                        f"{name}(({shape}, {dtype}))`, with one tuple for the shape?")


def full_like(a: ArrayLike, fill_value: ArrayLike, dtype: DTypeLike | None = None, shape: Any = None, *, device: Any = None,
              out_sharding: Any = None) -> Array:
    """An array filled with a value, of the shape and dtype of another.

    Args:
      a: an array, a scalar, or anything with `shape` and `dtype`.
      fill_value: a scalar, or an array that broadcasts to the shape.
      dtype: the dtype, by default a's.
      shape: the shape, by default a's.
      device: the device or sharding that holds the result; by default that of a, if it is committed and of this shape, or a
        `ShapeDtypeStruct` that has one. One of a struct that names no devices is over the mesh that is set, whose axes must be explicit.
      out_sharding: how the result is to be split, over explicit mesh axes.

    Example:
      >>> jnp.full_like(jnp.array([1.0, 2.0]), 3)
      Array([3., 3.], dtype=float32)
    """
    if out_sharding is not None:
        return split_result("full_like", out_sharding, lambda: full_like(a, fill_value, dtype, shape, device=device))
    if not (hasattr(a, "shape") and hasattr(a, "dtype")):
        a = ensure_array("full_like", a)
    dtype = user_dtype("full_like", dtype)
    if device is None and shape is None and isinstance(a, ShapeDtypeStruct) and _is_without_devices(a._sharding):
        plain = ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type, manual_axis_type=a.manual_axis_type)
        return split_result("full_like", a._sharding, lambda: full_like(plain, fill_value, dtype))
    if device is None and shape is None and isinstance(a, (runtime.ArrayImpl, ShapeDtypeStruct)) and not (a.weak_type or is_tracing()):
        device = a.sharding if getattr(a, "committed", True) else None
    if type(fill_value) in dtypes.python_scalar_types or np.ndim(fill_value) == 0:
        return placed(shape_ops.full_like(a, fill_value, dtype, shape), device)
    shape = np.shape(a) if shape is None else canonical_shape("full_like", shape)
    return full(shape, fill_value, dtypes.dtype(a) if dtype is None else dtype, device=device)


def _is_without_devices(sharding: Any) -> bool:
    """Whether the mesh that is set says which devices a sharding is over."""
    return isinstance(sharding, PartitionSpec) or sharding is not None and not sharding._is_concrete


def zeros_like(a: ArrayLike, dtype: DTypeLike | None = None, shape: Any = None, *, device: Any = None, out_sharding: Any = None) -> Array:
    """Zeros of the shape and dtype of another array; parameters as for `full_like`.

    Example:
      >>> jnp.zeros_like(jnp.array([1, 2]))
      Array([0, 0], dtype=int32)
    """
    if out_sharding is not None:
        return split_result("zeros_like", out_sharding, lambda: zeros_like(a, dtype, shape, device=device))
    return full_like(a, 0, dtype, shape, device=device)


def ones_like(a: ArrayLike, dtype: DTypeLike | None = None, shape: Any = None, *, device: Any = None, out_sharding: Any = None) -> Array:
    """Ones of the shape and dtype of another array; parameters as for `full_like`.

    Example:
      >>> jnp.ones_like(jnp.array([1, 2]))
      Array([1, 1], dtype=int32)
    """
    if out_sharding is not None:
        return split_result("ones_like", out_sharding, lambda: ones_like(a, dtype, shape, device=device))
    return full_like(a, 1, dtype, shape, device=device)


def empty_like(prototype: ArrayLike, dtype: DTypeLike | None = None, shape: Any = None, *, device: Any = None) -> Array:
    """The same as `zeros_like`: there are no arrays without values here.

    Example:
      >>> jnp.empty_like(jnp.ones((2, 3))).shape
      (2, 3)
    """
    return full_like(prototype, 0, dtype, shape, device=device)


def eye(N: int, M: int | None = None, k: Any = 0, dtype: DTypeLike | None = None, *, device: Any = None) -> Array:
    """A matrix with ones on one diagonal and zeros elsewhere.

    Args:
      N: the number of rows.
      M: the number of columns, by default N.
      k: which diagonal: 0 is the main one, positive ones are above it. It may be traced.
      dtype: the dtype, by default the default float.
      device: the device or sharding that holds the result.

    Returns:
      An array of shape [N, M].

    Raises:
      ValueError: if a size is negative.

    Example:
      >>> jnp.eye(2)
      Array([[1., 0.],
             [0., 1.]], dtype=float32)
    """
    dtype = user_dtype("eye", float if dtype is None else dtype)
    rows = canonical_shape("eye", (N,))[0]
    columns = rows if M is None else canonical_shape("eye", (M,))[0]
    if rows < 0 or columns < 0:
        raise ValueError(f"eye: negative sizes are not allowed, got {rows} and {columns}")
    if type(k) is int:  # all diagonals beyond the corners are the same
        k = min(max(k, -rows), columns)
    return placed(_eye(rows, columns, k, dtype=dtype), device)


@fused(static_argnames=("rows", "columns", "dtype"))
def _eye(rows: Any, columns: Any, k: ArrayLike, dtype: np.dtype) -> Any:
    if not is_kind(k, dtypes.integer):
        raise TypeError(f"eye: k must be an integer, got {k!r}")
    shape = (rows, columns)
    row = shape_ops.broadcasted_iota(np.int32, shape, 0)
    if type(k) is not int or k:
        row = op.add(row, k if type(k) is int else convert(k, np.dtype(np.int32)))
    return convert(op.eq(row, shape_ops.broadcasted_iota(np.int32, shape, 1)), dtype)


def identity(n: int, dtype: DTypeLike | None = None) -> Array:
    """The identity matrix of shape [n, n].

    Args:
      n: the number of rows and of columns.
      dtype: the dtype, by default the default float.

    Raises:
      ValueError: if n is negative.

    Example:
      >>> jnp.identity(2)
      Array([[1., 0.],
             [0., 1.]], dtype=float32)
    """
    return eye(n, dtype=dtype)
