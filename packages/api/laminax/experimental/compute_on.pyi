# Written by tools/stubs.py.
"""Computations in another place than the device's main unit, such as its host. A table of contents: names load on first use."""

from collections.abc import Callable
from laminax_ir.tracing.operation_attributes import changed_attributes
from typing import Any

__all__: list[str]

def compute_on(compute_type: str) -> changed_attributes:
    """Context manager and decorator: the operations inside are computed in another place."""
def compute_on2(
    f: Callable[..., Any] | None = None,
    *,
    compute_type: str,
    out_memory_spaces: Any,
    compiler_options: Any = None,
) -> Callable[..., Any]:
    """Makes a function that computes `f` in another place and puts its results in a given memory."""
