# Written by tools/stubs.py.
"""Functions that the compiler is to make one kernel. A table of contents: names load on first use."""

from collections.abc import Callable, Sequence
from laminax_ir.types.memory_spaces import MemorySpace
from typing import Any

__all__: list[str]

def fused(*, out_spaces: Sequence[MemorySpace]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator of functions that the compiler is to make one kernel: it may read arguments and write results in the host's memory."""
