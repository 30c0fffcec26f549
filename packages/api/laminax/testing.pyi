# Written by tools/stubs.py.
"""Checks for the tests of your functions. A table of contents: names load on first use."""

from collections.abc import Callable, Sequence
from typing import Any

__all__: list[str]

def assert_max_traces(fun: Callable[..., Any] | None = None, n: int | None = None) -> Callable[..., Any]:
    """Makes a function fail when it is called more than n times: under `jit`, when it is traced more often than that."""
def check_batching(
    f: Callable[..., Any],
    args: Sequence[Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    atol: Any = None,
    rtol: Any = None,
) -> None:
    """Compares `vmap(f)` with a Python loop over f."""
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
