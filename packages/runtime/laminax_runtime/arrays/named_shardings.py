"""Shardings in the words of a mesh: those that XLA has chosen, or that say it as XLA does, over named axes."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from laminax_ir.types.partition_specs import PartitionSpec
from laminax_runtime import _jaxlib
from laminax_runtime.arrays.hlo_shardings import are_equal_hlo_shardings, is_replicated
from laminax_runtime.arrays.shardings import Device, GSPMDSharding, NamedSharding, Sharding, devices_of, hlo_sharding, tiling
from laminax_runtime.backends import meshes


def named_from_hlo(hlo: _jaxlib.HloSharding, mesh: meshes.Mesh, ndim: int) -> NamedSharding | None:
    """The sharding over a mesh that means the same as an XLA sharding of its devices; None if there is none.

    The device numbers along each axis of the tiles tell which mesh axes it runs along: the fastest varying of them is
    the one whose coordinate changes between the first two devices, and so on.
    """
    if is_replicated(hlo):
        return NamedSharding(mesh, PartitionSpec())
    if not hlo.is_tiled():
        return None
    parts = tuple(hlo.tile_assignment_dimensions()[:ndim])
    order = np.asarray(hlo.tile_assignment_devices()).reshape(*parts, -1)
    entries = []
    for axis, count in enumerate(parts):
        line = np.moveaxis(order, axis, 0).reshape(count, -1)[:, 0]
        names = _names_along(line, mesh)
        if names is None:
            return None
        entries.append(names)
    while entries and not entries[-1]:
        entries.pop()
    found = NamedSharding(mesh, PartitionSpec(*entries))
    return found if are_equal_hlo_shardings(hlo_sharding(found, ndim), hlo) else None


def _names_along(line: np.ndarray, mesh: meshes.Mesh) -> tuple | None:
    """The mesh axes that a line of device numbers runs along, the slowest varying first; None if it cuts through one."""
    coordinates = np.stack(np.unravel_index(line, mesh.axis_sizes), axis=1)
    names: list[Any] = []
    stride = 1
    while stride < len(line):
        changed = np.flatnonzero(coordinates[stride] != coordinates[0])
        if len(changed) != 1:
            return None
        names.insert(0, mesh.axis_names[changed[0]])
        stride *= mesh.axis_sizes[changed[0]]
    return tuple(names) if stride == len(line) and len(set(names)) == len(names) else None


def as_named(sharding: Sharding, ndim: int) -> NamedSharding | None:
    """A sharding of arrays of a rank by a mesh and a spec; None for one on a single device that has no mesh.

    Raises:
        NotImplementedError: it is an XLA sharding that deals the devices out in another order than theirs.
    """
    if isinstance(sharding, NamedSharding):
        return sharding
    if sharding.num_devices == 1:
        return None
    return _named_from_gspmd(sharding, ndim)


@functools.lru_cache(maxsize=1024)
def _named_from_gspmd(sharding: Sharding, ndim: int) -> NamedSharding:
    devices = np.array(devices_of(sharding), dtype=object)
    tiled = tiling(sharding, ndim)
    parts = () if tiled is None else tiled.parts
    names = tuple(f"_axis_{i}" for i in range(len(parts) + 1))
    mesh = meshes.Mesh(devices.reshape(*parts, -1), names)
    found = NamedSharding(mesh, PartitionSpec(*names[:-1]))
    if not are_equal_hlo_shardings(hlo_sharding(found, ndim), hlo_sharding(sharding, ndim)):
        raise NotImplementedError(f"{sharding} deals out the devices in another order than their own. Use a NamedSharding.")
    return found


def as_given(
    hlo: _jaxlib.HloSharding, ndim: int, devices: Sequence[Device], given: Sequence[tuple[Sharding, int | None]]
) -> Sharding:
    """An XLA sharding over devices, expressed in terms of shardings that the caller knows.

    Args:
        hlo: the sharding.
        ndim: of what rank the array is.
        devices: the devices it numbers.
        given: shardings over these devices, with the ranks of their arrays if known. One for the same rank that means
            the same is taken; else the mesh of the first that has one.
    """
    for known, known_ndim in given:
        if isinstance(known, NamedSharding) and known_ndim == ndim:
            if are_equal_hlo_shardings(hlo_sharding(known, ndim), hlo):
                return known
    for known, _ in given:
        if isinstance(known, NamedSharding) and (found := named_from_hlo(hlo, known.mesh, ndim)) is not None:
            return found
    return GSPMDSharding(devices, hlo)
