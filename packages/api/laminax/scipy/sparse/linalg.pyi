# Written by tools/stubs.py.
"""Iterative solvers of linear equations, as in `scipy.sparse.linalg`. A table of contents: names load on first use."""

from laminax.typing import ArrayLike
from typing import Any

__all__: list[str]

def bicgstab(
    A: Any,
    b: Any,
    x0: ArrayLike | None = None,
    *,
    tol: Any = 1e-05,
    atol: Any = 0.0,
    maxiter: Any = None,
    M: Any = None,
) -> tuple[Any, None]:
    """Stabilized biconjugate gradients, for a general A."""
def cg(A: Any, b: Any, x0: Any = None, *, tol: Any = 1e-05, atol: Any = 0.0, maxiter: Any = None, M: Any = None) -> tuple[Any, None]:
    """Conjugate gradients, for a Hermitian positive definite A."""
def gmres(
    A: Any,
    b: Any,
    x0: ArrayLike | None = None,
    *,
    tol: Any = 1e-05,
    atol: Any = 0.0,
    restart: int = 20,
    maxiter: int | None = None,
    M: Any = None,
    solve_method: str = 'batched',
) -> tuple[Any, Any]:
    """Generalized minimal residuals, for a general A; the arguments are those of `cg`, and these."""
