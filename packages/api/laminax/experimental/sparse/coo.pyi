# Written by tools/stubs.py.
"""Sparse matrices as coordinates. A table of contents: names load on first use."""

from laminax._array import Array
from laminax._src.numerics.sparse.coo import COO as _COO
from typing import Any
from laminax._src.numerics.sparse.coo import COO as COO

__all__: list[str]

def coo_fromdense(mat: Any, *, nse: int | None = None, index_dtype: Any = ...) -> _COO:
    """The elements of a matrix that are not zero, row by row."""
def coo_matmat(mat: _COO, B: Any, *, transpose: bool = False) -> Array:
    """A sparse matrix, or its transpose, times a dense matrix."""
def coo_matvec(mat: _COO, v: Any, transpose: bool = False) -> Array:
    """A sparse matrix, or its transpose, times a vector."""
def coo_todense(mat: _COO) -> Any:
    """The matrix with all its elements."""
