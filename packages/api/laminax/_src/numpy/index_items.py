"""What stands in the brackets of `x[...]`, as one item for each axis: numbers, slices, new axes, index arrays and masks."""

from __future__ import annotations

import operator
from typing import Any, NamedTuple, Sequence

import numpy as np

from laminax_ir import dtypes
from laminax_ir.avals import get_aval
from laminax_ir.errors import NonConcreteBooleanIndexError
from laminax_ir.trace import Tracer, eval_trace, state

from laminax._src.numpy.arguments import is_kind


class Slice(NamedTuple):
    """A slice with everything settled: the `count` elements start, start + step, ..."""

    start: int
    count: int
    step: int


class Window(NamedTuple):
    """`count` consecutive elements from a position that is not part of the program."""

    count: int


class NewAxis(NamedTuple):
    """None in an index: a new axis of size 1."""


class Computed(NamedTuple):
    """A place for an index array that is not part of the program."""

    name: str = "computed"


NEW_AXIS = NewAxis()
COMPUTED = Computed()


def parse_index(shape: tuple[int, ...], index: Any) -> list:
    """The items of an index, one for each axis of the array and each new one.

    Args:
      shape: the shape of the array.
      index: what stands between the brackets, without scalar masks.

    Returns:
      A list of `Slice`, `NEW_AXIS`, ints (negative ones and those out of bounds as they are) and integer arrays.

    Raises:
      IndexError: for too many indices, two ellipses, a mask of a wrong shape, a traced mask, or a traced slice bound.
      TypeError: for lists, floats and other things that are no index.
    """
    items = [_masks_as_numpy(item) for item in (index if type(index) is tuple else (index,))]
    taken = 0
    ellipses = 0
    for item in items:
        if item is Ellipsis:
            ellipses += 1
        elif item is not None:
            taken += item.ndim if _is_mask(item) else 1
    if ellipses > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if taken > len(shape):
        raise IndexError(f"Too many indices: array is {len(shape)}-dimensional, but {taken} were indexed")
    if not ellipses:
        items.append(Ellipsis)
    result: list = []
    axis = 0
    for item in items:
        if item is None:
            result.append(NEW_AXIS)
        elif item is Ellipsis:
            rest = len(shape) - taken
            result += [Slice(0, size, 1) for size in shape[axis:axis + rest]]
            axis += rest
        elif _is_mask(item):
            result += _nonzero_of(item, shape, axis)
            axis += item.ndim
        else:
            result.append(_parse_item(item, shape[axis], axis))
            axis += 1
    return result


def _is_mask(item: Any) -> bool:
    return type(item) is np.ndarray and item.dtype == np.bool_


def _masks_as_numpy(item: Any) -> Any:
    """A concrete bool mask as a NumPy array; anything else as it is."""
    if isinstance(item, (list, tuple)):
        raise TypeError("Using a non-tuple sequence for multidimensional indexing is not allowed; use `arr[array(seq)]` instead of "
                        f"`arr[seq]`. Got {item!r:.60}")
    if type(item) is int or type(item) is slice or getattr(item, "dtype", None) != np.bool_:
        return item
    if isinstance(item, Tracer):
        value = item.concrete_value()
        if value is None:
            raise NonConcreteBooleanIndexError(
                f"Array boolean indices must be concrete; got {item.aval.str_short()}, whose values are not known while the "
                "function is traced. Use where(mask, x, y), or nonzero(mask, size=...).")
        item = value
    return np.asarray(item)


def _nonzero_of(mask: np.ndarray, shape: tuple[int, ...], axis: int) -> list[np.ndarray]:
    met = shape[axis:axis + mask.ndim]
    if mask.shape != met:
        raise IndexError(f"boolean index did not match shape of indexed array: the mask has shape {mask.shape}, the axes from "
                         f"{axis} on have sizes {met}")
    return [places.astype(np.int32) for places in np.nonzero(mask)]


def _parse_item(item: Any, size: int, axis: int) -> Any:
    kind = type(item)
    if kind is int:
        return item
    if kind is slice:
        return _parse_slice(item, size)
    if isinstance(item, np.integer):
        return int(item)
    if hasattr(item, "dtype") and hasattr(item, "shape"):
        if not is_kind(item, dtypes.integer):
            raise TypeError(f"Indexer must have integer or boolean type, got indexer with type {get_aval(item).str_short()} "
                            f"at axis {axis}")
        return int(item) if isinstance(item, np.ndarray) and item.ndim == 0 else item
    if hasattr(item, "__jax_array__"):
        return _parse_item(item.__jax_array__(), size, axis)
    if hasattr(item, "__index__"):
        return operator.index(item)
    raise TypeError(f"an index must be an integer, a slice, Ellipsis, None, or an array of integers or bools; got {item!r:.60} of "
                    f"type {kind.__name__} at axis {axis}")


def _parse_slice(item: slice, size: int) -> Slice:
    start, stop, step = item.start, item.stop, item.step
    if start is None and stop is None and step is None:
        return Slice(0, size, 1)
    for part in (start, stop, step):
        if isinstance(part, Tracer) and part.concrete_value() is None:
            raise IndexError(
                f"Array slice indices must have static start/stop/step to be used with NumPy indexing syntax. Found {item}. To index "
                "a statically sized array at a dynamic position, try lax.dynamic_slice or lax.dynamic_update_slice.")
    try:
        start, stop, step = slice(*[None if p is None else operator.index(p) for p in (start, stop, step)]).indices(size)
    except TypeError:
        raise TypeError(f"slice indices must be integers or None or have an __index__ method, got {item}") from None
    return Slice(start, len(range(start, stop, step)), step)


def separate(items: Sequence) -> tuple[tuple, list]:
    """The items as a hashable description and the values that are not part of it.

    Outside of traces positions become values too, so that a loop over them does not compile a program for each.
    """
    is_eager = state.trace is eval_trace
    spec: list = []
    values: list = []
    for item in items:
        kind = type(item)
        if kind is Slice:
            if is_eager and item.step == 1 and item.start:
                spec.append(Window(item.count))
                values.append(item.start)
            else:
                spec.append(item)
        elif kind is NewAxis or kind is int and not is_eager:
            spec.append(item)
        else:
            spec.append(COMPUTED)
            values.append(item)
    return tuple(spec), values


def scalar_masks_removed(shape: tuple[int, ...], index: Any) -> tuple[Any, int | None]:
    """An index without a scalar mask, and the axis of size 1 that an array needs for it, or None.

    A scalar mask stands for a new axis, of size 1 if it is true and 0 if not.
    """
    items = index if type(index) is tuple else (index,)
    for place, item in enumerate(items):
        if type(item) is bool or getattr(item, "dtype", None) == np.bool_ and np.ndim(item) == 0:
            after = sum(_axes_taken(i) for i in items[place + 1:])
            before = sum(_axes_taken(i) for i in items[:place])
            axis = len(shape) - after if any(i is Ellipsis for i in items[:place]) else before
            replaced = np.zeros(1 if bool(_masks_as_numpy(np.asarray(item) if type(item) is bool else item)) else 0, np.int32)
            return (*items[:place], replaced, *items[place + 1:]), axis
    return index, None


def _axes_taken(item: Any) -> int:
    if item is None or item is Ellipsis:
        return 0
    return np.ndim(item) if getattr(item, "dtype", None) == np.bool_ else 1


def is_window(item: Any) -> bool:
    return type(item) is tuple and type(item[0]) is Window
