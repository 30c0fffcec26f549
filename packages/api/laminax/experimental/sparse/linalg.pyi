# Written by tools/stubs.py.
"""Linear equations and eigenvectors of sparse matrices. A table of contents: names load on first use."""

from laminax._array import Array
from typing import Any

__all__: list[str]

def lobpcg_standard(A: Any, X: Any, m: int = 100, tol: Any = None) -> tuple[Array, ...]:
    """The largest eigenvalues of a symmetric positive semidefinite matrix, and their eigenvectors."""
def spsolve(data: Any, indices: Any, indptr: Any, b: Any, tol: float = 1e-06, reorder: int = 1) -> Any:
    """Solves A x = b for a square sparse matrix, in compressed rows."""
