# Written by tools/stubs.py.
"""Platforms and devices, by the names that older programs use. A table of contents: names load on first use."""

from laminax_runtime.backends.placement import Device
from laminax import default_backend as default_backend
from laminax import device_count as device_count
from laminax import devices as devices
from laminax import local_device_count as local_device_count
from laminax import process_count as process_count
from laminax import process_index as process_index
from laminax.extend.backend import backends as backends
from laminax.extend.backend import get_backend as get_backend

__all__: list[str]

def local_devices(process_index: int | None = None, backend: str | None = None) -> list[Device]:
    """The devices that belong to one process, by default to this one."""
