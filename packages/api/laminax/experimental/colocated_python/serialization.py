"""Devices and shardings sent to other hosts, which is not supported. Libraries, orbax among them, import the module: its names say so."""

from laminax._src.names.refused import names_of_module

__all__ = ["DeviceList"]

__getattr__ = names_of_module("experimental.colocated_python.serialization",
                              "Python runs in the process that calls it, which has its devices itself.")
