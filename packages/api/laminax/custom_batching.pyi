# Written by tools/stubs.py.
"""Functions with a batching rule of their own. A table of contents: names load on first use."""

from collections.abc import Callable
from laminax_transforms.custom.custom_batching import custom_vmap as _custom_vmap
from typing import Any
from laminax_transforms.custom.custom_batching import custom_vmap as custom_vmap

__all__: list[str]

def sequential_vmap(f: Callable[..., Any]) -> _custom_vmap:
    """Makes a function that `vmap` calls once per example, in a loop."""
