"""Devices to compile for. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "names.refused": "get_topology_desc", "parallel.topologies": "TopologyDescription get_attached_topology make_mesh"})
