"""Arrays: jaxlib's array class, with the methods that need nothing but the array's own value and layout.

The class is C++, so that dispatch handles arrays without Python; the methods are set on it when this module loads.
Operators, indexing and everything else that computes are set later, by the layer that can, through
`install_array_methods`.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.key_arrays.extended_arrays import ExtendedArray, array_of_stored
from laminax_ir.types.array_layouts import Format
from laminax_ir.types.avals import ShapedArray, placed_aval
from laminax_ir.types.python_scalars import check_has_truth_value, check_is_index, check_is_scalar
from laminax_runtime import _jaxlib
from laminax_runtime.arrays import dlpack_exports, layouts, shardings
from laminax_runtime.base.errors import DeletedArrayError
from laminax_runtime.base.members import add_members, set_members

ArrayImpl = _jaxlib.ArrayImpl


# --- the type users name ---


class _ArrayType(type):
    """Makes `isinstance(x, Array)` true for arrays and for the registered types of traced arrays."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, _array_types) or type.__instancecheck__(cls, instance)  # the latter: mocks with this class as `spec`

    def __subclasscheck__(cls, subclass: type) -> bool:
        return subclass is cls or issubclass(subclass, _array_types)

    def __getattr__(cls, name: str) -> Any:
        """The methods of arrays, for libraries that wrap them; the methods take traced arrays, too."""
        return getattr(ArrayImpl, name)

    def __dir__(cls) -> list[str]:
        return dir(ArrayImpl)


class Array(metaclass=_ArrayType):
    """The type of arrays, for `isinstance` and annotations; true of values inside transformations too.

    Arrays are made by functions such as `laminax.numpy.array`, never by calling this class.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("Array cannot be called. Make arrays with laminax.numpy.array or laminax.device_put.")


_array_types: tuple[type, ...] = (ArrayImpl,)


def register_array_type(cls: type) -> None:
    """Makes instances of `cls`, such as a tracer class, count as arrays in `isinstance(x, Array)`."""
    global _array_types
    if cls not in _array_types:
        _array_types += (cls,)


# --- shards ---


class Shard:
    """One device's part of an array.

    `data` is a single-device array, or None when the device belongs to another process.

    Example:
      >>> rows = laminax.device_put(np.ones((8, 2)), NamedSharding(mesh, PartitionSpec("x")))  # the axis "x" of the mesh has 4 devices
      >>> rows.addressable_shards[0].data.shape
      (2, 2)
    """

    device: Any
    data: Any

    def __init__(self, device: Any, sharding: Any, global_shape: tuple[int, ...], data: Any = None) -> None:
        self.device = device
        self.data = data
        self._sharding = sharding
        self._global_shape = global_shape

    @property
    def index(self) -> tuple[slice, ...]:
        """The slices of the whole array that this part is."""
        return self._sharding.devices_indices_map(self._global_shape)[self.device]

    @property
    def replica_id(self) -> int:
        """How many devices before this one, in the sharding's order, hold the same part."""
        count = 0
        for device, index in self._sharding.devices_indices_map(self._global_shape).items():
            if device == self.device:
                return count
            count += index == self.index
        raise AssertionError("the shard's device is not in its sharding")

    def __repr__(self) -> str:
        return f"Shard(device={self.device!r}, index={self.index}, replica_id={self.replica_id}, data={self.data})"


# --- the methods ---


if TYPE_CHECKING:  # the class on which the methods below are set
    _Base = ArrayImpl
else:
    _Base = object


