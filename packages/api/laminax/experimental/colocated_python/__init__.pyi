# Written by tools/stubs.py.
"""Python on the hosts of devices. A table of contents: names load on first use."""

from collections.abc import Callable
from typing import Any
from laminax.experimental.colocated_python import func as func
from laminax.experimental.colocated_python import serialization as serialization

__all__: list[str]

def colocated_cpu_devices(devices_or_mesh: Any) -> Any:
    """The CPU devices on the hosts of devices: a CPU device itself, and for the others of a process its CPU devices in their order."""
def colocated_python(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a function that runs on the host of its arguments' devices, in plain Python: it may do anything."""
def colocated_python_class(cls: type[Any]) -> type[Any]:
    """Makes a class whose objects live on the hosts of the devices that their methods' arguments are on."""
