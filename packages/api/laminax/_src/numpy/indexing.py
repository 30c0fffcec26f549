"""Reading by index: `x[...]`, `take`, `take_along_axis`, and how an index becomes a gather or a scatter.

An index of ints, slices, None and Ellipsis is a static slice; with a computed scalar it is a dynamic slice; with arrays
it is one gather. Writing (`x.at[...]`, in `updates`) uses the same plan for one scatter. Indices out of bounds never
raise: reading takes the nearest element unless a mode says otherwise, writing drops them.
"""

from __future__ import annotations

import math
import operator
from typing import Any, NamedTuple, Sequence

import numpy as np

from laminax_ir import config, dtypes
from laminax_ir.avals import get_aval
from laminax_ir.errors import NonConcreteBooleanIndexError
from laminax_ir.ops import elementwise as op
from laminax_ir.ops import indexing as indexing_ops
from laminax_ir.ops import shape as shape_ops
from laminax_ir.ops import slicing as slicing_ops
from laminax_ir.ops.indexing import GatherDimensionNumbers, GatherScatterMode
from laminax_ir.ops.slicing import dynamic_slice_p
from laminax_ir.trace import Tracer, eval_trace, state

from laminax._src.fusion import fused
from laminax._src.numpy.arguments import (
    as_array,
    convert,
    dtype_of,
    ensure_arrays,
    is_kind,
    one_axis,
    refuse_out,
    shape_of,
)

# --- from what stands in the brackets to one item for each axis ---


class Slice(NamedTuple):
    """A slice with everything settled: the `count` elements start, start + step, ..."""

    start: int
    count: int
    step: int


class Window(NamedTuple):
    """`count` consecutive elements from a position that is not part of the program."""

    count: int


class _NewAxis(NamedTuple):
    """None in an index: a new axis of size 1."""


class _Computed(NamedTuple):
    """A place for an index array that is not part of the program."""

    name: str = "computed"


NEW_AXIS = _NewAxis()
COMPUTED = _Computed()


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
        elif kind is _NewAxis or kind is int and not is_eager:
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


# --- reading ---


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
        items = _ints_clamped(x.shape, items, wrap_negative_indices)
    elif fill_value is not None:
        fill_value = _static_scalar(fill_value)
    spec, values = separate(items)
    return _read(x, values, spec=spec, mode=mode, fill_value=fill_value, indices_are_sorted=bool(indices_are_sorted),
                 unique_indices=bool(unique_indices), wrap=bool(wrap_negative_indices))


def _static_scalar(value: Any) -> Any:
    value = np.asarray(value).item()
    return math.nan if value != value else value  # one object, so that equal programs are found again


def _ints_clamped(shape: tuple[int, ...], items: list, wrap: bool) -> list:
    """The items with ints brought in bounds."""
    result = []
    axis = 0
    for item in items:
        if type(item) is int:
            size = shape[axis]
            if size == 0:
                raise IndexError(f"index {item} is out of bounds for axis {axis} with size 0")
            position = item + size if item < 0 and wrap else item
            item = min(max(position, 0), size - 1)
            if item != position and config.check_indices.value:
                from laminax._src.checkify import note_index
                note_index(shape, axis, position)
        axis += item is not NEW_AXIS
        result.append(item)
    return result


@fused(static_argnames=("spec", "mode", "fill_value", "indices_are_sorted", "unique_indices", "wrap"))
def _read(x, values, spec, mode, fill_value, indices_are_sorted, unique_indices, wrap):
    arrays = iter(values)
    items = [next(arrays) if type(item) is _Computed else (item, next(arrays)) if type(item) is Window else item for item in spec]
    is_filling = mode is GatherScatterMode.FILL_OR_DROP
    if all(_is_static(item) for item in items) and not (is_filling and any(type(item) is int for item in items)):
        return _static_read(x, items)
    if not is_filling and all(_is_static(item) or _is_window(item) or not shape_of(item) for item in items):
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
    return type(item) in (int, Slice, _NewAxis)


