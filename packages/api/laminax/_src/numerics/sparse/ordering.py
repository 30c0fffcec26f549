"""The order of a BCOO array's entries, and entries at the same place made one."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

from laminax_ir.types.errors import ConcretizationTypeError

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.sparse.base import SparseInfo
from laminax._src.numerics.sparse.entries import add_at, batch_places, broadcast_batches, is_inside, labels, sort, take, where_kept

if TYPE_CHECKING:  # BCOO arrays have methods of these, which make arrays of the class they get
    from laminax_ir.types.annotations import Array, ArrayLike

    from laminax._src.numerics.sparse.bcoo import BCOO


def bcoo_sort_indices(mat: BCOO) -> BCOO:
    """The same array, the entries of each batch in lexicographic order of their indices."""
    buffers = _sorted(*mat._bufs) if mat.n_sparse else mat._bufs
    return type(mat)(buffers, **mat._info._replace(indices_sorted=True)._asdict())


@fused
def _sorted(data: ArrayLike, indices: ArrayLike) -> tuple[Array, Array]:
    ordered, order = sort(indices)
    return take(data, order), ordered


def bcoo_sum_duplicates(mat: BCOO, nse: int | None = None) -> BCOO:
    """The same array, entries with the same index made one, in the order of the indices.

    Args:
      mat: a sparse array.
      nse: how many entries to store in each batch, those of the highest indices being dropped if there are more; as many as are needed
        if None, which cannot be found in a trace.

    Raises:
      ValueError: in a trace, if nse is None.
    """
    sparse_shape = mat.shape[mat.n_batch:mat.n_batch + mat.n_sparse]
    if nse is None:
        try:
            nse = int(_count_places(mat.indices, sparse_shape=sparse_shape))
        except ConcretizationTypeError:
            raise ValueError("bcoo_sum_duplicates: nse must be specified when using the function within jit, vmap, and other "
                             "transformations requiring abstract evaluation.") from None
    buffers = _summed(*mat._bufs, sparse_shape=sparse_shape, nse=operator.index(nse))
    return type(mat)(buffers, **SparseInfo(mat.shape, indices_sorted=True, unique_indices=True)._asdict())


@fused(static_argnames=("sparse_shape",))
def _count_places(indices: ArrayLike, *, sparse_shape: tuple[int, ...]) -> Array:
    inside = is_inside(indices, sparse_shape)
    return jnp.max(jnp.where(inside, labels(where_kept(inside, indices, sparse_shape)) + 1, 0), initial=0)


@fused(static_argnames=("sparse_shape", "nse"))
def _summed(data: ArrayLike, indices: ArrayLike, *, sparse_shape: tuple[int, ...], nse: int) -> tuple[Array, Array]:
    n_batch = indices.ndim - 2
    inside = is_inside(indices, sparse_shape)
    indices = where_kept(inside, indices, sparse_shape)
    slot = jnp.where(inside, labels(indices), nse)  # padding is the last label, and is dropped
    batch = indices.shape[:n_batch]
    empty = where_kept(jnp.zeros((*batch, nse), bool), jnp.zeros((*batch, nse, len(sparse_shape)), indices.dtype), sparse_shape)
    places = empty.at[(*batch_places(batch, slot.dtype), slot)].set(indices, mode="drop")
    batch = broadcast_batches(batch, data.shape[:n_batch])
    sums = jnp.zeros((*batch, nse, *data.shape[n_batch + 1:]), data.dtype)
    return add_at(sums, (*batch_places(batch, slot.dtype), slot), data), places


def bcoo_eliminate_zeros(mat: BCOO, nse: int | None = None) -> BCOO:
    """The same array without zero entries, and with entries at the same place summed to one; `nse` as in `bcoo_sum_duplicates`."""
    n_batch, n_dense = mat.n_batch, mat.n_dense
    nonzero = mat.data != 0
    if n_dense:
        nonzero = jnp.any(nonzero, axis=tuple(range(nonzero.ndim - n_dense, nonzero.ndim)))
    batch = broadcast_batches(mat.indices.shape[:n_batch], mat.data.shape[:n_batch])
    indices = jnp.broadcast_to(mat.indices, (*batch, *mat.indices.shape[n_batch:]))
    kept = jnp.broadcast_to(nonzero, indices.shape[:-1])
    indices = where_kept(kept, indices, mat.shape[n_batch:n_batch + mat.n_sparse])
    return bcoo_sum_duplicates(type(mat)((mat.data, indices), shape=mat.shape), nse=nse)
