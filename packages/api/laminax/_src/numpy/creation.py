"""Arrays from data, from shapes and from ranges."""

from __future__ import annotations

import builtins
import math
import operator
from typing import Any, Sequence

import numpy as np

import laminax_runtime as runtime
from laminax_ir import dtypes
from laminax_ir.avals import ShapeDtypeStruct, get_aval
from laminax_ir.ops import elementwise as op
from laminax_ir.ops import shape as shape_ops
from laminax_ir.ops.scalar_operands import scalar_like
from laminax_ir.ops.shape_arguments import canonical_shape
from laminax_ir.ops.slicing import slice_in_dim
from laminax_ir.partition_specs import PartitionSpec
from laminax_ir.trace import Tracer, is_tracing

from laminax._src.fusion import fused
from laminax._src.numpy.arguments import (
    as_array,
    convert,
    dtype_of,
    ensure_array,
    ensure_arrays,
    is_host_value,
    is_kind,
    one_axis,
    promote_inexact,
    refuse_placement,
    user_dtype,
)

# --- from data ---


def array(object: Any, dtype: Any = None, *, copy: bool = True, order: str | None = "K", ndmin: int = 0, device: Any = None,
          out_sharding: Any = None):
    """Makes an array from a value, or from nested sequences of values.

    Args:
      object: an array, a scalar, anything NumPy can convert, or nested lists and tuples of these.
      dtype: the dtype of the result; by default that of the value, 32-bit for 64-bit unless x64 is enabled.
      copy: whether an array is copied; without effect on what can be seen, because arrays do not change.
      order: must be "K", "C" or None.
      ndmin: axes of size 1 are added in front until there are this many.
      device: the device or sharding that holds the result; by default the default device.
      out_sharding: must be None.

    Returns:
      An array; weakly typed if the value is a Python scalar, or an array that is, and no dtype is given.

    Raises:
      TypeError: if the value cannot be an array.
      ValueError: for None, for nested sequences of unequal lengths, and for an array that is committed to other devices than `device`.
      NotImplementedError: for other orders.

    Example:
      >>> array([[1, 2], [3, 4]]).shape
      (2, 2)
    """
    if order not in ("K", "C", None):
        raise NotImplementedError(f"numpy.array: only order='K' and 'C' are supported, got order={order!r}")
    refuse_placement("array", out_sharding=out_sharding)
    if device is not None and isinstance(object, runtime.ArrayImpl) and object.committed:
        _check_devices(object, device)
    result = _from_object(object, user_dtype("array", dtype))
    if copy and result is object:
        result = op.copy(result)
    if ndmin > len(result.shape):
        result = shape_ops.expand_dims(result, tuple(range(ndmin - len(result.shape))))
    return _placed(result, device)


def _check_devices(x: runtime.ArrayImpl, device: Any) -> None:
    wanted = runtime.as_sharding(device)
    if x.sharding._internal_device_list != wanted._internal_device_list:
        raise ValueError(f"numpy.array: Received incompatible devices for jitted computation. The array is committed to {x.sharding}, and device is "
                         f"{device}. Move it with device_put.")


def _from_object(value: Any, dtype: Any) -> Any:
    if hasattr(value, "__jax_array__") and not isinstance(value, Tracer):
        value = value.__jax_array__()
    if is_host_value(value):
        # as NumPy does, the mask of a masked array is dropped
        return _from_host(np.asarray(value) if isinstance(value, np.ma.MaskedArray) else value, dtype)
    if isinstance(value, Tracer) or hasattr(value, "aval"):
        return _with_dtype(value, dtype)
    if isinstance(value, (list, tuple)):
        return _from_sequence(value, dtype)
    if value is None:
        raise ValueError("numpy.array: None is not a valid value for an array. Expected numbers, or nested lists of them.")
    if isinstance(value, (str, bytes, dict, set)):
        raise TypeError(f"numpy.array: a value of type {type(value).__name__} cannot be an array: {value!r:.80}. Expected "
                        "numbers, or nested lists and tuples of them.")
    return _from_host(np.asarray(value), dtype)  # __array__, the buffer protocol and the like


