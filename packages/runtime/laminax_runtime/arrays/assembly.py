"""Arrays made of the parts that a callback returns or that a process has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from laminax_ir.key_arrays.extended_arrays import ExtendedArray, array_of_stored
from laminax_ir.pytrees import pytree
from laminax_ir.tracing.trace import Tracer
from laminax_ir.types import dtypes
from laminax_ir.types.array_layouts import AUTO, Format, Layout
from laminax_ir.types.errors import UnexpectedTracerError
from laminax_ir.types.partition_specs import PartitionSpec
from laminax_runtime.arrays import layouts, shardings, transfer
from laminax_runtime.arrays.arrays import ArrayImpl, make_array_from_single_device_arrays
from laminax_runtime.backends import meshes


def make_array_from_callback(
    shape: Sequence[int],
    sharding: shardings.Sharding,
    data_callback: Callable[[shardings.Index], Any],
    dtype: Any = None,
) -> ArrayImpl:
    """An array whose parts come from a function that is asked for each.

    Args:
        shape: the shape of the whole.
        sharding: how it is laid out; a `Format` says the layout of its parts too.
        data_callback: from the slices of the whole that make up a part, to an array of that part. It is asked once for
            parts that several devices hold.
        dtype: the dtype that the parts must have, or become; needed if this process has no part.

    Returns:
        The array, committed to the sharding.

    Raises:
        ValueError: the shape does not divide, or a part has another shape or dtype than it should.
        UnexpectedTracerError: a part is a traced value.

    Example:
        >>> make_array_from_callback((8, 4), NamedSharding(mesh, PartitionSpec("x")), lambda index: table[index])
    """
    shape = tuple(shape)
    if isinstance(sharding, Format):
        if sharding.layout is AUTO:
            raise TypeError("make_array_from_callback: `Layout.AUTO` cannot be used in place of a device-local layout. "
                            f"Got {sharding}. Give a Layout, or None for the default.")
        whole = make_array_from_callback(shape, cast(shardings.Sharding, sharding.sharding), data_callback, dtype)
        return whole if sharding.layout is None else layouts.relayout(whole, cast(Layout, sharding.layout))
    if not isinstance(sharding, shardings.Sharding):
        raise TypeError("make_array_from_callback: sharding should be an instance of `jax.sharding`. "
                        f"Got {sharding} of type {type(sharding)}.")
    expected = sharding.shard_shape(shape)
    values: dict[tuple, Any] = {}
    parts = []
    for device, index in sharding.addressable_devices_indices_map(shape).items():
        key = tuple((s.start, s.stop) for s in index)
        if key not in values:
            values[key] = _checked_part(data_callback(index), index, expected, dtype)
            dtype = values[key].dtype if dtype is None else dtype
        parts.append(_on_device(values[key], device))
    if not parts and dtype is None:
        raise ValueError("make_array_from_callback: this process has no part of the array, so dtype must be given")
    return make_array_from_single_device_arrays(shape, sharding, parts, dtype=parts[0].dtype if parts else dtype)


def _on_device(part: Any, device: Any) -> Any:
    if isinstance(part, ExtendedArray):
        return array_of_stored(part.dtype, transfer.device_put(part.base, device))
    return transfer.device_put(part, device)


def _checked_part(value: Any, index: shardings.Index, expected: shardings.Shape, dtype: Any) -> Any:
    if isinstance(value, Tracer):
        raise UnexpectedTracerError(
            f"make_array_from_callback: jax.make_array_from_callback cannot be called within a traced context, but data_callback({index}) "
            f"returned a traced value, {value.aval.str_short()}. Call it outside of jit and other transformations."
        )
    value = value if isinstance(value, (ArrayImpl, ExtendedArray)) else np.asarray(value)
    if value.shape != expected:
        raise ValueError(
            f"make_array_from_callback: data_callback({index}) returned an array of shape {value.shape}, but this part "
            f"has the shape {expected}. Expected shard shape {expected} doesn't match the single device array shape {value.shape}. "
            "Index the whole with what the callback is given."
        )
    if dtype is not None and value.dtype != dtype:
        raise ValueError(
            f"make_array_from_callback: data_callback({index}) returned {dtypes.dtype_name(value.dtype)}, but the array's "
            f"dtype is {dtypes.dtype_name(dtype)}. Convert it in the callback."
        )
    return value


def make_array_from_process_local_data(
    sharding: shardings.Sharding | Any, local_data: Any, global_shape: Sequence[int | None] | Any = None
) -> Any:
    """Arrays from the data that this process has of them: all of it, where the devices are all this process's own.

    Along each axis the data is either the whole, or what this process's devices hold of it, in its order.

    Args:
        sharding: how the arrays are laid out: a sharding, a device, a partition spec on the mesh that is set, or a pytree of these
            that is a prefix of `local_data`.
        local_data: a NumPy array or a pytree of them.
        global_shape: the shape of the whole, or a pytree of shapes; None, or None for an axis, is the data's times the number of
            processes' shares.

    Returns:
        A pytree like `local_data`, of arrays.

    Raises:
        ValueError: the data is neither the whole nor this process's share of it, or the shape of the whole does not follow from it.

    Example:
      >>> batch = np.ones((8, 4), np.float32)  # what this process has read of a batch
      >>> make_array_from_process_local_data(NamedSharding(mesh, PartitionSpec("x")), batch).shape  # in one process it is the whole
      (8, 4)
    """
    leaves, tree = pytree.tree_flatten(local_data)
    layouts = [_as_layout(layout) for layout in pytree.broadcast_prefix(sharding, local_data)]
    is_one_shape = global_shape is None or isinstance(global_shape, (tuple, list)) and all(
        size is None or hasattr(size, "__index__") for size in global_shape
    )
    shapes = [global_shape] * len(leaves) if is_one_shape else tree.flatten_up_to(global_shape)
    return tree.unflatten([_from_local(*args) for args in zip(layouts, leaves, shapes, strict=True)])


def _as_layout(layout: Any) -> shardings.Sharding:
    if not isinstance(layout, PartitionSpec):
        return shardings.as_sharding(layout)
    if (mesh := meshes.current_mesh()) is None:
        raise ValueError(f"make_array_from_process_local_data: {layout} is a partition spec, and no mesh is set. Set one with "
                         "set_mesh(mesh), or give NamedSharding(mesh, spec).")
    return shardings.NamedSharding(mesh, layout)


def _from_local(sharding: shardings.Sharding, data: Any, global_shape: Sequence[int | None] | None) -> ArrayImpl:
    data = np.asarray(data)
    if not sharding.is_fully_addressable:
        shape = _global_shape(sharding, data.shape, global_shape)
        places = [_places(sharding, data.shape, shape, axis) for axis in range(data.ndim)]
        return make_array_from_callback(shape, sharding, lambda index: data[tuple(map(_placed, places, index))], data.dtype)
    if global_shape is not None:
        wanted = tuple(have if size is None else size for size, have in zip(global_shape, data.shape, strict=False))
        if len(global_shape) != data.ndim or wanted != data.shape:
            raise ValueError(
                f"make_array_from_process_local_data: all devices of {sharding} are this process's own, so the data is "
                f"the whole array, but it has shape {data.shape} and global_shape is {tuple(global_shape)}"
            )
    return transfer.device_put(data, sharding)


def _global_shape(sharding: shardings.Sharding, local: tuple[int, ...], given: Sequence[int | None] | None) -> tuple[int, ...]:
    """The shape of the whole array. An axis that is not given is the data's, times the number of processes that split it."""
    if given is not None and len(given) != len(local):
        raise ValueError(f"make_array_from_process_local_data: the data has shape {local}, and global_shape {tuple(given)} has another "
                         "rank")
    found = []
    for axis, size in enumerate(given if given is not None else (None,) * len(local)):
        count = _count_of_shares(sharding, axis, len(local)) if size is None else 0
        if count is None:
            raise ValueError(
                f"make_array_from_process_local_data: Unable to compute global_shape due to non-uniform sharding: the processes' shares of "
                f"axis {axis} under {sharding} overlap, or are not of one size. Specify global shape directly."
            )
        found.append(local[axis] * count if size is None else size)
    return tuple(found)


