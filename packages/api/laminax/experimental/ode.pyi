# Written by tools/stubs.py.
"""Ordinary differential equations. A table of contents: names load on first use."""

from collections.abc import Callable
from typing import Any

__all__: list[str]

def odeint(
    func: Callable[..., Any],
    y0: Any,
    t: Any,
    *args: Any,
    rtol: float = 1.4e-08,
    atol: float = 1.4e-08,
    mxstep: float = ...,
    hmax: float = ...,
) -> Any:
    """The solution of y' = func(y, t, *args) at given times."""