def _from_host(value: Any, dtype: Any) -> Any:
    if dtype is None:
        return _put(value)
    if dtypes.is_extended(dtype):
        raise TypeError(f"numpy.array: numbers cannot become an array of dtype {dtype}. Make keys with random.key.")
    if isinstance(value, complex) or getattr(getattr(value, "dtype", None), "kind", "") == "c":
        if not dtypes.issubdtype(dtype, dtypes.complexfloating):
            return _with_dtype(_put(value), dtype)
    return _put(dtypes.coerce_to_array(value, dtype), weak_type=False)


def _put(value: Any, weak_type: bool | None = None) -> Any:
    """A host value on the default device, or on each device of the mesh that is set, as computations' results are."""
    if is_tracing():
        return runtime.put_constant(value, weak_type=weak_type)
    mesh = runtime.current_mesh()
    return runtime.device_put(value, None if mesh is None else runtime.NamedSharding(mesh, PartitionSpec()), weak_type=weak_type)


def _with_dtype(x: Any, dtype: Any) -> Any:
    return x if dtype is None or dtypes.is_extended(dtype) and dtype_of(x) == dtype else convert(x, dtype)


def _from_sequence(values: Sequence[Any], dtype: Any) -> Any:
    """Nested sequences: by NumPy at once if everything is on the host, else leaf by leaf."""
    leaves: list[Any] = []
    shape = _leaves_of(values, leaves)
    if not leaves:
        return _from_host(np.empty(shape, np.float32), dtype)
    if builtins.all(is_host_value(x) for x in leaves):
        is_scalars = builtins.all(type(x) in dtypes.python_scalar_types for x in leaves)
        common = dtypes.result_type(*set(map(type, leaves))) if is_scalars else dtypes.result_type(*leaves)
        target = common if dtype is None else dtype
        if dtypes.issubdtype(common, dtypes.complexfloating) and not dtypes.issubdtype(target, dtypes.complexfloating):
            return convert(_from_host(np.asarray(values, common), None), target)
        return _from_host(_checked_ints(values, leaves, target), target)
    joined = _stacked(values)
    return _with_dtype(joined, dtype) if dtype is not None else _strong(joined)


def _checked_ints(values, leaves, dtype) -> np.ndarray:
    if dtypes.issubdtype(dtype, dtypes.integer):
        for x in leaves:
            if type(x) is int:
                dtypes.coerce_to_array(x, dtype)  # refuses what does not fit
    return np.asarray(values).astype(dtype)


def _leaves_of(values: Any, leaves: list) -> tuple[int, ...]:
    """Collects the leaves of nested sequences; returns the sequences' shape.

    Raises:
      ValueError: if sequences at one depth differ in shape.
    """
    if not isinstance(values, (list, tuple)):
        if hasattr(values, "__jax_array__") and not isinstance(values, Tracer):
            values = values.__jax_array__()
        if values is None:
            raise ValueError("numpy.array: None is not a valid value for an element of an array")
        if isinstance(values, (str, bytes)):
            raise TypeError(f"numpy.array: {values!r} cannot be an element of an array")
        leaves.append(values if is_host_value(values) or hasattr(values, "aval") else np.asarray(values))
        return tuple(np.shape(leaves[-1])) if is_host_value(leaves[-1]) else tuple(leaves[-1].shape)
    shapes = [_leaves_of(v, leaves) for v in values]
    if builtins.any(s != shapes[0] for s in shapes):
        raise ValueError(f"numpy.array: the elements must have equal shapes, got {', '.join(map(str, shapes[:8]))}")
    return (len(values), *(shapes[0] if shapes else ()))


def _stacked(values: Any) -> Any:
    from laminax._src.numpy.joining import stack
    return stack([_stacked(v) for v in values]) if isinstance(values, (list, tuple)) else as_array(values)


def _strong(x: Any) -> Any:
    aval = get_aval(x)
    return op.convert_element_type(x, aval.dtype, weak_type=False) if aval.weak_type else x


