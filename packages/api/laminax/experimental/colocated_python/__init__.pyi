# Written by tools/stubs.py.
"""Python on the hosts of devices, which is not supported and says so. A table of contents: names load on first use."""

from typing import Any, NoReturn
from laminax.experimental.colocated_python import func as func
from laminax.experimental.colocated_python import serialization as serialization

__all__: list[str]

def colocated_cpu_devices(devices_or_mesh: Any) -> NoReturn:
    """Not supported: Python runs in the process that calls it, whichever devices a program runs on."""
def colocated_python(fun: Any) -> NoReturn:
    """Not supported: Python runs in the process that calls it, whichever devices a program runs on."""
def colocated_python_class(cls: Any) -> NoReturn:
    """Not supported: Python objects are in the process that makes them, whichever devices a program runs on."""
