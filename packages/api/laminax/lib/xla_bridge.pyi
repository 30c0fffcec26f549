# Written by tools/stubs.py.
"""Platforms and devices, by the names that older programs use. A table of contents: names load on first use."""

from laminax_runtime.backends.placement import Device
from typing import Any

__all__: list[str]

def backends() -> dict[str, Any]:
    """The clients that have been started, by platform; the default one is started."""
def default_backend() -> str:
    """The default platform's name: 'cpu', 'gpu' or 'tpu'."""
def device_count(backend: str | None = None) -> int:
    """How many devices a platform has, over all processes."""
def devices(backend: str | None = None) -> list[Device]:
    """All devices of a platform, those of other processes included, in the order of their ids."""
def get_backend(platform: Any = None) -> Any:
    """The client of a platform, started on the first call."""
def local_device_count(backend: str | None = None) -> int:
    """How many devices of a platform this process can address."""
def local_devices(process_index: int | None = None, backend: str | None = None) -> list[Device]:
    """The devices that belong to one process, by default to this one."""
def process_count(backend: str | None = None) -> int:
    """How many processes compute together."""
def process_index(backend: str | None = None) -> int:
    """This process's number among those that compute together."""
