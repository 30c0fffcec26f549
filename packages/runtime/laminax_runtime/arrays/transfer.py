"""Transfers: values to devices and back.

An array never shares memory that somebody can change: NumPy arrays are copied, unless nobody else can write to them.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from laminax_ir.options import config
from laminax_ir.types import canonical_dtypes
from laminax_ir.types.avals import ShapedArray, get_aval, placed_aval
from laminax_runtime import _jaxlib
from laminax_runtime.arrays import arrays, process_failures, shardings  # noqa: F401  (process_failures installs itself)
from laminax_runtime.arrays.arrays import ArrayImpl
from laminax_runtime.arrays.hlo_shardings import are_equal_hlo_shardings
from laminax_runtime.backends import backends, placement, processes
from laminax_runtime.base import context, guards  # noqa: F401  (context mirrors enable_x64 to jaxlib)
from laminax_runtime.base.errors import UnsupportedValueError
from laminax_runtime.base.members import set_members

_COPY = _jaxlib.HostBufferSemantics.IMMUTABLE_ONLY_DURING_CALL
_SHARE = _jaxlib.HostBufferSemantics.ZERO_COPY
_REUSE = _jaxlib.ArrayCopySemantics.REUSE_INPUT
_DONATE = _jaxlib.ArrayCopySemantics.DONATE_INPUT

# Avals live as long as they are used; this table keeps them, so that the next value of the same type need not make its own.
_aval = functools.lru_cache(maxsize=4096)(ShapedArray)

_float0 = canonical_dtypes.float0
_python_scalars = (bool, int, float, complex)


def device_put(
    x: Any, target: Any = None, *, aval: ShapedArray | None = None, weak_type: bool | None = None, donate: bool = False
) -> Any:
    """Puts one value on a device, or spreads it over several.

    Args:
        x: an array, a NumPy array or scalar, or a Python scalar. 64-bit types become 32-bit unless `enable_x64` holds.
        target: a device, a sharding, a platform's name, or None. With None an array stays where it is, and anything
            else goes to the default device without being committed to it.
        aval: the aval of the result, where the caller knows it; its dtype is what x is converted to.
        weak_type: whether the result's dtype is weak; by default Python ints, floats and complexes are weak.
        donate: whether an array x may be consumed; on the CPU it is not, since jaxlib crashes on arrays that were consumed in this way.

    Returns:
        An array. A NumPy array of dtype float0 is returned as it is: no device has such a type.

    Raises:
        UnsupportedValueError: no device can hold x.
        ValueError: an axis of x does not divide into the target's parts.

    Example:
        >>> device_put(2.5)
        Array(2.5, dtype=float32, weak_type=True)
    """
    if isinstance(target, str):
        target = placement.local_devices(backend=target)[0]
    if type(x) is ArrayImpl:
        return _typed(_put_array(x, target, aval, weak_type, donate))
    value, is_private, is_weak = _host_value(x, None if aval is None else aval.dtype)
    if value.dtype == _float0:
        return value
    if aval is None:
        aval = _aval(value.shape, value.dtype, is_weak if weak_type is None else weak_type)
    sharding: shardings.Sharding
    if target is None:
        sharding, is_committed = shardings.on_device(placement.placement_device()), False
    else:
        sharding, is_committed = shardings.as_sharding(target), True
        if type(sharding) is not shardings.SingleDeviceSharding:
            sharding.check_compatible_aval(value.shape)
        aval = placed_aval(aval, sharding)
    return put_numpy(value, aval, sharding, is_committed, is_private or not _can_change(value))


put_constant = guards.for_programs(device_put)
"""`device_put` of a constant of the program that is being traced, which no guard refuses."""


def place_argument(x: Any, sharding: shardings.Sharding) -> ArrayImpl:
    """An argument where a program expects it: the array itself, or a copy of the value there.

    Raises:
        DeletedArrayError: it is an array that was deleted or donated.
    """
    if type(x) is ArrayImpl:
        arrays.check_alive(x)
        return x if x._sharding is sharding else reshard(x, sharding)
    return device_put(x, sharding)


@guards.for_programs
def copy_for_callback(x: Any, device: _jaxlib.Device) -> ArrayImpl | np.ndarray:
    """An array on the device of a value that a program hands to a Python function; it keeps its dtype under all options."""
    if type(x) is not np.ndarray or x.dtype == _float0:
        return device_put(x, device)
    with _with_64_bits(x.dtype):
        return put_numpy(x, _aval(x.shape, x.dtype, False), shardings.on_device(device), True, may_share=False)


def put_exactly(x: np.ndarray, aval: ShapedArray) -> ArrayImpl:
    """`device_put` of a NumPy array as an array of the aval, also one of 64 bits where `enable_x64` does not hold."""
    with _with_64_bits(aval.dtype):
        return device_put(x, aval=aval)


def put_result(x: np.ndarray, aval: ShapedArray, device: _jaxlib.Device, is_committed: bool) -> ArrayImpl:
    """What the host computed in the place of a program on the device, as the program's result: in memory of XLA's, which can be donated."""
    with _with_64_bits(aval.dtype):
        return put_numpy(x, aval, shardings.on_device(device), is_committed, may_share=False)


def _with_64_bits(dtype: np.dtype) -> contextlib.AbstractContextManager:
    """Context manager: inside, jaxlib keeps this dtype, since `enable_x64`, which it asks for, holds where needed."""
    return contextlib.nullcontext() if canonical_dtypes.canonicalize_dtype(dtype) == dtype else config.enable_x64(True)


def copy_to_device(x: np.ndarray, sharding: shardings.SingleDeviceSharding) -> ArrayImpl:
    """`device_put(x, sharding)` for a plain NumPy array: what jitted functions do with their NumPy arguments."""
    dtype = x.dtype
    if canonical_dtypes.canonicalize_dtype(dtype) is not dtype or dtype is _float0:
        return device_put(x, sharding)
    return _jaxlib.batched_device_put(
        _aval(x.shape, dtype, False), sharding, [x], [sharding._device], True, False, _COPY
    )


def put_numpy(
    value: np.ndarray, aval: ShapedArray, sharding: shardings.Sharding, is_committed: bool, may_share: bool
) -> ArrayImpl:
    """A NumPy array of the aval's shape and dtype, on the sharding's devices."""
    if shardings.has_terms(sharding):
        return _reshard_by_program(put_numpy(value, aval, _without_terms(sharding), is_committed, may_share), sharding)
    if type(sharding) is shardings.SingleDeviceSharding:
        semantics = _SHARE if may_share else _COPY
        return _jaxlib.batched_device_put(aval, sharding, [value], [sharding._device], is_committed, False, semantics)
    assignment = sharding._addressable_device_assignment
    indices = sharding.devices_indices_map(value.shape)
    # jaxlib cannot copy memory that several devices get a part of ("bad_function_call"); it can share our own copy.
    value = value if may_share else value.copy()
    parts = [value[indices[device]] for device in assignment]
    return _jaxlib.batched_device_put(aval, sharding, parts, list(assignment), is_committed, False, _SHARE)


def _host_value(x: Any, dtype: Any) -> tuple[np.ndarray, bool, bool]:
    """x as a NumPy array of a dtype that devices have; whether that array is a copy of its own; whether the dtype of x is weak."""
    if isinstance(x, (np.ndarray, np.generic)):
        if x.dtype == _float0:
            return np.asarray(x), False, False
        try:
            canonical = canonical_dtypes.canonicalize_dtype(x.dtype) if dtype is None else dtype
        except TypeError:
            raise _unsupported(x) from None
        # NumPy's own subclasses (matrix, memmap) become plain arrays; masked arrays have no aval.
        if type(x) is not np.ndarray and isinstance(x, np.ndarray):
            get_aval(x)
        if x.dtype == canonical and x.dtype.isnative and isinstance(x, np.ndarray):
            return np.asarray(x), False, False
        return np.array(x, canonical), True, False
    if type(x) in _python_scalars and dtype is None:
        try:
            return np.array(x, canonical_dtypes.scalar_dtype(type(x))), True, type(x) is not bool
        except OverflowError:
            pass  # the general way words it better
    if isinstance(x, _python_scalars):
        return canonical_dtypes.coerce_to_array(x, dtype), True, not isinstance(x, bool)
    if hasattr(x, "__jax_array__"):
        return _host_value(device_put(x.__jax_array__())._value, dtype)
    raise _unsupported(x)


def _unsupported(x: Any) -> UnsupportedValueError:
    text = repr(x)
    text = text if len(text) <= 80 else text[:77] + "..."
    kind = f"{type(x).__module__}.{type(x).__qualname__}".removeprefix("builtins.")
    dtype = f" with dtype {x.dtype}" if isinstance(x, (np.ndarray, np.generic)) else ""
    return UnsupportedValueError(
        f"device_put: a value of type {kind}{dtype} cannot be put on a device: {text}. "
        "Expected an array, a NumPy array or scalar of booleans or numbers, or a Python bool, int, float or complex."
    )


def _can_change(value: np.ndarray) -> bool:
    """Whether somebody can write to the memory of the array. Read-only is not enough: its owner may undo that."""
    owner: Any = value
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable:
            return True
        owner = owner.base
    return type(owner) is not bytes


def _put_array(x: ArrayImpl, target: Any, aval: ShapedArray | None, weak_type: bool | None, donate: bool) -> ArrayImpl:
    arrays.check_alive(x)
    if aval is not None and aval.dtype != x.dtype:
        raise ValueError(f"device_put: {x.aval.str_short()} cannot become {aval.str_short()} by a transfer")
    sharding = x._sharding if target is None else shardings.as_sharding(target)
    if target is not None:
        sharding.check_compatible_aval(x.shape)
    moved = x if target is None else reshard(x, sharding, _DONATE if donate else _REUSE)
    is_committed = x._committed or target is not None
    weak = x.aval.weak_type if weak_type is None else weak_type
    if moved._committed == is_committed and moved.aval.weak_type == weak and moved._sharding == sharding:
        return moved
    return with_metadata(moved, moved.aval.update(weak_type=weak), sharding, is_committed)


def _typed(x: ArrayImpl) -> ArrayImpl:
    """The array with the type that belongs to its sharding: split over explicit mesh axes, and in its memory."""
    if (aval := placed_aval(x.aval, x._sharding)) is x.aval:
        return x
    return with_metadata(x, aval, x._sharding, x._committed)


def as_uncommitted(x: ArrayImpl) -> ArrayImpl:
    """The array where it is, no longer committed: computations may move it."""
    return with_metadata(x, x.aval, x._sharding, False) if x._committed else x


def with_metadata(x: ArrayImpl, aval: ShapedArray, sharding: shardings.Sharding, is_committed: bool) -> ArrayImpl:
    """The same buffers as an array of another aval, equivalent sharding and commitment."""
    return ArrayImpl(aval, sharding, arrays._parts(x), is_committed, _skip_checks=True)


def reshard(x: ArrayImpl, sharding: shardings.Sharding, copy_semantics: Any = _REUSE) -> ArrayImpl:
    """The array laid out as `sharding` says: itself, a copy between devices, a program, or by way of the host."""
    source = x._sharding
    if source is sharding or source == sharding:
        return x
    if not (source.is_fully_addressable and sharding.is_fully_addressable):
        return _reshard_over_processes(x, sharding)
    if _is_same_tiling(source, sharding, x.ndim) and _is_one_client(source, sharding):
        semantics = copy_semantics if _has_memory_of_its_own(sharding) else _REUSE
        if source.num_devices > 1 and source.device_set == sharding.device_set:
            return _copy_within(x, sharding, semantics)
        return _copy(x, sharding, semantics)
    if source.num_devices == 1 and sharding.is_fully_replicated and sharding.is_fully_addressable and _is_one_client(source, sharding):
        devices = list(sharding._device_assignment)  # a device that has the array already keeps its buffer
        return _jaxlib.batched_device_put(x.aval, sharding, [x] * len(devices), devices, True, False, _SHARE)
    if shardings.has_terms(source) or shardings.has_terms(sharding):
        return _reshard_by_program(x, sharding)
    if _has_memory_of_its_own(sharding) and source._internal_device_list == sharding._internal_device_list:
        if _resharder is not None and (moved := _resharder(x, sharding)) is not None:
            return moved
    moved = _reshard_by_host(x, sharding)
    if copy_semantics is _DONATE:
        x.delete()  # of what was copied nothing is left to be used again, but nor is it the caller's any longer
    return moved


def _copy(x: ArrayImpl, sharding: shardings.Sharding, copy_semantics: Any) -> ArrayImpl:
    (moved,) = _jaxlib.batched_copy_to_devices([x], [sharding._internal_device_list], [sharding], [copy_semantics])
    return moved


_copy_within = guards.for_programs(_copy)
"""A copy to the same devices in another order, which a guard of transfers does not refuse."""


def _reshard_over_processes(x: ArrayImpl, sharding: shardings.Sharding) -> ArrayImpl:
    """`reshard` from or to devices of other processes, all of which do the same: values go from one to another by programs only.

    Raises:
        NotImplementedError: parts are on devices of other processes, and the sharding has not the same devices.
    """
    source = x._sharding
    if shardings.has_terms(source) or shardings.has_terms(sharding):
        return _reshard_by_program(x, sharding)
    if shardings.have_same_devices(source, sharding) and _is_same_tiling(source, sharding, x.ndim):
        return with_metadata(x, x.aval, sharding, True)
    if source.device_set == sharding.device_set and _resharder is not None and (moved := _resharder(x, sharding)) is not None:
        return moved
    if source.is_fully_addressable or source.is_fully_replicated and source.has_addressable_devices:
        return _reshard_by_host(x, sharding)
    raise NotImplementedError(
        f"device_put: {x.aval.str_short()} cannot be laid out as {sharding}: it is on devices of several processes, {source}. Cannot "
        "reshard an input that is not fully addressable onto other devices. Lay it out over the same devices, or gather it with "
        "multihost_utils.process_allgather and put the value where it is wanted."
    )


def _reshard_by_program(x: ArrayImpl, sharding: shardings.Sharding) -> ArrayImpl:
    """`reshard` by a program on the devices of the array, such as one that makes the sum of the terms that they have."""
    source = x._sharding
    is_elsewhere = source._internal_device_list != sharding._internal_device_list
    if shardings.has_terms(source) and (is_elsewhere or shardings.has_terms(sharding) and source.spec.unreduced != sharding.spec.unreduced):
        # XLA does not go from the terms of one sum to those of another at once
        return reshard(reshard(x, _without_terms(source)), sharding)
    if is_elsewhere:
        return reshard(reshard(x, _without_terms(sharding)), sharding)
    moved = None if _resharder is None else _resharder(x, sharding)
    if moved is None:
        raise NotImplementedError(f"device_put: there is no program to lay out {x.aval.str_short()} on {source} as {sharding}. "
                                  "Use two NamedShardings.")
    return moved


def _without_terms(sharding: shardings.Sharding) -> shardings.NamedSharding:
    return sharding.update(spec=sharding.spec.update(unreduced=frozenset()))


@guards.for_programs  # for the user it is a copy between devices
def _reshard_by_host(x: ArrayImpl, sharding: shardings.Sharding) -> ArrayImpl:
    return put_numpy(x._value, x.aval, sharding, True, may_share=False)


def _has_memory_of_its_own(sharding: shardings.Sharding) -> bool:
    """Whether the devices' memory is not the host's: for CPU devices, the way by the host is shorter than a program's."""
    return sharding._device_assignment[0].platform != "cpu"


