# Written by tools/stubs.py.
"""Devices in grids, for meshes. A table of contents: names load on first use."""

import numpy as np
from collections.abc import Sequence
from typing import Any

__all__: list[str]

def create_device_mesh(
    mesh_shape: Sequence[int],
    devices: Sequence[Any] | None = None,
    *,
    contiguous_submeshes: bool = False,
    allow_split_physical_axes: bool = False,
) -> np.ndarray[Any, Any]:
    """An array of devices in the order in which neighbours communicate best, for `Mesh`."""
def create_hybrid_device_mesh(
    mesh_shape: Sequence[int],
    dcn_mesh_shape: Sequence[int],
    devices: Sequence[Any] | None = None,
    *,
    process_is_granule: bool = False,
    should_sort_granules_by_key: bool = True,
    allow_split_physical_axes: bool = False,
) -> np.ndarray[Any, Any]:
    """An array of devices for networks of two speeds: within a granule of devices, and between granules."""
