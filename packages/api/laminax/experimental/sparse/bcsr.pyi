# Written by tools/stubs.py.
"""Sparse arrays as batches of compressed rows. A table of contents: names load on first use."""

from collections.abc import Sequence
from laminax._array import Array
from laminax._src.numerics.sparse.bcsr import BCSR as _BCSR
from typing import Any
from laminax._src.numerics.sparse.bcsr import BCSR as BCSR

__all__: list[str]

def bcsr_broadcast_in_dim(mat: _BCSR, *, shape: Sequence[int], broadcast_dimensions: Sequence[int], sharding: Any = None) -> _BCSR:
    """The array repeated along new axes, which must be batch or dense axes; arguments as those of `bcoo_broadcast_in_dim`."""
def bcsr_concatenate(operands: Sequence[_BCSR], *, dimension: int) -> _BCSR:
    """Arrays joined along a batch axis, the rows or the columns; arguments as those of `bcoo_concatenate`."""
def bcsr_dot_general(
    lhs: _BCSR,
    rhs: Any,
    *,
    dimension_numbers: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: None = None,
) -> Array:
    """A contraction of a sparse array with a dense one; arguments as those of `bcoo_dot_general`."""
def bcsr_eliminate_zeros(mat: _BCSR, nse: int | None = None) -> _BCSR:
    """The same array without entries that are zero; `nse` as in `bcoo_eliminate_zeros`."""
def bcsr_extract(indices: Any, indptr: Any, mat: Any) -> Array:
    """The elements of an array at the places of a sparse one."""
def bcsr_fromdense(mat: Any, *, nse: int | None = None, n_batch: int = 0, n_dense: int = 0, index_dtype: Any = ...) -> _BCSR:
    """The elements of an array that are not zero, as compressed rows; arguments as those of `bcoo_fromdense`."""
def bcsr_sum_duplicates(mat: _BCSR, nse: int | None = None) -> _BCSR:
    """The same array, entries of the same row and column made one; `nse` as in `bcoo_sum_duplicates`."""
def bcsr_todense(mat: _BCSR) -> Any:
    """The array that a sparse one stands for, with all its elements."""
