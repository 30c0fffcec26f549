"""Between an array and its stored entries: gather them, scatter them, find which are not zero."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_transforms import vmap

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.sparse.entries import add_at, is_first, masked, places

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


@fused(static_argnames=("shape",))
def scatter_entries(data: Any, indices: Any, *, shape: tuple[int, ...]) -> Array:
    """The array whose entries are given: the sum of those at the same place (of bools, whether one is
    True), 0 where there is none.

    Args:
      data: [*batch, nse, *dense].
      indices: int[*batch, nse, n_sparse].
      shape: of the result.
    """
    n_batch, n_sparse = indices.ndim - 2, indices.shape[-1]
    if not n_sparse:
        total = jnp.any(data, axis=n_batch) if data.dtype == np.bool_ else data.sum(axis=n_batch, dtype=data.dtype)
        return jnp.broadcast_to(total, shape)
    return add_at(jnp.zeros(shape, data.dtype), places(indices, shape[:n_batch]), data)


@fused(static_argnames=("assume_unique",))
def gather_entries(indices: Any, mat: Any, *, assume_unique: bool = True) -> Array:
    """Values of an array at given places, 0 beyond it.

    Args:
      indices: int[*batch, nse, n_sparse].
      mat: [*batch, *sparse, *dense].
      assume_unique: whether every entry has the array's value; otherwise only the first of those at the same place.

    Returns:
      An array [*batch, nse, *dense].
    """
    n_batch, (nse, n_sparse) = indices.ndim - 2, indices.shape[-2:]
    n_dense = mat.ndim - n_batch - n_sparse
    at = places(indices, mat.shape[:n_batch])
    values = mat.at[at].get(mode="fill", fill_value=0) if at else mat[None]
    values = jnp.broadcast_to(values, (*mat.shape[:n_batch], nse, *mat.shape[n_batch + n_sparse:]))
    return values if assume_unique else masked(values, is_first(indices), n_dense)


@fused(static_argnames=("nse", "n_batch", "n_dense", "index_dtype"))
def entries_of(mat: Any, *, nse: int, n_batch: int = 0, n_dense: int = 0, index_dtype: Any = np.int32) -> tuple[Array, Array]:
    """Values and indices of the elements that are not zero, the first `nse` in each batch, padded to as many.

    A derivative with respect to an element that is zero goes nowhere, except without sparse axes, where the places are known.
    """
    n_sparse = mat.ndim - n_batch - n_dense
    if not n_sparse:
        indices = jnp.zeros((*mat.shape[:n_batch], nse, 0), index_dtype)
        return gather_entries(indices, mat, assume_unique=False), indices
    sparse_shape = mat.shape[n_batch:n_batch + n_sparse]

    def find(is_stored: ArrayLike) -> Any:
        return jnp.stack(jnp.nonzero(is_stored, size=nse, fill_value=sparse_shape), axis=-1).astype(index_dtype)

    indices = reduce(lambda f, _: vmap(f), range(n_batch), find)(stored_elements(mat, n_dense))
    return gather_entries(indices, mat), indices


def stored_elements(mat: Any, n_dense: int) -> Any:
    """bool[*batch, *sparse]: where an array has an element that is not zero along the dense axes."""
    nonzero = mat != 0
    return jnp.any(nonzero, axis=tuple(range(mat.ndim - n_dense, mat.ndim))) if n_dense else nonzero


@fused(static_argnames=("n_batch", "n_dense"))
def count_stored_elements(mat: Any, *, n_batch: int = 0, n_dense: int = 0) -> Array:
    """How many entries a sparse array of the same elements needs: the largest number in a batch, an int32 scalar."""
    stored = stored_elements(mat, n_dense)
    counts = jnp.sum(stored, axis=tuple(range(n_batch, stored.ndim)), dtype=np.int32)
    return jnp.max(counts, initial=0)
