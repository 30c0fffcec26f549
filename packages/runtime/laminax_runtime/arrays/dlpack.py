"""DLPack: arrays over the memory of other libraries, without copying.

Source: the DLPack specification and the array API standard's `__dlpack__`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from laminax_ir.types import canonical_dtypes
from laminax_ir.types.avals import ShapedArray
from laminax_runtime import _jaxlib
from laminax_runtime.arrays import arrays, shardings, transfer
from laminax_runtime.arrays.dlpack_exports import CPU, CUDA, CUDA_HOST, ROCM
from laminax_runtime.backends import placement

# The dtypes beside NumPy's own that DLPack has types for.
_OTHER_DTYPES = frozenset(("bfloat16",))

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
        ValueError: the memory is on another device than `device`, or not aligned as the compiler's programs need it, and `copy` is False.
    """
    if not (hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__")):
        raise TypeError(f"from_dlpack: a {type(x).__name__} has no __dlpack__ and __dlpack_device__ methods")
    kind, number = x.__dlpack_device__()
    source = _device(int(kind), number)
    stream = source.get_stream_for_external_ready_events() if source.platform == "gpu" else None
    shared = _imported(x.__dlpack__(stream=stream), source, stream, copy)
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


def _imported(capsule: Any, source: Any, stream: int | None, copy: bool | None) -> Any:
    """A buffer over the memory; over a copy of it where the memory is not aligned, unless `copy` is False."""
    if copy is not False:
        return _jaxlib.import_dlpack(capsule, source, stream)
    try:
        return _jaxlib.import_dlpack(capsule, source, stream, False)
    except _jaxlib.XlaRuntimeError as error:
        if "is not aligned to" not in str(error):
            raise
        alignment = str(error).partition("is not aligned to")[2].strip(" .\n")
        raise ValueError(
            f"from_dlpack: the input requires a copy, since its memory is not aligned to {alignment}, however copy is set equal to False. "
            "Leave copy out, or allocate the memory at such an address."
        ) from None


def _converted(shared: arrays.ArrayImpl, dtype: np.dtype, device: Any, copy: bool | None) -> arrays.ArrayImpl:
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


def _device(kind: int, number: int) -> Any:
    if kind in (CPU, CUDA_HOST):
        return placement.local_devices(backend="cpu")[0]
    if kind in (CUDA, ROCM):
        for device in placement.local_devices(backend="gpu"):
            if device.local_hardware_id == number:
                return device
    raise BufferError(f"from_dlpack: there is no device for DLPack device type {kind}, number {number}")
