"""Arrays from data: from Python's and NumPy's values, from files and buffers, and in another dtype."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

import laminax_runtime as runtime
from laminax_ir.ops import elementwise as op
from laminax_ir.ops import shape as shape_ops
from laminax_ir.ops.scalar_operands import scalar_like
from laminax_ir.tracing.trace import Tracer, is_tracing, state
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_ir.types.partition_specs import PartitionSpec

from laminax._src.numerics.floor import fused, split_result
from laminax._src.numerics.numpy.arguments import as_array, convert, dtype_of, ensure_array, is_host_value, promote_dtypes, user_dtype

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike, DTypeLike


def array(object: Any, dtype: DTypeLike | None = None, *, copy: bool = True, order: str | None = "K", ndmin: int = 0, device: Any = None,
          out_sharding: Any = None) -> Array:
    """Makes an array from a value, or from nested sequences of values.

    Args:
      object: an array, a scalar, anything NumPy can convert, or nested lists and tuples of these.
      dtype: the dtype of the result; by default that of the value, 32-bit for 64-bit unless x64 is enabled.
      copy: whether an array is copied; without effect on what can be seen, because arrays do not change.
      order: must be "K", "C" or None.
      ndmin: axes of size 1 are added in front until there are this many.
      device: the device or sharding that holds the result; by default the default device.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Returns:
      An array; weakly typed if the value is a Python scalar, or an array that is, and no dtype is given.

    Raises:
      TypeError: if the value cannot be an array, or a complex number is to be a real one. Complex arrays lose their imaginary part,
        with a warning.
      ValueError: for None, for nested sequences of unequal lengths, and for an array that is committed to other devices than `device`.
      NotImplementedError: for other orders.

    Example:
      >>> array([[1, 2], [3, 4]]).shape
      (2, 2)
    """
    if order not in ("K", "C", None):
        raise NotImplementedError(f"numpy.array: only order='K' and 'C' are supported, got order={order!r}")
    if out_sharding is not None:
        return split_result("array", out_sharding, lambda: array(object, dtype, copy=copy, order=order, ndmin=ndmin, device=device))
    if device is not None and isinstance(object, runtime.ArrayImpl) and object.committed:
        _check_devices(object, device)
    result = _from_object(object, user_dtype("array", dtype))
    if copy and result is object:
        result = op.copy(result)
    if ndmin > len(result.shape):
        result = shape_ops.expand_dims(result, tuple(range(ndmin - len(result.shape))))
    return placed(result, device)


def _check_devices(x: runtime.ArrayImpl, device: Any) -> None:
    wanted = runtime.as_sharding(device)
    if not runtime.have_same_devices(x.sharding, wanted):
        raise ValueError(f"numpy.array: Received incompatible devices for jitted computation. The array is committed to {x.sharding}, and "
                         f"device is {device}. Move it with device_put.")


def _from_object(value: Any, dtype: Any) -> Any:
    if hasattr(value, "__jax_array__") and not isinstance(value, Tracer):
        value = value.__jax_array__()
    if is_host_value(value):
        # as NumPy does, the mask of a masked array is dropped
        return _from_host(np.asarray(value) if isinstance(value, np.ma.MaskedArray) else value, dtype)
    if isinstance(value, Tracer) or hasattr(value, "aval"):
        return with_dtype(value, dtype)
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
            if type(value) is complex:
                _refuse_complex(value, dtype)
            return with_dtype(_put(value), dtype)
    host = dtypes.coerce_to_array(value, dtype)
    if dtypes.is_kept_wide(host.dtype):  # as `explicit_x64_dtypes` lets users ask for
        return runtime.put_exactly(host, ShapedArray(host.shape, host.dtype))
    return _put(host, weak_type=False)


def _refuse_complex(value: complex, dtype: Any) -> None:
    if dtype != np.bool_:
        raise TypeError(f"numpy.array: the complex number {value} cannot become an array of dtype {dtypes.dtype_name(dtype)}. Take its "
                        ".real.")


def _put(value: Any, weak_type: bool | None = None) -> Any:
    """A host value on the default device, or on each device of the mesh that is set, as computations' results are."""
    if is_tracing():
        return state.trace.constant(runtime.put_constant(value, weak_type=weak_type))
    mesh = runtime.current_mesh()
    return runtime.device_put(value, None if mesh is None else runtime.NamedSharding(mesh, PartitionSpec()), weak_type=weak_type)


