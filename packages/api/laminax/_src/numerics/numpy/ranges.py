"""Arrays from ranges and from functions of their indices."""

from __future__ import annotations

import builtins
import math
import operator
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from laminax_ir.ops import elementwise as op
from laminax_ir.ops import shape as shape_ops
from laminax_ir.ops.scalar_operands import scalar_like
from laminax_ir.ops.shape_arguments import canonical_shape
from laminax_ir.ops.slicing import slice_in_dim
from laminax_ir.symbolic.symbolic_dims import SymbolicDim, is_dimension, max_dim, size_of
from laminax_ir.tracing.trace import Tracer, is_tracing
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval
from laminax_ir.types.errors import ConcretizationTypeError, InconclusiveDimensionOperation

from laminax._src.numerics.floor import fused, split_result
from laminax._src.numerics.numpy import reshaping
from laminax._src.numerics.numpy.arguments import (
    as_array,
    convert,
    dtype_of,
    ensure_arrays,
    one_axis,
    promote_inexact,
    size_scalar,
    user_dtype,
)
from laminax._src.numerics.numpy.arithmetic import power
from laminax._src.numerics.numpy.conversion import placed
from laminax._src.numerics.numpy.reshaping import broadcast_arrays, moveaxis

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike, DTypeLike


def arange(start: Any, stop: Any = None, step: Any = None, dtype: DTypeLike | None = None, *, device: Any = None,
           out_sharding: Any = None) -> Array:
    """Numbers from start (included) to stop (not included), step apart.

    Args:
      start: the first number; if stop is None, the end, and 0 is the first.
      stop: the end.
      step: the distance, by default 1.
      dtype: the dtype, by default the one that the arguments promote to.
      device: the device or sharding that holds the result.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Returns:
      An array of shape [ceil((stop - start) / step)].

    Raises:
      TypeError: if an argument is traced: the shape depends on it.
      ValueError: if an argument is not a scalar, or complex.
      ZeroDivisionError: if step is zero.

    Example:
      >>> jnp.arange(2, 8, 2)
      Array([2, 4, 6], dtype=int32)
    """
    if out_sharding is not None:
        return split_result("arange", out_sharding, lambda: arange(start, stop, step, dtype, device=device))
    dtype = user_dtype("arange", dtype)
    if start is None:
        raise TypeError("arange: start must be given")
    given = [x for x in (start, stop, step) if x is not None]
    if SymbolicDim in map(type, given):
        first, end = (0, start) if stop is None else (start, stop)
        return _symbolic_arange(first, end, 1 if step is None else step, dtype)
    ensure_arrays("arange", *given)
    if dtype is None:
        dtype = dtypes.result_type(*given)
    if dtypes.issubdtype(dtype, np.bool_):
        raise TypeError("arange: bool is not supported; use an integer dtype and convert")
    start = _host_scalar("stop" if len(given) == 1 else "start", start)
    stop, step = _host_scalar("stop", stop), _host_scalar("step", step)
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise ZeroDivisionError("arange: division by zero: step must not be zero")
    size = builtins.max(0, math.ceil(stop - start if step is None else (stop - start) / step))
    return placed(_progression(start, 1 if step is None else step, size, dtype), device)


def _symbolic_arange(start: Any, stop: Any, step: Any, dtype: Any) -> Any:
    """`arange` of sizes some of which are symbolic."""
    for x in (start, stop, step):
        if not is_dimension(x):
            raise ValueError("arange: beside symbolic dimensions start, stop and step must be either dimension expressions or integers, "
                             f"got {x!r}")
    if step == 0:
        raise ValueError(f"arange: a range from '{start}' to '{stop}' has step == 0")
    try:
        is_positive = step > 0
    except InconclusiveDimensionOperation as e:
        raise InconclusiveDimensionOperation(f"arange: the step ({step}) must be resolved statically if it is > 0 or < 0.\n{e}") from None
    count = (stop - start + step - 1) // step if is_positive else (start - stop - step - 1) // -step
    dtype = dtypes.scalar_dtype(int) if dtype is None else dtype
    result = shape_ops.iota(dtype, max_dim(count, 0))
    result = result if type(step) is int and step == 1 else op.mul(scalar_like(step, dtype), result)
    return result if type(start) is int and start == 0 else op.add(scalar_like(start, dtype), result)


