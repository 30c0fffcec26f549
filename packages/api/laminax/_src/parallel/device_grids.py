"""Devices in grids, for meshes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import laminax_runtime as runtime

from laminax._src.parallel.torus_grids import torus_grid


def create_device_mesh(mesh_shape: Sequence[int], devices: Sequence[Any] | None = None, *, contiguous_submeshes: bool = False,
                       allow_split_physical_axes: bool = False) -> np.ndarray:
    """An array of devices in the order in which neighbours communicate best, for `Mesh`.

    Args:
      mesh_shape: the shape of the array.
      devices: as many devices as the array has places; by default all.
      contiguous_submeshes: must be False; a mesh axis is one or several dimensions of the TPUs' network, not blocks of hosts.
      allow_split_physical_axes: whether several mesh axes may share a dimension of the TPUs' network; other devices have none.

    Returns:
      An object array of this shape. TPUs are laid along the dimensions of their network, the last axis of the mesh, which is taken to have
      most traffic, along most of them. Others are in their own order, since each CPU or GPU reaches each other one alike.

    Raises:
      ValueError: if sizes are no ints, or there are more or fewer devices than places.
      NotImplementedError: if an axis' size is no product of dimensions of the TPUs' network, which may not be split, or for
        contiguous_submeshes.

    Example:
      >>> Mesh(create_device_mesh((4, 2)), ("data", "model"))
    """
    chosen = list(runtime.devices() if devices is None else devices)
    if contiguous_submeshes:
        raise NotImplementedError("create_device_mesh: contiguous_submeshes=True, meshes of blocks that each host of TPUs has, is not "
                                  "supported. Order the devices yourself, and give the array to Mesh.")
    if not all(hasattr(size, "__index__") for size in mesh_shape):
        raise ValueError(f"create_device_mesh: `mesh_shape` passed to `create_device_mesh` should be a sequence of ints; got "
                         f"{mesh_shape!r}.")
    if math.prod(mesh_shape) != len(chosen):
        raise ValueError(f"create_device_mesh: the mesh_shape {tuple(mesh_shape)} has {math.prod(mesh_shape)} places, but there are "
                         f"{len(chosen)} devices. Give as many devices as places.")
    if chosen and all(device.platform == "tpu" and hasattr(device, "coords") for device in chosen):
        return torus_grid(tuple(mesh_shape), chosen, allow_split_physical_axes)
    grid = np.empty(len(chosen), dtype=object)
    grid[:] = chosen
    return grid.reshape(tuple(mesh_shape))


def create_hybrid_device_mesh(mesh_shape: Sequence[int], dcn_mesh_shape: Sequence[int], devices: Sequence[Any] | None = None, *,
                              process_is_granule: bool = False, should_sort_granules_by_key: bool = True,
                              allow_split_physical_axes: bool = False) -> np.ndarray:
    """An array of devices for networks of two speeds: within a granule of devices, and between granules.

    Args:
      mesh_shape: the shape of the array within each granule.
      dcn_mesh_shape: the array of granules, of as many axes.
      devices: the devices; by default all.
      process_is_granule: whether a granule is the devices of a process; by default it is those of one `slice_index`.
      should_sort_granules_by_key: whether granules are sorted by that number; otherwise they are in the order of `devices`.
      allow_split_physical_axes: as for `create_device_mesh`.

    Returns:
      An object array, whose axes have the sizes of the two shapes multiplied.

    Raises:
      ValueError: if the shapes have different lengths, numbers of devices or granules do not fit, or devices have no `slice_index`.
      NotImplementedError: as for `create_device_mesh`.

    Example:
      >>> create_hybrid_device_mesh((2, 4), (1, 1), process_is_granule=True).shape
      (2, 4)
    """
    chosen = list(runtime.devices() if devices is None else devices)
    attribute = "process_index" if process_is_granule else "slice_index"
    if chosen and not hasattr(chosen[0], attribute):
        raise ValueError(f"create_hybrid_device_mesh: the device {chosen[0]} does not have attribute {attribute}. Give "
                         "process_is_granule=True where each process is a granule.")
    if len(mesh_shape) != len(dcn_mesh_shape):
        raise ValueError(f"create_hybrid_device_mesh: mesh_shape {tuple(mesh_shape)} and dcn_mesh_shape {tuple(dcn_mesh_shape)} must have "
                         "as many axes. Give axes of size 1 where there is one granule or device.")
    granules: dict[Any, list] = {}
    for device in chosen:
        granules.setdefault(getattr(device, attribute), []).append(device)
    order = sorted(granules) if should_sort_granules_by_key else list(granules)
    if len(order) != math.prod(dcn_mesh_shape):
        raise ValueError(f"create_hybrid_device_mesh: the number of granules, {len(order)} by {attribute}, must equal the product of "
                         f"dcn_mesh_shape {tuple(dcn_mesh_shape)}")
    blocks = np.empty(len(order), dtype=object)
    for i, key in enumerate(order):
        blocks[i] = create_device_mesh(mesh_shape, granules[key], allow_split_physical_axes=allow_split_physical_axes)
    return np.block(blocks.reshape(tuple(dcn_mesh_shape)).tolist())


__all__ = ["create_device_mesh", "create_hybrid_device_mesh"]
