# Written by tools/stubs.py.
"""Attributes for the compiler that users give to operations. A table of contents: names load on first use."""

from collections.abc import Callable, Mapping
from typing import Any

__all__: list[str]

def fuse_limit() -> Any:
    """A context manager whose operations the compiler does not fuse with those outside: they get the attribute `FUSE_LIMIT`."""
def must_fuse_call(identifier: Any) -> Callable[..., Any]:
    """A decorator: the compiler must fuse the operations of the function into one kernel; the call has the attribute `MUST_FUSE`."""
def set_xla_metadata(x: Any = None, **kwargs: Any) -> Any:
    """Gives operations attributes for the compiler, which are in the compiled program as frontend attributes."""
def xla_metadata_call(f: Callable[..., Any] | None = None, /, **meta: Any) -> Callable[..., Any]:
    """Makes a function one call in the program, with attributes for the compiler; so are its derivatives and its mapped form."""
def xla_metadata_call2(f: Any = None, /, metadata: Mapping[str, Any] | None = None, *, ad_metadata: Any = 'same') -> Callable[..., Any]:
    """`xla_metadata_call`, with the attributes in a dict."""
