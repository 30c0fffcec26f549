"""The names that libraries look for here: platforms, devices and jaxlib's classes."""

from laminax_runtime import (
    Client,
    Device,
    XlaRuntimeError,
    default_backend,
    device_count,
    devices,
    local_device_count,
    local_devices,
    process_count,
    process_index,
    process_indices,
)
from laminax_runtime.backends.backends import _clients as _backends

from laminax._src.names.extend.backend import backends, get_backend

__all__ = [
    "Client", "Device", "XlaRuntimeError", "_backends", "backends", "backends_are_initialized", "default_backend", "device_count",
    "devices", "get_backend", "local_device_count", "local_devices", "process_count", "process_index", "process_indices",
]


def backends_are_initialized() -> bool:
    """Whether a platform has started: options that choose devices have no effect then."""
    return bool(_backends)
