# Written by tools/stubs.py.
"""Calls of functions on the hosts of devices, which are not supported. Libraries, orbax among them, import the module: its names say so."""

from laminax._src.names.refused import _Unsupported

__all__: list[str]

FunctionInfo: _Unsupported
Specialization: _Unsupported
make_callable: _Unsupported
