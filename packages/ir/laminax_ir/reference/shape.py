"""What the shape operations mean, in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from laminax_ir.ops import shape as ops
from laminax_ir.ops import shape_primitives
from laminax_ir.reference.evaluate import reference_rule


@reference_rule(ops.broadcast_in_dim_p)
def _broadcast_in_dim(x: Any, *, shape: tuple[int, ...], broadcast_dimensions: Any, sharding: Any) -> Any:
    spread = [1] * len(shape)
    for axis, size in zip(broadcast_dimensions, x.shape):
        spread[axis] = size
    return np.broadcast_to(x.reshape(spread), shape).copy()


@reference_rule(ops.reshape_p)
def _reshape(x: Any, *, new_sizes: Any, dimensions: Any, sharding: Any) -> Any:
    return (x if dimensions is None else x.transpose(dimensions)).reshape(new_sizes)


@reference_rule(ops.transpose_p)
def _transpose(x: Any, *, permutation: Any) -> Any:
    return x.transpose(permutation)


@reference_rule(ops.squeeze_p)
def _squeeze(x: Any, *, dimensions: Any) -> Any:
    return x.squeeze(dimensions)


@reference_rule(ops.concatenate_p)
def _concatenate(*operands: Any, dimension: Any) -> Any:
    return np.concatenate(operands, axis=dimension)


@reference_rule(ops.pad_p)
def _pad(x: Any, padding_value: Any, *, padding_config: Any) -> Any:
    kept = []  # what negative low and high leave of the dilated operand
    spread = []
    wide = []
    for size, (low, high, interior) in zip(x.shape, padding_config):
        dilated = shape_primitives.dilated_size(size, interior + 1)
        wide.append(dilated + max(low, 0) + max(high, 0))
        spread.append(slice(max(low, 0), max(low, 0) + dilated, interior + 1))
        kept.append(slice(max(-low, 0), wide[-1] - max(-high, 0)))
    result = np.full(wide, padding_value, x.dtype)
    result[tuple(spread)] = x
    return result[tuple(kept)]


@reference_rule(ops.rev_p)
def _rev(x: Any, *, dimensions: Any) -> Any:
    return np.flip(x, dimensions)


@reference_rule(ops.iota_p)
def _iota(*, dtype: Any, shape: tuple[int, ...], dimension: Any, sharding: Any) -> Any:
    counts = np.arange(shape[dimension]).astype(dtype)
    return np.broadcast_to(np.expand_dims(counts, [i for i in range(len(shape)) if i != dimension]), shape).copy()


@reference_rule(ops.split_p)
def _split(x: Any, *, sizes: Any, axis: Any) -> Any:
    return np.split(x, np.cumsum(sizes)[:-1].astype(int), axis) if sizes else []


@reference_rule(ops.tile_p)
def _tile(x: Any, *, reps: Any) -> Any:
    return np.tile(x, reps)