def with_dtype(x: Any, dtype: Any) -> Any:
    """x with elements of a canonical dtype; None leaves it as it is."""
    return x if dtype is None or dtypes.is_extended(dtype) and dtype_of(x) == dtype else convert(x, dtype)


def _from_sequence(values: Sequence[Any], dtype: Any) -> Any:
    """Nested sequences: by NumPy at once if everything is on the host, else leaf by leaf."""
    leaves: list[Any] = []
    shape = _leaves_of(values, leaves)
    if not leaves:
        return _from_host(np.empty(shape, dtypes.result_type(float)), dtype)
    if builtins.all(is_host_value(x) for x in leaves):
        is_scalars = builtins.all(type(x) in dtypes.python_scalar_types for x in leaves)
        common = dtypes.result_type(*set(map(type, leaves))) if is_scalars else dtypes.result_type(*leaves)
        target = common if dtype is None else dtype
        if dtypes.issubdtype(common, dtypes.complexfloating) and not dtypes.issubdtype(target, dtypes.complexfloating):
            for x in leaves:
                if type(x) is complex:
                    _refuse_complex(x, target)
            return convert(_from_host(np.asarray(values, common), None), target)
        return _from_host(_checked_ints(values, leaves, target), target)
    joined = _stacked(values)
    return with_dtype(joined, dtype) if dtype is not None else _strong(joined)


def _checked_ints(values: Sequence[Any], leaves: Sequence[complex], dtype: np.dtype) -> np.ndarray:
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
            raise ValueError("None is not a valid value for jnp.array, nor for an element of one. Pass a number, or jnp.nan for a "
                             "missing one")
        if isinstance(values, (str, bytes)):
            raise TypeError(f"numpy.array: {values!r} cannot be an element of an array")
        leaves.append(values if is_host_value(values) or hasattr(values, "aval") else np.asarray(values))
        return tuple(np.shape(leaves[-1])) if is_host_value(leaves[-1]) else tuple(leaves[-1].shape)
    shapes = [_leaves_of(v, leaves) for v in values]
    if builtins.any(s != shapes[0] for s in shapes):
        raise ValueError(f"numpy.array: the elements must have equal shapes, got {', '.join(map(str, shapes[:8]))}")
    return (len(values), *(shapes[0] if shapes else ()))


def _stacked(values: Any) -> Any:
    """Nested sequences of arrays of one shape as one array, in their common dtype."""
    if not isinstance(values, (list, tuple)):
        return as_array(values)
    return _joined([_stacked(v) for v in values])


@fused
def _joined(arrays: list) -> Any:
    return shape_ops.concatenate([shape_ops.expand_dims(x, (0,)) for x in promote_dtypes("array", *arrays)], 0)


def _strong(x: Any) -> Any:
    aval = get_aval(x)
    return op.convert_element_type(x, aval.dtype, weak_type=False) if aval.weak_type else x


def placed(x: Any, device: Any) -> Any:
    """The array on a device or with a sharding; where it is, if device is None."""
    if device is None:
        return x
    from laminax._src.numerics.floor import device_put
    return device_put(x, device)


def asarray(a: Any, dtype: DTypeLike | None = None, order: str | None = None, *, copy: bool | None = None, device: Any = None,
            out_sharding: Any = None) -> Array:
    """Converts a value to an array, without a copy where it is one already.

    Args:
      a: as for `array`.
      dtype: the dtype of the result; by default that of the value.
      order: must be None, "K" or "C".
      copy: True makes a copy in any case; False raises if a host value would go to another platform than the CPU.
      device: the device or sharding that holds the result.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Raises:
      ValueError: if copy is False and the value is copied to an accelerator.

    Example:
      >>> jnp.asarray([1.0, 2.0])
      Array([1., 2.], dtype=float32)
    """
    if copy is False and is_host_value(a):  # the CPU may share the host's memory
        platform = runtime.default_backend() if device is None else next(iter(getattr(device, "device_set", [device]))).platform
        if platform != "cpu":
            raise ValueError(f"jnp.asarray: cannot convert object of type {type(a)} to JAX Array on platform={platform} with copy=False. "
                             "Consider using copy=None or copy=True instead.")
    return array(a, dtype, copy=bool(copy), order=order, device=device, out_sharding=out_sharding)


def copy(a: ArrayLike, order: str | None = None) -> Array:
    """A copy of an array.

    Args:
      a: an array or scalar.
      order: must be None, "K" or "C".

    Example:
      >>> jnp.copy(jnp.array([1, 2]))
      Array([1, 2], dtype=int32)
    """
    return array(ensure_array("copy", a), copy=True, order=order)


