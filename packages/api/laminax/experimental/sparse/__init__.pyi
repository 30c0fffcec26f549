# Written by tools/stubs.py.
"""Sparse arrays. A table of contents: names load on first use."""

from collections.abc import Callable, Sequence
from laminax._array import Array
from laminax._src.numerics.sparse.base import JAXSparse as _JAXSparse
from laminax._src.numerics.sparse.bcoo import BCOO as _BCOO
from typing import Any
from laminax._src.numerics.sparse.base import CuSparseEfficiencyWarning as CuSparseEfficiencyWarning
from laminax._src.numerics.sparse.base import JAXSparse as JAXSparse
from laminax._src.numerics.sparse.base import SparseEfficiencyError as SparseEfficiencyError
from laminax._src.numerics.sparse.base import SparseEfficiencyWarning as SparseEfficiencyWarning
from laminax._src.numerics.sparse.bcoo import BCOO as BCOO
from laminax._src.numerics.sparse.bcsr import BCSR as BCSR
from laminax._src.numerics.sparse.coo import COO as COO
from laminax._src.numerics.sparse.csr import CSC as CSC
from laminax._src.numerics.sparse.csr import CSR as CSR
from laminax._src.numerics.sparse.transform import SparseTracer as SparseTracer
from laminax.experimental.sparse import ad as ad
from laminax.experimental.sparse import api as api
from laminax.experimental.sparse import bcoo as bcoo
from laminax.experimental.sparse import bcsr as bcsr
from laminax.experimental.sparse import coo as coo
from laminax.experimental.sparse import csr as csr
from laminax.experimental.sparse import linalg as linalg
from laminax.experimental.sparse import random as random
from laminax.experimental.sparse import transform as transform
from laminax.experimental.sparse import util as util
from laminax.experimental.sparse.bcoo import bcoo_extract as bcoo_extract
from laminax.experimental.sparse.bcoo import bcoo_fromdense as bcoo_fromdense
from laminax.experimental.sparse.bcoo import bcoo_todense as bcoo_todense
from laminax.experimental.sparse.bcsr import bcsr_broadcast_in_dim as bcsr_broadcast_in_dim
from laminax.experimental.sparse.bcsr import bcsr_concatenate as bcsr_concatenate
from laminax.experimental.sparse.bcsr import bcsr_dot_general as bcsr_dot_general
from laminax.experimental.sparse.bcsr import bcsr_extract as bcsr_extract
from laminax.experimental.sparse.bcsr import bcsr_fromdense as bcsr_fromdense
from laminax.experimental.sparse.bcsr import bcsr_sum_duplicates as bcsr_sum_duplicates
from laminax.experimental.sparse.bcsr import bcsr_todense as bcsr_todense
from laminax.experimental.sparse.coo import coo_fromdense as coo_fromdense
from laminax.experimental.sparse.coo import coo_matmat as coo_matmat
from laminax.experimental.sparse.coo import coo_matvec as coo_matvec
from laminax.experimental.sparse.coo import coo_todense as coo_todense
from laminax.experimental.sparse.csr import csr_fromdense as csr_fromdense
from laminax.experimental.sparse.csr import csr_matmat as csr_matmat
from laminax.experimental.sparse.csr import csr_matvec as csr_matvec
from laminax.experimental.sparse.csr import csr_todense as csr_todense
from laminax.experimental.sparse.transform import sparsify as sparsify
from laminax.experimental.sparse.transform import todense as todense

__all__: list[str]

def bcoo_broadcast_in_dim(mat: _BCOO, *, shape: Sequence[int], broadcast_dimensions: Sequence[int], sharding: Any = None) -> _BCOO:
    """The array repeated along new axes, and along axes of size 1."""
def bcoo_concatenate(operands: Sequence[_BCOO], *, dimension: int) -> _BCOO:
    """Arrays joined along an axis."""
