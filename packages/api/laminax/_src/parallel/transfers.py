"""Moving values to devices and back: `device_put`, `device_get` and their relatives; and the arrays that live on devices."""

from __future__ import annotations

from copy import copy
from typing import Any, Sequence

import numpy as np

import laminax_runtime as runtime
from laminax_ir.key_arrays.extended_arrays import ExtendedArray, array_of_stored
from laminax_ir.ops.elementwise import copy_p
from laminax_ir.pytrees.pytree import (
    broadcast_prefix,
    keystr,
    mismatch_details,
    structure_errors,
    tree_flatten,
    tree_flatten_with_path,
    tree_leaves,
    tree_map,
    tree_structure,
    tree_unflatten,
)
from laminax_ir.tracing.trace import Tracer, is_tracing
from laminax_ir.types.array_layouts import Format
from laminax_ir.types.avals import get_aval
from laminax_ir.types.memory_spaces import HOST_KIND, MemorySpace
from laminax_ir.types.partition_specs import PartitionSpec
from laminax_runtime.backends import processes

from laminax._src.parallel.sharding_constraints import put_traced
from laminax._src.placement.layouts import put_in_format, sharding_of
from laminax._src.placement.memory import put_traced_in_memory, sharding_in
from laminax._src.placement.sharding_arguments import resolve


@runtime.explicit_transfer("device_put")
def device_put(x: Any, device: Any = None, *, src: Any = None, donate: Any = False, may_alias: Any = None) -> Any:
    """Transfers values to a device.

    Args:
      x: an array, scalar, or pytree of them.
      device: a device, a sharding, a `Format`, a partition spec of the mesh that is set, a `memory.Space`, or a pytree of them that
        is a prefix of x; None leaves arrays where they are and puts other values on the default device, uncommitted.
      src: the device or sharding of x; checked against that of the arrays in x. Cotangents go back to src, by default to the
        device or sharding of the array that is differentiated.
      donate: whether the buffers of x may be reused, or a pytree of booleans that is a prefix of x.
      may_alias: whether the result may share memory with x where x is on the device already, or a pytree; False copies. By
        default it may.

    Returns:
      A pytree like x, of arrays, committed to the device if one is given.

    Raises:
      TypeError: if a leaf is no array or scalar.
      ValueError: if `device` is no prefix of x, x is not at `src`, or both `donate` and `may_alias` are given.

    Example:
      >>> device_put(np.ones(3), devices()[0])
      Array([1., 1., 1.], dtype=float32)
    """
    leaves, tree = tree_flatten(x)
    donated, shared = (_broadcast_flags(name, flag, x, len(leaves)) for name, flag in (("donate", donate), ("may_alias", may_alias)))
    if any(a and b for a, b in zip(donated, shared)):
        raise ValueError("device_put: may_alias and donate cannot be True at the same time. A donated array is given up, not shared: leave "
                         "one of them False")
    devices = _broadcast_places("device", device, x, len(leaves))
    sources = _broadcast_places("src", src, x, len(leaves))
    for leaf, place in zip(leaves, sources):
        _check_source(leaf, place)
    _check_fit(x, leaves, devices)
    if processes.state.num_processes > 1:
        _check_same(leaves, devices)
    return tree_unflatten(tree, [_put_leaf(leaf, device, source, is_donated, may_share is False)
                                 for leaf, device, source, is_donated, may_share in zip(leaves, devices, sources, donated, shared)])


def _broadcast_flags(name: str, flag: Any, x: Any, count: int) -> list[Any]:
    """A boolean, or None, for each leaf of x."""
    if flag is None or isinstance(flag, (bool, np.bool_)):
        return [flag] * count
    try:
        return broadcast_prefix(flag, x, is_leaf=lambda f: f is None)
    except ValueError as error:
        raise ValueError(f"device_put: {name} must be a boolean or a pytree of them that is a prefix of x, got {flag!r}. {error}") from None


def _broadcast_places(name: str, places: Any, x: Any, count: int) -> list[Any]:
    """One device, sharding or None for each leaf of x."""
    if places is None:
        return [None] * count
    try:
        flat = broadcast_prefix(places, x, is_leaf=lambda d: d is None)
    except ValueError:
        what, tree = "device specification" if name == "device" else name, tree_structure(x)
        raise ValueError(f"device_put {what} must be a tree prefix of the corresponding value; got specification {places!r} for value tree "
                         f"{tree}.\n{mismatch_details(f'device_put {name}', places, tree, lambda d: d is None)}") from None
    for i, place in enumerate(flat):
        if isinstance(place, MemorySpace) and name == "device":
            leaf = tree_leaves(x)[i]
            flat[i] = place if isinstance(leaf, Tracer) else sharding_in(leaf, place)
        elif not (place is None or isinstance(place, (runtime.Device, runtime.Sharding, PartitionSpec))
                  or isinstance(place, Format) and name == "device"):
            raise ValueError(f"device_put: {name} must be a device, a sharding, a format, a partition spec, a pytree of them, or None. "
                             f"Received invalid value: {place!r} of type {type(place).__name__}")
    mesh = runtime.current_mesh()
    for place in flat:
        if isinstance(place, PartitionSpec) and mesh is None:
            raise ValueError(f"device_put: {name} holds the partition spec {place}, and no mesh is set. Please set a mesh via "
                             "`jax.set_mesh` if a PartitionSpec is passed to device_put, or give NamedSharding(mesh, spec).")
    return [resolve(place, f"device_put: {name}", mesh) if isinstance(place, PartitionSpec) else place for place in flat]


