"""Python on the hosts of devices. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(
    __name__, {"parallel.colocated_python": "colocated_cpu_devices colocated_python colocated_python_class"},
    submodules=["func", "serialization"])
