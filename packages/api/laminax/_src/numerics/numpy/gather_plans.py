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
from laminax._src.numerics.numpy.index_items import GAP, NEW_AXIS, Gap, NewAxis, Slice, Steps, is_window


def from_the_front(index: Any, size: int, dtype: Any, wrap: bool) -> Any:
    """An index array in the given dtype, negative ones counted from the end."""
    if is_kind(index, dtypes.unsignedinteger):
        greatest = np.iinfo(dtype).max
        if dtypes.bit_width(dtype_of(index)) >= dtypes.bit_width(dtype):  # an index that the dtype does not hold stays out of bounds
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
    """The plan of the gather or scatter for an index.

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


def make_plan(shape: tuple[int, ...], items: list[Any], wrap: bool) -> Plan:
    """The plan for items of `parse_index`; a `Window` comes as a pair of it and its start.

    Index arrays (and the ints beside them) are broadcast to one block of axes. It stands where the first of them does,
    or in front if they are not next to each other.
    """
    block, first = _block_of_arrays(items)
    axes = _PlannedAxes()
    if block is not None and first is None:
        axes.place_block(block)
    axis = 0
    for place, item in enumerate(items):
        if place == first:
            axes.place_block(block or ())
        if item is GAP:
            continue
        if item is NEW_AXIS:
            axes.new_axes.append(len(axes.result) + len(axes.new_axes))
            continue
        if is_window(item):
            window, start = item
            axes.read_window(axis, window.length, start)
        elif type(item) is Slice and item.step in (1, -1):
            axes.read_slice(axis, item, shape[axis])
        elif type(item) in (Slice, Steps):
            axes.read_steps(axis, item)
        else:
            axes.read_positions(axis, item, axes.block_end)
        axis += 1
    dtype = index_dtype(axes.components, shape)
    columns = [(_component(value, shape[axis], dtype, wrap), end) for axis, value, end in axes.components]
    return Plan(_joined(columns, tuple(axes.batch), dtype), tuple(axis for axis, _, _ in axes.components), tuple(axes.collapsed),
                tuple(axes.window_axes), tuple(axes.window_sizes), tuple(axes.result), tuple(axes.reversed_axes), tuple(axes.new_axes),
                not axes.batch)


def _block_of_arrays(items: list[Any]) -> tuple[tuple[int, ...] | None, int | None]:
    """The common shape of the index arrays, None if there are none; and at which item its axes stand, None for in front of all."""
    places = [place for place, item in enumerate(items) if not (type(item) in (Slice, Steps, NewAxis, Gap) or is_window(item))]
    if not places:
        return None, None
    try:
        block = common_shape(*[() if type(items[p]) is int else shape_of(items[p]) for p in places])
    except ValueError:
        described = ", ".join(str(shape_of(items[p])) for p in places)
        raise ValueError(f"Incompatible shapes for broadcasting: the index arrays have shapes {described}") from None
    return block, places[0] if all(b == a + 1 for a, b in zip(places, places[1:])) else None


class _PlannedAxes:
    """The axes of a plan as the items are read, from the first to the last. The fields are those of `Plan`, but for:

    components: for each axis of the operand that is positioned its number, the positions, and behind which batch axis theirs end.
    batch: the sizes of the axes of `indices`, but for the last.
    result: the sizes of the axes of the result, without new axes.
    block_end: behind which batch axis those of the index arrays end.
    """

    __slots__ = ("components", "batch", "result", "window_axes", "window_sizes", "reversed_axes", "new_axes", "collapsed", "block_end")

    def __init__(self) -> None:
        self.components: list[tuple[int, Any, int]] = []
        self.batch: list[int] = []
        self.result: list[int] = []
        self.window_axes: list[int] = []
        self.window_sizes: list[int] = []
        self.reversed_axes: list[int] = []
        self.new_axes: list[int] = []
        self.collapsed: list[int] = []
        self.block_end = 0

    def place_block(self, block: tuple[int, ...]) -> None:
        """The axes of the index arrays come next."""
        self.batch += block
        self.result += block
        self.block_end = len(self.batch)

    def read_window(self, axis: int, count: int, start: Any) -> None:
        """As many elements of an axis as a window has, from a start that may be traced."""
        self.components.append((axis, start, 0))
        self._add_window_axis(count)

    def read_slice(self, axis: int, item: Slice, size: int) -> None:
        """Elements of an axis side by side, forwards or backwards."""
        if item.length != size:
            lowest = item.start if item.step == 1 else item.start - item.length + 1
            self.components.append((axis, lowest if type(item.length) is SymbolicDim or item.length else 0, 0))
        if item.step == -1:
            self.reversed_axes.append(len(self.result))
        self._add_window_axis(item.length)

    def _add_window_axis(self, count: int) -> None:
        self.window_axes.append(len(self.result))
        self.result.append(count)
        self.window_sizes.append(count)

    def read_steps(self, axis: int, item: Slice | Steps) -> None:
        """Elements of an axis with gaps between them: their positions are an index array of an axis of its own."""
        self.batch.append(item.length)
        self.result.append(item.length)
        if type(item) is Steps or SymbolicDim in map(type, item):
            dtype = dtypes.scalar_dtype(int)
            steps = op.mul(shape_ops.iota(dtype, item.length), scalar_like(item.step, dtype))
            positions = op.add(steps, scalar_like(item.start, dtype))
        else:
            positions = np.arange(item.length) * item.step + item.start
        self.read_positions(axis, positions, len(self.batch))

    def read_positions(self, axis: int, positions: Any, end: int) -> None:
        """Single elements of an axis; the axes of the positions end behind batch axis `end`."""
        self.collapsed.append(axis)
        self.window_sizes.append(1)
        self.components.append((axis, positions, end))


def index_dtype(components: list, shape: tuple[int, ...]) -> Any:
    """The dtype in which places are computed: 32 bits, unless an axis is longer than that counts or an index has 64."""
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
