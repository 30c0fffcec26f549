"""The meaning of the shape operations, in NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.ops import shape as ops
from laminax_ir.ops import shape_primitives
from laminax_ir.reference.evaluate import reference_rule

if TYPE_CHECKING:
    from laminax_ir.types.annotations import ArrayLike


@reference_rule(ops.broadcast_in_dim_p)
def _broadcast_in_dim(x: np.ndarray, *, shape: tuple[int, ...], broadcast_dimensions: tuple[int, ...], sharding: Any) -> np.ndarray:
    spread = [1] * len(shape)
    for axis, size in zip(broadcast_dimensions, x.shape):
        spread[axis] = size
    return np.broadcast_to(x.reshape(spread), shape).copy()


@reference_rule(ops.reshape_p)
def _reshape(x: np.ndarray, *, new_sizes: tuple[int, ...], dimensions: Any, sharding: Any) -> np.ndarray:
    return (x if dimensions is None else x.transpose(dimensions)).reshape(new_sizes)


@reference_rule(ops.transpose_p)
def _transpose(x: np.ndarray, *, permutation: tuple[int, ...]) -> np.ndarray:
    return x.transpose(permutation)


@reference_rule(ops.squeeze_p)
def _squeeze(x: np.ndarray, *, dimensions: tuple[int, ...]) -> np.ndarray:
    return x.squeeze(dimensions)


@reference_rule(ops.concatenate_p)
def _concatenate(*operands: np.ndarray, dimension: int) -> np.ndarray:
    return np.concatenate(operands, axis=dimension)


@reference_rule(ops.pad_p)
def _pad(x: np.ndarray, padding_value: np.ndarray, *, padding_config: tuple[tuple[int, ...], ...]) -> ArrayLike:
    kept = []  # the part of the dilated operand that a negative low and high leave
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
def _rev(x: np.ndarray, *, dimensions: tuple[int, ...]) -> np.ndarray:
    return np.flip(x, dimensions)


@reference_rule(ops.iota_p)
def _iota(*, dtype: Any, shape: tuple[int, ...], dimension: Any, sharding: Any) -> np.ndarray:
    counts = np.arange(shape[dimension]).astype(dtype)
    return np.broadcast_to(np.expand_dims(counts, [i for i in range(len(shape)) if i != dimension]), shape).copy()


@reference_rule(ops.split_p)
def _split(x: np.ndarray, *, sizes: tuple[int, ...], axis: int) -> list[np.ndarray]:
    return np.split(x, np.cumsum(sizes)[:-1].astype(int), axis) if sizes else []


@reference_rule(ops.tile_p)
def _tile(x: np.ndarray, *, reps: tuple[int, ...]) -> np.ndarray:
    return np.tile(x, reps)