def _placed(x: Any, device: Any) -> Any:
    if device is None:
        return x
    from laminax import device_put
    return device_put(x, device)


def asarray(a: Any, dtype: Any = None, order: str | None = None, *, copy: bool | None = None, device: Any = None,
            out_sharding: Any = None):
    """Converts a value to an array, without a copy where it is one already.

    Args:
      a: as for `array`.
      dtype: the dtype of the result; by default that of the value.
      order: must be None, "K" or "C".
      copy: True makes a copy in any case; False raises if a host value would go to another platform than the CPU.
      device: the device or sharding that holds the result.
      out_sharding: must be None.

    Raises:
      ValueError: if copy is False and the value is copied to an accelerator.
    """
    if copy is False and is_host_value(a):  # the CPU may share the host's memory
        platform = runtime.default_backend() if device is None else next(iter(getattr(device, "device_set", [device]))).platform
        if platform != "cpu":
            raise ValueError(f"jnp.asarray: cannot convert object of type {type(a)} to an array on platform={platform} with copy=False. "
                             "Consider using copy=None or copy=True instead.")
    return array(a, dtype, copy=bool(copy), order=order, device=device, out_sharding=out_sharding)


def copy(a: Any, order: str | None = None):
    """A copy of an array.

    Args:
      a: an array or scalar.
      order: must be None, "K" or "C".
    """
    return array(ensure_array("copy", a), copy=True, order=order)


def astype(x: Any, dtype: Any, /, *, copy: bool = False, device: Any = None):
    """Converts the elements to another dtype.

    Args:
      x: an array or scalar.
      dtype: the dtype; None is the default float. Complex numbers to real drops the imaginary part, with a warning.
      copy: whether the result is a copy even if the dtype stays.
      device: the device or sharding that holds the result.
    """
    x = as_array(ensure_array("astype", x))
    target = dtypes.canonicalize_dtype(float) if dtype is None else user_dtype("astype", dtype)
    source = dtype_of(x)
    if dtypes.issubdtype(source, dtypes.complexfloating) and target == np.bool_:
        return _placed(op.ne(x, scalar_like(0, source)), device)
    if dtypes.issubdtype(source, dtypes.complexfloating) and not dtypes.issubdtype(target, dtypes.complexfloating):
        import warnings
        warnings.warn("Casting from complex to real dtypes discards the imaginary part; it is deprecated. Take .real or .imag first.",
                      DeprecationWarning, stacklevel=2)
    result = _with_dtype(x, target)
    return _placed(op.copy(result) if copy and result is x else result, device)


# --- from shapes ---


def full(shape: Any, fill_value: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None):
    """An array filled with a value.

    Args:
      shape: a sequence of sizes, or one size.
      fill_value: a scalar, or an array that broadcasts to the shape.
      dtype: the dtype; by default that of the value.
      device: the device or sharding that holds the result.
      out_sharding: must be None.

    Returns:
      The array; weakly typed if the value is a Python scalar and no dtype is given.
    """
    refuse_placement("full", out_sharding=out_sharding)
    dtype = user_dtype("full", dtype)
    fill_value = ensure_array("full", fill_value)
    if type(fill_value) in dtypes.python_scalar_types or np.ndim(fill_value) == 0:
        return _placed(shape_ops.full(canonical_shape("full", shape), fill_value, dtype), device)
    result = shape_ops.broadcast_to_shape(as_array(fill_value), canonical_shape("full", shape))
    return _placed(_with_dtype(result, dtype), device)


def zeros(shape: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None):
    """An array of zeros, by default of the default float; parameters as for `full`."""
    return full(shape, 0, float if dtype is None else dtype, device=device, out_sharding=out_sharding)


def ones(shape: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None):
    """An array of ones, by default of the default float; parameters as for `full`."""
    return full(shape, 1, float if dtype is None else dtype, device=device, out_sharding=out_sharding)


def empty(shape: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None):
    """The same as `zeros`: there are no arrays without values here."""
    return zeros(shape, dtype, device=device, out_sharding=out_sharding)


