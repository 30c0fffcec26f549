"""Parts of BCOO arrays: slices along batch, sparse and dense axes, and gathers of slices."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from laminax_ir.ops import indexing as indexing_ops
from laminax_ir.ops import slicing
from laminax_ir.types.shape_dtype_structs import ShapeDtypeStruct
from laminax_transforms import vmap

from laminax._src.numerics.floor import eval_shape
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.sparse.base import SparseInfo
from laminax._src.numerics.sparse.entries import columns, masked, where_kept
from laminax._src.numerics.sparse.layout import at_most_one_per_place, bcoo_squeeze, bcoo_transpose, bcoo_update_layout, whole_batches

if TYPE_CHECKING:  # BCOO arrays have methods of these, which make arrays of the class they get
    from laminax_ir.types.annotations import Array, ArrayLike

    from laminax._src.numerics.sparse.bcoo import BCOO


def bcoo_slice(mat: BCOO, *, start_indices: Sequence[int], limit_indices: Sequence[int], strides: Sequence[int] | None = None) -> BCOO:
    """Every `strides`-th element from `start_indices` to below `limit_indices`, along each axis.

    Args:
      mat: a sparse array.
      start_indices: first elements.
      limit_indices: where to stop, not below the start, nor above the size.
      strides: steps, positive; 1 if None.

    Returns:
      A sparse array of the same layout.

    Raises:
      ValueError: if an index is out of range, a stride is not positive, or there is not one for each axis.
    """
    start, limit = tuple(map(operator.index, start_indices)), tuple(map(operator.index, limit_indices))
    stride = (1,) * mat.ndim if strides is None else tuple(map(operator.index, strides))
    if not len(start) == len(limit) == len(stride) == mat.ndim or \
            any(not 0 <= a <= b <= size or s <= 0 for a, b, s, size in zip(start, limit, stride, mat.shape)):
        raise ValueError(f"bcoo_slice: indices must be 0 <= start <= limit <= size with positive strides along each axis of {mat.shape}, "
                         f"got start_indices={start}, limit_indices={limit}, {strides=}")
    shape = tuple(-(-(b - a) // s) for a, b, s in zip(start, limit, stride))

    def part(x: Array, axes: dict[int, int]) -> Array:
        # a part along the axes {axis of x: axis of mat}; buffers that batches share have size 1
        taken = {k: axis for k, axis in axes.items() if x.shape[k] == mat.shape[axis]}
        index = [slice(None)] * x.ndim
        for k, axis in taken.items():
            index[k] = slice(start[axis], limit[axis], stride[axis])
        return x[tuple(index)]

    return _sliced(mat, part, start, shape, stride)


def bcoo_dynamic_slice(mat: BCOO, start_indices: Sequence[Any], slice_sizes: Sequence[int]) -> BCOO:
    """A part of given size, from a place that may be traced.

    Args:
      mat: a sparse array.
      start_indices: an integer per axis, as in `lax.dynamic_slice`: negative ones count from the end, and the part is moved into the array.
      slice_sizes: of the result.

    Returns:
      A sparse array of the same layout.

    Raises:
      ValueError: if there are not as many starts and sizes as axes, or a size is larger than the array's.
    """
    sizes = tuple(map(operator.index, slice_sizes))
    start_indices = list(start_indices)
    if not len(start_indices) == len(sizes) == mat.ndim or any(not 0 <= s <= size for s, size in zip(sizes, mat.shape)):
        raise ValueError(f"bcoo_dynamic_slice: there must be a start index and a size, at most the array's, for each axis of {mat.shape}; "
                         f"got {len(start_indices)} start indices, slice_sizes={sizes}")
    start = [_clamped(s, size, taken) for s, size, taken in zip(start_indices, mat.shape, sizes)]

    def part(x: Any, axes: dict[int, int]) -> Any:
        taken = {k: axis for k, axis in axes.items() if x.shape[k] == mat.shape[axis]}
        zero = jnp.zeros((), start[0].dtype) if start else None
        return slicing.dynamic_slice(x, [start[taken[k]] if k in taken else zero for k in range(x.ndim)],
                                 [sizes[taken[k]] if k in taken else x.shape[k] for k in range(x.ndim)])

    return _sliced(mat, part, start, sizes, (1,) * mat.ndim)


def _clamped(start: Any, size: int, taken: int) -> Any:
    start = jnp.asarray(start).astype(np.int32)
    return jnp.clip(jnp.where(start < 0, start + size, start), 0, size - taken)


def _sliced(mat: BCOO, part: Callable, start: Sequence[Any], shape: tuple[int, ...], stride: tuple[int, ...]) -> BCOO:
    n_batch, n_sparse = mat.n_batch, mat.n_sparse
    batch_axes = {axis: axis for axis in range(n_batch)}
    data = part(mat.data, {**batch_axes, **{axis - n_sparse + 1: axis for axis in range(n_batch + n_sparse, mat.ndim)}})
    indices = part(mat.indices, batch_axes)
    kept, rows = jnp.ones(indices.shape[:-1], bool), []
    for k, c in enumerate(columns(indices)):
        a, size, step = start[n_batch + k], shape[n_batch + k], stride[n_batch + k]
        offset = c - (a if isinstance(a, int) else a.astype(c.dtype))
        kept &= (offset >= 0) & (offset < size * step) & (c < mat.shape[n_batch + k])
        if step != 1:
            kept &= offset % step == 0
            offset = offset // step
        rows.append(offset)
    if rows:
        indices = where_kept(kept, jnp.stack(rows, axis=-1), shape[n_batch:n_batch + n_sparse])
        data = masked(data, kept, mat.n_dense)
    return at_most_one_per_place(type(mat)((data, indices), shape=shape, unique_indices=mat.unique_indices))


def bcoo_gather(operand: BCOO, start_indices: Any, dimension_numbers: Any, slice_sizes: Sequence[int], *, unique_indices: bool = False,
                indices_are_sorted: bool = False, mode: Any = None, fill_value: Any = None) -> BCOO:
    """Slices of a sparse array, as by `lax.gather`.

    Args:
      operand: a sparse array.
      start_indices: int[..., k], where the slices begin; moved into the array where they do not fit.
      dimension_numbers: a `lax.GatherDimensionNumbers` without batching dimensions.
      slice_sizes: of a slice, for each axis of the operand.
      unique_indices: a promise that is not used.
      indices_are_sorted: a promise that is not used.
      mode: as for `lax.gather`; "fill" is not supported.
      fill_value: must be None.

    Raises:
      NotImplementedError: for the mode "fill", or batching dimensions.
    """
    mode = indexing_ops.GatherScatterMode.from_any(mode)
    if mode == indexing_ops.GatherScatterMode.FILL_OR_DROP or fill_value is not None:
        raise NotImplementedError("bcoo_gather: mode 'fill' is not supported for sparse arrays. Use mode='clip' or 'promise_in_bounds'.")
    numbers = dimension_numbers
    if numbers.operand_batching_dims or numbers.start_indices_batching_dims:
        raise NotImplementedError(f"bcoo_gather: batching dimensions are not supported for sparse arrays, got {numbers}. Use vmap of batch "
                                  "axes.")
    start_indices, sizes = jnp.asarray(start_indices), tuple(map(operator.index, slice_sizes))
    # eval_shape checks the arguments
    wanted = eval_shape(lambda x, i: indexing_ops.gather(x, i, numbers, sizes), _struct(operand), start_indices).shape
    places = start_indices.shape[:-1]
    count = math.prod(places)
    starts = start_indices.reshape(count, start_indices.shape[-1])
    collapsed = tuple(numbers.collapsed_slice_dims)

    def one(start: ArrayLike) -> BCOO:
        full = [np.int32(0)] * operand.ndim
        for k, axis in enumerate(numbers.start_index_map):
            full[axis] = start[k]
        full = [jnp.maximum(x, 0) for x in full]  # an index below 0 is moved to 0, and does not count from the end
        return bcoo_squeeze(bcoo_dynamic_slice(whole_batches(operand), full, sizes), dimensions=collapsed)

    rows = vmap(one)(starts)
    kept = rows.shape[1:]
    rows = type(rows)((rows.data.reshape(*places, *rows.data.shape[1:]), rows.indices.reshape(*places, *rows.indices.shape[1:])),
                **SparseInfo((*places, *kept), unique_indices=operand.unique_indices)._asdict())
    offset_dims = tuple(numbers.offset_dims)
    if offset_dims == tuple(range(len(places), len(wanted))):
        return rows
    order = iter(range(len(places)))
    permutation = [len(places) + offset_dims.index(axis) if axis in offset_dims else next(order) for axis in range(len(wanted))]
    n_batch = next((axis for axis, source in enumerate(permutation) if source != axis or source >= rows.n_batch), rows.n_batch)
    n_dense = next((k for k, source in enumerate(reversed(permutation)) if source != rows.ndim - 1 - k or k >= rows.n_dense), rows.n_dense)
    out = bcoo_transpose(bcoo_update_layout(rows, n_batch=n_batch, n_dense=n_dense), permutation=permutation)
    return at_most_one_per_place(out)


def _struct(mat: BCOO) -> ShapeDtypeStruct:
    return ShapeDtypeStruct(mat.shape, mat.dtype)


def split_rows(mat: BCOO) -> list[BCOO]:
    """The arrays along the first axis."""
    return [bcoo_squeeze(bcoo_slice(mat, start_indices=(i,) + (0,) * (mat.ndim - 1), limit_indices=(i + 1, *mat.shape[1:])),
                         dimensions=(0,))
            for i in range(mat.shape[0])]

