"""What slices mean, in NumPy."""

from __future__ import annotations

from typing import Any

from laminax_ir.ops import slicing as ops
from laminax_ir.reference.evaluate import reference_rule


@reference_rule(ops.slice_p)
def _slice(x: Any, *, start_indices: Any, limit_indices: Any, strides: Any) -> Any:
    strides = strides or (1,) * x.ndim
    return x[tuple(map(slice, start_indices, limit_indices, strides))]


@reference_rule(ops.dynamic_slice_p)
def _dynamic_slice(x: Any, *start_indices: Any, slice_sizes: Any) -> Any:
    return x[_clamped_window(x, start_indices, slice_sizes)]


def _clamped_window(x: Any, start_indices: Any, sizes: Any) -> tuple[slice, ...]:
    starts = [min(max(int(start), 0), size - window) for start, size, window in zip(start_indices, x.shape, sizes)]
    return tuple(slice(start, start + window) for start, window in zip(starts, sizes))


@reference_rule(ops.dynamic_update_slice_p)
def _dynamic_update_slice(x: Any, update: Any, *start_indices: Any) -> Any:
    result = x.copy()
    result[_clamped_window(x, start_indices, update.shape)] = update
    return result
