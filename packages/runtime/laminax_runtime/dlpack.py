"""DLPack: sharing single-device arrays with other libraries without copying.

Source: the DLPack specification and the array API standard's `__dlpack__`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from laminax_ir import canonical_dtypes
from laminax_ir.avals import ShapedArray
from laminax_runtime import _jaxlib, arrays, placement, shardings, transfer

# What DLPack has types for beside NumPy's own.
_OTHER_DTYPES = frozenset(("bfloat16",))

# DLDeviceType
_CPU, _CUDA, _CUDA_HOST, _ROCM = 1, 2, 3, 10


def dlpack_device(array: arrays.ArrayImpl) -> tuple[int, int]:
    """The DLPack device type and number of the array's device.

    Raises:
        BufferError: the array is on several devices, or on one that DLPack does not know.
    """
    device = _only_device(array)
    if device.platform == "cpu":
        return _CPU, 0
    if device.platform == "gpu":
        if "rocm" in device.client.platform_version:
            return _ROCM, device.local_hardware_id
        return (_CUDA_HOST if array.sharding.memory_kind == "pinned_host" else _CUDA), device.local_hardware_id
    raise BufferError(f"__dlpack__: arrays on {device.platform} cannot be shared; only those on CPU and GPU can")


def to_dlpack(array: arrays.ArrayImpl, *, stream=None, max_version=None, dl_device=None, copy=None) -> Any:
    """The capsule that `array.__dlpack__` returns; its arguments are the standard's.

    Raises:
        BufferError: the array is on several devices, or cannot be shared as asked.
    """
    arrays._check_alive(array)
    own = dlpack_device(array)
    if dl_device is not None and tuple(dl_device) != own:
        if tuple(dl_device) != (_CPU, 0) or copy is False:
            raise BufferError(f"__dlpack__: the array is on DLPack device {own}, not on {tuple(dl_device)}")
        array, copy = transfer.device_put(array, placement.local_devices(backend="cpu")[0]), True
    elif copy:
        array = array.__copy__()
    try:
        return _jaxlib.export_dlpack(array, stream, max_version, bool(copy))
    except _jaxlib.XlaRuntimeError as error:
        raise BufferError(f"__dlpack__: {array.aval.str_short()} cannot be shared: {error}") from None


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> arrays.ArrayImpl:
    """An array over the memory of another library's array.

    The two share the memory: unlike `device_put`, this is asked for by name, and whoever asks must not write to it.

    Args:
        x: an object with `__dlpack__` and `__dlpack_device__`.
        device: where the result must be; None leaves it where it is.
        copy: True for a copy, False for an error where one would be needed.

    Raises:
        TypeError: x does not speak DLPack.
        BufferError: the memory cannot be shared and `copy` is False, as for 64-bit types while `enable_x64` is off.
        ValueError: the memory is on another device than `device`, and `copy` is False.
    """
    if not (hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__")):
        raise TypeError(f"from_dlpack: a {type(x).__name__} has no __dlpack__ and __dlpack_device__ methods")
    kind, number = x.__dlpack_device__()
    source = _device(int(kind), number)
    stream = source.get_stream_for_external_ready_events() if source.platform == "gpu" else None
    shared = _jaxlib.import_dlpack(x.__dlpack__(stream=stream), source, stream)
    aval = ShapedArray(shared.shape, shared.dtype)
    shared = arrays.ArrayImpl(aval, shardings.on_device(source), [shared], device is not None, _skip_checks=True)
    if (dtype := canonical_dtypes.canonicalize_dtype(shared.dtype)) != shared.dtype:
        return _converted(shared, dtype, device, copy)
    if device is not None and shardings.as_sharding(device) != shared.sharding:
        if copy is False:
            raise ValueError(
                f"from_dlpack: the specified device is {device}, and the memory is on {source}, which requires a copy, however copy is set "
                "equal to False. Leave copy out, or the device."
            )
        return transfer.device_put(shared, device)
    return shared.__copy__() if copy else shared


def _converted(shared: arrays.ArrayImpl, dtype: Any, device: Any, copy: bool | None) -> arrays.ArrayImpl:
    """A 64-bit array in the type that there is for it while `enable_x64` is off."""
    if copy is False:
        raise BufferError(
            f"from_dlpack: copy=False forbids the conversion from {shared.dtype} to {dtype}. Enable 64-bit types with "
            "enable_x64, or leave copy out."
        )
    value = shared._value.astype(dtype)
    converted = transfer.device_put(value, shared.sharding if device is None else device)
    return converted if device is not None else transfer.as_uncommitted(converted)


def is_supported_dtype(dtype: Any) -> bool:
    """Whether arrays of this dtype can be shared through DLPack."""
    dtype = np.dtype(dtype)
    return dtype.kind in "biufc" or dtype.name in _OTHER_DTYPES


def _only_device(array: arrays.ArrayImpl) -> Any:
    assignment = array.sharding._device_assignment
    if len(assignment) != 1:
        raise BufferError(f"__dlpack__: the array is spread over {len(assignment)} devices; only one can be shared")
    return assignment[0]


def _device(kind: int, number: int) -> Any:
    if kind in (_CPU, _CUDA_HOST):
        return placement.local_devices(backend="cpu")[0]
    if kind in (_CUDA, _ROCM):
        for device in placement.local_devices(backend="gpu"):
            if device.local_hardware_id == number:
                return device
    raise BufferError(f"from_dlpack: there is no device for DLPack device type {kind}, number {number}")