def _is_window(item: Any) -> bool:
    return type(item) is tuple and type(item[0]) is Window


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
        last = start + (count - 1) * step if count else start - 1
        starts.append(start if count else 0)
        limits.append(last + 1 if count else 0)
        steps.append(step)
        axis += 1
    if limits != list(x.shape) or any(starts) or any(step != 1 for step in steps):
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
            sizes.append(item.count)
            place += 1
        elif _is_window(item):
            starts.append(convert(item[1], dtype))
            sizes.append(item[0].count)
            place += 1
        else:
            starts.append(item if type(item) is int else _wrapped(item, x.shape[axis], dtype, wrap))
            sizes.append(1)
            dropped.append(axis)
            if x.shape[axis] == 0:
                raise IndexError(f"index is out of bounds for axis {axis} with size 0")
        axis += 1
    x = _static_read(x, outer)
    if tuple(sizes) != tuple(x.shape) or config.check_indices.value:
        x = state.trace.process(dynamic_slice_p, (x, *starts), {"slice_sizes": tuple(sizes)})
    if dropped:
        x = shape_ops.squeeze(x, tuple(dropped))
    return shape_ops.expand_dims(x, tuple(new_axes)) if new_axes else x


def _wrapped(index: Any, size: int, dtype: Any, wrap: bool) -> Any:
    """An index array in the given dtype, negative ones counted from the end."""
    if not wrap or is_kind(index, dtypes.unsignedinteger):
        return convert(index, dtype)
    if isinstance(index, np.ndarray):
        return np.where(index < 0, index + size, index).astype(dtype)
    index = convert(index, dtype)
    return op.select(op.lt(index, 0), op.add(index, size), index)


# --- the plan of a gather or scatter ---


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
                if not (type(item) in (Slice, _NewAxis) or _is_window(item))]
    try:
        block = np.broadcast_shapes(*[() if type(items[p]) is int else shape_of(items[p]) for p in advanced])
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
        if item is NEW_AXIS:
            new_axes.append(len(result) + len(new_axes))
            continue
        size = shape[axis]
        if _is_window(item) or type(item) is Slice and item.step in (1, -1):
            count = item[0].count if _is_window(item) else item.count
            if _is_window(item):
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
    dtype = _index_dtype(components, shape)
    columns = [(_component(value, shape[axis], dtype, wrap), end) for axis, value, end in components]
    return Plan(_joined(columns, tuple(batch), dtype), tuple(axis for axis, _, _ in components), tuple(collapsed),
                tuple(window_axes), tuple(window_sizes), tuple(result), tuple(reversed_axes), tuple(new_axes), not batch)


def _index_dtype(components: list, shape: tuple[int, ...]) -> Any:
    wide = any(size > np.iinfo(np.int32).max for size in shape) or \
        any(type(value) is not int and dtype_of(value) in (np.int64, np.uint64) for _, value, _ in components
            if not isinstance(value, np.ndarray))
    return dtypes.canonicalize_dtype(np.int64) if wide else np.dtype(np.int32)


def _component(value: Any, size: int, dtype: Any, wrap: bool) -> Any:
    if type(value) is int:
        return np.asarray(value + size if value < 0 and wrap else value, dtype)
    return _wrapped(value, size, dtype, wrap)


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


# --- functions ---


