# Written by tools/stubs.py.
"""Sparse matrices as compressed rows or columns. A table of contents: names load on first use."""

from laminax._array import Array
from laminax._src.numerics.sparse.csr import CSR as _CSR
from typing import Any
from laminax._src.numerics.sparse.csr import CSC as CSC
from laminax._src.numerics.sparse.csr import CSR as CSR

__all__: list[str]

def csr_fromdense(mat: Any, *, nse: int | None = None, index_dtype: Any = ...) -> _CSR:
    """The elements of a matrix that are not zero, as compressed rows."""
def csr_matmat(mat: _CSR, B: Any, *, transpose: bool = False) -> Array:
    """A sparse matrix, or its transpose, times a dense matrix."""
def csr_matvec(mat: _CSR, v: Any, transpose: bool = False) -> Array:
    """A sparse matrix, or its transpose, times a vector."""
def csr_todense(mat: _CSR) -> Any:
    """The matrix with all its elements."""
