# Written by tools/stubs.py.
"""Kinds of memory that arrays lie in. A table of contents: names load on first use."""

from laminax_ir.types.memory_spaces import MemorySpace as Space

__all__: list[str]