def take(a, indices, axis: int | None = None, out: None = None, mode: str | None = None, unique_indices: bool = False,
         indices_are_sorted: bool = False, fill_value=None):
    """Reads elements along an axis.

    Args:
      a: an array.
      indices: an integer array or scalar; negative ones count from the end.
      axis: the axis; None takes the array as flat.
      out: must be None.
      mode: what indices out of bounds give: "fill" (the default) the fill value, "clip" the nearest element (the first
        for negative ones), "wrap" the one of the index modulo the size; "promise_in_bounds" is the caller's word that there are none.
      unique_indices: the caller's word that no index occurs twice.
      indices_are_sorted: the caller's word that the indices increase.
      fill_value: for "fill"; by default NaN, the smallest signed or largest unsigned integer, or True.

    Returns:
      An array whose axis is replaced by the axes of the indices.

    Raises:
      ValueError: if the indices are not integers.
      IndexError: if the axis is empty and the indices are not.
      NotImplementedError: for mode="raise".
    """
    refuse_out("take", out)
    a, indices = ensure_arrays("take", a, indices)
    if mode == "raise":
        raise NotImplementedError("take: mode='raise' is not supported, because compiled programs cannot raise; use 'fill', 'clip' "
                                  "or 'wrap'")
    if not is_kind(indices, dtypes.integer):
        raise ValueError(f"take requires integer indices, got {get_aval(indices).str_short()}")
    is_wrapping = mode == "wrap"
    gather_mode = GatherScatterMode.PROMISE_IN_BOUNDS if is_wrapping else GatherScatterMode.from_any("fill" if mode is None else mode)
    return _take(a, indices, axis=None if axis is None else operator.index(axis), mode=gather_mode, is_wrapping=is_wrapping,
                 fill_value=None if fill_value is None else _static_scalar(fill_value), unique_indices=bool(unique_indices),
                 indices_are_sorted=bool(indices_are_sorted))


@fused(static_argnames=("axis", "mode", "is_wrapping", "fill_value", "unique_indices", "indices_are_sorted"))
def _take(a, indices, axis, mode, is_wrapping, fill_value, unique_indices, indices_are_sorted):
    if axis is None:
        a, axis = shape_ops.reshape(a, (math.prod(shape_of(a)),)), 0
    shape = shape_of(a)
    axis = one_axis("take", axis, len(shape))
    if shape[axis] == 0 and math.prod(shape_of(indices)):
        raise IndexError(f"cannot do a non-empty jnp.take() from an empty axis: axis {axis} of {get_aval(a).str_short()}")
    if is_wrapping:
        from laminax_ir import operators
        indices = operators.remainder(convert(indices, np.dtype(np.int32)), shape[axis])
    items = [indices if i == axis else Slice(0, size, 1) for i, size in enumerate(shape)]
    plan = make_plan(shape, items, wrap=mode is GatherScatterMode.FILL_OR_DROP)
    if 0 in plan.shape:
        return shape_ops.full(plan.shape, 0, dtype_of(a))
    dims = GatherDimensionNumbers(plan.window_axes, plan.collapsed, plan.index_map)
    return indexing_ops.gather(a, plan.indices, dims, plan.window_sizes, mode=mode, fill_value=fill_value,
                               unique_indices=unique_indices, indices_are_sorted=indices_are_sorted)


def take_along_axis(arr, indices, axis: int | None = -1, mode: str | GatherScatterMode | None = None, fill_value=None, *,
                    wrap_negative_indices: bool | None = None):
    """Reads along an axis at positions that differ from vector to vector, as `argsort` and `argmax` give them.

    Args:
      arr: an array.
      indices: an integer array with as many axes; their other sizes are equal to arr's, or 1 in one of them.
      axis: the axis; None takes arr as flat.
      mode: what indices out of bounds give: "fill" (the default), "clip" or "promise_in_bounds"; see `take`. "one_hot" sums over
        the axis, masked by comparisons with the index, in place of a gather; out of bounds is 0.
      fill_value: for "fill".
      wrap_negative_indices: whether negative indices count from the end, as is the default.

    Returns:
      An array like the indices, with arr's dtype.

    Raises:
      TypeError: if the indices are not integers.
      ValueError: if the shapes do not fit.
    """
    arr, indices = ensure_arrays("take_along_axis", arr, indices)
    if not is_kind(indices, dtypes.integer):
        raise TypeError(f"take_along_axis indices must be of integer type, got {dtypes.dtype_name(dtype_of(indices))}")
    return _take_along_axis(arr, indices, axis=None if axis is None else operator.index(axis),
                            mode=mode if mode == "one_hot" else GatherScatterMode.from_any("fill" if mode is None else mode),
                            fill_value=None if fill_value is None else _static_scalar(fill_value),
                            wrap=wrap_negative_indices is not False)


