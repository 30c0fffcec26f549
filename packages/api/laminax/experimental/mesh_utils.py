"""Devices in grids, for meshes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import laminax_runtime as runtime
import numpy as np


def create_device_mesh(mesh_shape: Sequence[int], devices: Sequence[Any] | None = None, *, contiguous_submeshes: bool = False,
                       allow_split_physical_axes: bool = False) -> np.ndarray:
    """An array of devices in the order in which neighbours communicate best, for `Mesh`.

    Args:
      mesh_shape: the shape of the array.
      devices: as many devices as it has places; by default all.
      contiguous_submeshes, allow_split_physical_axes: about TPUs; without meaning for the platforms that are supported,
        whose devices have no places, and so must be False.

    Returns:
      An object array of this shape: the devices in their own order, as of CPUs and GPUs each reaches each.

    Raises:
      ValueError: if there are more or fewer devices than places.
      NotImplementedError: for TPUs, or an option that is about them.

    Example:
      >>> Mesh(create_device_mesh((4, 2)), ("data", "model"))
    """
    chosen = list(runtime.devices() if devices is None else devices)
    if contiguous_submeshes or allow_split_physical_axes or any(device.platform == "tpu" for device in chosen):
        raise NotImplementedError("create_device_mesh: TPUs, whose places in their network decide, are not supported. Order their "
                                  "devices yourself, and give the array to Mesh.")
    if math.prod(mesh_shape) != len(chosen):
        raise ValueError(f"create_device_mesh: the mesh_shape {tuple(mesh_shape)} has {math.prod(mesh_shape)} places, but there are "
                         f"{len(chosen)} devices. Give as many devices as places.")
    grid = np.empty(len(chosen), dtype=object)
    grid[:] = chosen
    return grid.reshape(tuple(mesh_shape))


__all__ = ["create_device_mesh"]
