"""The meaning of slices, in NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from laminax_ir.ops import slicing as ops
from laminax_ir.reference.evaluate import reference_rule

if TYPE_CHECKING:
    import numpy as np

    from laminax_ir.types.annotations import ArrayLike


@reference_rule(ops.slice_p)
def _slice(x: np.ndarray, *, start_indices: tuple[int, ...], limit_indices: tuple[int, ...], strides: tuple[int, ...] | None) -> np.ndarray:
    strides = strides or (1,) * x.ndim
    return x[tuple(map(slice, start_indices, limit_indices, strides))]


@reference_rule(ops.dynamic_slice_p)
def _dynamic_slice(x: np.ndarray, *start_indices: np.ndarray, slice_sizes: tuple[int, ...]) -> ArrayLike:
    return x[_clamped_window(x, start_indices, slice_sizes)]


def _clamped_window(x: np.ndarray, start_indices: tuple[np.ndarray, ...], sizes: tuple[int, ...]) -> tuple[slice, ...]:
    starts = [min(max(int(start), 0), size - window) for start, size, window in zip(start_indices, x.shape, sizes)]
    return tuple(slice(start, start + window) for start, window in zip(starts, sizes))


@reference_rule(ops.dynamic_update_slice_p)
def _dynamic_update_slice(x: np.ndarray, update: np.ndarray, *start_indices: np.ndarray) -> np.ndarray:
    result = x.copy()
    result[_clamped_window(x, start_indices, update.shape)] = update
    return result