def full_like(a: Any, fill_value: Any, dtype: Any = None, shape: Any = None, *, device: Any = None):
    """An array filled with a value, of the shape and dtype of another.

    Args:
      a: an array, a scalar, or anything with `shape` and `dtype`.
      fill_value: a scalar, or an array that broadcasts to the shape.
      dtype: the dtype, by default a's.
      shape: the shape, by default a's.
      device: the device or sharding that holds the result; by default that of a, if it is committed and of this shape, or a `ShapeDtypeStruct`
        that has one.
    """
    if not (hasattr(a, "shape") and hasattr(a, "dtype")):
        a = ensure_array("full_like", a)
    dtype = user_dtype("full_like", dtype)
    if device is None and shape is None and isinstance(a, (runtime.ArrayImpl, ShapeDtypeStruct)) and not (a.weak_type or is_tracing()):
        device = a.sharding if getattr(a, "committed", True) else None
    if type(fill_value) in dtypes.python_scalar_types or np.ndim(fill_value) == 0:
        return _placed(shape_ops.full_like(a, fill_value, dtype, np.shape(a) if shape is None else shape), device)
    shape = np.shape(a) if shape is None else canonical_shape("full_like", shape)
    return full(shape, fill_value, dtypes.dtype(a) if dtype is None else dtype, device=device)


def zeros_like(a: Any, dtype: Any = None, shape: Any = None, *, device: Any = None, out_sharding: Any = None):
    """Zeros of the shape and dtype of another array; parameters as for `full_like`."""
    refuse_placement("zeros_like", out_sharding=out_sharding)
    return full_like(a, 0, dtype, shape, device=device)


def ones_like(a: Any, dtype: Any = None, shape: Any = None, *, device: Any = None, out_sharding: Any = None):
    """Ones of the shape and dtype of another array; parameters as for `full_like`."""
    refuse_placement("ones_like", out_sharding=out_sharding)
    return full_like(a, 1, dtype, shape, device=device)


def empty_like(prototype: Any, dtype: Any = None, shape: Any = None, *, device: Any = None):
    """The same as `zeros_like`: there are no arrays without values here."""
    return full_like(prototype, 0, dtype, shape, device=device)


def eye(N: int, M: int | None = None, k: Any = 0, dtype: Any = None, *, device: Any = None):
    """A matrix with ones on one diagonal and zeros elsewhere.

    Args:
      N: the number of rows.
      M: the number of columns, by default N.
      k: which diagonal: 0 is the main one, positive ones are above it. It may be traced.
      dtype: the dtype, by default the default float.
      device: the device or sharding that holds the result.

    Returns:
      An array of shape [N, M].
    """
    dtype = user_dtype("eye", float if dtype is None else dtype)
    rows = canonical_shape("eye", (N,))[0]
    columns = rows if M is None else canonical_shape("eye", (M,))[0]
    if rows < 0 or columns < 0:
        raise ValueError(f"eye: negative sizes are not allowed, got {rows} and {columns}")
    if type(k) is int:  # all diagonals beyond the corners are the same
        k = min(max(k, -rows), columns)
    return _placed(_eye(rows, columns, k, dtype=dtype), device)


@fused(static_argnames=("rows", "columns", "dtype"))
def _eye(rows, columns, k, dtype):
    if not is_kind(k, dtypes.integer):
        raise TypeError(f"eye: k must be an integer, got {k!r}")
    shape = (rows, columns)
    row = shape_ops.broadcasted_iota(np.int32, shape, 0)
    if type(k) is not int or k:
        row = op.add(row, k if type(k) is int else convert(k, np.dtype(np.int32)))
    return convert(op.eq(row, shape_ops.broadcasted_iota(np.int32, shape, 1)), dtype)


def identity(n: int, dtype: Any = None):
    """The identity matrix of shape [n, n]."""
    return eye(n, dtype=dtype)


# --- from ranges ---