def _host_scalar(name: str, x: Any) -> Any:
    """An argument of arange, which decides a shape, as a Python scalar; None as it is."""
    if x is not None and type(x) not in dtypes.python_scalar_types:
        if isinstance(x, Tracer):
            if (known := x.demanded_value()) is None:
                raise ConcretizationTypeError(
                    f"arange: a size depends on the value of {x.aval.str_short()}, which is not known while the function is traced. "
                    f"It arose in the jnp.arange argument '{name}'. Use a static argument, or lax.iota of a fixed size with a mask.")
            x = known
        if np.shape(x) != ():
            raise ValueError(f"arange: arguments must be scalars, got {name} of shape {np.shape(x)}")
        x = np.asarray(x).item()
    if isinstance(x, complex):
        raise ValueError(f"Passing complex start/stop/step to jnp.arange is no longer supported, got {x}: complex numbers have no order. "
                         f"Give real ones, and dtype=complex for a complex result.")
    return x


def _progression(start: Any, step: Any, size: int, dtype: np.dtype) -> Any:
    """start + step * i; staged as such in traced code, rather than as a constant as long as the result.

    The terms are rounded to the dtype before they are added up, small floats to f32, as if by the same operations on arrays.
    """
    if start == 0 and step == 1:
        return shape_ops.iota(dtype, size)
    working = np.dtype(np.float32) if dtypes.issubdtype(dtype, np.floating) and dtypes.finfo(dtype).bits < 32 else dtype
    first, difference = (np.asarray(x).astype(working)[()] for x in (start, step))
    if is_tracing():
        result = shape_ops.iota(working, size)
        result = result if step == 1 else op.mul(difference, result)
        return convert(result if start == 0 else op.add(first, result), dtype)
    with np.errstate(over="ignore"):  # small integers wrap around
        return as_array((first + difference * np.arange(size).astype(working)).astype(dtype))


def linspace(start: ArrayLike, stop: ArrayLike, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: DTypeLike | None = None,
             axis: int = 0, *, device: Any = None) -> Array | tuple[Array, Array]:
    """Evenly spaced numbers.

    Args:
      start: the first number, or an array of them.
      stop: the last number, or an array of them.
      num: how many, along the new axis.
      endpoint: whether stop itself is the last number; otherwise it would be the next one.
      retstep: whether the distance is returned too.
      dtype: the dtype, by default the float that the arguments promote to.
      axis: where the new axis is in the result.
      device: the device or sharding that holds the result.

    Returns:
      An array with the axis of size num beside the broadcast shape of start and stop; with retstep a pair of it and the
      distance.

    Raises:
      ValueError: if num is negative.

    Example:
      >>> jnp.linspace(0, 1, 5)
      Array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    """
    num = size_of(num)
    if num < 0:
        raise ValueError(f"linspace: the number of samples must not be negative, got num={num}")
    found = _linspace(start, stop, num=num, endpoint=bool(endpoint), dtype=user_dtype("linspace", dtype), axis=axis,
                      with_step=bool(retstep))
    return (placed(found[0], device), found[1]) if retstep else placed(found, device)


