"""Places in references: what stands in the brackets of `ref[...]`, and reading and writing an array there.

A place says for each axis of an array which part is meant: an int, a slice with a positive step, or an array of
integers that is a value of the program. It knows the shape of the part. Ints and slices that are out of bounds raise;
computed ones are clamped, and where arrays name places out of bounds, reading takes the nearest element and writing
leaves them out. Arrays lie in the result as in NumPy. The functions of operations are imported when they are used: these
import what staging imports.
"""

from __future__ import annotations

import operator
from typing import Any, NamedTuple, Sequence

import numpy as np

from laminax_ir import dtypes
from laminax_ir.avals import ShapedArray, get_aval
from laminax_ir.errors import NonConcreteBooleanIndexError
from laminax_ir.trace import Tracer, eval_trace, state


class Span(NamedTuple):
    """The `size` elements start, start + step, ... of an axis."""
    start: int
    size: int
    step: int


class _Computed:
    """Stands for an index that is a value of the program."""

    def __repr__(self):
        return "computed"


COMPUTED = _Computed()


class Place(NamedTuple):
    """A part of an array.

    Args:
      items: for each axis an int, a `Span` or `COMPUTED`.
      arrays: the values of the computed ones, integer scalars and arrays.
      of_shape: the shape of the array.
      shape: the shape of the part.
    """
    items: tuple[Any, ...]
    arrays: tuple[Any, ...]
    of_shape: tuple[int, ...]
    shape: tuple[int, ...]


def places(name: str, array: Any, index: Any) -> tuple[Place, ...]:
    """The place that an index means; none for the whole array.

    Args:
      name: the function, for messages.
      array: what has the shape that is indexed.
      index: what stands in the brackets; None for all.

    Raises:
      ValueError: for too many indices, two ellipses, an int out of bounds, or a step that is not positive.
      TypeError: for what is no index.
      IndexError: for bounds of a slice that are traced.
      NonConcreteBooleanIndexError: for a mask.
    """
    if index is Ellipsis or index is None:
        return ()
    shape = array.shape
    given = index if type(index) is tuple else (index,)
    if sum(item is Ellipsis for item in given) > 1:
        raise ValueError(f"{name}: Only one ellipsis is supported. Got the index {index} for shape {shape}.")
    count = len(given) - any(item is Ellipsis for item in given)
    if count > len(shape):
        raise ValueError(f"{name}: `indices` must not be longer than `shape`: indices={given}, shape={shape}")
    whole = [slice(None)] * (len(shape) - count)
    if any(item is Ellipsis for item in given):
        at = next(i for i, item in enumerate(given) if item is Ellipsis)
        given = (*given[:at], *whole, *given[at + 1:])
    else:
        given = (*given, *whole)
    items, arrays = [], []
    for axis, (item, size) in enumerate(zip(given, shape)):
        found = _item(name, item, size, axis)
        if isinstance(found, (int, Span)):
            items.append(found)
        else:
            items.append(COMPUTED)
            arrays.append(found)
    if all(type(item) is Span and item == (0, size, 1) for item, size in zip(items, shape)):
        return ()
    return (Place(tuple(items), tuple(arrays), tuple(shape), _part_shape(items, [get_aval(x).shape for x in arrays])),)


def _item(name: str, item: Any, size: int, axis: int) -> Any:
    if type(item) is slice:
        return _span(name, item, size, axis)
    if isinstance(item, (bool, np.bool_)) or getattr(item, "dtype", None) == np.bool_:
        kind = get_aval(item).str_short(short_dtypes=False)
        raise NonConcreteBooleanIndexError(f"{name}: Array boolean indices must be concrete; got {kind} at axis {axis}. References are indexed "
                                           "by integers and slices: write where(mask, new, ref[...]) to ref[...].")
    if hasattr(item, "dtype") and hasattr(item, "shape"):
        aval = get_aval(item)
        if not dtypes.issubdtype(aval.dtype, dtypes.integer):
            raise TypeError(f"{name}: an index must be of an integer type, got {aval.str_short()} at axis {axis}")
        value = item.concrete_value() if isinstance(item, Tracer) else item
        if aval.shape or value is None:
            return item
        item = int(value)
    try:
        position = operator.index(item)
    except TypeError:
        raise TypeError(f"{name}: an index must be an integer, a slice, Ellipsis or an array of integers, got {item!r:.60} of type "
                        f"{type(item).__name__} at axis {axis}") from None
    if not -size <= position < size:
        raise ValueError(f"{name}: Out of bound indexer: idx={position}, dim={size}. It is the index of axis {axis}.")
    return position + size if position < 0 else position