@fused(static_argnames=("axis", "mode", "fill_value", "wrap"))
def _take_along_axis(arr, indices, axis, mode, fill_value, wrap):
    if axis is None:
        if len(shape_of(indices)) != 1:
            raise ValueError(f"take_along_axis indices must be 1D if axis=None, got shape {shape_of(indices)}")
        arr, axis = shape_ops.reshape(arr, (math.prod(shape_of(arr)),)), 0
    shape, wanted = shape_of(arr), shape_of(indices)
    rank = len(shape)
    if len(wanted) != rank:
        raise ValueError(f"indices and arr must have the same number of dimensions; {len(wanted)} vs. {rank}")
    axis = one_axis("take_along_axis", axis, rank)
    others = tuple(i for i in range(rank) if i != axis)
    if any(shape[i] != wanted[i] and 1 not in (shape[i], wanted[i]) for i in others):
        raise ValueError(f"take_along_axis: the sizes of {get_aval(arr).str_short()} and of the indices "
                         f"{get_aval(indices).str_short()} outside axis {axis} must be equal or 1")
    common = [max(m, n) if 0 not in (m, n) else 0 for m, n in zip(shape, wanted)]
    arr = shape_ops.broadcast_to_shape(arr, tuple(shape[i] if i == axis else n for i, n in enumerate(common)))
    result_shape = tuple(wanted[i] if i == axis else n for i, n in enumerate(common))
    if 0 in result_shape:
        return shape_ops.full(result_shape, 0, dtype_of(arr))
    dtype = _index_dtype([(axis, indices, 0)], shape)
    indices = shape_ops.broadcast_to_shape(_wrapped(indices, shape[axis], dtype, wrap), result_shape)
    if mode == "one_hot":
        return _by_comparison(arr, indices, axis)
    dims = GatherDimensionNumbers((), (axis,), (axis,), others, others)
    return indexing_ops.gather(arr, shape_ops.reshape(indices, (*result_shape, 1)), dims, (1,) * rank, mode=mode,
                               fill_value=fill_value)


def _by_comparison(arr, indices, axis: int):
    """The elements at the indices along an axis as a sum over a new last one of those where it equals the index."""
    from laminax._src.numpy.reductions import any, sum
    from laminax._src.numpy.reshaping import moveaxis
    size, rank = arr.shape[axis], len(arr.shape)
    shape = (*indices.shape, size)
    hits = op.eq(shape_ops.broadcast_in_dim(indices, shape, range(rank)), shape_ops.broadcasted_iota(dtype_of(indices), shape, rank))
    elements = shape_ops.broadcast_to_shape(shape_ops.expand_dims(moveaxis(arr, axis, -1), (axis,)), shape)
    if dtype_of(arr) == np.bool_:
        return any(op.bitwise_and(hits, elements), axis=-1)
    return sum(op.select(hits, elements, shape_ops.full_like(elements, 0)), axis=-1, dtype=dtype_of(arr))


def put_along_axis(arr, indices, values, axis: int | None, inplace: bool = True, *, mode: str | None = None):
    """An array with values written along an axis at positions that differ from vector to vector.

    Args:
      arr: an array.
      indices: an integer array with as many axes.
      values: what is written, an array that broadcasts to the indices' shape.
      axis: the axis; None takes arr as flat.
      inplace: must be False, because arrays do not change.
      mode: what becomes of indices out of bounds, as for `x.at[...].set`.

    Returns:
      A changed copy of arr.
    """
    _refuse_inplace("put_along_axis", inplace)
    arr, indices, values = ensure_arrays("put_along_axis", arr, indices, values)
    from laminax._src.numpy.updates import update
    if axis is None:
        flat = shape_ops.reshape(as_array(arr), (math.prod(shape_of(arr)),))
        return shape_ops.reshape(update("set", flat, indices, values, mode=mode), shape_of(arr))
    axis = one_axis("put_along_axis", axis, len(shape_of(arr)))
    rank = len(shape_of(arr))
    places = tuple(indices if i == axis else np.arange(size, dtype=np.int32).reshape([-1 if j == i else 1 for j in range(rank)])
                   for i, size in enumerate(shape_of(arr)))
    return update("set", as_array(arr), places, values, mode=mode)


