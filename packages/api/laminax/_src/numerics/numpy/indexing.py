"""Reading by index, `x[...]`.

An index of ints, slices, None and Ellipsis is a static slice; with a computed scalar it is a dynamic slice; with arrays
it is one gather. Indices out of bounds never raise: reading takes the nearest element unless a mode says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.ops import indexing as indexing_ops
from laminax_ir.ops import shape as shape_ops
from laminax_ir.ops import slicing as slicing_ops
from laminax_ir.ops.checks import checks_indices, note_index
from laminax_ir.ops.indexing import GatherDimensionNumbers, GatherScatterMode
from laminax_ir.ops.slicing import dynamic_slice_p
from laminax_ir.options.config import check_static_indices
from laminax_ir.symbolic.symbolic_dims import SymbolicDim, max_dim, min_dim
from laminax_ir.tracing.trace import Tracer, eval_trace, state
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval
from laminax_ir.types.errors import InconclusiveDimensionOperation
from laminax_runtime import device_put

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy.arguments import convert, shape_of
from laminax._src.numerics.numpy.gather_plans import from_the_front, make_plan
from laminax._src.numerics.numpy.index_items import (
    GAP,
    NEW_AXIS,
    Computed,
    Gap,
    NewAxis,
    Slice,
    Steps,
    Window,
    is_window,
    parse_index,
    scalar_masks_removed,
    separate,
)
from laminax._src.numerics.numpy.joining import unstack

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


def getitem(x: Any, index: Any) -> Any:
    """`x[index]`; see the module."""
    return read(x, index, None, None, False, False, True)


def read(x: Any, index: Any, mode: Any, fill_value: Any, indices_are_sorted: bool, unique_indices: bool,
         wrap_negative_indices: bool) -> Any:
    """`x.at[index].get(...)`."""
    index, axis = scalar_masks_removed(x.shape, index)
    if axis is not None:
        return read(shape_ops.expand_dims(x, (axis,)), index, mode, fill_value, indices_are_sorted, unique_indices,
                    wrap_negative_indices)
    if mode is None:
        mode = GatherScatterMode.PROMISE_IN_BOUNDS
    else:
        mode = GatherScatterMode.from_any(mode)
    items = parse_index(x.shape, index)
    if mode is not GatherScatterMode.FILL_OR_DROP:
        items = _ints_clamped(x.shape, items, mode, wrap_negative_indices)
    elif fill_value is not None:
        fill_value = static_scalar(fill_value)
    spec, values = separate(items)
    return _read(x, values, spec=spec, mode=mode, fill_value=fill_value, indices_are_sorted=bool(indices_are_sorted),
                 unique_indices=bool(unique_indices), wrap=bool(wrap_negative_indices))


def static_scalar(value: Any) -> Any:
    """The Python number that an array without axes holds."""
    value = np.asarray(value).item()
    return math.nan if value != value else value  # one object, so that equal programs are found again


def _ints_clamped(shape: tuple[int, ...], items: list, mode: GatherScatterMode, wrap: bool) -> list:
    """The items with ints brought in bounds.

    Raises:
      IndexError: if one is not, the mode promises that all are, and the option `check_static_indices` is on.
    """
    result = []
    axis = 0
    for item in items:
        if type(item) is int:
            size = shape[axis]
            if type(size) is SymbolicDim:
                result.append(_clamped_where_unknown(item, size, wrap))
                axis += 1
                continue
            written, position = item, item + size if item < 0 and wrap else item
            item = min(max(position, 0), size - 1)
            if item != position:
                if check_static_indices.value and mode is GatherScatterMode.PROMISE_IN_BOUNDS:
                    raise IndexError(f"index {written} out of bounds for axis {axis} with size {size}, in an array of shape {shape}; the "
                                     "option check_static_indices asks for this error. Use x.at[...].get(mode=...) for such indices.")
                if checks_indices.value:
                    note_index(shape, axis, position)
        axis += item is not NEW_AXIS and item is not GAP
        result.append(item)
    return result


def _clamped_where_unknown(item: int, size: Any, wrap: bool) -> Any:
    """An int in bounds of a symbolic size; where only the program will know whether it is, an index that is clamped there."""
    position = item + size if item < 0 and wrap else item
    try:
        return position if 0 <= position < size else min_dim(max_dim(position, 0), size - 1)
    except InconclusiveDimensionOperation:
        return np.asarray(item, dtypes.scalar_dtype(int))


@fused(static_argnames=("spec", "mode", "fill_value", "indices_are_sorted", "unique_indices", "wrap"))
def _read(x: Any, values: Sequence[ArrayLike], spec: tuple[Any, ...], mode: GatherScatterMode, fill_value: Any, indices_are_sorted: bool,
          unique_indices: bool, wrap: bool) -> Array:
    arrays = iter(values)
    items = [next(arrays) if type(item) is Computed else (item, next(arrays)) if type(item) is Window else item for item in spec]
    is_filling = mode is GatherScatterMode.FILL_OR_DROP
    if all(_is_static(item) for item in items) and not (is_filling and any(type(item) is int for item in items)):
        return _static_read(x, items)
    if not is_filling and all(_is_static(item) or is_window(item) or type(item) is not Steps and not shape_of(item) for item in items):
        return _dynamic_read(x, items, wrap)
    plan = make_plan(x.shape, items, wrap)
    if 0 in plan.shape:
        result = shape_ops.full(plan.shape, 0, x.dtype)
    else:
        dims = GatherDimensionNumbers(plan.window_axes, plan.collapsed, plan.index_map)
        result = indexing_ops.gather(x, plan.indices, dims, plan.window_sizes, mode=mode, fill_value=fill_value,
                                     indices_are_sorted=indices_are_sorted or plan.is_single,
                                     unique_indices=unique_indices or plan.is_single)
    if plan.reversed_axes:
        result = shape_ops.rev(result, plan.reversed_axes)
    return shape_ops.expand_dims(result, plan.new_axes) if plan.new_axes else result


def _is_static(item: Any) -> bool:
    return type(item) in (int, Slice, NewAxis, Gap)


def _static_read(x: Any, items: list) -> Any:
    """A slice, with the axes of ints dropped, those of negative steps reversed, and new ones added."""
    starts, limits, steps, dropped, flipped, new_axes = [], [], [], [], [], []
    axis = place = 0
    for item in items:
        if item is NEW_AXIS:
            new_axes.append(place)
            place += 1
            continue
        if type(item) is int:
            start, count, step = item, 1, 1
            dropped.append(axis)
        else:
            start, count, step = item
            place += 1
        if step < 0:
            flipped.append(axis)
            start, step = start + (count - 1) * step, -step
        is_empty = type(count) is int and count == 0
        last = start + (count - 1) * step
        starts.append(0 if is_empty else start)
        limits.append(0 if is_empty else last + 1)
        steps.append(step)
        axis += 1
    if limits != list(x.shape) or any(start != 0 for start in starts) or any(step != 1 for step in steps):
        x = slicing_ops.slice(x, tuple(starts), tuple(limits), None if all(s == 1 for s in steps) else tuple(steps))
    if flipped:
        x = shape_ops.rev(x, tuple(flipped))
    if dropped:
        x = shape_ops.squeeze(x, tuple(dropped))
    return shape_ops.expand_dims(x, tuple(new_axes)) if new_axes else x


def _dynamic_read(x: Any, items: list, wrap: bool) -> Any:
    """A dynamic slice at the computed scalars, which clamps them, after a static slice where steps need one."""
    outer = [Slice(0, size, 1) for size in x.shape]
    dtype = dtypes.scalar_dtype(int)
    starts: list = []
    sizes: list = []
    dropped: list = []
    new_axes: list = []
    axis = place = 0
    for item in items:
        if item is NEW_AXIS:
            new_axes.append(place)
            place += 1
            continue
        if type(item) is Slice:
            if item.step == 1:
                start = item.start
            else:
                outer[axis], start = item, 0
            starts.append(start)
            sizes.append(item.length)
            place += 1
        elif is_window(item):
            starts.append(convert(item[1], dtype))
            sizes.append(item[0].length)
            place += 1
        else:
            starts.append(item if type(item) is int else from_the_front(item, x.shape[axis], dtype, wrap))
            sizes.append(1)
            dropped.append(axis)
        axis += 1
    x = _static_read(x, outer)
    if tuple(sizes) != tuple(x.shape) or checks_indices.value:
        x = state.trace.process(dynamic_slice_p, (x, *starts), {"slice_sizes": tuple(sizes)})
    if dropped:
        x = shape_ops.squeeze(x, tuple(dropped))
    return shape_ops.expand_dims(x, tuple(new_axes)) if new_axes else x


def iterate(x: Any) -> Iterable[Any]:
    """The iterator over the first axis of an array."""
    if not x.shape:
        raise TypeError("iteration over a 0-d array")  # NumPy's words
    if (split := get_aval(x)._split) is not None and split.spec.partitions[0] is not None and not isinstance(x, Tracer):
        return map(device_put, x._value)  # parts cannot be cut out of an axis that is split over explicit mesh axes
    chunk = 64  # one program cuts a chunk; its size bounds the cost of compiling it
    if state.trace is not eval_trace or x.shape[0] <= chunk:
        return iter(unstack(x))
    return (row for start in range(0, x.shape[0], chunk) for row in unstack(x[start:start + chunk]))
