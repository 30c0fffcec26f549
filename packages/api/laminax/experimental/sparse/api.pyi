# Written by tools/stubs.py.
"""Sparse arrays of any format: made, and made dense. A table of contents: names load on first use."""

from collections.abc import Sequence
from laminax._src.numerics.sparse.base import JAXSparse
from typing import Any

__all__: list[str]

def empty(shape: Sequence[int], dtype: Any = None, index_dtype: Any = 'int32', sparse_format: str = 'bcoo', **kwds: Any) -> JAXSparse:
    """A sparse array in which nothing is stored."""
def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: Any = None,
    index_dtype: Any = 'int32',
    sparse_format: str = 'bcoo',
    **kwds: Any,
) -> JAXSparse:
    """A sparse matrix with ones on a diagonal."""
def todense(arr: Any) -> Any:
    """The array with all its elements; in a function for `sparsify`, whether its argument is sparse or not."""
