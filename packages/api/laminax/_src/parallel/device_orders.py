"""Arrays of several processes that are laid out anew over the same devices in another order.

A program has one order of devices. So the array is first laid out as it should be with the devices in the order that they have, by which
each part is on a wrong device; then the parts go to where they belong, by a permutation.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

import laminax_runtime as runtime
from laminax_ir.ops.collectives import ppermute
from laminax_ir.types.partition_specs import PartitionSpec

from laminax._src.compiling.jit import jit
from laminax._src.compiling.resharding import reshard_by_program
from laminax._src.parallel.shard_map import shard_map

_AXIS = "_device"


def reorder(x: runtime.ArrayImpl, sharding: runtime.Sharding) -> runtime.ArrayImpl | None:
    """The array in a sharding over the same devices in another order; None if no mesh and spec express it."""
    try:
        target = runtime.as_named(sharding, x.ndim)
    except NotImplementedError:
        return None
    if target is None:
        return None
    order = runtime.devices_of(x.sharding)
    mesh = runtime.Mesh(np.array(order, dtype=object).reshape(target.mesh.devices.shape), target.mesh.axis_names, target.mesh.axis_types)
    among = runtime.NamedSharding(mesh, target.spec)
    laid_out = x if x.sharding == among else reshard_by_program(x, among)
    if laid_out is None:
        return None
    blocks = _permutation(order, runtime.devices_of(target))(_as_blocks(laid_out, order))
    parts = [shard.data[0] for shard in blocks.addressable_shards]
    return runtime.make_array_from_single_device_arrays(x.shape, sharding, parts, dtype=x.dtype)


def _as_blocks(x: runtime.ArrayImpl, order: tuple[runtime.Device, ...]) -> runtime.ArrayImpl:
    """The array's parts as the rows of an array, one per device."""
    rows = runtime.NamedSharding(runtime.Mesh(np.array(order, dtype=object), (_AXIS,)), PartitionSpec(_AXIS))
    parts = [shard.data[None] for shard in x.addressable_shards]
    return runtime.make_array_from_single_device_arrays((len(order), *x.sharding.shard_shape(x.shape)), rows, parts, dtype=x.dtype)


@lru_cache(maxsize=64)
def _permutation(order: tuple[runtime.Device, ...], target: tuple[runtime.Device, ...]) -> Any:
    """A program on the devices in their order, that brings the row of each device to the one that comes in its place in the other order."""
    position = {device: i for i, device in enumerate(order)}
    pairs = [(i, position[device]) for i, device in enumerate(target)]
    mesh = runtime.Mesh(np.array(order, dtype=object), (_AXIS,))
    spec = PartitionSpec(_AXIS)
    return jit(shard_map(lambda rows: ppermute(rows, _AXIS, pairs), mesh=mesh, in_specs=spec, out_specs=spec))
