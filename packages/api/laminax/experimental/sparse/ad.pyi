# Written by tools/stubs.py.
"""Derivatives with respect to the values of sparse arrays. A table of contents: names load on first use."""

from collections.abc import Callable, Sequence
from typing import Any

__all__: list[str]

def grad(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any) -> Callable[..., Any]:
    """`laminax.grad` of a function of sparse arrays; see `value_and_grad`."""
def is_sparse(x: Any) -> bool:
    """Whether x is an array in a sparse format."""
def jacfwd(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any) -> Callable[..., Any]:
    """`laminax.jacfwd` of a function of sparse arrays; see `jacrev`."""
def jacobian(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any) -> Callable[..., Any]:
    """`laminax.jacrev` of a function of sparse arrays."""
def jacrev(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any) -> Callable[..., Any]:
    """`laminax.jacrev` of a function of sparse arrays."""
def value_and_grad(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any) -> Callable[..., Any]:
    """`laminax.value_and_grad` of a function of sparse arrays."""
