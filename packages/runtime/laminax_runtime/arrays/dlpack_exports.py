"""DLPack: single-device arrays handed to other libraries without copying; what `array.__dlpack__` does.

Source: the DLPack specification and the array API standard's `__dlpack__`.
"""

from __future__ import annotations

from typing import Any

from laminax_runtime import _jaxlib
from laminax_runtime._jaxlib import ArrayImpl
from laminax_runtime.arrays import shardings
from laminax_runtime.backends import placement
from laminax_runtime.base import guards

# DLDeviceType
CPU, CUDA, CUDA_HOST, ROCM = 1, 2, 3, 10


def dlpack_device(array: ArrayImpl) -> tuple[int, int]:
    """The DLPack device type and number of the array's device.

    Raises:
        BufferError: the array is on several devices, or on one that DLPack does not know.
    """
    device = _only_device(array)
    if device.platform == "cpu":
        return CPU, 0
    if device.platform == "gpu":
        if "rocm" in device.client.platform_version:
            return ROCM, device.local_hardware_id
        return (CUDA_HOST if array.sharding.memory_kind == "pinned_host" else CUDA), device.local_hardware_id
    raise BufferError(f"__dlpack__: arrays on {device.platform} cannot be shared; only those on CPU and GPU can")


def to_dlpack(
    array: ArrayImpl,
    *,
    stream: int | None = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """The capsule that `array.__dlpack__` returns; its arguments are the standard's.

    Raises:
        BufferError: the array is on several devices, or cannot be shared as asked.
    """
    array._check_if_deleted()
    own = dlpack_device(array)
    if dl_device is not None and tuple(dl_device) != own:
        if tuple(dl_device) != (CPU, 0) or copy is False:
            raise BufferError(f"__dlpack__: the array is on DLPack device {own}, not on {tuple(dl_device)}")
        array, copy = _in_host_memory(array), True
    elif copy:
        array = array.__copy__()
    try:
        return _jaxlib.export_dlpack(array, stream, max_version, bool(copy))
    except _jaxlib.XlaRuntimeError as error:
        raise BufferError(f"__dlpack__: {array.aval.str_short()} cannot be shared: {error}") from None


@guards.for_programs  # for the user it is a copy between devices
def _in_host_memory(array: ArrayImpl) -> ArrayImpl:
    """A copy of an array of another platform, on the CPU."""
    device = placement.local_devices(backend="cpu")[0]
    return _jaxlib.batched_device_put(
        array.aval, shardings.on_device(device), [array._value], [device], True, False,
        _jaxlib.HostBufferSemantics.IMMUTABLE_ONLY_DURING_CALL
    )


def _only_device(array: ArrayImpl) -> Any:
    assignment = array.sharding._device_assignment
    if len(assignment) != 1:
        raise BufferError(f"__dlpack__: the array is spread over {len(assignment)} devices; only one can be shared")
    return assignment[0]
