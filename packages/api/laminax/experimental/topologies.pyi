# Written by tools/stubs.py.
"""Devices to compile for. A table of contents: names load on first use."""

from collections.abc import Sequence
from laminax._src.parallel.topologies import TopologyDescription as _TopologyDescription
from laminax_runtime.backends.meshes import Mesh
from typing import Any
from laminax._src.parallel.topologies import TopologyDescription as TopologyDescription

__all__: list[str]

def get_attached_topology(platform: str | None = None) -> _TopologyDescription:
    """The topology of the attached devices."""
def get_topology_desc(topology_name: str = '', platform: str | None = None, **kwargs: Any) -> _TopologyDescription:
    """The devices of a topology, which need not be attached; the platform's plugin must be installed."""
def make_mesh(
    topo: _TopologyDescription,
    mesh_shape: Sequence[int],
    axis_names: tuple[str, ...],
    *,
    contiguous_submeshes: bool = False,
) -> Mesh:
    """A mesh of all devices of a topology."""
