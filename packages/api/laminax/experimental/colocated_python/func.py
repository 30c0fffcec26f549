"""Calls of functions on the hosts of devices, which are not supported. Libraries, orbax among them, import the module: its names say so."""

from laminax._src.names.refused import names_of_module

__all__ = ["FunctionInfo", "Specialization", "make_callable"]

__getattr__ = names_of_module("experimental.colocated_python.func", "Python runs in the process that calls it. Call the function itself.")