def arange(start: Any, stop: Any = None, step: Any = None, dtype: Any = None, *, device: Any = None, out_sharding: Any = None):
    """Numbers from start (included) to stop (not included), step apart.

    Args:
      start: the first number; if stop is None, the end, and 0 is the first.
      stop: the end.
      step: the distance, by default 1.
      dtype: the dtype, by default the one that the arguments promote to.
      device: the device or sharding that holds the result.
      out_sharding: must be None.

    Returns:
      An array of shape [ceil((stop - start) / step)].

    Raises:
      TypeError: if an argument is traced: the shape depends on it.
      ValueError: if an argument is not a scalar, or complex.
      ZeroDivisionError: if step is zero.
    """
    refuse_placement("arange", out_sharding=out_sharding)
    dtype = user_dtype("arange", dtype)
    if start is None:
        raise TypeError("arange: start must be given")
    given = [x for x in (start, stop, step) if x is not None]
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
    return _placed(_progression(start, 1 if step is None else step, size, dtype), device)


def _host_scalar(name: str, x: Any) -> Any:
    """An argument of arange, which decides a shape, as a Python scalar; None as it is."""
    if x is not None and type(x) not in dtypes.python_scalar_types:
        if isinstance(x, Tracer):
            if x.concrete_value() is None:
                from laminax_ir.errors import ConcretizationTypeError
                raise ConcretizationTypeError(
                    f"arange: a size depends on the value of {x.aval.str_short()}, which is not known while the function is traced. "
                    f"It arose in the jnp.arange argument '{name}'. Use a static argument, or lax.iota of a fixed size with a mask.")
            x = x.concrete_value()
        if np.shape(x) != ():
            raise ValueError(f"arange: arguments must be scalars, got {name} of shape {np.shape(x)}")
        x = np.asarray(x).item()
    if isinstance(x, complex):
        raise ValueError(f"arange: complex start, stop or step is not supported, got {x}; complex numbers have no order. Give real "
                         f"ones, and dtype=complex for a complex result.")
    return x


def _progression(start: Any, step: Any, size: int, dtype: np.dtype):
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


def linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None,
             axis: int = 0, *, device: Any = None):
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
    """
    num = operator.index(num)
    if num < 0:
        raise ValueError(f"linspace: the number of samples must not be negative, got num={num}")
    result, step = _linspace(start, stop, num=num, endpoint=bool(endpoint), dtype=user_dtype("linspace", dtype), axis=axis)
    result = _placed(result, device)
    return (result, step) if retstep else result


@fused(static_argnames=("num", "endpoint", "dtype", "axis"))
def _linspace(start, stop, num, endpoint, dtype, axis):
    from laminax._src.numpy.reshaping import broadcast_arrays, moveaxis
    start, stop = promote_inexact("linspace", start, stop)
    computed = dtype_of(start)
    start, stop = broadcast_arrays(convert(start, computed), convert(stop, computed))
    intervals = num - 1 if endpoint else num
    difference = op.sub(stop, start)
    step = op.div(difference, scalar_like(intervals, computed)) if intervals > 0 else shape_ops.full((), math.nan, computed)
    count = builtins.max(intervals, 1) if endpoint else num
    shape = (num - 1 if endpoint and num > 1 else num, *start.shape)
    real = dtypes.to_floating_dtype(computed)
    parts = shape_ops.broadcasted_iota(real, shape, 0)
    parts = convert(op.div(parts, scalar_like(float(count), real)), computed)
    first = shape_ops.expand_dims(start, (0,))
    last = shape_ops.expand_dims(stop, (0,))
    # The weighted mean rather than start + i * step: exact at start, and it cannot overflow where they do not.
    one = scalar_like(1.0, computed)
    result = op.add(op.mul(first, op.sub(one, parts)), op.mul(last, parts)) if num else shape_ops.full(shape, 0, computed)
    if endpoint and num > 1:
        result = shape_ops.concatenate([result, last], 0)
    if dtype is not None and dtypes.issubdtype(dtype, dtypes.integer):
        result = op.floor(result)
    result = convert(result, computed if dtype is None else dtype)
    return (moveaxis(result, 0, axis) if axis else result), step


def logspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0):
    """Numbers evenly spaced on a logarithmic scale, from base**start to base**stop.

    Args:
      start, stop: exponents of the first and of the last number, scalars or arrays.
      num, endpoint, axis: as for `linspace`.
      base: the base.
      dtype: the dtype, by default the float that the arguments promote to.
    """
    from laminax._src.numpy.arithmetic import power
    exponents = linspace(start, stop, num, endpoint, axis=axis)
    result = power(base, exponents)
    dtype = user_dtype("logspace", dtype)
    return result if dtype is None else convert(result, dtype)


def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0):
    """Numbers evenly spaced on a logarithmic scale, from start to stop: a geometric progression.

    Args:
      start, stop: the first and the last number, not zero and of one sign, scalars or arrays.
      num, endpoint, axis: as for `linspace`.
      dtype: the dtype, by default the float that the arguments promote to.
    """
    result = _geomspace(start, stop, num=operator.index(num), endpoint=bool(endpoint), axis=axis)
    dtype = user_dtype("geomspace", dtype)
    return result if dtype is None else convert(result, dtype)


@fused(static_argnames=("num", "endpoint", "axis"))
def _geomspace(start, stop, num, endpoint, axis):
    from laminax._src.numpy import reshaping
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


def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> list:
    """Coordinate arrays from coordinate vectors.

    Args:
      *xi: arrays of rank 1 (or scalars), the coordinates along each axis.
      copy: must be True.
      sparse: whether the arrays keep size 1 along the other axes instead of being repeated.
      indexing: "xy", where the first two axes are swapped as for plots, or "ij".

    Returns:
      One array for each argument.
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
    return results


