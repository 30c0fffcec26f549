"""Arrays of all processes from the parts that each has, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import laminax_runtime as runtime
from laminax_ir.key_arrays.extended_arrays import ExtendedArray, array_of_stored
from laminax_ir.pytrees.pytree import broadcast_prefix, tree_flatten, tree_unflatten
from laminax_ir.tracing.trace import Tracer
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval
from laminax_ir.types.partition_specs import PartitionSpec

from laminax._src.parallel.transfers import device_put


def host_local_array_to_global_array(local_inputs: Any, global_mesh: runtime.Mesh, pspecs: Any) -> Any:
    """Whole arrays of the parts that each process has; with one process, these are the whole arrays already.

    Args:
      local_inputs: a pytree of arrays; an array that is on devices of several processes stays as it is.
      global_mesh: the mesh of all devices, of which those of each process are a block.
      pspecs: a `PartitionSpec`, or a pytree of them that is a prefix of local_inputs: how the whole arrays are split over the mesh.

    Returns:
      A pytree of arrays, laid out so: along an axis that is split over the processes as many times the parts.

    Raises:
      ValueError: if a spec is None, specs do not fit, or the devices of a process are no block of the mesh.
    """
    return _on_mesh("host_local_array_to_global_array", local_inputs, global_mesh, pspecs, _as_global)


def global_array_to_host_local_array(global_inputs: Any, global_mesh: runtime.Mesh, pspecs: Any) -> Any:
    """The parts of whole arrays that this process has; with one process, the arrays as they are.

    Args:
      global_inputs: a pytree of arrays.
      global_mesh, pspecs: as for `host_local_array_to_global_array`; arrays that are laid out otherwise are laid out so first.

    Returns:
      A pytree of arrays on the devices of this process.

    Raises:
      ValueError: if a spec is None, specs do not fit, or the devices of a process are no block of the mesh.
    """
    return _on_mesh("global_array_to_host_local_array", global_inputs, global_mesh, pspecs, _as_local)


def _on_mesh(name: str, inputs: Any, mesh: runtime.Mesh, pspecs: Any, place: Callable[[Any, Any], Any]) -> Any:
    leaves, tree = tree_flatten(inputs)
    try:
        specs = broadcast_prefix(pspecs, inputs, is_leaf=lambda x: x is None)
    except ValueError as error:
        raise ValueError(f"{name}: pspecs must be a PartitionSpec, or a pytree of them that is a prefix of the arrays: {error}") from None
    for spec in specs:
        if not isinstance(spec, PartitionSpec):
            raise ValueError(f"{name}: {'`None`' if spec is None else repr(spec)} is not a valid input to the pspecs argument. Give a "
                             "PartitionSpec, PartitionSpec() for a copy on each device.")
    outs = []
    for leaf, spec in zip(leaves, specs):
        if isinstance(leaf, Tracer) and mesh.is_multi_process:
            raise NotImplementedError(f"{name}: a traced value, {leaf.aval.str_short()}, has no parts in processes. Call it outside of "
                                      "jit and other transformations.")
        if isinstance(leaf, ExtendedArray) and mesh.is_multi_process:
            outs.append(array_of_stored(leaf.dtype, place(leaf.base, runtime.NamedSharding(mesh, spec))))
            continue
        sharding = runtime.NamedSharding(mesh, spec)
        own = runtime.NamedSharding(mesh.local_mesh, spec) if place is _as_global else sharding
        if reason := runtime.misfit(own, get_aval(leaf).shape):
            raise ValueError(f"{name}: an array of type {get_aval(leaf).str_short()} {reason}")
        outs.append(place(leaf, sharding))
    return tree_unflatten(tree, outs)


def _as_global(x: Any, sharding: Any) -> Any:
    if not sharding.mesh.is_multi_process:
        return device_put(x, sharding)
    if isinstance(x, runtime.ArrayImpl) and not x.is_fully_addressable:
        return x
    local = runtime.NamedSharding(sharding.mesh.local_mesh, sharding.spec)
    if isinstance(x, np.ndarray) and x.dtype == dtypes.float0:
        x = np.zeros(x.shape, bool)
    placed = device_put(x, local)
    shape = _scaled(placed.shape, sharding, local)
    return runtime.make_array_from_single_device_arrays(shape, sharding, _parts_in_order(placed, sharding))


def _parts_in_order(x: runtime.ArrayImpl, sharding: runtime.Sharding) -> list[runtime.ArrayImpl]:
    by_device = {shard.device: shard.data for shard in x.addressable_shards}
    return [by_device[device] for device in runtime.devices_of(sharding) if device in by_device]


def _scaled(shape: tuple[int, ...], sharding: Any, local: Any) -> tuple[int, ...]:
    """The shape of the whole: along each axis as many times the part's as the mesh is longer than the process's block of it."""
    sizes, own = dict(sharding.mesh.shape), dict(local.mesh.shape)
    scaled = list(shape)
    for axis, entry in enumerate(sharding.spec):
        for name in () if entry is None else entry if isinstance(entry, tuple) else (entry,):
            scaled[axis] = scaled[axis] * sizes[name] // own[name]
    return tuple(scaled)


def _as_local(x: Any, sharding: Any) -> Any:
    if isinstance(x, runtime.ArrayImpl) and x.is_fully_addressable:
        return x
    if not sharding.mesh.is_multi_process:
        return device_put(x, sharding)
    local = runtime.NamedSharding(sharding.mesh.local_mesh, sharding.spec)
    if not isinstance(x, runtime.ArrayImpl):
        return device_put(dtypes.coerce_to_array(x), local)
    placed = device_put(x, sharding)
    count = _scaled((1,) * x.ndim, sharding, local)
    shape = tuple(size // times for size, times in zip(x.shape, count))
    return runtime.make_array_from_single_device_arrays(shape, local, _parts_in_order(placed, local))
