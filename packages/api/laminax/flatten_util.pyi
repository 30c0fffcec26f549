# Written by tools/stubs.py.
"""Pytrees of arrays as one vector. A table of contents: names load on first use."""

from collections.abc import Callable
from typing import Any

__all__: list[str]

def ravel_pytree(pytree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """All leaves of a pytree, flattened and one after the other, and the function that makes such a tree of a vector."""