_resharder: Callable[[ArrayImpl, shardings.Sharding], ArrayImpl | None] | None = None


def set_resharder(resharder: Callable[[ArrayImpl, shardings.Sharding], ArrayImpl | None]) -> None:
    """Installs the function that lays an array out anew over the same devices without the host, or returns None where it cannot; for
    devices of several processes, these may also come in another order."""
    global _resharder
    _resharder = resharder


def _is_same_tiling(a: shardings.Sharding, b: shardings.Sharding, ndim: int) -> bool:
    return a.num_devices == b.num_devices and are_equal_hlo_shardings(
        a._to_xla_hlo_sharding(ndim), b._to_xla_hlo_sharding(ndim)
    )


def _is_one_client(a: shardings.Sharding, b: shardings.Sharding) -> bool:
    return next(iter(a._device_assignment)).client is next(iter(b._device_assignment)).client


def device_get(x: Any) -> Any:
    """An array's value as a read-only NumPy array; anything else as it is.

    Raises:
        DeletedArrayError: the array was deleted or donated.
    """
    return x._value if type(x) is ArrayImpl else x


def block_until_ready(values: Iterable[Any]) -> None:
    """Waits until the arrays among the values have been computed; what went wrong in computing them is raised here."""
    own = [x for x in values if type(x) is ArrayImpl]
    if processes.state.watch is not None:  # entering a context manager would take half the time of the call
        with processes.naming_failures():
            return _jaxlib.batched_block_until_ready(own)
    _jaxlib.batched_block_until_ready(own)


def _array_from_value(value: np.ndarray, weak_type: bool) -> ArrayImpl:
    """Makes an array again of its pickled value."""
    return device_put(value, weak_type=weak_type)


def _reduce_array(array: ArrayImpl) -> tuple[Callable[..., ArrayImpl], tuple[np.ndarray, bool]]:
    return _array_from_value, (array._value, array.weak_type)


# The method of arrays that needs a transfer. Whatever makes arrays (transfers, compiled programs, DLPack) imports this module.
set_members(ArrayImpl, {"__reduce__": _reduce_array})


def _make_first_array(client: _jaxlib.Client) -> None:
    """Makes the first array, for which jaxlib looks up a module of jax, while our stand-in for it is there."""
    global _has_first_array
    devices = client.local_devices()
    if _has_first_array or not devices:
        return
    with _jaxlib.answered_jax_lookups(), guards.unguarded_transfers():
        array = put_numpy(np.zeros((), np.int32), _aval((), np.dtype(np.int32), False), shardings.on_device(devices[0]), True,
                          may_share=False)
        array._single_device_array_to_np_array_did_copy()
    _has_first_array = True


_has_first_array = False
backends.when_started(_make_first_array)