class _Methods(_Base):
    """An array: values of one dtype in a grid, held by one or more devices and never changed."""

    __hash__ = None  # type: ignore[assignment]  # equality is elementwise, so there is nothing a hash could agree with
    __array_priority__ = 100  # NumPy arrays leave mixed operations to us

    # what it is

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes."""
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        """The type of the elements."""
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.aval.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.aval.size

    @property
    def itemsize(self) -> int:
        """The bytes of one element in NumPy's representation."""
        return self.aval.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of all elements in NumPy's representation."""
        return self.aval.size * self.aval.dtype.itemsize

    @property
    def weak_type(self) -> bool:
        """Whether the dtype came from a Python scalar and yields to others in promotion."""
        return self.aval.weak_type

    def __len__(self) -> int:
        if not self.aval.shape:
            raise TypeError("len() of unsized object")  # NumPy's words
        return self.aval.shape[0]

    # where it is

    @property
    def sharding(self) -> shardings.Sharding:
        """How the array is laid out over devices."""
        return self._sharding

    @property
    def format(self) -> Format:
        """How the elements lie in memory, and how the array is split over devices; the layout is None once it was deleted."""
        return layouts.format_of(self)

    @property
    def committed(self) -> bool:
        """Whether computations must run where the array is, because somebody put it there."""
        return self._committed

    @property
    def device(self) -> Any:
        """The device that holds the array, or the sharding if there are several."""
        check_alive(self)
        assignment = self._sharding._device_assignment
        return assignment[0] if len(assignment) == 1 else self._sharding

    def devices(self) -> set[Any]:
        """The devices that hold a part of the array."""
        check_alive(self)
        return self._sharding.device_set

    @property
    def is_fully_replicated(self) -> bool:
        """Whether every device of the sharding holds the whole array."""
        return self._sharding.is_fully_replicated

    @property
    def is_fully_addressable(self) -> bool:
        """Whether all devices of the sharding belong to this process."""
        return self._sharding.is_fully_addressable

    @property
    def addressable_shards(self) -> list[Shard]:
        """The parts on this process's devices."""
        check_alive(self)
        sharding, shape = self._sharding, self.shape
        return [Shard(_device_of(part), sharding, shape, part) for part in _parts(self)]

    @property
    def global_shards(self) -> list[Shard]:
        """The parts on all devices; those of other processes have no data."""
        local = {shard.device: shard for shard in self.addressable_shards}
        sharding = self._sharding
        return [local.get(d) or Shard(d, sharding, self.shape, None) for d in sharding._device_assignment]

    def addressable_data(self, index: int) -> ArrayImpl:
        """The part on this process's device number `index`, as a single-device array."""
        return self.addressable_shards[index].data

    # its value

    @property
    def _value(self) -> np.ndarray:
        """The value as a read-only NumPy array: a view where the device's memory is the host's, else a kept copy."""
        check_alive(self)
        if self._npy_value is not None:
            return self._npy_value
        if self._sharding.is_fully_replicated and self._sharding.has_addressable_devices:
            return _whole_value(self)
        self._npy_value = value = _gather(self)
        value.flags.writeable = False
        return value

    def __array__(self, dtype: Any = None, context: None = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self._value, dtype=dtype, copy=copy)

    def copy_to_host_async(self) -> None:
        """Begins to bring the value to the host, for a later `np.asarray`."""
        check_alive(self)
        if self._npy_value is None:
            if self._sharding.is_fully_replicated and self._sharding.has_addressable_devices:
                self._copy_single_device_array_to_host_async()
            else:
                for part in _parts(self):
                    part._copy_single_device_array_to_host_async()

    def item(self, *args: int) -> Any:
        """The only element, or the one at the given index, as a Python scalar."""
        return self._value.item(*args)

    def tolist(self) -> Any:
        """The elements as nested lists of Python scalars."""
        return self._value.tolist()

    def tobytes(self, order: Any = "C") -> bytes:
        """The elements' bytes."""
        return self._value.tobytes(order)

    def __bool__(self) -> bool:
        value = self._value
        check_has_truth_value(self.aval)
        return bool(value)

    def __int__(self) -> int:
        return int(_scalar(self))

    def __float__(self) -> float:
        return float(_scalar(self))

    def __complex__(self) -> complex:
        return complex(_scalar(self))

    def __index__(self) -> int:
        check_is_index(self.aval)
        return operator.index(int(self._value))

    # how it prints

    def __repr__(self) -> str:
        check_alive(self)
        dtype = f"dtype={self.dtype.name}" + (", weak_type=True" if self.weak_type else "")
        if not _has_value(self):
            return f"Array(shape={self.shape}, {dtype}{f', sharding={self._sharding}' if shardings.has_terms(self._sharding) else ''})"
        if self.size == 0:
            return f"Array([], shape={self.shape}, {dtype})"
        width = np.get_printoptions()["linewidth"]
        text = np.array2string(self._value, prefix="Array(", suffix=",", separator=", ", max_line_width=width)
        last_line = len(text) - text.rfind("\n") + 1
        space = " " * len("Array(") if last_line + len(dtype) + 2 > width else " "  # without a line break, as JAX prints it
        return f"Array({text},{space}{dtype})"

    def __str__(self) -> str:
        return str(self._value) if _has_value(self) else repr(self)

    def __format__(self, spec: str) -> str:
        if not _has_value(self):
            return format(repr(self), spec)
        return format(self._value if self.ndim else self._value[()], spec)

    # copies and exports

    def __copy__(self) -> ArrayImpl:
        check_alive(self)
        if (plain := layouts.in_default_layout(self)) is not self:  # programs misread jaxlib 0.10's own copy of an array of another layout
            return layouts.relayout(plain, layouts.layout_from_jaxlib(self._pjrt_layout))
        sharding = self._sharding
        if not sharding.is_fully_addressable:
            return ArrayImpl(self.aval, sharding, [part.__copy__() for part in _parts(self)], self._committed, _skip_checks=True)
        (copy,) = _jaxlib.batched_copy_to_devices(
            [self], [sharding._internal_device_list], [sharding], [_jaxlib.ArrayCopySemantics.ALWAYS_COPY]
        )
        return copy

    def __deepcopy__(self, memo: dict) -> ArrayImpl:
        return self.__copy__()

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None) -> Any:
        return dlpack_exports.to_dlpack(self, stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        return dlpack_exports.dlpack_device(self)

    # jaxlib 0.10.2 calls this when an array is made from parts that it has not checked

    def _check_and_rearrange(self, parts: Sequence[Any], sharding: Any, aval: ShapedArray) -> list[Any]:
        by_device = {_device_of(part): part for part in parts}
        return [by_device[device] for device in sharding._addressable_device_assignment]

    def _check_if_deleted(self) -> None:
        check_alive(self)


def check_alive(array: ArrayImpl) -> None:
    """Raises DeletedArrayError if the array was deleted or donated."""
    if array.is_deleted():
        raise DeletedArrayError(
            f"Array has been deleted with shape={array.aval.str_short(short_dtypes=False)}. "
            "It was donated to a jitted function (donate_argnums), or its delete() was called. "
            "Use the function's result in its place, or do not donate it."
        )


def _device_of(part: ArrayImpl) -> Any:
    (device,) = part._sharding._internal_device_list
    return device


def _scalar(array: ArrayImpl) -> np.ndarray:
    check_is_scalar(array.aval)
    return array._value


def _has_value(array: ArrayImpl) -> bool:
    sharding = array._sharding
    if shardings.has_terms(sharding):
        return sharding.num_devices == 1
    return sharding.is_fully_addressable or (sharding.is_fully_replicated and sharding.has_addressable_devices)


def _whole_value(array: ArrayImpl) -> np.ndarray:
    """The value of an array that one device holds as a whole, read-only."""
    if array.aval.dtype in _buffer_dtypes and array._sharding.num_devices == 1:
        try:
            return np.asarray(memoryview(array))  # a third of the time of the general way below
        except BufferError:  # not in the host's memory
            pass
    value, did_copy = array._single_device_array_to_np_array_did_copy()
    value.flags.writeable = False
    if did_copy:
        array._npy_value = value
    return value


# What Python's buffer protocol can express. NumPy's own `asarray` uses it too.
_buffer_dtypes = frozenset(np.dtype(code) for code in "?bhilqBHILQefdFD")


def _parts(array: ArrayImpl) -> list[ArrayImpl]:
    """The single-device arrays of this process that make up an array."""
    if array._sharding.num_devices > 1:
        return array._arrays
    return [array] if array._sharding.is_fully_addressable else []


def _gather(array: ArrayImpl) -> np.ndarray:
    """The value of an array, put together from its parts on the host."""
    if not array._sharding.is_fully_addressable:
        raise RuntimeError(
            f"The value of {array.aval.str_short()} cannot be read: parts of it are on devices of other processes. Fetching value for "
            "`jax.Array` that spans non-addressable (non process local) devices is not possible. You can use "
            "`jax.experimental.multihost_utils.process_allgather` to bring all parts to every process, or read those of this process with "
            "`.addressable_shards`."
        )
    parts = _parts(array)
    for part in parts:
        part._copy_single_device_array_to_host_async()
    value = np.empty(array.shape, array.dtype)
    indices = array._sharding.devices_indices_map(array.shape)
    for part in parts:
        value[indices[_device_of(part)]] = part._single_device_array_to_np_array_did_copy()[0]
    return value


set_members(ArrayImpl, _Methods)
ArrayImpl.__module__, ArrayImpl.__name__, ArrayImpl.__qualname__ = "laminax", "Array", "Array"


def install_array_methods(members: Mapping[str, Any]) -> None:
    """Sets methods and properties on the array class.

    Args:
        members: functions, properties or other descriptors by name.

    Raises:
        ValueError: the class already has a member of this name; nothing is set.
    """
    add_members("install_array_methods", ArrayImpl, "the array class", members)


def make_array_from_single_device_arrays(
    shape: Sequence[int], sharding: shardings.Sharding, arrays: Sequence[Any], *, dtype: Any = None
) -> Any:
    """An array, or an array of keys, whose parts are the given single-device arrays, without copying.

    Args:
        shape: the shape of the whole.
        sharding: how the parts make up the whole.
        arrays: one array per addressable device of the sharding, in any order, each of `sharding.shard_shape(shape)`.
        dtype: the dtype, needed if this process has no part.

    Raises:
        TypeError: the parts are no sequence.
        ValueError: a part is traced or on several devices, or the parts do not match the sharding in number, devices,
            shape or dtype.

    Example:
      >>> x = jnp.ones(3)
      >>> make_array_from_single_device_arrays((3,), x.sharding, [x]).shape
      (3,)
    """
    if isinstance(arrays, Sequence) and any(isinstance(part, ExtendedArray) for part in arrays):
        return _extended_of_parts(shape, sharding, arrays)
    parts = _concrete_parts(arrays)
    if dtype is None:
        if not parts:
            raise ValueError("If the Array has no addressable shards, `dtype` must be provided via the `dtype` argument to "
                             "`laminax.make_array_from_single_device_arrays`.")
        dtype = parts[0].dtype
    expected = sharding.shard_shape(tuple(shape))
    wanted = sharding._addressable_device_assignment
    by_device = {_device_of(part): part for part in parts}
    if set(by_device) != set(wanted) or len(parts) != len(wanted):
        raise ValueError(f"make_array_from_single_device_arrays: {_device_mismatch(parts, set(by_device), set(wanted))} The sharding is "
                         f"{sharding}. Give one array per device of it, in any order.")
    for part in parts:
        if part.dtype != dtype and all(other.dtype == part.dtype for other in parts):
            raise ValueError("If `dtype` is provided to `laminax.make_array_from_single_device_arrays`, it must match the dtype of the "
                             f"addressable shards. Got {np.dtype(dtype).name}, and the shards have {part.dtype.name}.")
        if part.shape != expected or part.dtype != dtype:
            raise ValueError(
                f"make_array_from_single_device_arrays: each part must be {np.dtype(dtype).name}{list(expected)}, "
                f"got {part.aval.str_short(short_dtypes=False)} on {_device_of(part)}"
            )
    aval = placed_aval(ShapedArray(tuple(shape), dtype), sharding)
    return ArrayImpl(aval, sharding, [by_device[device] for device in wanted], True, _skip_checks=True)


def _extended_of_parts(shape: Sequence[int], sharding: shardings.Sharding, arrays: Sequence[Any]) -> ExtendedArray:
    """Arrays of extended dtypes are put together as what stores them is, which has their sharding."""
    found = {str(getattr(part, "dtype", type(part).__name__)) for part in arrays}
    if len(found) != 1:
        raise ValueError(f"make_array_from_single_device_arrays: the parts must have one dtype, got {', '.join(sorted(found))}")
    dtype = arrays[0].dtype
    stored = make_array_from_single_device_arrays((*shape, *dtype.physical_shape), sharding, [part.base for part in arrays])
    return array_of_stored(dtype, stored)


def _concrete_parts(arrays: Any) -> list[ArrayImpl]:
    if not isinstance(arrays, Sequence):
        raise TypeError(
            "laminax.make_array_from_single_device_arrays `arrays` argument must be a list or tuple of single-device arrays, got an object "
            f"of type {type(arrays).__name__}"
        )
    for i, part in enumerate(arrays):
        if not isinstance(part, ArrayImpl):
            raise ValueError(
                "make_array_from_single_device_arrays: jax.make_array_from_single_device_arrays requires a list of concrete arrays as "
                f"input, but arrays[{i}] is {type(part).__name__}. Call it outside of jit and other transformations, with arrays."
            )
        if part.sharding.num_devices != 1:
            raise ValueError(
                "When making an array from single-device arrays the input arrays must have one shard each. An argument array had "
                f"{part.sharding.num_devices} shard(s): make_array_from_single_device_arrays got it as arrays[{i}]. Give its "
                "addressable_shards, each one's data."
            )
    return list(arrays)


def _device_mismatch(parts: Sequence[ArrayImpl], found: set[Any], wanted: set[Any]) -> str:
    """A description of how the devices of the parts differ from those of the sharding."""
    if len(parts) != len(wanted):
        return (
            f"Expected {len(wanted)} per-device arrays (this is how many devices are addressable by the sharding), but got {len(parts)}."
        )
    if len(found) != len(parts):
        return (
            "When making an array from single-device arrays, the input arrays must be from distinct devices, but they are on "
            f"{[_device_of(part).id for part in parts]}."
        )
    missing, extra = ({device.id for device in a - b} for a, b in ((wanted, found), (found, wanted)))
    return (
        f"Addressable devices and per-device arrays devices do not match. Sharding contains devices {missing} that are not present "
        f"in per-device arrays. Per-device arrays contain devices {extra} that are not present in the sharding."
    )
