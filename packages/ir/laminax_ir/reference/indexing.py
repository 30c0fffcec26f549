"""The meaning of the indexing operations, in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from laminax_ir.ops import indexing as ops
from laminax_ir.ops.indexing import GatherScatterMode
from laminax_ir.ops.indexing_shapes import interleave
from laminax_ir.reference.evaluate import evaluate, reference_rule
from laminax_ir.types import dtypes

if TYPE_CHECKING:
    from laminax_ir.ops.indexing import GatherDimensionNumbers, ScatterDimensionNumbers
    from laminax_ir.programs.jaxpr import Jaxpr


@reference_rule(ops.gather_p)
def _gather(operand: np.ndarray, indices: np.ndarray, *, dimension_numbers: GatherDimensionNumbers, slice_sizes: tuple[int, ...],
            indices_are_sorted: bool, unique_indices: bool, mode: GatherScatterMode, fill_value: float | None) -> np.ndarray:
    dims = dimension_numbers
    if not operand.ndim:  # NumPy's index arrays need an axis
        operand, slice_sizes, dims = operand.reshape(1), (1,), dims._replace(collapsed_slice_dims=(0,))
    starts = _starts(indices, operand.ndim, dims.start_index_map, dims.operand_batching_dims,
                     dims.start_indices_batching_dims)
    room = np.array(operand.shape, np.int64) - np.array(slice_sizes, np.int64)
    windows = operand[_window_indices(np.clip(starts, 0, room), slice_sizes)]
    if mode is GatherScatterMode.FILL_OR_DROP:
        outside = np.any((starts < 0) | (starts > room), axis=-1)
        windows[outside] = _filled(fill_value, operand.dtype)
    removed = dims.collapsed_slice_dims + dims.operand_batching_dims
    batch_rank = indices.ndim - 1
    windows = windows.reshape(windows.shape[:batch_rank] + tuple(n for d, n in enumerate(slice_sizes) if d not in removed))
    return windows.transpose(interleave(range(batch_rank), range(batch_rank, windows.ndim), dims.offset_dims))


def _filled(value: Any, dtype: np.dtype) -> np.ndarray:
    """The fill value as an element; in a record of a key's words, in each of them."""
    if dtype.names is None:
        return np.asarray(value).astype(dtype)
    record = np.empty((), dtype)
    record[dtype.names[0]] = value
    return record


def _starts(indices: np.ndarray, rank: int, index_map: Sequence[int], operand_batching: tuple[int, ...],
            indices_batching: tuple[int, ...]) -> np.ndarray:
    """The position of each window along each axis of the operand: the indices' axes but the last, then `rank`."""
    batch_shape = indices.shape[:-1]
    starts = np.zeros((*batch_shape, rank), np.int64)
    wide = np.minimum(indices, np.iinfo(np.int64).max) if indices.dtype == np.uint64 else indices
    starts[..., list(index_map)] = wide.astype(np.int64)
    for axis, indices_axis in zip(operand_batching, indices_batching):
        along = [1] * len(batch_shape)
        along[indices_axis] = -1
        starts[..., axis] = np.arange(batch_shape[indices_axis]).reshape(along)
    return starts


def _window_indices(starts: np.ndarray, window: Sequence[int]) -> tuple[np.ndarray, ...]:
    """Index arrays, one for each axis of the operand, that together select `[*batch axes, *window]`."""
    batch_shape, rank = starts.shape[:-1], starts.shape[-1]
    result = []
    for axis in range(rank):
        within = [1] * rank
        within[axis] = -1
        result.append(starts[..., axis].reshape(batch_shape + (1,) * rank) + np.arange(window[axis]).reshape(within))
    return tuple(np.broadcast_arrays(*result))


def _updates_and_places(operand: np.ndarray, indices: np.ndarray, updates: np.ndarray, dims: ScatterDimensionNumbers,
                        mode: GatherScatterMode) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, ...]]:
    """A copy of the operand to write to, the updates that count, `[n, *window]`, and the index arrays of where they go.

    A window that reaches out of bounds is moved in or left out as a whole.
    """
    if not operand.ndim:  # NumPy's index arrays need an axis
        operand, dims = operand.reshape(1), dims._replace(inserted_window_dims=(0,))
    window_axes = dims.update_window_dims
    batch_axes = [axis for axis in range(updates.ndim) if axis not in window_axes]
    window = ops.scatter_window(operand.shape, updates.shape, dims)
    starts = _starts(indices, operand.ndim, dims.scatter_dims_to_operand_dims, dims.operand_batching_dims,
                     dims.scatter_indices_batching_dims).reshape(-1, operand.ndim)
    updates = updates.transpose(*batch_axes, *window_axes).reshape(len(starts), *window)
    room = np.array(operand.shape, np.int64) - np.array(window, np.int64)
    if mode is GatherScatterMode.CLIP:
        starts = np.clip(starts, 0, room)
    inside = np.all((starts >= 0) & (starts <= room), axis=-1)
    return operand.copy(), updates[inside], _window_indices(starts[inside], window)


@reference_rule(ops.scatter_p)
def _scatter(operand: np.ndarray, indices: np.ndarray, updates: np.ndarray, *, dimension_numbers: ScatterDimensionNumbers,
             mode: GatherScatterMode, update_jaxpr: Jaxpr | None, **_hints: Any) -> np.ndarray:
    result, updates, places = _updates_and_places(operand, indices, updates, dimension_numbers, mode)
    if update_jaxpr is None:
        result[places] = updates
    else:
        for place, update in zip(zip(*(axis.ravel() for axis in places)), updates.ravel()):
            (result[place],) = evaluate(update_jaxpr, result[place], update)
    return result.reshape(operand.shape)


def _accumulating(ufunc: Any) -> Callable:
    def rule(operand: np.ndarray, indices: np.ndarray, updates: Any, *, dimension_numbers: ScatterDimensionNumbers, mode: GatherScatterMode,
             **_hints: Any) -> Any:
        result, updates, places = _updates_and_places(operand, indices, updates, dimension_numbers, mode)
        wide = _accumulator(operand.dtype)
        result = result.astype(wide)
        ufunc.at(result, places, updates.astype(wide))
        return result.reshape(operand.shape)
    return rule


def _accumulator(dtype: np.dtype) -> np.dtype:
    """The dtype to combine in: NumPy's own types as they are, ml_dtypes' through a wider one."""
    if dtype.kind in "biufc" and dtype != np.float16:
        return dtype
    return np.dtype(np.float32 if dtypes.issubdtype(dtype, dtypes.floating) else np.int32)


reference_rule(ops.scatter_add_p)(_accumulating(np.add))
reference_rule(ops.scatter_sub_p)(_accumulating(np.subtract))
reference_rule(ops.scatter_mul_p)(_accumulating(np.multiply))
reference_rule(ops.scatter_min_p)(_accumulating(np.minimum))
reference_rule(ops.scatter_max_p)(_accumulating(np.maximum))