def astype(x: ArrayLike, dtype: DTypeLike, /, *, copy: bool = False, device: Any = None) -> Array:
    """Converts the elements to another dtype.

    Args:
      x: an array or scalar.
      dtype: the dtype; None is the default float. Complex numbers to real drops the imaginary part, with a warning.
      copy: whether the result is a copy even if the dtype stays.
      device: the device or sharding that holds the result.

    Example:
      >>> jnp.astype(jnp.array([1.7, -1.7]), int)
      Array([ 1, -1], dtype=int32)
    """
    x = as_array(ensure_array("astype", x))
    target = dtypes.canonicalize_dtype(float) if dtype is None else user_dtype("astype", dtype)
    source = dtype_of(x)
    if dtypes.issubdtype(source, dtypes.complexfloating) and target == np.bool_:
        return placed(op.ne(x, scalar_like(0, source)), device)
    if dtypes.issubdtype(source, dtypes.complexfloating) and not dtypes.issubdtype(target, dtypes.complexfloating):
        import warnings
        warnings.warn("Casting from complex to real dtypes discards the imaginary part; it is deprecated. Take .real or .imag first.",
                      DeprecationWarning, stacklevel=2)
        x = op.real(x)
    result = with_dtype(x, target)
    return placed(op.copy(result) if copy and result is x else result, device)


def astype_method(x: Array, dtype: DTypeLike, copy: bool = False, device: Any = None) -> Array:
    """The method `astype`, whose arguments may be named, and given by position, as those of NumPy's."""
    return astype(x, dtype, copy=copy, device=device)


def frombuffer(buffer: Any, dtype: DTypeLike = float, count: int = -1, offset: int = 0) -> Array:
    """An array from an object's bytes; parameters as for `numpy.frombuffer`.

    Example:
      >>> jnp.frombuffer(b"\x01\x02", dtype="uint8")
      Array([1, 2], dtype=uint8)
    """
    return asarray(np.frombuffer(buffer=buffer, dtype=dtype, count=count, offset=offset))


def fromstring(string: str, dtype: DTypeLike = float, count: int = -1, *, sep: str) -> Array:
    """An array from numbers written in a string, separated by `sep`; parameters as for `numpy.fromstring`.

    Example:
      >>> jnp.fromstring("1 2", sep=" ")
      Array([1., 2.], dtype=float32)
    """
    return asarray(np.fromstring(string=string, dtype=dtype, count=count, sep=sep))


def fromfile(*args: Any, **kwargs: Any) -> None:
    """Not provided, because it would depend on the machine's files.

    Raises:
      NotImplementedError: always; `asarray(numpy.fromfile(...))` does it.

    Example:
      >>> np.float32([1, 2]).tofile("numbers.bin")
      >>> jnp.asarray(np.fromfile("numbers.bin", np.float32))
      Array([1., 2.], dtype=float32)
    """
    raise NotImplementedError("numpy.fromfile is not provided; read with NumPy and convert: asarray(np.fromfile(...))")


def fromiter(*args: Any, **kwargs: Any) -> None:
    """Not provided, because iterators have effects.

    Raises:
      NotImplementedError: always; `asarray(numpy.fromiter(...))` does it.

    Example:
      >>> jnp.asarray(np.fromiter((i**2 for i in range(4)), np.int32))
      Array([0, 1, 4, 9], dtype=int32)
    """
    raise NotImplementedError("numpy.fromiter is not provided; use NumPy and convert: asarray(np.fromiter(...))")


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Array:
    """An array from an object with the DLPack protocol, sharing its memory where that is possible.

    Args:
      x: an object with `__dlpack__`.
      device: the device that holds the result.
      copy: whether to copy; None copies only if needed.

    Example:
      >>> jnp.from_dlpack(np.ones(2, np.float32))
      Array([1., 1.], dtype=float32)
    """
    return runtime.from_dlpack(x, device=device, copy=copy)


def to_device(self: Any, device: Any, *, stream: int | Any | None = None) -> Any:
    """The array on another device, as the array API standard names it; see `laminax.device_put`.

    Args:
      device: a device or a sharding.
      stream: must be None.

    Raises:
      NotImplementedError: if a stream is given.
    """
    if stream is not None:
        raise NotImplementedError(f"to_device: the parameter stream is not supported; pass None, not {stream!r}")
    return placed(self, device)