def _check_fit(x: Any, leaves: Sequence[Any], places: Sequence[Any]) -> None:
    """Raises ValueError, with the path of the leaf, if a leaf cannot be split as its sharding says."""
    for i, (leaf, place) in enumerate(zip(leaves, map(sharding_of, places))):
        if isinstance(place, runtime.Sharding) and place.num_devices > 1:
            aval = get_aval(leaf)
            if reason := runtime.misfit(place, aval.shape, "device_put args"):
                path = keystr(tree_flatten_with_path(x)[0][i][0])
                raise ValueError(f"device_put: x{path}, {aval.str_short()}, {reason}")


def _check_same(leaves: Sequence[Any], places: Sequence[Any]) -> None:
    """Raises AssertionError if a value that all processes put on devices of them all is not the same in each."""
    count = processes.state.num_processes
    shared = [leaf for leaf, place in zip(leaves, map(sharding_of, places))
              if isinstance(place, runtime.Sharding) and not place.is_fully_addressable
              and len({d.process_index for d in runtime.devices_of(place)}) == count
              and not isinstance(leaf, (Tracer, ExtendedArray)) and getattr(leaf, "is_fully_addressable", True)]
    if shared:
        from laminax._src.parallel.process_values import check_same

        check_same(str(type(shared[0])), shared)


def _check_source(x: Any, place: Any) -> None:
    if place is None or not isinstance(x, runtime.ArrayImpl) or not x.committed:
        return
    expected = {place} if isinstance(place, runtime.Device) else place.device_set
    if x.devices() != expected:
        raise ValueError(f"device_put: src is {place}, but {get_aval(x).str_short()} is on "
                         f"{', '.join(sorted(map(str, x.devices())))}")


def _put_leaf(x: Any, device: Any, source: Any, donate: bool, is_copied: bool) -> Any:
    if isinstance(device, Format):
        return put_in_format(x, device, lambda x, sharding: _put_leaf(x, sharding, source, donate, is_copied))
    if isinstance(x, Tracer):
        x = copy_p.bind(x) if is_copied else x
        if isinstance(device, MemorySpace):
            return put_traced_in_memory(x, device)
        return x if device is None else put_traced(x, runtime.as_sharding(device), None if source is None else runtime.as_sharding(source))
    if isinstance(x, ExtendedArray):
        return x._with_words(_put_leaf(x.base, device, source, donate, is_copied), lambda used: used)
    if isinstance(device, runtime.Sharding) and (device.num_devices > 1 or device.memory_kind == HOST_KIND) and is_tracing():
        return put_traced(runtime.device_put(x), device)  # the sharding of a constant is part of the program
    placed = runtime.device_put(x, device, donate=donate)
    return copy(placed) if is_copied and isinstance(x, runtime.ArrayImpl) else placed


@runtime.explicit_transfer("device_put")
def device_put_sharded(shards: Sequence[Any], devices: Sequence[runtime.Device]) -> Any:
    """Puts one value on each device, as one array with a new leading axis.

    Args:
      shards: one array, scalar or pytree per device; all of one structure, and arrays of one shape and dtype.
      devices: the devices.

    Returns:
      A pytree like each shard, of arrays of shape `(len(devices), *shape)`.

    Raises:
      ValueError: if the lengths, structures, shapes or dtypes differ.

    Example:
      >>> device_put_sharded([jnp.ones(5) for _ in local_devices()], local_devices())
    """
    if not isinstance(shards, Sequence):
        raise TypeError(f"device_put_sharded: shards must be a sequence, got {type(shards).__name__}")
    if len(shards) != len(devices):
        raise ValueError(f"device_put_sharded: len(shards) = {len(shards)} must equal len(devices) = {len(devices)}")
    if not shards:
        raise ValueError("device_put_sharded: at least one shard is needed")
    for i, shard in enumerate(shards[1:], 1):
        for mismatch in structure_errors(tree_structure(shards[0]), shard, exact=True):
            raise mismatch("device_put_sharded", "shards[0]", f"shards[{i}]")
    return tree_map(lambda *leaves: _stack_over_devices(leaves, devices), *shards)