@fused(static_argnames=("num", "endpoint", "dtype", "axis", "with_step"))
def _linspace(start: ArrayLike, stop: ArrayLike, num: int, endpoint: bool, dtype: np.dtype | None, axis: int, with_step: bool) -> Any:
    start, stop = promote_inexact("linspace", start, stop)
    computed = dtype_of(start)
    start, stop = broadcast_arrays(convert(start, computed), convert(stop, computed))
    intervals = num - 1 if endpoint else num
    difference = op.sub(stop, start)
    if type(num) is SymbolicDim:
        step = op.div(difference, size_scalar(intervals, computed))  # without intervals, no number
    else:
        step = op.div(difference, scalar_like(intervals, computed)) if intervals > 0 else shape_ops.full((), math.nan, computed)
    count = max_dim(intervals, 1) if endpoint else num
    is_last_apart = endpoint and type(num) is int and num > 1
    shape = (num - 1 if is_last_apart else num, *start.shape)
    real = dtypes.to_floating_dtype(computed)
    parts = shape_ops.broadcasted_iota(real, (shape[0], *[1] * len(start.shape)), 0)
    parts = convert(op.div(parts, size_scalar(count, real)), computed)
    first = shape_ops.expand_dims(start, (0,))
    last = shape_ops.expand_dims(stop, (0,))
    # The weighted mean rather than start + i * step: exact at start, and it cannot overflow where they do not.
    one = scalar_like(1.0, computed)
    result = op.add(op.mul(first, op.sub(one, parts)), op.mul(last, parts)) if num else shape_ops.full(shape, 0, computed)
    if is_last_apart:
        result = shape_ops.concatenate([result, last], 0)
    elif endpoint and type(num) is SymbolicDim:
        place = shape_ops.broadcasted_iota(np.int32, shape, 0)
        end, start_place = (shape_ops.full_like(place, n) for n in (size_scalar(num - 1), 0))
        is_last = op.bitwise_and(op.eq(place, end), op.gt(place, start_place))
        result = op.select(is_last, shape_ops.broadcast_to_shape(last, shape), result)
    if dtype is not None and dtypes.issubdtype(dtype, dtypes.integer):
        result = op.floor(result)
    result = convert(result, computed if dtype is None else dtype)
    result = moveaxis(result, 0, axis) if axis else result
    return (result, step) if with_step else result


def logspace(start: ArrayLike, stop: ArrayLike, num: int = 50, endpoint: bool = True, base: ArrayLike = 10.0,
             dtype: DTypeLike | None = None, axis: int = 0) -> Array:
    """Numbers evenly spaced on a logarithmic scale, from base**start to base**stop.

    Args:
      start, stop: exponents of the first and of the last number, scalars or arrays.
      num, endpoint, axis: as for `linspace`.
      base: the base.
      dtype: the dtype, by default the float that the arguments promote to.

    Example:
      >>> jnp.logspace(0, 2, 3)
      Array([  1.,  10., 100.], dtype=float32)
    """
    exponents = linspace(start, stop, num, endpoint, axis=axis)
    result = power(base, exponents)
    dtype = user_dtype("logspace", dtype)
    return result if dtype is None else convert(result, dtype)


def geomspace(start: ArrayLike, stop: ArrayLike, num: int = 50, endpoint: bool = True, dtype: DTypeLike | None = None,
              axis: int = 0) -> Array:
    """Numbers evenly spaced on a logarithmic scale, from start to stop: a geometric progression.

    Args:
      start, stop: the first and the last number, not zero and of one sign, scalars or arrays.
      num, endpoint, axis: as for `linspace`.
      dtype: the dtype, by default the float that the arguments promote to.

    Example:
      >>> jnp.geomspace(1, 100, 3)
      Array([  1.,  10., 100.], dtype=float32)
    """
    result = _geomspace(start, stop, num=operator.index(num), endpoint=bool(endpoint), axis=axis)
    dtype = user_dtype("geomspace", dtype)
    return result if dtype is None else convert(result, dtype)


@fused(static_argnames=("num", "endpoint", "axis"))
def _geomspace(start: ArrayLike, stop: ArrayLike, num: int, endpoint: bool, axis: int) -> Array:
    start, stop = promote_inexact("geomspace", start, stop)
    dtype = dtype_of(start)
    start, stop = reshaping.broadcast_arrays(convert(start, dtype), convert(stop, dtype))
    # Both divided by start's sign, so that the logarithms exist; the sign comes back at the end.
    sign = op.sign(start)
    first, last = op.div(start, sign), op.div(stop, sign)
    axis = one_axis("geomspace", axis, len(start.shape) + 1)
    exponents = linspace(op.log(first), op.log(last), num, endpoint, axis=axis)
    result = op.mul(op.exp(exponents), shape_ops.expand_dims(sign, (axis,)))
    if num > 0:
        edge = shape_ops.expand_dims(start, (axis,))
        pieces = [edge, slice_in_dim(result, 1, num - 1 if endpoint and num > 1 else num, 1, axis)]
        if endpoint and num > 1:
            pieces.append(shape_ops.expand_dims(stop, (axis,)))
        result = shape_ops.concatenate(pieces, axis)
    return result


