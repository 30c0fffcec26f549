"""Meshes: devices in a grid whose axes have names."""

from __future__ import annotations

import collections
import functools
import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from laminax_runtime import _jaxlib


class Mesh:
    """An n-dimensional array of devices with one name per axis.

    Args:
        devices: a NumPy array of devices, or nested sequences of them, or one device.
        axis_names: one hashable name per axis, or a single string for one axis.

    Raises:
        ValueError: the names do not match the array's axes, or a device or a name comes twice.

    Example:
        >>> Mesh(devices("cpu"), ("data",)).shape
        OrderedDict({'data': 1})
    """

    def __init__(self, devices: Any, axis_names: str | Sequence[Hashable]) -> None:
        grid = np.array(devices, dtype=object)
        names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
        if grid.ndim != len(names):
            raise ValueError(
                f"Mesh: {grid.ndim} axes of devices, of shape {grid.shape}, but {len(names)} names: {names}. "
                "Reshape the devices, or name each axis."
            )
        if len(set(names)) != len(names):
            raise ValueError(f"Mesh: the axis names {names} are not distinct")
        if len(set(grid.flat)) != grid.size:
            raise ValueError("Mesh: a device comes twice in the array of devices")
        grid.flags.writeable = False
        self.devices = grid
        self.axis_names = names

    @functools.cached_property
    def shape(self) -> collections.OrderedDict[Hashable, int]:
        """The size of each axis, by name."""
        return collections.OrderedDict(zip(self.axis_names, self.devices.shape, strict=True))

    @property
    def axis_sizes(self) -> tuple[int, ...]:
        return self.devices.shape

    @property
    def size(self) -> int:
        """How many devices there are."""
        return math.prod(self.devices.shape)

    @property
    def ndim(self) -> int:
        return self.devices.ndim

    @property
    def empty(self) -> bool:
        return self.size == 0

    @property
    def device_ids(self) -> np.ndarray:
        """The devices' ids, in the mesh's shape."""
        return np.array([device.id for device in self.devices.flat], dtype=int).reshape(self.devices.shape)

    @functools.cached_property
    def local_devices(self) -> list[Any]:
        """The devices of this process."""
        return [device for device in self.devices.flat if device.process_index == device.client.process_index()]

    @functools.cached_property
    def _internal_device_list(self) -> _jaxlib.DeviceList:
        """What jaxlib's NamedSharding reads."""
        return _jaxlib.DeviceList(tuple(self.devices.flat))

    @functools.cached_property
    def _key(self) -> tuple:
        return self.axis_names, self.devices.shape, tuple(self.devices.flat)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Mesh) and self._key == other._key)

    @functools.cached_property
    def _hash(self) -> int:
        return hash(self._key)

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self):
        return _from_ids, (self.devices.flat[0].platform if self.size else None, self.device_ids, self.axis_names)

    def __repr__(self) -> str:
        axes = ", ".join(f"{name!r}: {size}" for name, size in self.shape.items())
        return f"Mesh({axes})"


def _from_ids(platform: str | None, ids: np.ndarray, axis_names: tuple) -> Mesh:
    from laminax_runtime import placement

    by_id = {device.id: device for device in placement.devices(platform)}
    grid = np.empty(ids.shape, dtype=object)
    for position, device_id in np.ndenumerate(ids):
        grid[position] = by_id[device_id]
    return Mesh(grid, axis_names)