@runtime.explicit_transfer("device_put")
def device_put_replicated(x: Any, devices: Sequence[runtime.Device]) -> Any:
    """Puts a copy of a value on each device, as one array with a new leading axis.

    Args:
      x: an array, scalar or pytree.
      devices: the devices.

    Returns:
      A pytree like x, of arrays of shape `(len(devices), *shape)`.

    Raises:
      ValueError: if there are no devices.

    Example:
      >>> device_put_replicated(jnp.ones(2), devices()[:1]).shape
      (1, 2)
    """
    if not isinstance(devices, Sequence) or not devices:
        raise ValueError(f"device_put_replicated: devices must be a non-empty sequence of devices, got {devices!r}")
    return tree_map(lambda leaf: _stack_over_devices([leaf] * len(devices), devices), x)


def _stack_over_devices(values: Sequence[Any], devices: Sequence[runtime.Device]) -> Any:
    if isinstance(values[0], ExtendedArray):
        return array_of_stored(values[0].dtype, _stack_over_devices([x.base for x in values], devices))
    avals = {get_aval(x).strip_weak_type() for x in values}
    if len(avals) != 1:
        raise ValueError("device_put_sharded: the shards must have one shape and dtype, got "
                         + ", ".join(sorted(aval.str_short() for aval in avals)))
    (aval,) = avals
    parts = [runtime.device_put(x, device)[None] if isinstance(x, runtime.ArrayImpl) else  # which is no transfer where it is there already
             runtime.device_put(np.asarray(x, aval.dtype)[None], device) for x, device in zip(values, devices)]
    sharding = runtime.NamedSharding(runtime.Mesh(list(devices), ("shards",)), PartitionSpec("shards"))
    return runtime.make_array_from_single_device_arrays((len(devices), *aval.shape), sharding, parts)


@runtime.explicit_transfer("device_get")
def device_get(x: Any) -> Any:
    """Transfers arrays to the host: a pytree like x, with NumPy arrays in the place of arrays.

    Example:
      >>> device_get({"x": jnp.arange(3)})
      {'x': array([0, 1, 2], dtype=int32)}
    """
    for leaf in tree_leaves(x):
        if isinstance(leaf, runtime.ArrayImpl):
            leaf.copy_to_host_async()
    return tree_map(runtime.device_get, x)


def block_until_ready(x: Any) -> Any:
    """Waits until every array of the pytree has been computed; returns x.

    Example:
      >>> block_until_ready({"x": jnp.ones(2)})
      {'x': Array([1., 1.], dtype=float32)}
    """
    if type(x) is runtime.ArrayImpl:
        return x.block_until_ready()
    leaves = x if type(x) is tuple else tree_leaves(x)
    if any([type(leaf) is not runtime.ArrayImpl for leaf in leaves]):
        leaves = [leaf.base if isinstance(leaf, ExtendedArray) else leaf for leaf in tree_leaves(x)]
    runtime.block_until_ready(leaves)
    return x


def copy_to_host_async(x: Any) -> Any:
    """Starts the copy of every array of the pytree to the host, so that a later `device_get` need not wait; returns x.

    Example:
      >>> copy_to_host_async(jnp.ones(3))
      Array([1., 1., 1.], dtype=float32)
    """
    for leaf in tree_leaves(x):
        if isinstance(leaf, ExtendedArray):
            leaf = leaf.base
        if hasattr(leaf, "copy_to_host_async"):  # those of other libraries too
            leaf.copy_to_host_async()
    return x


def live_arrays(platform: str | None = None) -> list[Any]:
    """The arrays of a platform, by default the default one, that have not been deleted.

    Example:
      >>> x = jnp.ones(3)
      >>> any(a is x for a in live_arrays())
      True
    """
    return runtime.client(platform).live_arrays()


def local_devices(process_index: int | None = None, backend: str | None = None, host_id: int | None = None) -> list[Any]:
    """The devices that belong to one process, by default to this one.

    Args:
      process_index: the process; None is this one.
      backend: the platform: "cpu", "gpu" or "tpu"; None is the default one.
      host_id: the older name of `process_index`.

    Raises:
      TypeError: if the process is no int.
      ValueError: if there is no such process, or both names are given.

    Example:
      >>> local_devices()[0] in devices()
      True
    """
    if host_id is not None:
        if process_index is not None:
            raise ValueError("local_devices: host_id is the older name of process_index; give one of them")
        process_index = host_id
    if process_index is not None and not hasattr(process_index, "__index__"):
        raise TypeError(f"local_devices: process_index must be an int or None, got {process_index!r} of type "
                        f"{type(process_index).__name__}. A platform's name goes to backend.")
    return runtime.local_devices(process_index, backend)


__all__ = ["block_until_ready", "copy_to_host_async", "device_get", "device_put", "device_put_replicated", "device_put_sharded",
           "live_arrays", "local_devices"]
