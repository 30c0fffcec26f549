"""Grids of TPUs: axes of a mesh on the axes of the network, which is a torus of two or three dimensions.

A chip has links to its neighbours in each dimension, so collectives over a mesh axis are fastest where that axis is one or several whole
dimensions of the network. Axes of meshes come in the order of their traffic, the last with most of it: it chooses first.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

# The parts of the network's dimensions that a mesh axis has: pairs of the dimension and the size of the part.
Parts = list[tuple[int, int]]

_CORES = 3  # the dimension after the coordinates of a chip


def torus_grid(mesh_shape: Sequence[int], devices: Sequence[Any], may_split: bool) -> np.ndarray:
    """The devices as an array of this shape, each axis of which has whole dimensions of the network, or parts of them.

    Raises:
      NotImplementedError: if no whole dimensions have an axis' size, and dimensions may not be split.
    """
    network = _by_coordinates(devices)
    if network is None:  # some chips of a larger network, of no shape of its own
        grid = np.empty(len(devices), dtype=object)
        grid[:] = devices
        return grid.reshape(tuple(mesh_shape))
    if _has_rings(network.shape, mesh_shape):
        return _host_rings(network).reshape(tuple(mesh_shape))
    return _folded(network, mesh_shape, _assigned(network.shape, mesh_shape, may_split))


_HOST_RING = ((0, 0), (1, 0), (1, 1), (0, 1))  # the chips of a host, each beside the one before and the last beside the first


def _has_rings(network_shape: Sequence[int], mesh_shape: Sequence[int]) -> bool:
    """Whether hosts are 2x2 chips of two cores, and the mesh has them one after the other: they lie in one line, or are its last axis."""
    x, y, _, cores = network_shape
    return cores == 2 and x % 2 == 0 and y % 2 == 0 and ((x, y) == (2, 2) or bool(mesh_shape) and mesh_shape[-1] == 2 * len(_HOST_RING))


def _host_rings(network: np.ndarray) -> np.ndarray:
    """All cores, host after host; those of a host along the ring of its chips, the two cores of a chip beside each other."""
    width, depth, height, _ = network.shape
    return np.array([network[x + dx, y + dy, z, core] for z in range(height) for y in range(0, depth, 2) for x in range(0, width, 2)
                     for dx, dy in _HOST_RING for core in range(2)])


def _by_coordinates(devices: Sequence[Any]) -> np.ndarray | None:
    """The devices by their coordinates and the number of the core on the chip; None if they do not fill a box."""
    places = np.array([(*device.coords, device.core_on_chip) for device in devices])
    places -= places.min(axis=0)
    network = np.full(places.max(axis=0) + 1, None, dtype=object)
    for place, device in zip(places, devices, strict=True):
        network[tuple(place)] = device
    return network if network.size == len(devices) else None


def _assigned(network_shape: Sequence[int], mesh_shape: Sequence[int], may_split: bool) -> list[Parts]:
    """For each axis of the mesh the dimensions it gets, from the last axis, which chooses first, to the first."""
    left = list(network_shape)
    result: list[Parts] = [[] for _ in mesh_shape]
    for axis in reversed(range(len(mesh_shape))):
        size = mesh_shape[axis]
        whole = _whole_dimensions(left, size)
        if whole is None and not may_split:
            raise NotImplementedError(
                f"create_device_mesh: Failed to find assignment for axis {axis} of size {size}: no dimensions of the network have this "
                f"product; left are {left} of {tuple(network_shape)}. Choose sizes that are products of dimensions, or split dimensions "
                "with allow_split_physical_axes=True.")
        result[axis] = [(d, left[d]) for d in whole] if whole is not None else _parts(left, size)
        for dimension, part in result[axis]:
            left[dimension] //= part
    return result


def _whole_dimensions(left: Sequence[int], size: int) -> tuple[int, ...] | None:
    """As many dimensions as can be whose sizes have this product: cores of a chip before chips; dimensions of size 1 help nobody."""
    dimensions = sorted((d for d, n in enumerate(left) if n > 1), key=lambda d: d != _CORES)
    for count in range(len(dimensions), -1, -1):
        for chosen in itertools.combinations(dimensions, count):
            if math.prod(left[d] for d in chosen) == size:
                return chosen
    return None


def _parts(left: Sequence[int], size: int) -> Parts:
    """Parts of dimensions whose sizes have this product. As the sizes of all axes multiply to those of all dimensions, there are some."""
    found: Parts = []
    for dimension, n in enumerate(left):
        if (part := math.gcd(n, size)) > 1:
            found.append((dimension, part))
            size //= part
    return found


def _folded(network: np.ndarray, mesh_shape: Sequence[int], assigned: Sequence[Parts]) -> np.ndarray:
    """The network with its dimensions split into the assigned parts, which are then brought together by axis of the mesh."""
    split: list[list[tuple[int, int]]] = [[] for _ in network.shape]  # by dimension: pairs of the mesh axis and the part
    for axis, parts in enumerate(assigned):
        for dimension, part in parts:
            split[dimension].append((axis, part))
    flat = [(axis, dimension, part) for dimension, parts in enumerate(split) for axis, part in parts]
    order = sorted(range(len(flat)), key=lambda i: flat[i][:2])
    grid = network.reshape([part for _, _, part in flat]).transpose(order)
    if max(mesh_shape) == grid.size and sum(n > 2 for n in grid.shape) <= 1:
        grid = _ring(grid)
    return grid.reshape(tuple(mesh_shape))


def _ring(grid: np.ndarray) -> np.ndarray:
    """All chips of a network two wide in all dimensions but one, each beside the one before and the last beside the first.

    There along one half, and back along the other: a reflected Gray code.
    """
    if grid.ndim <= 1:
        return grid
    first, second = map(_ring, grid.transpose(sorted(range(grid.ndim), key=lambda d: grid.shape[d])))  # a dimension of two first
    return np.concatenate([first, second[::-1]])
