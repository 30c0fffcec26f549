"""Devices to compile for. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "parallel.topologies": "TopologyDescription get_attached_topology get_topology_desc make_mesh"})
