# Written by tools/stubs.py.
"""Computations in another place than the device's main unit, such as its host. A table of contents: names load on first use."""

from collections.abc import Callable, Mapping
from typing import Any

__all__: list[str]

def compute_on(
    f: Callable[..., Any] | str | None = None,
    *,
    compute_type: str | None = None,
    out_memory_spaces: Any = None,
    compiler_options: Mapping[str, Any] | None = None,
) -> Any:
    """Computes in another place: a function with `out_memory_spaces`, or the operations of a block, `with compute_on("device_host"):`."""
def compute_on2(
    f: Callable[..., Any] | None = None,
    *,
    compute_type: str,
    out_memory_spaces: Any,
    compiler_options: Any = None,
) -> Callable[..., Any]:
    """`compute_on` of a function, by the name of JAX 0.10."""