def indices(dimensions: Sequence[int], dtype: Any = None, sparse: bool = False):
    """The index of each element along each axis.

    Args:
      dimensions: the shape.
      dtype: an integer dtype, by default the default one.
      sparse: whether to return a tuple of arrays that broadcast to the shape, instead of one array.

    Returns:
      An array of shape [len(dimensions), *dimensions], or with sparse a tuple.
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


def fromfunction(function: Any, shape: Any, *, dtype: Any = float, **kwargs: Any):
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
    from laminax import vmap
    shape = canonical_shape("fromfunction", shape)
    mapped = lambda *args: function(*args, **kwargs)  # noqa: E731
    for axis in reversed(range(len(shape))):
        mapped = vmap(mapped, in_axes=tuple(0 if i == axis else None for i in range(len(shape))))
    dtype = user_dtype("fromfunction", dtype)
    return mapped(*[shape_ops.iota(dtype, size) for size in shape])


def frombuffer(buffer: Any, dtype: Any = float, count: int = -1, offset: int = 0):
    """An array from an object's bytes; parameters as for `numpy.frombuffer`."""
    return asarray(np.frombuffer(buffer=buffer, dtype=dtype, count=count, offset=offset))


def fromstring(string: str, dtype: Any = float, count: int = -1, *, sep: str):
    """An array from numbers written in a string, separated by `sep`; parameters as for `numpy.fromstring`."""
    return asarray(np.fromstring(string=string, dtype=dtype, count=count, sep=sep))


def fromfile(*args: Any, **kwargs: Any):
    """Not provided, because it would depend on the machine's files.

    Raises:
      NotImplementedError: always; `asarray(numpy.fromfile(...))` does it.
    """
    raise NotImplementedError("numpy.fromfile is not provided; read with NumPy and convert: asarray(np.fromfile(...))")


def fromiter(*args: Any, **kwargs: Any):
    """Not provided, because iterators have effects.

    Raises:
      NotImplementedError: always; `asarray(numpy.fromiter(...))` does it.
    """
    raise NotImplementedError("numpy.fromiter is not provided; use NumPy and convert: asarray(np.fromiter(...))")


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None):
    """An array from an object with the DLPack protocol, sharing its memory where that is possible.

    Args:
      x: an object with `__dlpack__`.
      device: the device that holds the result.
      copy: whether to copy; None copies only if needed.
    """
    from laminax_runtime import from_dlpack as implementation
    return implementation(x, device=device, copy=copy)
