"""The checks of samplers: shapes, dtypes and parameters."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from laminax_ir.ops.conversion import convert_element_type_p
from laminax_ir.ops.shape import broadcast_in_dim
from laminax_ir.ops.shape_arguments import broadcast_shapes, canonical_shape
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval


def checked_shape(name: str, shape: int | Sequence[int]) -> tuple[int, ...]:
    """The argument `shape` as a tuple of ints; an int is the size of the only axis.

    Raises:
      TypeError: if it is neither an int nor a sequence of concrete integers.
      ValueError: if a size is negative.
    """
    if isinstance(shape, (int, np.integer)):
        shape = (shape,)
    shape = canonical_shape(f"random.{name}", shape)
    if any(size < 0 for size in shape):
        raise ValueError(f"random.{name}: the shape {shape} has a negative size")
    return shape


def shape_of_parameters(name: str, shape: Sequence[int] | None, *parameters: Any) -> tuple[int, ...]:
    """The shape of the samples: that of the parameters broadcast against each other, or the one asked for.

    Raises:
      ValueError: if the parameters do not broadcast to the shape asked for.
    """
    shapes = [get_aval(p).shape for p in parameters]
    if shape is None:
        return broadcast_shapes(*shapes)
    shape = checked_shape(name, shape)
    if any(shapes) and (common := broadcast_shapes(shape, *shapes)) != shape:
        raise ValueError(f"{name} parameter shapes must be broadcast-compatible with shape argument, and the result of "
                         f"broadcasting the shapes must equal the shape argument, but got result {common} for shape "
                         f"argument {shape}.")
    return shape


def checked_dtype(name: str, dtype: Any, kind: Any = None, default: Any = float) -> np.dtype:
    """The argument `dtype` in canonical form.

    Raises:
      ValueError: if it is not of the wanted kind (floating, by default).
      NotImplementedError: for 64 bits without `enable_x64`.
    """
    dtype = dtypes.check_user_dtype_supported(default if dtype is None else dtype, name)
    if dtypes.is_kept_wide(dtype) and name != "bits":
        raise NotImplementedError(f"{name}: numbers of 64 bits, {dtypes.dtype_name(dtype)}, are drawn where enable_x64 holds; "
                                  "explicit_x64_dtypes='allow' does not suffice. Draw 32 bits and convert, or enable x64.")
    kind = dtypes.floating if kind is None else kind
    if not dtypes.issubdtype(dtype, kind):
        wanted = {dtypes.floating: "a float", dtypes.inexact: "a float or complex", dtypes.integer: "an integer",
                  dtypes.unsignedinteger: "an unsigned int"}[kind]
        raise ValueError(f"dtype argument to `{name}` must be {wanted} dtype, got {dtypes.dtype_name(dtype)}")
    return dtype


def checked_method(name: str, method: str) -> str:
    """The argument `method`: "exact" or "approximate".

    Raises:
      ValueError: if it is neither.
    """
    if method not in ("exact", "approximate"):
        raise ValueError(f"method argument to `{name}` must be one of {{'exact', 'approximate'}}, got {method!r}")
    return method


def converted(x: Any, dtype: np.dtype) -> Any:
    """The parameter in the samples' dtype; a Python or NumPy scalar stays a constant."""
    aval = get_aval(x)
    if isinstance(x, (bool, int, float, np.generic, np.ndarray)):
        return np.asarray(x, aval.dtype).astype(dtype)[()]
    if aval.dtype == dtype:
        return x
    return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=False)


def to_rank(x: Any, rank: int) -> Any:
    """The array with axes of size 1 in front, so that it has `rank` axes; scalars broadcast as they are."""
    shape = get_aval(x).shape
    missing = rank - len(shape)
    if not shape or missing <= 0:
        return x
    return broadcast_in_dim(x, (1,) * missing + shape, tuple(range(missing, rank)))


def to_shape(x: Any, shape: tuple[int, ...]) -> Any:
    """The array broadcast to the shape as NumPy does."""
    rank = len(get_aval(x).shape)
    return broadcast_in_dim(x, shape, tuple(range(len(shape) - rank, len(shape))))
