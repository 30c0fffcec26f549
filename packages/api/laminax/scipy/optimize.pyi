# Written by tools/stubs.py.
"""Minimization, as in `scipy.optimize`. A table of contents: names load on first use."""

from collections.abc import Callable, Mapping
from laminax._src.numerics.scipy.bfgs import OptimizeResults as _OptimizeResults
from typing import Any
from laminax._src.numerics.scipy.bfgs import OptimizeResults as OptimizeResults

__all__: list[str]

def minimize(
    fun: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = ...,
    *,
    method: str,
    tol: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> _OptimizeResults:
    """A local minimum of a function of a vector."""
