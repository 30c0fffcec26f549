"""XLA's shardings: how the axes of an array are tiled over the positions in a list of devices. What they mean, as numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from laminax_runtime import _jaxlib

REPLICATED = _jaxlib.HloSharding.replicate()


def op_sharding_of_bytes(data: bytes) -> Any:
    """XLA's `OpSharding` of its serialized form."""
    proto = _jaxlib.OpSharding()
    proto.ParseFromString(data)
    return proto


def hlo_sharding_of_bytes(data: bytes) -> Any:
    """XLA's `HloSharding` of a serialized `OpSharding`."""
    return _jaxlib.HloSharding.from_proto(op_sharding_of_bytes(data))


def are_equal_hlo_shardings(a: _jaxlib.HloSharding, b: _jaxlib.HloSharding) -> bool:
    """Whether two XLA shardings mean the same; replication on one tile is replication."""
    return a is b or a == b or (is_replicated(a) and is_replicated(b))


def is_replicated(sharding: _jaxlib.HloSharding) -> bool:
    """Whether the XLA sharding gives each device the whole array."""
    if sharding.is_replicated() or sharding.num_devices() == 1:
        return True
    return sharding.is_tiled() and _num_parts(sharding) == 1 and _jaxlib.OpSharding.Type.UNREDUCED not in sharding.subgroup_types()


def _num_parts(sharding: _jaxlib.HloSharding) -> int:
    dimensions = list(sharding.tile_assignment_dimensions())
    extra = len(sharding.subgroup_types()) or (1 if sharding.replicate_on_last_tile_dim() else 0)
    return math.prod(dimensions[:len(dimensions) - extra])


def tiled_rank(sharding: _jaxlib.HloSharding) -> int:
    """How many axes an array has that is tiled so."""
    dimensions = len(sharding.tile_assignment_dimensions())
    return dimensions - (len(sharding.subgroup_types()) or int(sharding.replicate_on_last_tile_dim()))


class Tiling:
    """An XLA sharding as numbers: parts per axis, and for each device of the list the coordinates of its part."""

    __slots__ = ("parts", "coordinates")

    def __init__(self, sharding: _jaxlib.HloSharding, ndim: int) -> None:
        dimensions = sharding.tile_assignment_dimensions()
        self.parts = tuple(dimensions[:ndim])
        order = np.asarray(sharding.tile_assignment_devices()).reshape(*self.parts, -1)
        self.coordinates = [()] * order.size
        for position in np.ndindex(*order.shape):
            self.coordinates[order[position]] = position[:ndim]
