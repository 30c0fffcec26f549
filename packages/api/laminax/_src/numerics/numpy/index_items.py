"""The index in the brackets of `x[...]` as one item for each axis: numbers, slices, new axes, index arrays and masks."""

from __future__ import annotations

import operator
from typing import Any, Callable, NamedTuple, Sequence

import numpy as np

from laminax_ir.ops import elementwise as op
from laminax_ir.ops import shape as shape_ops
from laminax_ir.pytrees.pytree import tree_leaves
from laminax_ir.refs.dynamic_slices import Slice as DynamicSlice
from laminax_ir.symbolic.symbolic_dims import DimSize, SymbolicDim, max_dim, min_dim, size_of
from laminax_ir.tracing.trace import Tracer, eval_trace, state
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval, is_array_like
from laminax_ir.types.errors import InconclusiveDimensionOperation, NonConcreteBooleanIndexError
from laminax_runtime import ArrayImpl

from laminax._src.numerics.numpy.arguments import is_kind
from laminax._src.numerics.numpy.conversion import asarray


class Slice(NamedTuple):
    """A slice with everything settled: the `length` elements start, start + step, ..."""

    start: Any  # an int or a symbolic dimension, as the next
    length: Any
    step: int


class Steps(NamedTuple):
    """A slice of which nobody knows that it is within the axis, since that depends on symbolic dimensions; its places are computed."""

    start: Any
    length: Any
    step: Any


class Window(NamedTuple):
    """`length` consecutive elements from a position that is not part of the program."""

    length: int


class NewAxis(NamedTuple):
    """None in an index: a new axis of size 1."""


class Gap(NamedTuple):
    """An Ellipsis that stands for no axis: all it does is to keep index arrays around it apart."""


class Computed(NamedTuple):
    """A place for an index array that is not part of the program."""

    name: str = "computed"


NEW_AXIS = NewAxis()
GAP = Gap()
COMPUTED = Computed()


