"""Descriptions of the devices that programs are compiled for: those that are attached, and those that a plugin's library describes.

`jit(f).lower(args).compile()` with arguments whose shardings are over the devices of a description compiles for these, on a machine
that has none of them. The result has its analyses and its text, and does not run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import laminax_runtime as runtime

from laminax._src.parallel.device_grids import create_device_mesh


@dataclass(frozen=True)
class TopologyDescription:
    """Devices that are connected.

    Args:
      devices: the devices.
    """

    devices: list[runtime.Device]

    def serialize(self) -> bytes:
        """The description as bytes, for `deserialize`.

        Raises:
          NotImplementedError: if jaxlib is older than 0.12, or the devices' client does not write it.
        """
        return runtime.serialize_topology(self.devices)

    @classmethod
    def deserialize(cls, serialized: bytes) -> TopologyDescription:
        """The description that `serialize` wrote; a process that has used the platform's plugin before reads it.

        Raises:
          NotImplementedError: if jaxlib is older than 0.12.
        """
        return cls(runtime.deserialize_topology(serialized))


def get_topology_desc(topology_name: str = "", platform: str | None = None, **kwargs: Any) -> TopologyDescription:
    """The devices of a topology, which need not be attached; the platform's plugin must be installed.

    Args:
      topology_name: the plugin's name for it. For TPUs the generation and the chips of each dimension: "v5e:2x2", "v5p:2x2x2".
      platform: "tpu" (also None), "cuda", "rocm" or a plugin's name.
      **kwargs: the plugin's options. For GPUs `target_config`, the text of XLA's `GpuTargetConfigProto` that describes a GPU, and
        `topology`, how many: "slices x hosts x GPUs", such as "1x1x8".

    Raises:
      PlatformError: if no plugin of this platform is installed.
      NotImplementedError: if the plugin describes no topologies, or for CPUs, which have none.
      XlaRuntimeError: if the plugin does not know this topology or an option.

    Example:
      >>> mesh = make_mesh(get_topology_desc("v5e:2x2", "tpu"), (2, 2), ("data", "model"))
      >>> x = ShapeDtypeStruct((8, 128), "float32", sharding=NamedSharding(mesh, PartitionSpec("data")))
      >>> jit(f).lower(x).compile().memory_analysis()
    """
    if not isinstance(topology_name, str):
        raise TypeError(f"get_topology_desc: topology_name must be a string, such as 'v5e:2x2', got {topology_name!r} of type "
                        f"{type(topology_name).__name__}")
    if platform == "cpu":
        raise NotImplementedError("get_topology_desc: topology not implemented for 'cpu': programs for CPUs are compiled where they are "
                                  "attached. Use get_attached_topology('cpu').")
    return TopologyDescription(runtime.topology_devices(topology_name, platform, **kwargs))


def get_attached_topology(platform: str | None = None) -> TopologyDescription:
    """The topology of the attached devices.

    Args:
      platform: "cpu", "gpu", ...; by default the default platform.

    Raises:
      PlatformError: if the platform does not start.
    """
    return TopologyDescription(runtime.devices(platform))


def make_mesh(topo: TopologyDescription, mesh_shape: Sequence[int], axis_names: tuple[str, ...], *,
              contiguous_submeshes: bool = False) -> runtime.Mesh:
    """A mesh of all devices of a topology.

    Args:
      topo: the devices.
      mesh_shape: the size of each axis.
      axis_names: a name per axis.
      contiguous_submeshes: as for `create_device_mesh`.

    Raises:
      ValueError: if there are more or fewer devices than places, or the names do not match the sizes.

    Example:
      >>> make_mesh(get_attached_topology(), (4, 2), ("data", "model"))
    """
    return runtime.Mesh(create_device_mesh(mesh_shape, topo.devices, contiguous_submeshes=contiguous_submeshes), axis_names)
