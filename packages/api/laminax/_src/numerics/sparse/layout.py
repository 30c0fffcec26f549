"""BCOO arrays of another shape or layout: which axes are batch and dense, their order, sizes and number."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any, Sequence
from warnings import warn

import numpy as np

from laminax_ir.ops import shape as shape_ops

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.sparse.base import SparseEfficiencyError, SparseEfficiencyWarning
from laminax._src.numerics.sparse.entries import broadcast_batches, columns, is_inside, masked, where_kept
from laminax._src.numerics.sparse.ordering import bcoo_sum_duplicates

if TYPE_CHECKING:  # BCOO arrays have methods of these, which make arrays of the class they get
    from laminax_ir.types.annotations import Array

    from laminax._src.numerics.sparse.bcoo import BCOO


def split_shape(mat: BCOO) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """The sizes of the batch, the sparse and the dense axes."""
    end = mat.n_batch + mat.n_sparse
    return mat.shape[:mat.n_batch], mat.shape[mat.n_batch:end], mat.shape[end:]


def whole_batches(mat: BCOO) -> BCOO:
    """The same array with buffers that have all batches."""
    batch = mat.shape[:mat.n_batch]
    data, indices = (x if x.shape[:mat.n_batch] == batch else jnp.broadcast_to(x, (*batch, *x.shape[mat.n_batch:])) for x in mat._bufs)
    return type(mat)((data, indices), **mat._info._asdict())


def at_most_one_per_place(mat: BCOO) -> BCOO:
    """The same array, without more entries than it has places: where more are stored, those at the same place are added."""
    places = math.prod(split_shape(mat)[1])
    return bcoo_sum_duplicates(mat, nse=places) if mat.nse > places else mat


def bcoo_update_layout(mat: BCOO, *, n_batch: int | None = None, n_dense: int | None = None, on_inefficient: str | None = "error") -> BCOO:
    """The same array with other numbers of batch and dense axes.

    Fewer batch or dense axes cost nothing. With more of them entries are stored that are zero.

    Args:
      mat: a sparse array.
      n_batch: number of batch axes; as it is if None.
      n_dense: number of dense axes; as it is if None.
      on_inefficient: what to do if there are to be more: "error", "warn", or None for nothing.

    Raises:
      SparseEfficiencyError: with "error", if there are to be more.
      ValueError: if there are more than the array's axes, or on_inefficient is something else.
    """
    n_batch = mat.n_batch if n_batch is None else operator.index(n_batch)
    n_dense = mat.n_dense if n_dense is None else operator.index(n_dense)
    if n_batch < 0 or n_dense < 0:
        raise ValueError(f"bcoo_update_layout: n_batch and n_dense must not be negative, got {n_batch} and {n_dense}")
    if n_batch + n_dense > mat.ndim:
        raise ValueError(f"sum of {n_batch=} and {n_dense=} cannot be larger than mat.ndim={mat.ndim}.")
    if on_inefficient not in ("error", "warn", None):
        raise ValueError(f"bcoo_update_layout: on_inefficient must be 'error', 'warn' or None, got {on_inefficient!r}")
    for name, old, new in (("n_batch", mat.n_batch, n_batch), ("n_dense", mat.n_dense, n_dense)):
        if new > old and on_inefficient is not None:
            message = (f"For matrix of shape {mat.shape}, increasing {name} from {old} to {new} results in inefficient storage. To disable "
                       f"this {'error' if on_inefficient == 'error' else 'warning'}, set the on_inefficient argument of bcoo_update_layout "
                       "to 'warn' or None.")
            if on_inefficient == "error":
                raise SparseEfficiencyError(message)
            warn(message, SparseEfficiencyWarning, stacklevel=2)
    if n_batch < mat.n_batch:
        mat = _batch_made_sparse(mat, n_batch)
    if n_dense < mat.n_dense:
        mat = _dense_made_sparse(mat, n_dense)
    while n_batch > mat.n_batch:
        mat = _first_sparse_made_batch(mat)
    while n_dense > mat.n_dense:
        mat = _last_sparse_made_dense(mat)
    return mat


def _batch_made_sparse(mat: BCOO, n_batch: int) -> BCOO:
    mat = whole_batches(mat)
    merged = mat.shape[n_batch:mat.n_batch]
    within = (*mat.shape[:mat.n_batch], mat.nse)
    new = [shape_ops.broadcasted_iota(mat.indices.dtype, (*within, 1), axis) for axis in range(n_batch, mat.n_batch)]
    nse = math.prod(merged) * mat.nse
    indices = jnp.concatenate([*new, mat.indices], axis=-1).reshape(*mat.shape[:n_batch], nse, len(merged) + mat.n_sparse)
    data = mat.data.reshape(*mat.shape[:n_batch], nse, *split_shape(mat)[2])
    return type(mat)((data, indices), shape=mat.shape, unique_indices=mat.unique_indices)


def _dense_made_sparse(mat: BCOO, n_dense: int) -> BCOO:
    batch, _, dense = split_shape(mat)
    moved, kept = dense[:mat.n_dense - n_dense], dense[mat.n_dense - n_dense:]
    shared = mat.indices.shape[:mat.n_batch]
    of_data = mat.data.shape[:mat.n_batch]
    ranks = (1,) * (mat.n_batch + 1)
    new = [jnp.broadcast_to(shape_ops.broadcasted_iota(mat.indices.dtype, (*ranks, *moved), mat.n_batch + 1 + axis),
                            (*shared, mat.nse, *moved))
           for axis in range(len(moved))]
    old = [jnp.broadcast_to(c.reshape(c.shape + (1,) * len(moved)), (*shared, mat.nse, *moved)) for c in columns(mat.indices)]
    nse = mat.nse * math.prod(moved)
    indices = jnp.stack([*old, *new], axis=-1).reshape(*shared, nse, mat.n_sparse + len(moved))
    return type(mat)((mat.data.reshape(*of_data, nse, *kept), indices), shape=mat.shape, unique_indices=mat.unique_indices)


def _first_sparse_made_batch(mat: BCOO) -> BCOO:
    _, sparse, _ = split_shape(mat)
    axis = mat.n_batch
    number = shape_ops.broadcasted_iota(mat.indices.dtype, (1,) * axis + (sparse[0], 1), axis)
    inside = is_inside(mat.indices, sparse)
    first, *_ = columns(mat.indices)
    kept = (jnp.expand_dims(first, axis) == number) & jnp.expand_dims(inside, axis)
    indices = jnp.expand_dims(mat.indices[..., 1:], axis)
    indices = where_kept(kept, jnp.broadcast_to(indices, (*kept.shape, indices.shape[-1])), sparse[1:])
    data = masked(jnp.expand_dims(mat.data, axis), kept, mat.n_dense)
    return at_most_one_per_place(type(mat)((data, indices), shape=mat.shape, unique_indices=mat.unique_indices))


def _last_sparse_made_dense(mat: BCOO) -> BCOO:
    _, sparse, _ = split_shape(mat)
    inside = is_inside(mat.indices, sparse)
    last = columns(mat.indices)[-1]
    kept = (last[..., None] == jnp.arange(sparse[-1], dtype=last.dtype).reshape((1,) * last.ndim + (-1,))) & inside[..., None]
    data = masked(jnp.expand_dims(mat.data, mat.n_batch + 1), kept, mat.n_dense)
    indices = where_kept(inside, mat.indices[..., :-1], sparse[:-1])
    return at_most_one_per_place(type(mat)((data, indices), shape=mat.shape))


def bcoo_transpose(mat: BCOO, *, permutation: Sequence[int]) -> BCOO:
    """The array with its axes permuted.

    Args:
      mat: a sparse array.
      permutation: for each axis of the result the axis of `mat` that it is; batch, sparse and dense axes stay among themselves.

    Raises:
      TypeError: if it is not a permutation of the axes.
      NotImplementedError: if it moves an axis to another kind. Use `update_layout` before.
    """
    if not isinstance(permutation, (tuple, list, np.ndarray)):
        raise TypeError(f"transpose permutation must be a tuple/list/ndarray, got {type(permutation)}.")
    permutation = tuple(operator.index(axis) for axis in permutation)
    if sorted(permutation) != list(range(mat.ndim)):
        raise TypeError(f"transpose permutation isn't a permutation of operand dimensions, got permutation {permutation} for shape "
                        f"{mat.shape}.")
    n_batch, end = mat.n_batch, mat.n_batch + mat.n_sparse
    batch, sparse, dense = permutation[:n_batch], permutation[n_batch:end], permutation[end:]
    if any(axis >= n_batch for axis in batch):
        raise NotImplementedError(f"transpose permutation cannot permute batch axes with non-batch axes; got permutation {permutation}, "
                                  f"with {n_batch=}. Use update_layout before.")
    if any(axis < end for axis in dense):
        raise NotImplementedError(f"transpose permutation cannot permute dense axes with non-dense axes; got permutation {permutation}, "
                                  f"with n_dense={mat.n_dense}. Use update_layout before.")
    data = mat.data.transpose(*batch, n_batch, *(axis - mat.n_sparse + 1 for axis in dense))
    indices = mat.indices.transpose(*batch, n_batch, n_batch + 1)
    indices = jnp.stack([indices[..., axis - n_batch] for axis in sparse], axis=-1) if sparse != tuple(sorted(sparse)) else indices
    return type(mat)((data, indices), shape=tuple(mat.shape[axis] for axis in permutation),
                indices_sorted=mat.indices_sorted and sparse == tuple(sorted(sparse)), unique_indices=mat.unique_indices)


def bcoo_broadcast_in_dim(mat: BCOO, *, shape: Sequence[int], broadcast_dimensions: Sequence[int], sharding: Any = None) -> BCOO:
    """The array repeated along new axes, and along axes of size 1.

    New axes before the first that is no batch axis are batch axes; others are dense after the first dense axis, and sparse before.

    Args:
      mat: a sparse array.
      shape: of the result.
      broadcast_dimensions: for each axis of `mat` where it is in the result, increasing.
      sharding: must be None.

    Returns:
      A sparse array of this shape.

    Raises:
      NotImplementedError: if a sharding is given.
      ValueError: if broadcast_dimensions do not say where the axes go, or a size does not fit.
    """
    if sharding is not None:
        raise NotImplementedError(f"bcoo_broadcast_in_dim: sharding must be None, got {sharding!r}")
    shape, axes = tuple(map(operator.index, shape)), tuple(map(operator.index, broadcast_dimensions))
    if len(axes) != mat.ndim or list(axes) != sorted(set(axes)) or any(not 0 <= axis < len(shape) for axis in axes) \
            or any(size not in (1, shape[axis]) for size, axis in zip(mat.shape, axes)):
        raise ValueError(f"bcoo_broadcast_in_dim: broadcast_dimensions={axes} must say, increasing, where the axes of shape {mat.shape} "
                         f"are in {shape}, which must have the same sizes there where they are not 1")
    old_batch, old_sparse = mat.n_batch, mat.n_sparse
    n_batch = axes[old_batch] if old_batch < mat.ndim else len(shape)
    first_dense = axes[old_batch + old_sparse] if mat.n_dense else len(shape)
    batch, sparse, dense = shape[:n_batch], shape[n_batch:first_dense], shape[first_dense:]
    batch_axes = axes[:old_batch]
    dense_axes = tuple(n_batch + 1 + axis - first_dense for axis in axes[old_batch + old_sparse:])
    data = shape_ops.broadcast_in_dim(mat.data, (*batch, mat.nse, *dense), (*batch_axes, n_batch, *dense_axes))
    indices = shape_ops.broadcast_in_dim(mat.indices, (*batch, mat.nse, old_sparse), (*batch_axes, n_batch, n_batch + 1))
    old = {axis - n_batch: k for k, axis in enumerate(axes[old_batch:old_batch + old_sparse])}
    repeated = [size if axis not in old or mat.shape[old_batch + old[axis]] != size else 1 for axis, size in enumerate(sparse)]
    data, indices = _repeat_entries(data, indices, mat.shape[old_batch:old_batch + old_sparse], sparse, old, repeated)
    return type(mat)((data, indices), shape=shape, unique_indices=mat.unique_indices)


def _repeat_entries(data: Array, indices: Array, old_shape: tuple[int, ...], sparse: tuple[int, ...], old: dict[int, int],
                    repeated: Sequence[int]) -> tuple[Array, Array]:
    """Each entry once for every place along the repeated sparse axes, which are not among the `old` ones or had size 1."""
    times = math.prod(repeated)
    n_batch, nse = indices.ndim - 2, indices.shape[-2]
    batch = indices.shape[:n_batch]
    inside = jnp.broadcast_to(is_inside(indices, old_shape)[..., None], (*batch, nse, times)).reshape(*batch, nse * times)
    number = np.unravel_index(np.arange(times), repeated) if repeated else ()
    rows = []
    for axis in range(len(sparse)):
        column = jnp.asarray(number[axis], indices.dtype).reshape((1,) * (n_batch + 1) + (-1,))
        if axis in old and repeated[axis] == 1:
            column = indices[..., old[axis], None]
        rows.append(jnp.broadcast_to(column, (*batch, nse, times)).reshape(*batch, nse * times))
    rows = jnp.stack(rows, axis=-1) if rows else jnp.zeros((*batch, nse, 0), indices.dtype)
    data = jnp.repeat(data, times, axis=n_batch) if times != 1 else data
    return data, where_kept(inside, rows, sparse)


def bcoo_reshape(mat: BCOO, *, new_sizes: Sequence[int], dimensions: Sequence[int] | None = None, sharding: Any = None) -> BCOO:
    """The array in another shape. Batch axes stay batch axes, sparse axes sparse, dense axes dense.

    Args:
      mat: a sparse array.
      new_sizes: of the result.
      dimensions: a permutation of the axes that is done before, as by `bcoo_transpose`; None for none.
      sharding: must be None.

    Raises:
      ValueError: if the sizes are of another number of elements, or axes of different kinds would be mixed.
      NotImplementedError: if batches share buffers.
    """
    if sharding is not None:
        raise NotImplementedError(f"bcoo_reshape: sharding must be None, got {sharding!r}")
    if mat.indices.shape[:mat.n_batch] != mat.data.shape[:mat.n_batch] != mat.shape[:mat.n_batch] or \
            mat.indices.shape[:mat.n_batch] != mat.shape[:mat.n_batch] or mat.data.shape[:mat.n_batch] != mat.shape[:mat.n_batch]:
        raise NotImplementedError("bcoo_reshape: reshape of arrays with broadcasted batch dimensions.")
    new_sizes = tuple(map(operator.index, new_sizes))
    if math.prod(new_sizes) != math.prod(mat.shape) or any(size < 0 for size in new_sizes):
        raise ValueError(f"bcoo_reshape: an array of shape {mat.shape} cannot have new_sizes={new_sizes}: it has {math.prod(mat.shape)} "
                         "elements")
    if dimensions is not None and tuple(dimensions) != tuple(range(mat.ndim)):
        mat = bcoo_transpose(mat, permutation=tuple(dimensions))
    batch, sparse, dense = split_shape(mat)
    n_batch = _prefix_of_size(new_sizes, math.prod(batch)) if batch else 0
    if n_batch is None:
        raise ValueError(f"bcoo_reshape: new shape cannot mix batch and sparse dimensions; got batch_shape={batch} new_shape={new_sizes}")
    n_dense = _prefix_of_size(new_sizes[n_batch:][::-1], math.prod(dense)) if dense else 0
    if n_dense is None:
        raise ValueError(f"bcoo_reshape: new shape cannot mix sparse and dense dimensions; got dense_shape={dense} new_shape={new_sizes}")
    end = len(new_sizes) - n_dense
    new_batch, new_sparse, new_dense = new_sizes[:n_batch], new_sizes[n_batch:end], new_sizes[end:]
    inside = is_inside(mat.indices, sparse)
    flat = jnp.ravel_multi_index(columns(where_kept(inside, mat.indices, (1,) * len(sparse))), sparse, mode="clip") if sparse \
        else jnp.zeros(mat.indices.shape[:-1], mat.indices.dtype)
    rows = [c.astype(mat.indices.dtype) for c in jnp.unravel_index(flat, new_sparse)] if math.prod(new_sparse) else [flat] * len(new_sparse)
    indices = jnp.stack(rows, axis=-1) if rows else mat.indices[..., :0]
    indices = where_kept(inside, indices, new_sparse)
    data = mat.data if new_sparse else masked(mat.data, inside, mat.n_dense)  # nothing marks padding without sparse axes
    return type(mat)((data.reshape(*new_batch, mat.nse, *new_dense), indices.reshape(*new_batch, mat.nse, len(new_sparse))),
                shape=new_sizes, indices_sorted=mat.indices_sorted, unique_indices=mat.unique_indices)


def _prefix_of_size(sizes: Sequence[int], size: int) -> int | None:
    """How many of the sizes have this product, at least one if one can; None if no number has."""
    product = 1
    for count, s in enumerate(sizes, 1):
        product *= s
        if product == size:
            return count
    return 0 if size == 1 else None


def bcoo_squeeze(arr: BCOO, *, dimensions: Sequence[int]) -> BCOO:
    """The array without some of its axes, which must be of size 1 and may be counted from the end."""
    axes = sorted({operator.index(axis) + (arr.ndim if axis < 0 else 0) for axis in dimensions})
    if any(not 0 <= axis < arr.ndim or arr.shape[axis] != 1 for axis in axes):
        raise ValueError(f"bcoo_squeeze: dimensions={tuple(dimensions)} must be axes of size 1 of shape {arr.shape}")
    data, indices = without_columns(arr, [axis - arr.n_batch for axis in axes if arr.n_batch <= axis < arr.n_batch + arr.n_sparse])
    batch = tuple(axis for axis in axes if axis < arr.n_batch)
    dense = tuple(axis - arr.n_sparse + 1 for axis in axes if axis >= arr.n_batch + arr.n_sparse)
    return type(arr)((shape_ops.squeeze(data, (*batch, *dense)), shape_ops.squeeze(indices, batch)),
                **arr._info._replace(shape=tuple(size for axis, size in enumerate(arr.shape) if axis not in axes))._asdict())


def without_columns(mat: BCOO, dropped: Sequence[int]) -> tuple[Any, Any]:
    """Buffers without some of the sparse axes; padding stays padding, and has value 0."""
    if not dropped:
        return mat._bufs
    sparse = split_shape(mat)[1]
    kept = [k for k in range(mat.n_sparse) if k not in dropped]
    inside = is_inside(mat.indices, sparse)
    rows = jnp.stack([mat.indices[..., k] for k in kept], axis=-1) if kept else mat.indices[..., :0]
    return masked(mat.data, inside, mat.n_dense), where_kept(inside, rows, tuple(sparse[k] for k in kept))


def bcoo_rev(operand: BCOO, dimensions: Sequence[int]) -> BCOO:
    """The array with the order of the elements reversed along some of its axes."""
    axes = {operator.index(axis) for axis in dimensions}
    if any(not 0 <= axis < operand.ndim for axis in axes):
        raise ValueError(f"bcoo_rev: dimensions={tuple(dimensions)} must be axes of shape {operand.shape}, counted from 0")
    n_batch, end = operand.n_batch, operand.n_batch + operand.n_sparse
    batch = [axis for axis in axes if axis < n_batch]
    dense = [axis - operand.n_sparse + 1 for axis in axes if axis >= end]
    sparse = split_shape(operand)[1]
    reversed_ = [axis - n_batch for axis in axes if n_batch <= axis < end]
    data, indices = shape_ops.rev(operand.data, (*batch, *dense)), shape_ops.rev(operand.indices, tuple(batch))
    if reversed_:
        rows = [sparse[k] - 1 - c if k in reversed_ else c for k, c in enumerate(columns(indices))]
        indices = where_kept(is_inside(indices, sparse), jnp.stack(rows, axis=-1), sparse)
    return type(operand)((data, indices), shape=operand.shape, indices_sorted=operand.indices_sorted and not reversed_,
                unique_indices=operand.unique_indices)


def bcoo_concatenate(operands: Sequence[BCOO], *, dimension: int) -> BCOO:
    """Arrays joined along an axis.

    Args:
      operands: sparse arrays with the same numbers of batch and dense axes.
      dimension: a batch or a sparse axis.

    Raises:
      ValueError: if their layouts, or their sizes along other axes, differ.
      NotImplementedError: for a dense axis.
    """
    operands, dimension = list(operands), operator.index(dimension)
    if not operands:
        raise ValueError("bcoo_concatenate: there must be at least one operand")
    first = operands[0]
    for name, of in (("batch", "n_batch"), ("dense", "n_dense")):
        if any(getattr(x, of) != getattr(first, of) for x in operands):
            raise ValueError(f"bcoo_concatenate requires inputs to have matching {name} dimensions: {of} is "
                             f"{[getattr(x, of) for x in operands]}. Use update_layout.")
    if not 0 <= dimension < first.ndim or any(
            x.shape[:dimension] + x.shape[dimension + 1:] != first.shape[:dimension] + first.shape[dimension + 1:] for x in operands):
        raise ValueError(f"bcoo_concatenate: dimension={dimension} must be an axis, and shapes the same along the others; got "
                         f"{[x.shape for x in operands]}")
    if dimension >= first.n_batch + first.n_sparse:
        raise NotImplementedError("Concatenation along dense dimensions.")
    shape = (*first.shape[:dimension], sum(x.shape[dimension] for x in operands), *first.shape[dimension + 1:])
    if dimension < first.n_batch:
        nse = max(x.nse for x in operands)
        padded = [_with_padding(whole_batches(x), nse) for x in operands]
        data, indices = (jnp.concatenate(buffers, axis=dimension) for buffers in zip(*padded))
        return type(operands[0])((data, indices), shape=shape, indices_sorted=all(x.indices_sorted for x in operands),
                    unique_indices=all(x.unique_indices for x in operands))
    n_batch, axis, offset = first.n_batch, dimension - first.n_batch, 0
    batches = [broadcast_batches(*(x._bufs[k].shape[:n_batch] for x in operands)) for k in range(2)]
    data, indices = [], []
    new_sparse = shape[n_batch:n_batch + first.n_sparse]
    for x in operands:
        sparse = split_shape(x)[1]
        shift = np.zeros(first.n_sparse, np.int64)
        shift[axis] = offset
        rows = x.indices + jnp.asarray(shift, x.indices.dtype).reshape((1,) * (x.indices.ndim - 1) + (-1,))
        rows = where_kept(is_inside(x.indices, sparse), rows, new_sparse)
        data.append(jnp.broadcast_to(x.data, (*batches[0], *x.data.shape[n_batch:])))
        indices.append(jnp.broadcast_to(rows, (*batches[1], *rows.shape[n_batch:])))
        offset += x.shape[dimension]
    return type(operands[0])((jnp.concatenate(data, axis=n_batch), jnp.concatenate(indices, axis=n_batch)), shape=shape,
                unique_indices=all(x.unique_indices for x in operands))


def _with_padding(mat: BCOO, nse: int) -> tuple[Any, Any]:
    if mat.nse == nse:
        return mat._bufs
    empty = type(mat)._empty(mat.shape, dtype=mat.dtype, index_dtype=mat.indices.dtype, n_batch=mat.n_batch, n_dense=mat.n_dense,
                             nse=nse - mat.nse)
    return tuple(jnp.concatenate(pair, axis=mat.n_batch) for pair in zip(mat._bufs, empty._bufs))
