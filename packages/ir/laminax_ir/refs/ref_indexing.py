"""Places in references: what stands in the brackets of `ref[...]`.

A place says for each axis of an array which part is meant: an int, a slice with a positive step, a slice of known size that
begins at a value of the program, or an array of integers that is a value of the program. It knows the shape of the part.
Ints and slices that are out of bounds raise;
computed ones are clamped, and where arrays name places out of bounds, reading takes the nearest element and writing
leaves them out. The axes of index arrays are placed in the result as NumPy places them.
"""

from __future__ import annotations

import operator
from typing import Any, NamedTuple, Sequence

import numpy as np

from laminax_ir.refs.dynamic_slices import Slice
from laminax_ir.tracing.trace import Tracer
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_ir.types.errors import NonConcreteBooleanIndexError
from laminax_ir.types.hi_types import HiType


class Span(NamedTuple):
    """The `size` elements start, start + step, ... of an axis."""
    start: int
    size: int
    step: int


class Window(NamedTuple):
    """The `size` elements start, start + step, ... of an axis, where the start is a value of the program."""
    size: int
    step: int


class _Computed:
    """Stands for an index that is a value of the program."""

    def __repr__(self) -> str:
        return "computed"


COMPUTED = _Computed()


class Place(NamedTuple):
    """A part of an array.

    Args:
      items: for each axis an int, a `Span`, a `Window` or `COMPUTED`. A place with index arrays that have axes has no windows.
      arrays: the starts of the windows, and the values of the computed ones, integer scalars and arrays, in the order of the axes.
      of_shape: the shape of the array.
      shape: the shape of the part.
    """
    items: tuple[Any, ...]
    arrays: tuple[Any, ...]
    of_shape: tuple[int, ...]
    shape: tuple[int, ...]


def places(name: str, array: Any, index: Any) -> tuple[Place, ...]:
    """The places that an index means: none for the whole array; two, one in the other, for windows beside arrays.

    Args:
      name: the function, for messages.
      array: the array or reference that is indexed.
      index: what stands in the brackets; None for all.

    Raises:
      ValueError: for too many indices, two ellipses, an int or a `ds` out of bounds, or a step that is not positive.
      TypeError: for what is no index.
      IndexError: for bounds of a slice that are traced.
      NonConcreteBooleanIndexError: for a mask.
    """
    if index is Ellipsis or index is None or type(index) is tuple and not index:
        return ()
    shape = getattr(array, "shape", None)
    if shape is None:
        raise TypeError(f"{name}: what is in this reference is no array, and is read and written whole, as ref[...]; got the index "
                        f"{index!r:.60}")
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
    items: list[Any] = []
    arrays: list[Any] = []
    for axis, (item, size) in enumerate(zip(given, shape)):
        found = _item(name, item, size, axis)
        if isinstance(found, (int, Span)):
            items.append(found)
        elif type(found) is Slice:
            items.append(Window(found.size, found.stride))
            arrays.append(found.start)
        else:
            items.append(COMPUTED)
            arrays.append(found)
    splits = any(type(item) is Window for item in items) and any(get_aval(x).shape for x in arrays)
    found = _windows_first(items, arrays, shape) if splits else _place(items, arrays, shape)
    if found and isinstance(inner := getattr(getattr(array, "aval", None), "inner_aval", None), HiType):
        raise NotImplementedError(f"{name}: a part of a reference to a value of the type {inner.str_short()} is not supported: it is read "
                                  "and written whole, as ref[...]. Make references to the arrays that it consists of.")
    return found


def _place(items: Sequence[Any], arrays: Sequence[Any], shape: Sequence[int]) -> tuple[Place, ...]:
    if all(type(item) is Span and item == (0, size, 1) for item, size in zip(items, shape)):
        return ()
    return (Place(tuple(items), tuple(arrays), tuple(shape), _part_shape(items, [get_aval(x).shape for x in arrays])),)


def _windows_first(items: Sequence[Any], arrays: Sequence[Any], shape: Sequence[int]) -> tuple[Place, ...]:
    """The windows as a place of their own, in which the other indices count: a gather has no windows."""
    values = iter(arrays)
    owned = [next(values) if item is COMPUTED or type(item) is Window else None for item in items]
    windows = [item if type(item) is Window else Span(0, size, 1) for item, size in zip(items, shape)]
    rest = [Span(0, item.size, 1) if type(item) is Window else item for item in items]
    outer = _place(windows, [x for x, item in zip(owned, items) if type(item) is Window], shape)
    return (*outer, *_place(rest, [x for x, item in zip(owned, items) if item is COMPUTED], outer[0].shape))


