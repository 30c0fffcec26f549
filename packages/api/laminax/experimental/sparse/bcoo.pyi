# Written by tools/stubs.py.
"""Sparse arrays as batches of coordinates. A table of contents: names load on first use."""

from laminax._src.numerics.sparse.bcoo import BCOO as _BCOO
from typing import Any
from laminax._src.numerics.sparse.bcoo import BCOO as BCOO
from laminax.experimental.sparse import bcoo_broadcast_in_dim as bcoo_broadcast_in_dim
from laminax.experimental.sparse import bcoo_concatenate as bcoo_concatenate
from laminax.experimental.sparse import bcoo_conv_general_dilated as bcoo_conv_general_dilated
from laminax.experimental.sparse import bcoo_dot_general as bcoo_dot_general
from laminax.experimental.sparse import bcoo_dot_general_sampled as bcoo_dot_general_sampled
from laminax.experimental.sparse import bcoo_dynamic_slice as bcoo_dynamic_slice
from laminax.experimental.sparse import bcoo_eliminate_zeros as bcoo_eliminate_zeros
from laminax.experimental.sparse import bcoo_gather as bcoo_gather
from laminax.experimental.sparse import bcoo_multiply_dense as bcoo_multiply_dense
from laminax.experimental.sparse import bcoo_multiply_sparse as bcoo_multiply_sparse
from laminax.experimental.sparse import bcoo_reduce_sum as bcoo_reduce_sum
from laminax.experimental.sparse import bcoo_reshape as bcoo_reshape
from laminax.experimental.sparse import bcoo_rev as bcoo_rev
from laminax.experimental.sparse import bcoo_slice as bcoo_slice
from laminax.experimental.sparse import bcoo_sort_indices as bcoo_sort_indices
from laminax.experimental.sparse import bcoo_squeeze as bcoo_squeeze
from laminax.experimental.sparse import bcoo_sum_duplicates as bcoo_sum_duplicates
from laminax.experimental.sparse import bcoo_transpose as bcoo_transpose
from laminax.experimental.sparse import bcoo_update_layout as bcoo_update_layout

__all__: list[str]

def bcoo_extract(sparr: _BCOO, arr: Any, *, assume_unique: bool | None = None) -> _BCOO:
    """The elements of an array at the places of a sparse one."""
def bcoo_fromdense(mat: Any, *, nse: int | None = None, n_batch: int = 0, n_dense: int = 0, index_dtype: Any = ...) -> _BCOO:
    """The elements of an array that are not zero, as a sparse array."""
def bcoo_todense(mat: _BCOO) -> Any:
    """The array that a sparse one stands for, with all its elements."""
