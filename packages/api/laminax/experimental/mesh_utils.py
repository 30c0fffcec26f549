"""Devices in grids, for meshes. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"parallel.device_grids": "create_device_mesh create_hybrid_device_mesh"})
