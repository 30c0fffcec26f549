# Written by tools/stubs.py.
"""Derivatives of high order by Taylor mode. A table of contents: names load on first use."""

from collections.abc import Callable, Sequence
from typing import Any

__all__: list[str]

def jet(fun: Callable[..., Any], primals: Sequence[Any], series: Sequence[Sequence[Any]], factorial_scaled: bool = True) -> tuple[Any, Any]:
    """Derivatives of high order along a curve, by Taylor mode."""
