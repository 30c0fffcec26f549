# Written by tools/stubs.py.
"""Devices and shardings sent to other hosts, which is not supported. Libraries, orbax among them, import the module: its names say so."""

from laminax._src.names.refused import _Unsupported

__all__: list[str]

DeviceList: _Unsupported
