# Written by tools/stubs.py.
"""The cache of compiled programs on disk. A table of contents: names load on first use."""

from laminax.experimental.compilation_cache import compilation_cache as compilation_cache

__all__: list[str]

