# Written by tools/stubs.py.
"""Groups of operations that the compiler schedules together. A table of contents: names load on first use."""

from collections.abc import Callable
from typing import Any
from laminax.experimental.xla_metadata import xla_metadata_call as xla_metadata_call

__all__: list[str]

def scheduling_group(name: str) -> Callable[..., Any]:
    """A decorator: the compiler schedules the operations of functions of one group together; the call has the attribute of the name."""