def parse_index(shape: tuple[int, ...], index: Any) -> list:
    """The items of an index, one for each axis of the array and each new one.

    Args:
      shape: the shape of the array.
      index: what stands between the brackets, without scalar masks.

    Returns:
      A list of `Slice`, `Steps`, `NEW_AXIS`, ints (negative ones and those out of bounds as they are), integer arrays, and pairs of a
      `Window` and its start.

    Raises:
      IndexError: for too many indices, two ellipses, a mask of a wrong shape, a traced mask, a traced slice bound, a number where an
        axis is empty, or a thing that is no index.
      TypeError: for floats and strings.
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
            if rest == 0 and ellipses and any(getattr(other, "ndim", 0) for other in items):
                result.append(GAP)
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
    if mask.shape != met and any(n not in (0, size) for n, size in zip(mask.shape, met)):  # empty ones select nothing, as in NumPy
        raise IndexError(f"boolean index did not match shape of indexed array: the mask has shape {mask.shape}, the axes from "
                         f"{axis} on have sizes {met}")
    return [places.astype(np.int32) for places in np.nonzero(mask)]


def _parse_item(item: Any, size: int, axis: int) -> Any:
    kind = type(item)
    if kind is slice:
        return _parse_slice(item, size)
    if kind is DynamicSlice:
        return _parse_dynamic_slice(item, size, axis)
    if kind is not int:
        item = _parse_number(item, axis)
    if size == 0 and (type(item) is int or not item.shape):
        raise IndexError(f"index is out of bounds for axis {axis} with size 0")
    return item


def _parse_number(item: Any, axis: int) -> Any:
    """An index array, or an int."""
    if isinstance(item, np.integer):
        return int(item)
    if hasattr(item, "dtype") and hasattr(item, "shape") and is_array_like(item):
        if not is_kind(item, dtypes.integer):
            raise TypeError(f"Indexer must have integer or boolean type, got indexer with type {get_aval(item).str_short()} "
                            f"at axis {axis}")
        return int(item) if isinstance(item, np.ndarray) and item.ndim == 0 else item
    if hasattr(item, "__jax_array__"):
        return _parse_number(item.__jax_array__(), axis)
    if hasattr(item, "__index__"):
        return operator.index(item)
    if isinstance(item, (float, complex)):
        raise TypeError(f"Indexer must have integer or boolean type, got indexer with type {type(item).__name__}, {item!r}, at axis {axis}")
    if isinstance(item, str):
        raise TypeError(f"JAX does not support string indexing; got {item!r} at axis {axis}")
    raise IndexError("only integers, slices (`:`), ellipsis (`...`), newaxis (`None`) and integer or boolean arrays are valid indices; "
                     f"got {str(item):.60} of type {type(item).__name__} at axis {axis}")


def _parse_slice(item: slice, size: int) -> Slice | Steps:
    start, stop, step = item.start, item.stop, item.step
    if start is None and stop is None and step is None:
        return Slice(0, size, 1)
    for part in (start, stop, step):
        if isinstance(part, Tracer) and part.demanded_value() is None:
            raise IndexError(
                f"Array slice indices must have static start/stop/step to be used with NumPy indexing syntax. Found {item}. To index "
                "a statically sized array at a dynamic position, try jax.ds(start, size) between the brackets, or lax.dynamic_slice "
                f"and lax.dynamic_update_slice. {part.why_unknown()}")
    if SymbolicDim in map(type, (start, stop, step, size)):
        return _parse_symbolic_slice(item, size)
    try:
        start, stop, step = slice(*[None if p is None else operator.index(p) for p in (start, stop, step)]).indices(size)
    except TypeError:
        raise TypeError(f"slice indices must be integers or None or have an __index__ method, got {item}") from None
    return Slice(start, len(range(start, stop, step)), step)


def _parse_symbolic_slice(item: slice, size: DimSize) -> Slice | Steps:
    """A slice where its parts or the size of the axis are symbolic dimensions.

    Raises:
      ValueError: if the step is 0.
      InconclusiveDimensionOperation: if whether the step is positive, or whether a part counts from the end, depends on the sizes.
    """
    step = 1 if item.step is None else size_of(item.step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    is_forwards = _known_sign(lambda: step > 0, f"the step ({step})", "> 0 or < 0")
    first, last = (0, size) if is_forwards else (-1, size - 1)

    def place(name: str, part: Any, default: DimSize) -> DimSize:
        if part is None:
            return default
        part = size_of(part)
        is_negative = _known_sign(lambda: part < 0, f"the {name} ({part})", ">= 0")
        return min_dim(max_dim(part + size if is_negative else part, first), last)

    start = place("start", item.start, 0 if is_forwards else size - 1)
    stop = place("stop", item.stop, size if is_forwards else -1)
    distance, gap = (stop - start, step) if is_forwards else (start - stop, -step)
    length = max_dim((distance + gap - 1) // gap, 0)
    last = start + (length - 1) * step
    lowest, highest = (start, last) if is_forwards else (last, start)
    return Slice(start, length, step) if type(step) is int and _is_known_within(lowest, highest, size) else Steps(start, length, step)


def _is_known_within(lowest: DimSize, highest: DimSize, size: DimSize) -> bool:
    try:
        return 0 <= lowest <= highest + 1 <= size  # as `slice` asks; of an empty one with gaps the highest may be far below
    except InconclusiveDimensionOperation:
        return False


def _known_sign(comparison: Callable[[], bool], what: str, signs: str) -> bool:
    try:
        return comparison()
    except InconclusiveDimensionOperation as e:
        raise InconclusiveDimensionOperation(f"In slice with non-constant elements {what} must be resolved statically if it is {signs}.\n"
                                             f"{e}") from None


def _parse_dynamic_slice(item: DynamicSlice, size: int, axis: int) -> Any:
    """A slice if it is known to be within the axis, else a window, or an index array if there are gaps."""
    start, count, stride = item.start, item.size, item.stride
    reach = (count - 1) * stride + 1 if count else 0
    if reach > size:
        raise IndexError(f"{item} is larger than axis {axis}, of size {size}")
    if isinstance(start, int):
        start += size if start < 0 else 0
        if 0 <= start <= size - reach:
            return Slice(start, count, stride)
        start = np.asarray(start, dtypes.scalar_dtype(int))[()]
    else:
        start = op.select(op.lt(start, 0), op.add(start, np.asarray(size, start.dtype)[()]), start)
    if stride == 1:
        return Window(count), start
    return op.add(shape_ops.broadcast(start, (count,)), np.arange(0, reach, stride, dtype=start.dtype))


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
                spec.append(Window(item.length))
                values.append(item.start)
            else:
                spec.append(item)
        elif kind in (Steps, NewAxis, Gap) or kind is int and not is_eager:
            spec.append(item)
        elif kind is tuple:
            spec.append(item[0])
            values.append(item[1])
        else:
            spec.append(COMPUTED)
            values.append(item)
    return tuple(spec), values


_SEQUENCES = (list, tuple, range)


def scalar_masks_removed(shape: tuple[int, ...], index: Any) -> tuple[Any, int | None]:
    """An index without a scalar mask, and the axis of size 1 that an array needs for it, or None.

    A scalar mask stands for a new axis, of size 1 if it is true and 0 if not. Lists and tuples within the index become arrays.

    Raises:
      TypeError: for a list that is the whole index, since NumPy versions differ in its meaning.
    """
    items = index if type(index) is tuple else (index,)
    for place, item in enumerate(items):
        if type(item) in _SEQUENCES:
            if items is not index:
                raise TypeError(f"Using a non-tuple sequence for multidimensional indexing is not allowed; use `arr[{_meant(index)}(seq)]` "
                                f"instead of `arr[seq]`. Got {str(index):.60}")
            return scalar_masks_removed(shape, (*items[:place], _sequence_as_array(item), *items[place + 1:]))
        if type(item) is bool or getattr(item, "dtype", None) == np.bool_ and np.ndim(item) == 0:
            after = sum(_axes_taken(i) for i in items[place + 1:])
            before = sum(_axes_taken(i) for i in items[:place])
            axis = len(shape) - after if any(i is Ellipsis for i in items[:place]) else before
            replaced = np.zeros(1 if bool(_masks_as_numpy(np.asarray(item) if type(item) is bool else item)) else 0, np.int32)
            return (*items[:place], replaced, *items[place + 1:]), axis
    return index, None


def _meant(index: Sequence) -> str:
    """What a list as an index probably means, for the message that refuses it: "array" or "tuple"."""
    return "array" if all(item is not None and type(item) is not slice and np.ndim(item) == 0 for item in index) else "tuple"


def _sequence_as_array(item: Sequence) -> Any:
    """A list as an array of NumPy, so that the values of a mask are known; a list of arrays as an array of ours."""
    leaves = tree_leaves(item)
    if any(isinstance(leaf, (Tracer, ArrayImpl)) for leaf in leaves):
        return asarray(item)
    return np.asarray(item, None if leaves else np.int32)


def _axes_taken(item: Any) -> int:
    if item is None or item is Ellipsis:
        return 0
    return np.ndim(item) if getattr(item, "dtype", None) == np.bool_ else 1


def is_window(item: Any) -> bool:
    """Whether an item is a pair of a `Window`, the size of a slice, and its start, which is a value."""
    return type(item) is tuple and type(item[0]) is Window
