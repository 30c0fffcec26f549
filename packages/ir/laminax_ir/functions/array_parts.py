"""Reading and writing parts of arrays as operations: the `ref_contents.ArrayOperations` that references apply to their arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from laminax_ir.ops import indexing, shape, slicing
from laminax_ir.ops.conversion import convert_element_type_p
from laminax_ir.ops.elementwise import add_p, convert_element_type, copy_p, stop_gradient_one
from laminax_ir.ops.slicing import wrapped_index
from laminax_ir.refs.ref_indexing import COMPUTED, Place, Span, Window, around, keeps_axis, width
from laminax_ir.tracing.trace import eval_trace, state
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


def without_gradient(x: Any) -> Any:
    """The array, as a constant for derivatives."""
    return stop_gradient_one(x) if dtypes.issubdtype(get_aval(x).dtype, dtypes.inexact) else x


def copied(x: Any) -> Any:
    """The array, in memory of its own."""
    return copy_p.bind(x)


def converted(x: Any, dtype: Any, weak_type: bool) -> Any:
    """The array with another dtype, or weak type."""
    return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=weak_type)


def part(x: Any, nested: tuple[Place, ...]) -> Any:
    """The part of an array."""
    for place in nested:
        x = _gathered(x, place) if any(get_aval(i).shape for i in place.arrays) else _sliced(x, place.items, place.arrays)
    return x


def with_part(x: Any, nested: tuple[Place, ...], value: Any, adds: bool) -> Any:
    """The array with a part of it replaced, or added to."""
    if not nested:
        return add_p.bind(x, value) if adds else value
    place, *inner = nested
    if inner:
        return with_part(x, (place,), with_part(part(x, (place,)), tuple(inner), value, adds), False)
    if any(get_aval(i).shape for i in place.arrays):
        return _scattered(x, place, value, adds)
    return _replaced(x, place.items, place.arrays, add_p.bind(part(x, nested), value) if adds else value)


def _starts(items: Sequence[Any], arrays: Sequence[Any]) -> list[Any]:
    """Where the window begins that has all of the elements, which may be apart."""
    found = iter(arrays)
    return [item.start if type(item) is Span else next(found) if item is COMPUTED or type(item) is Window else item for item in items]


def _sliced(x: ArrayLike, items: Sequence[Any], arrays: Sequence[Any]) -> Array:
    """A slice; outside of traces positions are values, so that a loop over them does not compile a program for each."""
    widths = [width(item) for item in items]
    steps = [item.step if keeps_axis(item) else 1 for item in items]
    if arrays or state.trace is eval_trace:
        x = slicing.dynamic_slice(x, _starts(items, arrays), widths)
        if any(step > 1 for step in steps):
            x = slicing.slice(x, [0] * len(widths), widths, steps)
    else:
        starts = _starts(items, arrays)
        x = slicing.slice(x, starts, [start + size for start, size in zip(starts, widths)], steps)
    dropped = tuple(axis for axis, item in enumerate(items) if not keeps_axis(item))
    return shape.squeeze(x, dropped) if dropped else x


def _replaced(x: ArrayLike, items: Sequence[Any], arrays: Sequence[Any], value: ArrayLike) -> Array:
    """The array with a slice replaced."""
    dropped = tuple(axis for axis, item in enumerate(items) if not keeps_axis(item))
    if dropped:
        value = shape.expand_dims(value, dropped)
    starts = _starts(items, arrays)
    steps = [item.step if keeps_axis(item) else 1 for item in items]
    if any(step > 1 for step in steps):
        widths = [width(item) for item in items]
        value = _between(slicing.dynamic_slice(x, starts, widths), steps, value)
    return slicing.dynamic_update_slice(x, value, starts)


def _between(window: ArrayLike, steps: Sequence[int], value: ArrayLike) -> Array:
    """The window with the elements that are `steps` apart replaced."""
    axes = tuple(axis for axis, step in enumerate(steps) if step > 1)
    part_shape = get_aval(value).shape
    sizes = [part_shape[axis] for axis in axes]
    grid = np.stack(np.meshgrid(*[np.arange(n, dtype=np.int32) * steps[axis] for n, axis in zip(sizes, axes)], indexing="ij"), -1)
    dims = indexing.ScatterDimensionNumbers(tuple(i for i in range(len(part_shape)) if i not in axes), axes, axes)
    return indexing.scatter(window, grid, value, dims, indices_are_sorted=True, unique_indices=True, mode="promise_in_bounds")


def _gathered(x: ArrayLike, place: Place) -> Array:
    x, indices, indexed, windows = _indices(x, place)
    sizes = tuple(1 if axis in indexed else size for axis, size in enumerate(get_aval(x).shape))
    return indexing.gather(x, indices, indexing.GatherDimensionNumbers(windows, indexed, indexed), sizes, mode="clip")


def _scattered(x: ArrayLike, place: Place, value: ArrayLike, adds: bool) -> Array:
    target, indices, indexed, windows = _indices(x, place)
    scatter = indexing.scatter_add if adds else indexing.scatter
    target = scatter(target, indices, value, indexing.ScatterDimensionNumbers(windows, indexed, indexed), mode="drop")
    spans = _only_spans(place)
    return target if spans is None else _replaced(x, spans, (), target)


def _indices(x: ArrayLike, place: Place) -> tuple[Any, Any, tuple[int, ...], tuple[int, ...]]:
    """For a place with arrays: the array cut to the slices, the indices in one array, the axes that they index, and the
    axes of the part that the slices are."""
    spans = _only_spans(place)
    if spans is not None:
        x = _sliced(x, spans, ())
    common = np.broadcast_shapes(*[get_aval(i).shape for i in place.arrays])
    indexed = tuple(axis for axis, item in enumerate(place.items) if type(item) is not Span)
    columns, found = [], iter(place.arrays)
    for axis in indexed:
        index = next(found) if place.items[axis] is COMPUTED else np.int32(place.items[axis])
        index = wrapped_index(convert_element_type(index, np.int32), place.of_shape[axis])
        columns.append(shape.expand_dims(shape.broadcast_to_shape(index, common), (len(common),)))
    before, after = around(place.items)
    windows = (*range(len(before)), *range(len(before) + len(common), len(before) + len(common) + len(after)))
    return x, columns[0] if len(columns) == 1 else shape.concatenate(columns, len(common)), indexed, windows


def _only_spans(place: Place) -> list[Span] | None:
    """The slices of a place, with whole axes where it has indices; None if all are whole."""
    spans = [item if type(item) is Span else Span(0, size, 1) for item, size in zip(place.items, place.of_shape)]
    return None if all(span == (0, size, 1) for span, size in zip(spans, place.of_shape)) else spans
