"""How an index with arrays becomes a gather or a scatter. Reading and writing (`x.at[...]`, in `updates`) use the same plan."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from laminax_ir.functions import operators
from laminax_ir.ops import elementwise as op
from laminax_ir.ops import shape as shape_ops
from laminax_ir.ops.scalar_operands import scalar_like
from laminax_ir.ops.shape_arguments import common_shape
from laminax_ir.symbolic.symbolic_dims import SymbolicDim, exceeds
from laminax_ir.types import dtypes

from laminax._src.numerics.numpy.arguments import convert, dtype_of, is_kind, shape_of
from laminax._src.numerics.numpy.index_items import GAP, NEW_AXIS, Gap, NewAxis, Slice, is_window


def from_the_front(index: Any, size: int, dtype: Any, wrap: bool) -> Any:
    """An index array in the given dtype, negative ones counted from the end."""
    if is_kind(index, dtypes.unsignedinteger):
        greatest = np.iinfo(dtype).max
        if dtypes.bit_width(dtype_of(index)) >= dtypes.bit_width(dtype):  # what the dtype does not hold stays out of bounds
            index = np.minimum(index, greatest) if isinstance(index, np.ndarray) else op.min(index, scalar_like(greatest, dtype_of(index)))
        return convert(index, dtype)
    if not wrap:
        return convert(index, dtype)
    if isinstance(index, np.ndarray) and (type(size) is not SymbolicDim or not (index < 0).any()):
        return (np.where(index < 0, index + size, index) if type(size) is not SymbolicDim else index).astype(dtype)
    index = convert(index, dtype)
    if type(size) is SymbolicDim:
        size = scalar_like(size, dtype)
    return op.select(op.lt(index, 0), op.add(index, size), index)


def brought_in_range(indices: Any, size: int, mode: str | None) -> Any:
    """Integers of any dtype brought into 0 to size - 1, in one of at least 32 bits, which holds the size.

    Args:
      indices: an integer array.
      size: of the axis, at least 1.
      mode: "wrap" takes them modulo the size, "clip" moves them to the nearer end; None does so after negative ones have counted from
        the end.
    """
    if dtypes.bit_width(dtype_of(indices)) < 32:
        indices = convert(indices, np.dtype(np.int32))
    dtype = dtype_of(indices)
    if mode == "wrap":
        return operators.remainder(indices, scalar_like(size, dtype))
    if mode is None:
        indices = from_the_front(indices, size, dtype, True)
    return op.clamp(scalar_like(0, dtype), indices, scalar_like(size - 1, dtype))


class Plan(NamedTuple):
    """What a gather or scatter of an index looks like.

    Args:
      indices: the positions, integers of shape [*batch, k].
      index_map: the k axes of the operand that they position.
      collapsed: the axes of the operand that the windows lack.
      window_axes: the axes of the result that run over a window.
      window_sizes: the windows' sizes along the operand's axes.
      shape: the result's shape, without new axes.
      reversed_axes: the axes of the result that are read backwards.
      new_axes: the new axes of size 1 in the final result.
      is_single: whether there is one window alone.
    """

    indices: Any
    index_map: tuple[int, ...]
    collapsed: tuple[int, ...]
    window_axes: tuple[int, ...]
    window_sizes: tuple[int, ...]
    shape: tuple[int, ...]
    reversed_axes: tuple[int, ...]
    new_axes: tuple[int, ...]
    is_single: bool


def make_plan(shape: tuple[int, ...], items: list, wrap: bool) -> Plan:
    """The plan for items of `parse_index`; a `Window` comes as a pair of it and its start.

    Index arrays (and the ints beside them) are broadcast to one block of axes. It stands where the first of them does,
    or in front if they are not next to each other.
    """
    advanced = [place for place, item in enumerate(items)
                if not (type(item) in (Slice, NewAxis, Gap) or is_window(item))]
    try:
        block = common_shape(*[() if type(items[p]) is int else shape_of(items[p]) for p in advanced])
    except ValueError:
        described = ", ".join(str(shape_of(items[p])) for p in advanced)
        raise ValueError(f"Incompatible shapes for broadcasting: the index arrays have shapes {described}") from None
    is_adjacent = all(b == a + 1 for a, b in zip(advanced, advanced[1:]))
    first = advanced[0] if advanced and is_adjacent else -1

    components: list[tuple[int, Any, int]] = []  # axis of the operand, positions, the batch axis after their last one
    batch: list[int] = []
    result: list[int] = []
    window_axes: list[int] = []
    window_sizes: list[int] = []
    reversed_axes: list[int] = []
    new_axes: list[int] = []
    collapsed: list[int] = []
    if advanced and not is_adjacent:
        batch += block
        result += block
    block_end = len(batch)
    axis = 0
    for place, item in enumerate(items):
        if place == first:
            batch += block
            result += block
            block_end = len(batch)
        if item is GAP:
            continue
        if item is NEW_AXIS:
            new_axes.append(len(result) + len(new_axes))
            continue
        size = shape[axis]
        if is_window(item) or type(item) is Slice and item.step in (1, -1):
            count = item[0].count if is_window(item) else item.count
            if is_window(item):
                components.append((axis, item[1], 0))
            elif count != size:
                lowest = item.start if item.step == 1 else item.start - count + 1
                components.append((axis, lowest if count else 0, 0))
            if type(item) is Slice and item.step == -1:
                reversed_axes.append(len(result))
            window_axes.append(len(result))
            result.append(count)
            window_sizes.append(count)
        else:
            collapsed.append(axis)
            window_sizes.append(1)
            if type(item) is Slice:
                batch.append(item.count)
                result.append(item.count)
                item, end = np.arange(item.count) * item.step + item.start, len(batch)
            else:
                end = block_end
            components.append((axis, item, end))
        axis += 1
    dtype = index_dtype(components, shape)
    columns = [(_component(value, shape[axis], dtype, wrap), end) for axis, value, end in components]
    return Plan(_joined(columns, tuple(batch), dtype), tuple(axis for axis, _, _ in components), tuple(collapsed),
                tuple(window_axes), tuple(window_sizes), tuple(result), tuple(reversed_axes), tuple(new_axes), not batch)


def index_dtype(components: list, shape: tuple[int, ...]) -> Any:
    wide = any(exceeds(size, np.iinfo(np.int32).max) for size in shape) or \
        any(type(value) is not int and dtype_of(value) in (np.int64, np.uint64) for _, value, _ in components
            if not isinstance(value, np.ndarray))
    return dtypes.canonicalize_dtype(np.int64) if wide else np.dtype(np.int32)


def _component(value: Any, size: int, dtype: Any, wrap: bool) -> Any:
    if type(value) is int:
        position = value + size if value < 0 and wrap else value
        return np.asarray(position, dtype) if type(position) is int else scalar_like(position, dtype)
    return from_the_front(value, size, dtype, wrap)


def _joined(columns: list[tuple[Any, int]], batch: tuple[int, ...], dtype: Any) -> Any:
    """The positions side by side in the last axis of one array, each with its axes at their place in the batch."""
    if all(isinstance(value, (np.ndarray, np.generic)) for value, _ in columns):
        host = [np.broadcast_to(value.reshape(value.shape + (1,) * (len(batch) - end)) if value.shape else value, batch)
                for value, end in columns]
        return np.stack(host, -1).astype(dtype) if host else np.zeros((*batch, 0), dtype)
    parts = []
    for value, end in columns:
        shape = shape_of(value)
        kept = [i for i, size in enumerate(shape) if size == batch[end - len(shape) + i]]
        if len(kept) != len(shape):
            value = shape_ops.squeeze(value, tuple(i for i in range(len(shape)) if i not in kept))
        parts.append(shape_ops.broadcast_in_dim(value, (*batch, 1), tuple(end - len(shape) + i for i in kept)))
    return parts[0] if len(parts) == 1 else shape_ops.concatenate(parts, len(batch))