def _count_of_shares(sharding: shardings.Sharding, axis: int, ndim: int) -> int | None:
    """Into how many equal shares the processes split an axis; None if their shares overlap without being equal."""
    shares: dict[int, set[tuple[int, int]]] = {}
    size = sharding.num_devices  # which any of its axes divides
    for device, index in sharding.devices_indices_map((size,) * ndim).items():
        shares.setdefault(device.process_index, set()).add(index[axis].indices(size)[:2])
    distinct = set(map(frozenset, shares.values()))
    is_split = sum(map(len, distinct)) == len(set().union(*distinct)) and len(set(map(len, distinct))) == 1
    return len(distinct) if is_split else None


def _places(sharding: shardings.Sharding, local: tuple[int, ...], shape: tuple[int, ...], axis: int) -> dict[int, int] | None:
    """Where in the data each part of an axis begins, by where it begins in the whole; None if the data has the whole axis."""
    if local[axis] == shape[axis]:
        return None
    parts = sharding.addressable_devices_indices_map(shape).values()
    begins = sorted({index[axis].indices(shape[axis])[0] for index in parts})
    size = sharding.shard_shape(shape)[axis]
    if local[axis] != size * len(begins):
        raise ValueError(
            f"make_array_from_process_local_data: Invalid host data, each dimension should match either global or process shape. In "
            f"dimension {axis}, the process data has {local[axis]} elements. Process addresses {size * len(begins)} elements and "
            f"global_shape={shape}."
        )
    return {begin: i * size for i, begin in enumerate(begins)}


def _placed(places: dict[int, int] | None, index: slice) -> slice:
    """The slice of the data for a slice of the whole."""
    if places is None:
        return index
    begin = places[index.start or 0]
    return slice(begin, begin + index.stop - (index.start or 0))
