# Written by tools/stubs.py.
"""Programs of IFRT's own kinds, which are not supported and say so. Libraries, orbax among them, import the module."""

from laminax._src.names.refused import _Unsupported

__all__: list[str]

ifrt_programs: _Unsupported