def _span(name: str, item: slice, size: int, axis: int) -> Span:
    for part in (item.start, item.stop, item.step):
        if isinstance(part, Tracer) and part.concrete_value() is None:
            raise IndexError(f"{name}: the bounds of a slice must be known while the function is traced, found {item} at axis {axis}. Read "
                             "the whole reference, ref[...], and use lax.dynamic_slice on that.")
    try:
        start, stop, step = item.indices(size)
    except TypeError:
        raise TypeError(f"{name}: the bounds of a slice must be integers or None, got {item} at axis {axis}") from None
    except ValueError:
        raise ValueError(f"{name}: slice must have a step >= 1 (found: {item.step}) at axis {axis}") from None
    if step < 1:
        raise ValueError(f"{name}: slice must have a step >= 1 (found: {step}) at axis {axis}. Reverse what is read or written.")
    return Span(start, len(range(start, stop, step)), step)


def _part_shape(items: Sequence[Any], array_shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape of a part: what the indices have in common is in the place of the first, or in front if slices are between them."""
    common = np.broadcast_shapes(*array_shapes)
    if not common:
        return tuple(item.size for item in items if type(item) is Span)
    before, after = _around(items)
    return (*[item.size for item in before], *common, *[item.size for item in after])


def _around(items: Sequence[Any]) -> tuple[list[Span], list[Span]]:
    """The slices before and after the axes that arrays index."""
    indexed = [axis for axis, item in enumerate(items) if type(item) is not Span]
    together = indexed == list(range(indexed[0], indexed[-1] + 1))
    first = indexed[0] if together else 0
    return ([item for item in items[:first] if type(item) is Span], [item for item in items[first:] if type(item) is Span])


def without_arrays(nested: tuple[Place, ...]) -> tuple[Place, ...]:
    """The same places without the values of computed indices: what of them does not depend on values."""
    return tuple([place._replace(arrays=(None,) * len(place.arrays)) for place in nested])


def with_arrays(nested: tuple[Place, ...], arrays: Sequence[Any]) -> tuple[Place, ...]:
    """The same places with other values for the computed indices of all of them, in order."""
    if not arrays:
        return nested
    found = iter(arrays)
    return tuple([place._replace(arrays=tuple([next(found) for _ in place.arrays])) for place in nested])


def part_aval(aval: ShapedArray, nested: tuple[Place, ...]) -> ShapedArray:
    """The type of a part of an array."""
    return aval.update(shape=nested[-1].shape) if nested else aval


def checked_value(name: str, aval: ShapedArray, nested: tuple[Place, ...], value: Any) -> Any:
    """What is to be written, as a value of the reference's dtype.

    Args:
      name: the function, for messages.
      aval: the type of the array in the reference.

    Raises:
      ValueError: if the value is not of the part's shape, or not of the reference's dtype. Numbers of Python, and arrays of
        weak type, may be of another type of the same kind.
      TypeError: if it is not an array.
    """
    from laminax_ir.ops.elementwise import convert_element_type_p
    try:
        given = get_aval(value)
    except TypeError:
        raise TypeError(f"{name}: the value to write must be an array or a scalar, got {value!r:.60} of type {type(value).__name__}") from None
    operation = "addupdate" if name == "ref_addupdate" else "swap"
    expected = part_aval(aval, nested)
    if given.shape != expected.shape:
        raise ValueError(f"Invalid shape for `{operation}`. Ref shape: {aval.shape}. Expected shape: {expected.shape}. Value shape: {given.shape}. "
                         f"{name} does not broadcast: give a value of the shape of the part that is written.")
    if given.dtype != aval.dtype and not (given.weak_type and _same_kind(given.dtype, aval.dtype)):
        raise ValueError(f"Invalid dtype for `{operation}`. Ref dtype: {aval.dtype}. Value dtype: {given.dtype}. {name} does not convert: use "
                         "value.astype(ref.dtype).")
    if type(value) in dtypes.python_scalar_types and not aval.weak_type:
        return aval.dtype.type(value)
    return value if given.dtype == aval.dtype else convert_element_type_p.bind(value, new_dtype=aval.dtype, weak_type=aval.weak_type)


def typed_as(aval: ShapedArray, value: Any) -> Any:
    """A value of a reference's dtype as what it holds: an array, weakly typed if those in the reference are."""
    from laminax_ir.ops.elementwise import convert_element_type_p
    if dtypes.is_extended(aval.dtype) or get_aval(value).weak_type == aval.weak_type and (state.trace is not eval_trace or hasattr(value, "aval")):
        return value
    return convert_element_type_p.bind(value, new_dtype=aval.dtype, weak_type=aval.weak_type)


def _same_kind(a: Any, b: Any) -> bool:
    return any(dtypes.issubdtype(a, kind) and dtypes.issubdtype(b, kind)
               for kind in (dtypes.integer, dtypes.floating, dtypes.complexfloating))


# Reading and writing arrays


def read(x: Any, nested: tuple[Place, ...]) -> Any:
    """The part of an array."""
    for place in nested:
        x = _gathered(x, place) if any(get_aval(i).shape for i in place.arrays) else _sliced(x, place.items, place.arrays)
    return x


def written(x: Any, nested: tuple[Place, ...], value: Any, adds: bool) -> Any:
    """The array with a part of it replaced, or added to."""
    from laminax_ir.ops.elementwise import add_p
    if not nested:
        return add_p.bind(x, value) if adds else value
    place, *inner = nested
    if inner:
        return written(x, (place,), written(read(x, (place,)), tuple(inner), value, adds), False)
    if any(get_aval(i).shape for i in place.arrays):
        return _scattered(x, place, value, adds)
    return _replaced(x, place.items, place.arrays, add_p.bind(read(x, nested), value) if adds else value)


def _starts(items: Sequence[Any], arrays: Sequence[Any]) -> list[Any]:
    """Where the window begins that has all of the elements, which may be apart."""
    found = iter(arrays)
    return [item.start if type(item) is Span else next(found) if item is COMPUTED else item for item in items]


def _width(item: Any) -> int:
    """How many elements of an axis the window has."""
    return 1 if type(item) is not Span else (item.size - 1) * item.step + 1 if item.size else 0


def _sliced(x: Any, items: Sequence[Any], arrays: Sequence[Any]) -> Any:
    """A slice; outside of traces positions are values, so that a loop over them does not compile a program for each."""
    from laminax_ir.ops import shape as shape_ops
    from laminax_ir.ops import slicing
    widths = [_width(item) for item in items]
    steps = [item.step if type(item) is Span else 1 for item in items]
    if arrays or state.trace is eval_trace:
        x = slicing.dynamic_slice(x, _starts(items, arrays), widths)
        if any(step > 1 for step in steps):
            x = slicing.slice(x, [0] * len(widths), widths, steps)
    else:
        starts = _starts(items, arrays)
        x = slicing.slice(x, starts, [start + width for start, width in zip(starts, widths)], steps)
    dropped = tuple(axis for axis, item in enumerate(items) if type(item) is not Span)
    return shape_ops.squeeze(x, dropped) if dropped else x


def _replaced(x: Any, items: Sequence[Any], arrays: Sequence[Any], value: Any) -> Any:
    """The array with a slice replaced."""
    from laminax_ir.ops import shape as shape_ops
    from laminax_ir.ops import slicing
    dropped = tuple(axis for axis, item in enumerate(items) if type(item) is not Span)
    if dropped:
        value = shape_ops.expand_dims(value, dropped)
    starts = _starts(items, arrays)
    if any(type(item) is Span and item.step > 1 for item in items):
        widths = [_width(item) for item in items]
        value = _between(slicing.dynamic_slice(x, starts, widths), [item.step if type(item) is Span else 1 for item in items], value)
    return slicing.dynamic_update_slice(x, value, starts)


def _between(window: Any, steps: Sequence[int], value: Any) -> Any:
    """The window with the elements that are `steps` apart replaced."""
    from laminax_ir.ops import indexing
    axes = tuple(axis for axis, step in enumerate(steps) if step > 1)
    shape = get_aval(value).shape
    sizes = [shape[axis] for axis in axes]
    grid = np.stack(np.meshgrid(*[np.arange(n, dtype=np.int32) * steps[axis] for n, axis in zip(sizes, axes)], indexing="ij"), -1)
    dims = indexing.ScatterDimensionNumbers(tuple(i for i in range(len(shape)) if i not in axes), axes, axes)
    return indexing.scatter(window, grid, value, dims, indices_are_sorted=True, unique_indices=True, mode="promise_in_bounds")


def _gathered(x: Any, place: Place) -> Any:
    from laminax_ir.ops import indexing
    x, indices, indexed, windows = _indices(x, place)
    sizes = tuple(1 if axis in indexed else size for axis, size in enumerate(get_aval(x).shape))
    return indexing.gather(x, indices, indexing.GatherDimensionNumbers(windows, indexed, indexed), sizes, mode="clip")


def _scattered(x: Any, place: Place, value: Any, adds: bool) -> Any:
    from laminax_ir.ops import indexing
    part, indices, indexed, windows = _indices(x, place)
    scatter = indexing.scatter_add if adds else indexing.scatter
    part = scatter(part, indices, value, indexing.ScatterDimensionNumbers(windows, indexed, indexed), mode="drop")
    spans = _only_spans(place)
    return part if spans is None else _replaced(x, spans, (), part)


def _only_spans(place: Place) -> list[Span] | None:
    """The slices of a place, with whole axes where it has indices; None if all are whole."""
    spans = [item if type(item) is Span else Span(0, size, 1) for item, size in zip(place.items, place.of_shape)]
    return None if all(span == (0, size, 1) for span, size in zip(spans, place.of_shape)) else spans


def _indices(x: Any, place: Place) -> tuple[Any, Any, tuple[int, ...], tuple[int, ...]]:
    """For a place with arrays: the array cut to the slices, the indices in one array, the axes that they index, and the
    axes of the part that the slices are."""
    from laminax_ir.ops import shape as shape_ops
    from laminax_ir.ops.elementwise import convert_element_type
    from laminax_ir.ops.slicing import wrapped_index
    spans = _only_spans(place)
    if spans is not None:
        x = _sliced(x, spans, ())
    common = np.broadcast_shapes(*[get_aval(i).shape for i in place.arrays])
    indexed = tuple(axis for axis, item in enumerate(place.items) if type(item) is not Span)
    columns, found = [], iter(place.arrays)
    for axis in indexed:
        index = next(found) if place.items[axis] is COMPUTED else np.int32(place.items[axis])
        index = wrapped_index(convert_element_type(index, np.int32), place.of_shape[axis])
        columns.append(shape_ops.expand_dims(shape_ops.broadcast_to_shape(index, common), (len(common),)))
    before, after = _around(place.items)
    windows = (*range(len(before)), *range(len(before) + len(common), len(before) + len(common) + len(after)))
    return x, columns[0] if len(columns) == 1 else shape_ops.concatenate(columns, len(common)), indexed, windows


# Printing


def text(nested: Sequence[Place], names: Sequence[str]) -> str:
    """The indices of nested places in the syntax of Python; `names` are those of the computed ones."""
    found = iter(names)
    return "".join(f"[{','.join(_item_text(item, size, found) for item, size in zip(place.items, place.of_shape))}]" for place in nested) or "[...]"


def _item_text(item: Any, size: int, names: Any) -> str:
    if item is COMPUTED:
        return next(names)
    if type(item) is int:
        return str(item)
    stop = item.start + _width(item)
    return f"{item.start or ''}:{'' if stop == size else stop}" + (f":{item.step}" if item.step > 1 else "")
