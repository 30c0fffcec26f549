"""Sums and elementwise products of BCOO arrays."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any, Sequence

from laminax_ir.ops import elementwise as op
from laminax_ir.ops import shape as shape_ops

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.sparse.bcoo import BCOO
from laminax._src.numerics.sparse.entries import (
    batch_places,
    broadcast_batches,
    is_inside,
    labels,
    masked,
    over_dense,
    places,
    take,
    where_kept,
)
from laminax._src.numerics.sparse.layout import bcoo_broadcast_in_dim, bcoo_update_layout, whole_batches, without_columns

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


def bcoo_reduce_sum(mat: BCOO, *, axes: Sequence[int]) -> BCOO:
    """The sum along some axes, as a sparse array.

    Args:
      mat: a sparse array.
      axes: which; they may be counted from the end.

    Raises:
      ValueError: if one is out of range or there twice.
    """
    ndim = mat.ndim
    given = [operator.index(axis) for axis in axes]
    summed = {axis + (ndim if axis < 0 else 0) for axis in given}
    if len(summed) != len(given) or any(not 0 <= axis < ndim for axis in summed):
        raise ValueError(f"bcoo_reduce_sum: axes={tuple(axes)} must be different axes of shape {mat.shape}")
    n_batch, n_sparse = mat.n_batch, mat.n_sparse
    batch = [axis for axis in range(n_batch) if axis in summed]
    shape = tuple(size for axis, size in enumerate(mat.shape) if axis not in summed)
    if batch:
        mat = whole_batches(mat)
    data, indices = without_columns(mat, [k for k in range(n_sparse) if n_batch + k in summed])
    dense = tuple(axis - n_sparse + 1 for axis in summed if axis >= n_batch + n_sparse)
    data = data.sum(axis=dense, dtype=data.dtype) if dense else data
    if batch:  # the entries of the batches that are summed are those of one
        kept = [axis for axis in range(n_batch) if axis not in summed]
        nse = math.prod(mat.shape[axis] for axis in batch) * mat.nse

        def merged(x: Array) -> Array:
            x = x.transpose(*kept, *batch, *range(n_batch, x.ndim))
            return x.reshape(*x.shape[:len(kept)], nse, *x.shape[n_batch + 1:])
        data, indices = merged(data), merged(indices)
    return BCOO((data, indices), shape=shape)


def bcoo_multiply_dense(sp_mat: BCOO, v: Any) -> Any:
    """The values of the product of a sparse array and a dense one, element by element.

    Args:
      sp_mat: a sparse array.
      v: an array that broadcasts to its shape.

    Returns:
      An array in the place of `sp_mat.data`.
    """
    v = jnp.asarray(v)
    return sp_mat.data * _met("bcoo_multiply_dense", sp_mat, v, 0)


def bcoo_divide_dense(sp_mat: BCOO, v: ArrayLike) -> Array:
    """The values of the quotient of a sparse array and a dense one, element by element; as `bcoo_multiply_dense`."""
    v = jnp.asarray(v)
    return op.div(sp_mat.data, _met("bcoo_divide_dense", sp_mat, v, 1))


def _met(name: str, mat: BCOO, v: Array, fill_value: int) -> Array:
    """The element of a dense array that each entry meets, [*batch, nse, *dense]; `fill_value` for padding."""
    if v.ndim > mat.ndim or any(size not in (1, wanted) for size, wanted in zip(v.shape[::-1], mat.shape[::-1])):
        raise ValueError(f"{name}: v must broadcast to the shape of the sparse array, {mat.shape}, got {v.shape}")
    return v if not v.ndim else _gathered(mat.indices, v, shape=mat.shape, fill_value=fill_value)


@fused(static_argnames=("shape", "fill_value"))
def _gathered(indices: ArrayLike, v: ArrayLike, *, shape: tuple[int, ...], fill_value: int) -> Array:
    n_batch, n_sparse = indices.ndim - 2, indices.shape[-1]
    v = v.reshape((1,) * (len(shape) - v.ndim) + v.shape)
    repeated = [axis for axis in range(n_batch + n_sparse) if v.shape[axis] == 1]  # all entries meet the same element there
    at = tuple(where for axis, where in enumerate(places(indices, shape[:n_batch])) if axis not in repeated)
    v = shape_ops.squeeze(v, repeated)
    return v.at[at].get(mode="fill", fill_value=fill_value) if at else v.reshape((1,) * (n_batch + 1) + v.shape)


def bcoo_multiply_sparse(lhs: BCOO, rhs: BCOO) -> BCOO:
    """The product of two sparse arrays, element by element.

    Args:
      lhs: a sparse array.
      rhs: a sparse array of the same number of axes, and of the same sizes where neither is 1.

    Returns:
      A sparse array whose entries are where those of `lhs` are.

    Raises:
      ValueError: if the shapes do not fit.
      NotImplementedError: if their numbers of axes or of dense axes differ.
    """
    if lhs.ndim != rhs.ndim:
        raise NotImplementedError(f"bcoo_multiply_sparse: arrays of different rank are not supported, got shapes {lhs.shape} and "
                                  f"{rhs.shape}. Use bcoo_broadcast_in_dim.")
    if any(1 not in (a, b) and a != b for a, b in zip(lhs.shape, rhs.shape)):
        raise ValueError(f"bcoo_multiply_sparse: shapes must broadcast, got {lhs.shape} and {rhs.shape}")
    if lhs.n_dense != rhs.n_dense:
        raise NotImplementedError(f"bcoo_multiply_sparse: n_dense must be the same, got {lhs.n_dense} and {rhs.n_dense}. Use "
                                  "update_layout.")
    n_batch = min(lhs.n_batch, rhs.n_batch)
    lhs, rhs = (bcoo_update_layout(x, n_batch=n_batch) for x in (lhs, rhs))
    shape = broadcast_batches(lhs.shape, rhs.shape)
    end = n_batch + lhs.n_sparse
    wanted = (*shape[:end], *lhs.shape[end:])
    if lhs.shape != wanted:
        lhs = bcoo_broadcast_in_dim(lhs, shape=wanted, broadcast_dimensions=range(lhs.ndim))
    data = _product(*lhs._bufs, *rhs._bufs, shape=lhs.shape, rhs_shape=rhs.shape)
    return BCOO((data, lhs.indices), shape=shape, indices_sorted=lhs.indices_sorted, unique_indices=lhs.unique_indices)


@fused(static_argnames=("shape", "rhs_shape"))
def _product(data: ArrayLike, indices: ArrayLike, rhs_data: ArrayLike, rhs_indices: ArrayLike, *, shape: tuple[int, ...],
             rhs_shape: tuple[int, ...]) -> Array:
    """Values of lhs times the sum of those of rhs at the same place: sorted together, equal places get one label."""
    n_batch, (nse, n_sparse) = indices.ndim - 2, indices.shape[-2:]
    n_dense = data.ndim - n_batch - 1
    sparse, rhs_sparse = shape[n_batch:n_batch + n_sparse], rhs_shape[n_batch:n_batch + n_sparse]
    inside, rhs_inside = is_inside(indices, sparse), is_inside(rhs_indices, rhs_sparse)
    met = jnp.stack([indices[..., k] if size == sparse[k] else jnp.zeros_like(indices[..., k]) for k, size in enumerate(rhs_sparse)],
                    axis=-1) \
        if n_sparse else indices
    batch = broadcast_batches(indices.shape[:n_batch], rhs_indices.shape[:n_batch], rhs_data.shape[:n_batch])
    dtype = jnp.promote_types(indices.dtype, rhs_indices.dtype)
    both = [jnp.broadcast_to(x, (*batch, *x.shape[n_batch:])).astype(dtype)
            for x in (where_kept(inside, met, rhs_sparse), where_kept(rhs_inside, rhs_indices, rhs_sparse))]
    label = labels(jnp.concatenate(both, axis=n_batch))
    count = label.shape[-1]
    sums = jnp.zeros((*batch, count, *rhs_data.shape[n_batch + 1:]), rhs_data.dtype)
    sums = sums.at[(*batch_places(batch, label.dtype), label[..., nse:])].add(masked(rhs_data, rhs_inside, n_dense))
    factors = take(sums, label[..., :nse])
    return data * jnp.where(over_dense(inside, n_dense), factors, jnp.zeros((), factors.dtype))