def _refuse_inplace(name: str, inplace: bool) -> None:
    if inplace:
        raise ValueError(f"numpy.{name}: arrays do not change, so inplace=True (the default, as in NumPy) is not possible. Pass "
                         "inplace=False and use the returned array.")


def put(a, ind, v, mode: str | None = None, *, inplace: bool = True):
    """An array with values written at places of the flat array.

    Args:
      a: an array.
      ind: integers, places in the flat array.
      v: the values, repeated if there are fewer than places.
      mode: "clip" (also None) moves places out of bounds to the ends, "wrap" takes them modulo the size.
      inplace: must be False, because arrays do not change.

    Returns:
      A changed copy of a.
    """
    _refuse_inplace("put", inplace)
    a, ind, v = ensure_arrays("put", a, ind, v)
    from laminax_ir import operators

    from laminax._src.numpy.repeating import resize
    from laminax._src.numpy.reshaping import ravel
    from laminax._src.numpy.updates import update
    a, ind, v = as_array(a), ravel(ind), ravel(v)
    if not a.size or not ind.size or not v.size:
        return a
    if mode == "wrap":
        ind = operators.remainder(ind, a.size)
    elif mode in (None, "clip"):
        ind = op.clamp(-a.size, ind, a.size - 1)
    else:
        raise ValueError(f"put: mode must be None, 'clip' or 'wrap', got {mode!r}")
    flat = update("set", ravel(a), ind, resize(v, ind.shape))
    return shape_ops.reshape(flat, a.shape)


def place(arr, mask, vals, *, inplace: bool = True):
    """An array with values written where a mask holds, in order, repeated if there are fewer.

    Args:
      arr: an array.
      mask: a bool array of as many elements.
      vals: the values.
      inplace: must be False, because arrays do not change.

    Returns:
      A changed copy of arr.

    Raises:
      ValueError: if there are no values, or the sizes differ.
    """
    _refuse_inplace("place", inplace)
    arr, mask, vals = ensure_arrays("place", arr, mask, vals)
    from laminax._src.numpy.reshaping import ravel
    arr, mask, vals = as_array(arr), ravel(mask), ravel(vals)
    if arr.size != mask.size:
        raise ValueError(f"place: arr and mask must have the same size, got {arr.size} and {mask.size}")
    if not vals.size:
        raise ValueError("place: vals must not be empty")
    if not arr.size:
        return arr
    return _place(arr, mask, vals)


@fused
def _place(arr, mask, vals):
    """The n-th true element takes value n modulo their number."""
    from laminax_ir.ops.cumulative import cumsum

    from laminax._src.numpy.logic import _truth
    mask = _truth(mask)
    number = op.sub(cumsum(convert(mask, np.dtype(np.int32)), 0), np.int32(1))
    values = _take(vals, op.rem(op.max(number, np.int32(0)), np.int32(vals.size)), 0, GatherScatterMode.PROMISE_IN_BOUNDS, False,
                   None, False, False)
    return shape_ops.reshape(op.select(mask, convert(values, arr.dtype), shape_ops.reshape(arr, mask.shape)), arr.shape)


def iterate(x: Any):
    """The iterator over the first axis of an array."""
    if not x.shape:
        raise TypeError("iteration over a 0-d array")  # NumPy's words
    from laminax._src.numpy.joining import unstack
    chunk = 64  # one program cuts a chunk; its size bounds the cost of compiling it
    if state.trace is not eval_trace or x.shape[0] <= chunk:
        return iter(unstack(x))
    return (row for start in range(0, x.shape[0], chunk) for row in unstack(x[start:start + chunk]))