def bcoo_conv_general_dilated(
    lhs: Any,
    rhs: Any,
    *,
    window_strides: Any,
    padding: Any,
    lhs_dilation: Any = None,
    rhs_dilation: Any = None,
    dimension_numbers: Any = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> _BCOO:
    """A convolution along one axis as by `lax.conv_general_dilated`, where one of the operands, or both, are sparse."""
def bcoo_dot_general(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: None = None,
) -> Any:
    """A contraction as by `lax.dot_general`, where one of the operands, or both, are sparse."""
def bcoo_dot_general_sampled(A: Any, B: Any, indices: Any, *, dimension_numbers: Any) -> Array:
    """Elements of a contraction of two dense arrays, at given places only."""
def bcoo_dynamic_slice(mat: _BCOO, start_indices: Sequence[Any], slice_sizes: Sequence[int]) -> _BCOO:
    """A part of given size, from a place that may be traced."""
def bcoo_eliminate_zeros(mat: _BCOO, nse: int | None = None) -> _BCOO:
    """The same array without zero entries, and with entries at the same place summed to one; `nse` as in `bcoo_sum_duplicates`."""
def bcoo_gather(
    operand: _BCOO,
    start_indices: Any,
    dimension_numbers: Any,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: Any = None,
    fill_value: Any = None,
) -> _BCOO:
    """Slices of a sparse array, as by `lax.gather`."""
def bcoo_multiply_dense(sp_mat: _BCOO, v: Any) -> Any:
    """The values of the product of a sparse array and a dense one, element by element."""
def bcoo_multiply_sparse(lhs: _BCOO, rhs: _BCOO) -> _BCOO:
    """The product of two sparse arrays, element by element."""
def bcoo_reduce_sum(mat: _BCOO, *, axes: Sequence[int]) -> _BCOO:
    """The sum along some axes, as a sparse array."""
def bcoo_reshape(mat: _BCOO, *, new_sizes: Sequence[int], dimensions: Sequence[int] | None = None, sharding: Any = None) -> _BCOO:
    """The array in another shape. Batch axes stay batch axes, sparse axes sparse, dense axes dense."""
def bcoo_rev(operand: _BCOO, dimensions: Sequence[int]) -> _BCOO:
    """The array with the order of the elements reversed along some of its axes."""
def bcoo_slice(mat: _BCOO, *, start_indices: Sequence[int], limit_indices: Sequence[int], strides: Sequence[int] | None = None) -> _BCOO:
    """Every `strides`-th element from `start_indices` to below `limit_indices`, along each axis."""
def bcoo_sort_indices(mat: _BCOO) -> _BCOO:
    """The same array, the entries of each batch in lexicographic order of their indices."""
def bcoo_squeeze(arr: _BCOO, *, dimensions: Sequence[int]) -> _BCOO:
    """The array without some of its axes, which must be of size 1 and may be counted from the end."""
def bcoo_sum_duplicates(mat: _BCOO, nse: int | None = None) -> _BCOO:
    """The same array, entries with the same index made one, in the order of the indices."""
def bcoo_transpose(mat: _BCOO, *, permutation: Sequence[int]) -> _BCOO:
    """The array with its axes permuted."""
def bcoo_update_layout(
    mat: _BCOO,
    *,
    n_batch: int | None = None,
    n_dense: int | None = None,
    on_inefficient: str | None = 'error',
) -> _BCOO:
    """The same array with other numbers of batch and dense axes."""
def empty(shape: Sequence[int], dtype: Any = None, index_dtype: Any = 'int32', sparse_format: str = 'bcoo', **kwds: Any) -> _JAXSparse:
    """A sparse array in which nothing is stored."""
def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: Any = None,
    index_dtype: Any = 'int32',
    sparse_format: str = 'bcoo',
    **kwds: Any,
) -> _JAXSparse:
    """A sparse matrix with ones on a diagonal."""
def grad(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any) -> Callable[..., Any]:
    """`laminax.grad` of a function of sparse arrays; see `value_and_grad`."""
def jacfwd(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any) -> Callable[..., Any]:
    """`laminax.jacfwd` of a function of sparse arrays; see `jacrev`."""
def jacobian(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any) -> Callable[..., Any]:
    """`laminax.jacrev` of a function of sparse arrays."""
def jacrev(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any) -> Callable[..., Any]:
    """`laminax.jacrev` of a function of sparse arrays."""
def random_bcoo(
    key: Any,
    shape: Sequence[int],
    *,
    dtype: Any = ...,
    indices_dtype: Any = None,
    nse: int | float = 0.2,
    n_batch: int = 0,
    n_dense: int = 0,
    unique_indices: bool = True,
    sorted_indices: bool = False,
    generator: Callable[..., Any] = ...,
    **kwds: Any,
) -> _BCOO:
    """A sparse array of random values at random places."""
def value_and_grad(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any) -> Callable[..., Any]:
    """`laminax.value_and_grad` of a function of sparse arrays."""
