"""Stored entries of a sparse array: where they are, and which of them are at the same place.

`indices: int[*batch, nse, n_sparse]` has the place of each entry along the sparse axes. A batch axis may have size 1 where
the array's is larger: all batches share the indices then. An index beyond the array marks padding, whose value does not count.
"""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from laminax_ir.ops import shape as shape_ops
from laminax_ir.ops import sorting as sorting_ops

from laminax._src.numerics.numpy import namespace as jnp


def batch_places(batch_shape: Sequence[int], dtype: Any) -> tuple[Any, ...]:
    """For each batch axis the number of the batch, int[1, ..., size, ..., 1] with one axis more for the entries."""
    rank = len(batch_shape) + 1
    return tuple(shape_ops.broadcasted_iota(dtype, (1,) * axis + (size,) + (1,) * (rank - axis - 1), axis)
                 for axis, size in enumerate(batch_shape))


def columns(indices: Any) -> tuple[Any, ...]:
    """The index along each sparse axis, int[*batch, nse]."""
    return tuple(indices[..., k] for k in range(indices.shape[-1]))


def places(indices: Any, batch_shape: Sequence[int]) -> tuple[Any, ...]:
    """The index of each entry along the batch and the sparse axes: arrays that broadcast to [*batch, nse]."""
    return (*batch_places(batch_shape, indices.dtype), *columns(indices))


def broadcast_batches(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The batch shape of operands, each of which may have size 1 where others are larger."""
    return np.broadcast_shapes(*map(tuple, shapes))


def is_inside(indices: Any, sparse_shape: Sequence[int]) -> Any:
    """bool[*batch, nse]: whether an entry is in the array, and not padding."""
    return jnp.all(indices < _row(sparse_shape, indices), axis=-1)


def _row(values: Sequence[int], indices: Any) -> Any:
    """Values as a row that compares with indices."""
    limits = np.iinfo(np.dtype(indices.dtype))
    return jnp.asarray(np.clip(np.asarray(values, np.int64), limits.min, limits.max).astype(indices.dtype)).reshape(
        (1,) * (indices.ndim - 1) + (-1,))


def where_kept(kept: Any, indices: Any, sparse_shape: Sequence[int]) -> Any:
    """The indices, made padding where `kept` (bool[*batch, nse]) does not hold."""
    return jnp.where(kept[..., None], indices, _row(sparse_shape, indices))


def masked(data: Any, kept: Any, n_dense: int) -> Any:
    """The values (data[*batch, nse, *dense]), zero where `kept` (bool[*batch, nse]) does not hold."""
    return jnp.where(over_dense(kept, n_dense), data, jnp.zeros((), data.dtype))


def over_dense(x: Any, n_dense: int) -> Any:
    """x[*batch, nse] with an axis of size 1 for each dense axis."""
    return x.reshape(x.shape + (1,) * n_dense)


def take(data: Any, order: Any) -> Any:
    """Values of data[*batch, nse, *dense] in another order, int[*batch, nse]."""
    n_batch = order.ndim - 1
    batch = batch_places(data.shape[:n_batch], order.dtype)  # of size 1 where all batches share the values
    return data.at[(*batch, order)].get(mode="fill", fill_value=0)


def add_at(x: Any, at: Any, values: Any) -> Any:
    """x with values added at places, those beyond it dropped; of bools, whether one is there."""
    return x.at[at].max(values, mode="drop") if x.dtype == np.bool_ else x.at[at].add(values, mode="drop")


def sort(indices: Any) -> tuple[Any, Any]:
    """The indices in lexicographic order, and the order: which of the entries is first, second and so on, int32[*batch, nse]."""
    shape = indices.shape[:-1]
    *ordered, order = sorting_ops.sort((*columns(indices), shape_ops.broadcasted_iota(np.int32, shape, len(shape) - 1)),
                               dimension=-1, num_keys=indices.shape[-1])
    return jnp.stack(ordered, axis=-1), order


def labels(indices: Any) -> Any:
    """A number per entry, int32[*batch, nse]: the same for equal indices, counted from 0 in lexicographic order."""
    *batch, nse, n_sparse = indices.shape
    if not n_sparse or not nse:
        return jnp.zeros((*batch, nse), np.int32)
    ordered, order = sort(indices)
    is_new = jnp.any(ordered[..., 1:, :] != ordered[..., :-1, :], axis=-1)
    rank = jnp.concatenate([jnp.zeros((*batch, 1), np.int32), jnp.cumsum(is_new, axis=-1, dtype=np.int32)], axis=-1)
    return jnp.zeros((*batch, nse), np.int32).at[(*batch_places(batch, np.int32), order)].set(rank, unique_indices=True)


def is_first(indices: Any) -> Any:
    """bool[*batch, nse]: whether no entry before has the same index."""
    label = labels(indices)
    *batch, nse = label.shape
    number = shape_ops.broadcasted_iota(np.int32, label.shape, len(batch))
    first = jnp.full(label.shape, nse, np.int32).at[(*batch_places(batch, np.int32), label)].min(number)
    return take(first, label) == number
