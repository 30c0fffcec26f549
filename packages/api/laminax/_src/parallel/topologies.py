"""Descriptions of the devices that programs are compiled for; only attached devices can be described."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import laminax_runtime as runtime

from laminax._src.parallel.device_grids import create_device_mesh


@dataclass(frozen=True)
class TopologyDescription:
    """Devices that are connected.

    Args:
      devices: the devices.
    """

    devices: list[runtime.Device]


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