def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple:
    """Coordinate arrays from coordinate vectors.

    Args:
      *xi: arrays of rank 1 (or scalars), the coordinates along each axis.
      copy: must be True.
      sparse: whether the arrays keep size 1 along the other axes instead of being repeated.
      indexing: "xy", where the first two axes are swapped as for plots, or "ij".

    Returns:
      One array for each argument.

    Raises:
      ValueError: if copy is False, for another indexing, or if an argument has more than one axis.

    Example:
      >>> jnp.meshgrid(jnp.array([1, 2]), jnp.array([3, 4]))
      (Array([[1, 2],
             [1, 2]], dtype=int32), Array([[3, 3],
             [4, 4]], dtype=int32))
    """
    if not copy:
        raise ValueError("meshgrid: copy=False is not supported, because arrays share no memory that changes")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing must be 'xy' or 'ij', got {indexing!r}")
    vectors = [as_array(x) for x in ensure_arrays("meshgrid", *xi)]
    for i, x in enumerate(vectors):
        if len(x.shape) > 1:
            raise ValueError(f"meshgrid: arguments must have at most one axis, got {get_aval(x).str_short()} at position {i}")
    vectors = [x if x.shape else shape_ops.reshape(x, (1,)) for x in vectors]
    axes = list(range(len(vectors)))
    if indexing == "xy" and len(axes) >= 2:
        axes[0], axes[1] = 1, 0
    sizes = [0] * len(axes)
    for x, axis in zip(vectors, axes):
        sizes[axis] = x.shape[0]
    results = []
    for x, axis in zip(vectors, axes):
        shape = [size if i == axis or not sparse else 1 for i, size in enumerate(sizes)]
        results.append(shape_ops.broadcast_in_dim(x, tuple(shape), (axis,)))
    return tuple(results)


def indices(dimensions: Sequence[int], dtype: DTypeLike | None = None, sparse: bool = False) -> Array:
    """The index of each element along each axis.

    Args:
      dimensions: the shape.
      dtype: an integer dtype, by default the default one.
      sparse: whether to return a tuple of arrays that broadcast to the shape, instead of one array.

    Returns:
      An array of shape [len(dimensions), *dimensions], or with sparse a tuple.

    Example:
      >>> jnp.indices((2, 2))[0]
      Array([[0, 0],
             [1, 1]], dtype=int32)
    """
    shape = canonical_shape("indices", dimensions)
    dtype = user_dtype("indices", int if dtype is None else dtype)
    if sparse:
        return tuple(shape_ops.broadcasted_iota(dtype, tuple(n if i == axis else 1 for i, n in enumerate(shape)), axis)
                     for axis in range(len(shape)))
    if not shape:
        return shape_ops.full((0,), 0, dtype)
    parts = [shape_ops.expand_dims(shape_ops.broadcasted_iota(dtype, shape, axis), (0,)) for axis in range(len(shape))]
    return shape_ops.concatenate(parts, 0)


def fromfunction(function: Any, shape: Any, *, dtype: DTypeLike = float, **kwargs: Any) -> Array:
    """An array whose elements are a function of their indices.

    Args:
      function: takes one scalar index for each axis; it is mapped over them with `vmap`.
      shape: the sizes of the axes.
      dtype: the dtype of the indices.
      **kwargs: passed on to the function.

    Example:
      >>> fromfunction(lambda i, j: i + j, (2, 2), dtype=int)
      Array([[0, 1],
             [1, 2]], dtype=int32)
    """
    from laminax_transforms import vmap  # loaded when something is mapped
    shape = canonical_shape("fromfunction", shape)
    mapped = lambda *args: function(*args, **kwargs)  # noqa: E731
    for axis in reversed(range(len(shape))):
        mapped = vmap(mapped, in_axes=tuple(0 if i == axis else None for i in range(len(shape))))
    dtype = user_dtype("fromfunction", dtype)
    return mapped(*[shape_ops.iota(dtype, size) for size in shape])
