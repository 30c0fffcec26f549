"""BCSR: batches of compressed rows. Of two sparse axes the second has an index per entry, the first where its rows begin.

Most is done on the same array as coordinates (`to_bcoo`), which has the same entries in the same order.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from laminax_ir.pytrees import pytree
from laminax_transforms.batching.mapped_types import register_vmappable

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.sparse.base import JAXSparse, SparseInfo, is_sparse
from laminax._src.numerics.sparse.bcoo import BCOO, bcoo_fromdense, give_operators
from laminax._src.numerics.sparse.conversion import gather_entries
from laminax._src.numerics.sparse.entries import batch_places, is_inside
from laminax._src.numerics.sparse.layout import bcoo_broadcast_in_dim, bcoo_concatenate, whole_batches
from laminax._src.numerics.sparse.ordering import bcoo_eliminate_zeros, bcoo_sort_indices
from laminax._src.numerics.sparse.products import bcoo_dot_general
from laminax._src.numerics.sparse.transform import sparsify

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


@pytree.register_pytree_node_class
class BCSR(JAXSparse):
    """A sparse array as the values of its entries, their columns, and where each row begins, with batch and dense axes.

    Args:
      args: `data`, [*batch, nse, *dense], `indices`, int[*batch, nse], and `indptr`, int[*batch, rows + 1]: the entries of row i are those
        from `indptr[i]` to below `indptr[i + 1]`. What is behind the last row is padding.
      shape: of the array, (*batch, rows, columns, *dense).
      indices_sorted: whether the columns of each row are in increasing order.
      unique_indices: whether no row has a column twice.

    Raises:
      ValueError: if the arrays' shapes do not fit each other and `shape`.

    Example:
      >>> BCSR((jnp.array([3.0, 5.0]), jnp.array([1, 2]), jnp.array([0, 1, 1, 2])), shape=(3, 3))
      BCSR(float32[3, 3], nse=2)
    """

    def __init__(self, args: tuple[Any, Any, Any], *, shape: Sequence[int], indices_sorted: bool = False,
                 unique_indices: bool = False) -> None:
        self.data, self.indices, self.indptr = map(jnp.asarray, args)
        super().__init__(args, shape=shape)
        self.indices_sorted: bool = indices_sorted
        self.unique_indices: bool = unique_indices
        _check(self)

    nse: property = property(lambda self: self.indices.shape[-1], doc="Number of entries that are stored, in each batch.")
    n_batch: property = property(lambda self: self.indices.ndim - 1, doc="Number of batch axes, the first ones.")
    n_sparse: property = property(lambda _: 2, doc="Number of sparse axes: rows and columns.")
    n_dense: property = property(lambda self: self.data.ndim - self.indices.ndim, doc="Number of dense axes, the last ones.")
    _bufs: property = property(lambda self: (self.data, self.indices, self.indptr))
    _info: property = property(lambda self: SparseInfo(self.shape, self.indices_sorted, self.unique_indices))
    _described_layout = BCOO._described_layout
    _has_rules = True

    data: Any
    indices: Any
    indptr: Any

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32, n_dense: int = 0, n_batch: int = 0) -> BCSR:
        """The elements of an array that are not zero; see `bcsr_fromdense`."""
        return bcsr_fromdense(mat, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype)

    @classmethod
    def from_bcoo(cls, arr: BCOO) -> BCSR:
        """The same array, from coordinates.

        Raises:
          NotImplementedError: if there are not two sparse axes.
        """
        if arr.n_sparse != 2:
            raise NotImplementedError(f"BCSR.from_bcoo requires n_sparse=2; got {arr.n_sparse=}. Use update_layout.")
        arr = arr if arr.indices_sorted else bcoo_sort_indices(arr)
        if arr.data.shape[:arr.n_batch] != arr.indices.shape[:arr.n_batch]:
            arr = whole_batches(arr)
        rows = arr.shape[arr.n_batch]
        indptr = _row_starts(arr.indices[..., 0], is_inside(arr.indices, arr.shape[arr.n_batch:arr.n_batch + 2]), rows=rows)
        return cls((arr.data, arr.indices[..., 1], indptr), shape=arr.shape, indices_sorted=True, unique_indices=arr.unique_indices)

    @classmethod
    def from_scipy_sparse(cls, mat: Any, *, index_dtype: Any = None, n_dense: int = 0, n_batch: int = 0) -> BCSR:
        """The entries of a matrix of `scipy.sparse`; `n_dense` and `n_batch` must be 0."""
        if n_dense or n_batch:
            raise NotImplementedError(f"BCSR.from_scipy_sparse: n_batch and n_dense must be 0, got {n_batch} and {n_dense}")
        mat = mat.tocsr()
        return cls((jnp.asarray(mat.data), jnp.asarray(mat.indices, dtype=index_dtype), jnp.asarray(mat.indptr, dtype=index_dtype)),
                   shape=mat.shape)

    @classmethod
    def _empty(cls, shape: Sequence[int], *, dtype: Any = None, index_dtype: Any = "int32", n_dense: int = 0, n_batch: int = 0,
               nse: int = 0) -> BCSR:
        if len(shape) - n_batch - n_dense != 2:
            raise ValueError(f"BCSR of shape {tuple(shape)}: there must be two sparse axes, got {n_batch=} and {n_dense=}")
        return cls.from_bcoo(BCOO._empty(shape, dtype=dtype, index_dtype=index_dtype, n_dense=n_dense, n_batch=n_batch, nse=nse))

    @classmethod
    def _eye(cls, N: int, M: int, k: int, *, dtype: Any = None, index_dtype: Any = "int32", n_batch: int = 0,  # noqa: N803
             n_dense: int = 0) -> BCSR:
        return cls.from_bcoo(BCOO._eye(N, M, k, dtype=dtype, index_dtype=index_dtype, n_batch=n_batch, n_dense=n_dense))

    def to_bcoo(self) -> BCOO:
        """The same array as coordinates, with the same entries in the same order."""
        rows = _rows(self.indptr, nse=self.nse).astype(self.indices.dtype)
        indices = jnp.stack([rows, self.indices], axis=-1)
        return BCOO((self.data, indices), **self._info._asdict())

    def todense(self) -> Any:
        """The array with all its elements."""
        return self.to_bcoo().todense()

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> BCSR:
        """The same array, entries of the same row and column made one; arguments as those of `BCOO.sum_duplicates`."""
        return BCSR.from_bcoo(self.to_bcoo().sum_duplicates(nse=nse, remove_zeros=remove_zeros))

    def transpose(self, axes: Any = None) -> Any:
        """Not supported by this format.

        Raises:
          NotImplementedError: always.
        """
        raise NotImplementedError("BCSR: Transpose is not implemented. Use to_bcoo().transpose(axes).")

    def tree_flatten(self) -> Any:
        """Its buffers, and what is static about it."""
        return self._bufs, self._info

    @classmethod
    def tree_unflatten(cls, aux_data: SparseInfo, children: Any) -> BCSR:
        """The array of buffers and what is static about it, without checks."""
        return object.__new__(cls)._set(("data", "indices", "indptr", *SparseInfo._fields), (*children, *aux_data))

    def __getitem__(self, index: Any) -> BCSR:
        return sparsify(lambda x: x[index])(self)


give_operators(BCSR, {"matmul": "matmul"})


def _check(x: BCSR) -> None:
    data, indices, indptr, shape = x.data, x.indices, x.indptr, x.shape
    said = f"BCSR of shape {shape}: "
    if indices.ndim < 1 or indptr.ndim != indices.ndim or not all(jnp.issubdtype(i.dtype, jnp.integer) for i in (indices, indptr)):
        raise ValueError(f"{said}indices and indptr must be integers [*batch, nse] and [*batch, rows + 1], got "
                         f"{indices.dtype}{list(indices.shape)} and {indptr.dtype}{list(indptr.shape)}")
    n_batch, n_dense = x.n_batch, x.n_dense
    if n_dense < 0 or n_batch + 2 + n_dense != len(shape):
        raise ValueError(f"{said}data.shape={data.shape} and indices.shape={indices.shape} make an array of {n_batch} batch, 2 sparse and "
                         f"{max(n_dense, 0)} dense axes")
    for name in ("data", "indices", "indptr"):
        batch = getattr(x, name).shape[:n_batch]
        if any(size not in (1, wanted) for size, wanted in zip(batch, shape)):
            raise ValueError(f"{said}{name} batch dimensions {batch} not compatible: each must be 1, or the array's size")
    if data.shape[n_batch:] != (x.nse, *shape[n_batch + 2:]):
        raise ValueError(f"Invalid data.shape={data.shape} for nse={x.nse}, {n_batch=}, {n_dense=}: after the batch axes it must be "
                         f"{(x.nse, *shape[n_batch + 2:])}")
    if indptr.shape[-1] != shape[n_batch] + 1:
        raise ValueError(f"{said}indptr.shape={indptr.shape} must end with the number of rows and one more, {shape[n_batch] + 1}")


@fused(static_argnames=("nse",))
def _rows(indptr: Any, *, nse: int) -> Array:
    """The row of each entry: how many rows end before it; behind the last row their number, which marks padding."""
    batch = indptr.shape[:-1]
    ends = jnp.zeros((*batch, nse + 1), indptr.dtype).at[(*batch_places(batch, indptr.dtype), indptr[..., 1:])].add(1, mode="drop")
    return jnp.cumsum(ends, axis=-1)[..., :nse]


@fused(static_argnames=("rows",))
def _row_starts(row: ArrayLike, is_stored: ArrayLike, *, rows: int) -> Array:
    batch = row.shape[:-1]
    counts = jnp.zeros((*batch, rows + 1), row.dtype)
    counts = counts.at[(*batch_places(batch, row.dtype), jnp.where(is_stored, row + 1, rows + 1))].add(1, mode="drop")
    return jnp.cumsum(counts, axis=-1)


def bcsr_fromdense(mat: Any, *, nse: int | None = None, n_batch: int = 0, n_dense: int = 0, index_dtype: Any = np.int32) -> BCSR:
    """The elements of an array that are not zero, as compressed rows; arguments as those of `bcoo_fromdense`.

    Raises:
      ValueError: if the numbers of axes do not leave two sparse ones.
      ConcretizationTypeError: in a trace, if nse is None.
    """
    mat = jnp.asarray(mat)
    if mat.ndim - n_batch - n_dense != 2:
        raise ValueError(f"bcsr_fromdense: there must be two sparse axes, got {n_batch=} and {n_dense=} for shape {mat.shape}")
    return BCSR.from_bcoo(bcoo_fromdense(mat, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype))


def bcsr_todense(mat: BCSR) -> Any:
    """The array that a sparse one stands for, with all its elements."""
    return mat.todense()


def bcsr_extract(indices: Any, indptr: Any, mat: Any) -> Array:
    """The elements of an array at the places of a sparse one.

    Args:
      indices: int[*batch, nse], columns.
      indptr: int[*batch, rows + 1], where rows begin.
      mat: [*batch, rows, columns, *dense].

    Returns:
      An array [*batch, nse, *dense], 0 for padding.
    """
    indices, indptr = jnp.asarray(indices), jnp.asarray(indptr)
    rows = _rows(indptr, nse=indices.shape[-1]).astype(indices.dtype)
    return gather_entries(jnp.stack([rows, indices], axis=-1), jnp.asarray(mat))


def bcsr_eliminate_zeros(mat: BCSR, nse: int | None = None) -> BCSR:
    """The same array without entries that are zero; `nse` as in `bcoo_eliminate_zeros`."""
    return BCSR.from_bcoo(bcoo_eliminate_zeros(mat.to_bcoo(), nse=nse))


def bcsr_sum_duplicates(mat: BCSR, nse: int | None = None) -> BCSR:
    """The same array, entries of the same row and column made one; `nse` as in `bcoo_sum_duplicates`."""
    return mat.sum_duplicates(nse=nse, remove_zeros=False)


def bcsr_dot_general(lhs: BCSR, rhs: Any, *, dimension_numbers: Any, precision: Any = None, preferred_element_type: Any = None,
                     out_sharding: None = None) -> Array:
    """A contraction of a sparse array with a dense one; arguments as those of `bcoo_dot_general`.

    Raises:
      NotImplementedError: if the first is no BCSR array, or the second is sparse.
    """
    if not isinstance(lhs, BCSR) or is_sparse(rhs):
        raise NotImplementedError(f"bcsr_dot_general currently implemented for BCSR lhs and ndarray rhs, got {type(lhs).__name__} and "
                                  f"{type(rhs).__name__}. Use to_bcoo, and bcoo_dot_general.")
    return bcoo_dot_general(lhs.to_bcoo(), rhs, dimension_numbers=dimension_numbers, precision=precision,
                            preferred_element_type=preferred_element_type, out_sharding=out_sharding)


def bcsr_broadcast_in_dim(mat: BCSR, *, shape: Sequence[int], broadcast_dimensions: Sequence[int], sharding: Any = None) -> BCSR:
    """The array repeated along new axes, which must be batch or dense axes; arguments as those of `bcoo_broadcast_in_dim`."""
    out = bcoo_broadcast_in_dim(mat.to_bcoo(), shape=shape, broadcast_dimensions=broadcast_dimensions, sharding=sharding)
    if out.n_sparse != 2:
        raise NotImplementedError(f"bcsr_broadcast_in_dim: the result, of shape {out.shape}, would have {out.n_sparse} sparse axes, and "
                                  "BCSR has 2. Use to_bcoo.")
    return BCSR.from_bcoo(out)


def bcsr_concatenate(operands: Sequence[BCSR], *, dimension: int) -> BCSR:
    """Arrays joined along a batch axis, the rows or the columns; arguments as those of `bcoo_concatenate`."""
    return BCSR.from_bcoo(bcoo_concatenate([x.to_bcoo() for x in operands], dimension=operator.index(dimension)))


# --- vmap: batch axes can be mapped ---


def _one_of_batch(take: Callable[..., Any], _index: Callable[..., Any], mat: BCSR, axis: int | None) -> BCSR:
    if axis is None:
        return mat
    if not 0 <= axis < mat.n_batch:
        raise ValueError(f"Cannot map in_axis={axis} for BCSR array with n_batch={mat.n_batch}. in_axes for batched BCSR operations must "
                         "correspond to a batch dimension.")

    def mapped(x: Array) -> Array:
        return take(jnp.squeeze(x, axis), None) if x.shape[axis] != mat.shape[axis] else take(x, axis)
    return BCSR(tuple(map(mapped, mat._bufs)), **mat._info._replace(shape=mat.shape[:axis] + mat.shape[axis + 1:])._asdict())


def _batch_of_one(put: Callable[..., Any], size: int, mat: BCSR, axis: int | None) -> BCSR:
    if axis is None:
        return mat
    if not 0 <= axis <= mat.n_batch:
        raise ValueError(f"BCSR: cannot add out_axis={axis} for BCSR array with n_batch={mat.n_batch}. BCSR batch axes must be a "
                         "contiguous block of leading dimensions.")
    return BCSR(tuple(put(size, x, axis) for x in mat._bufs),
                **mat._info._replace(shape=(*mat.shape[:axis], size, *mat.shape[axis:]))._asdict())


register_vmappable(BCSR, int, int, _one_of_batch, _batch_of_one, None)
