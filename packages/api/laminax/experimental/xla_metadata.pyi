# Written by tools/stubs.py.
"""Attributes for the compiler that users give to operations. A table of contents: names load on first use."""

from typing import Any

__all__: list[str]

def fuse_limit() -> Any:
    """A context manager whose operations the compiler does not fuse with those outside: they get the attribute `FUSE_LIMIT`."""
def set_xla_metadata(x: Any = None, **kwargs: Any) -> Any:
    """Gives operations attributes for the compiler, which are in the compiled program as frontend attributes."""
