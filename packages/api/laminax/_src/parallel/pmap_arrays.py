"""The arrays of a `pmap` that runs over the devices of several processes: each process gives and gets the part on its own devices."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

import laminax_runtime as runtime
from laminax_ir.key_arrays.extended_arrays import ExtendedArray, array_of_stored
from laminax_ir.types.partition_specs import PartitionSpec


class ProcessMeshes:
    """The devices that a function is mapped over, and those of them that are this process's, each in a mesh of one axis.

    Args:
      title: the mapped function, for errors.
      name: the axis.
      size: the number of slices that this process has.
      chosen: the devices that the caller has chosen, or None: as many of each process as there are slices.
      backend: the platform.

    Raises:
      ValueError: if the devices are not as many as the slices, here or in another process.
    """

    def __init__(self, title: str, name: Hashable, size: int, chosen: Sequence[runtime.Device] | None, backend: str | None) -> None:
        if chosen is None:
            chosen = []
            for index in range(runtime.process_count(backend)):
                there = runtime.local_devices(index, backend)
                if size > len(there):
                    raise ValueError(f"{title}: compiling computation that requires {size} replicas in each process, but process {index} "
                                     f"has only {len(there)} XLA devices. Map over fewer slices, or use vmap for a part.")
                chosen += there[:size]
        own = [device for device in chosen if device.process_index == runtime.process_index(backend)]
        if len(own) != size:
            raise ValueError(f"{title}: the mapped axis has size {size} in this process, but {len(own)} of the {len(chosen)} given "
                             "devices are its own. In a program of several processes each gives as many slices as it has devices.")
        self.devices = tuple(chosen)
        self.name = name
        self.whole = _line(chosen, name)
        self.own = _line(own, name)
        self.factor = len(chosen) // size
        if self.factor * size != len(chosen):
            raise ValueError(f"{title}: {len(chosen)} devices were given, of which {size} are this process's own; all processes must have "
                             "equally many of them.")

    def as_whole(self, x: Any, axis: int | None) -> Any:
        """The array of all processes, of which x, mapped over an axis, is this process's part."""
        if isinstance(x, ExtendedArray):
            return array_of_stored(x.dtype, self.as_whole(x.base, axis))
        spec = PartitionSpec() if axis is None else PartitionSpec(*[None] * axis, self.name)
        placed = runtime.device_put(x, runtime.NamedSharding(self.own, spec))
        shape = tuple(size * self.factor if i == axis else size for i, size in enumerate(placed.shape))
        return _of_parts(placed, shape, runtime.NamedSharding(self.whole, spec))

    def own_part(self, x: Any) -> Any:
        """This process's part of a result."""
        if isinstance(x, ExtendedArray):
            return array_of_stored(x.dtype, self.own_part(x.base))
        spec = x.sharding.spec
        split = spec.partitions.index(self.name) if self.name in spec.partitions else None
        shape = tuple(size // self.factor if i == split else size for i, size in enumerate(x.shape))
        return _of_parts(x, shape, runtime.NamedSharding(self.own, spec))


def _line(devices: Sequence[runtime.Device], name: Hashable) -> runtime.Mesh:
    grid = np.empty(len(devices), dtype=object)
    grid[:] = devices
    return runtime.Mesh(grid, (name,))


def _of_parts(x: runtime.ArrayImpl, shape: tuple[int, ...], sharding: runtime.Sharding) -> runtime.ArrayImpl:
    """The array of another shape and sharding that has the same parts in this process."""
    return runtime.make_array_from_single_device_arrays(shape, sharding, [shard.data for shard in x.addressable_shards])
