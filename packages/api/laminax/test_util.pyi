# Written by tools/stubs.py.
"""Derivatives checked against differences. A table of contents: names load on first use."""

from collections.abc import Callable, Sequence
from typing import Any

__all__: list[str]

def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int,
    modes: Sequence[str] = ...,
    atol: Any = None,
    rtol: Any = None,
    eps: float | None = None,
) -> None:
    """Compares a function's derivatives, up to an order, with central differences."""
def check_jvp(
    f: Callable[..., Any],
    f_jvp: Callable[..., Any],
    args: Sequence[Any],
    atol: Any = None,
    rtol: Any = None,
    eps: float = 0.0001,
    err_msg: str = '',
) -> None:
    """Compares a Jacobian-vector product with a central difference in one random direction."""
def check_vjp(
    f: Callable[..., Any],
    f_vjp: Callable[..., Any],
    args: Sequence[Any],
    atol: Any = None,
    rtol: Any = None,
    eps: float = 0.0001,
    err_msg: str = '',
) -> None:
    """Compares a vector-Jacobian product with a central difference in one random direction."""