def _item(name: str, item: Any, size: int, axis: int) -> Any:
    if type(item) is slice:
        return _span(name, item, size, axis)
    if type(item) is Slice:
        return _dynamic_span(name, item, size, axis)
    if isinstance(item, (bool, np.bool_)) or getattr(item, "dtype", None) == np.bool_:
        kind = get_aval(item).str_short(short_dtypes=False)
        raise NonConcreteBooleanIndexError(f"{name}: Array boolean indices must be concrete; got {kind} at axis {axis}. "
                                           "References are indexed by integers and slices: write where(mask, new, ref[...]) to ref[...].")
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


def _dynamic_span(name: str, item: Slice, size: int, axis: int) -> Span | Slice:
    """A span where the start is known, and else the slice itself, whose start is clamped when it is read or written."""
    start = item.start.concrete_value() if isinstance(item.start, Tracer) else item.start
    reach = (item.size - 1) * item.stride + 1 if item.size else 0
    if start is None:
        if reach > size:
            raise ValueError(f"{name}: Out of bound slice: size={item.size}, stride={item.stride}, dim={size}. It is the index of axis "
                             f"{axis}, and larger than the axis.")
        return item
    start = operator.index(start)
    if not 0 <= start <= size - reach:
        raise ValueError(f"{name}: Out of bound slice: start={start}, size={item.size}, stride={item.stride}, dim={size}. "
                         f"It is the index of axis {axis}.")
    return Span(start, item.size, item.stride)


def _part_shape(items: Sequence[Any], array_shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape of a part: the index arrays' common shape is in the place of the first of them, or in front if slices are between them."""
    common = np.broadcast_shapes(*array_shapes)
    if not common:
        return tuple(item.size for item in items if keeps_axis(item))
    before, after = around(items)
    return (*[item.size for item in before], *common, *[item.size for item in after])


def around(items: Sequence[Any]) -> tuple[list[Span], list[Span]]:
    """The slices before and after the axes that arrays index."""
    indexed = [axis for axis, item in enumerate(items) if type(item) is not Span]
    together = indexed == list(range(indexed[0], indexed[-1] + 1))
    first = indexed[0] if together else 0
    return ([item for item in items[:first] if type(item) is Span], [item for item in items[first:] if type(item) is Span])


def keeps_axis(item: Any) -> bool:
    """Whether the part has an axis for that of the array: it is a slice, and no index."""
    return type(item) is Span or type(item) is Window


def width(item: Any) -> int:
    """How many elements of an axis an item reaches over."""
    return 1 if not keeps_axis(item) else (item.size - 1) * item.step + 1 if item.size else 0


def without_arrays(nested: tuple[Place, ...]) -> tuple[Place, ...]:
    """The places with None for the values of computed indices: the part of an index that is static."""
    return tuple([place._replace(arrays=(None,) * len(place.arrays)) for place in nested])


def with_arrays(nested: tuple[Place, ...], arrays: Sequence[Any]) -> tuple[Place, ...]:
    """The places with these values for the computed indices: one value per index, over all places in order."""
    if not arrays:
        return nested
    found = iter(arrays)
    return tuple([place._replace(arrays=tuple([next(found) for _ in place.arrays])) for place in nested])


def part_aval(aval: ShapedArray, nested: tuple[Place, ...]) -> ShapedArray:
    """The type of a part of an array."""
    return aval.update(shape=nested[-1].shape) if nested else aval


# Printing


def text(nested: Sequence[Place], names: Sequence[str]) -> str:
    """The indices of nested places in Python's syntax; `names` has the text of each computed index, in order."""
    found = iter(names)
    return ("".join(f"[{','.join(_item_text(item, size, found) for item, size in zip(place.items, place.of_shape))}]" for place in nested)
            or "[...]")


def _item_text(item: Any, size: int, names: Any) -> str:
    if item is COMPUTED:
        return next(names)
    if type(item) is Window:
        start = next(names)
        return f"{start}:{start}+{item.size}" + (f":{item.step}" if item.step > 1 else "")
    if type(item) is int:
        return str(item)
    stop = item.start + width(item)
    return f"{item.start or ''}:{'' if stop == size else stop}" + (f":{item.step}" if item.step > 1 else "")
