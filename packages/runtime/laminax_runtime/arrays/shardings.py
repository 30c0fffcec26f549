"""Shardings: how an array is laid out over devices.

The classes are jaxlib's, so that its C++ dispatch can compare and hash them without Python; the methods here are set on
them when this module loads. All that is not specific to a class follows from two answers each class gives: its list of
devices, and its XLA sharding, which tiles the array's axes over the positions in that list.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.types.partition_specs import UNCONSTRAINED, PartitionSpec, refuse_extrema
from laminax_ir.types.type_shardings import TypeSharding, set_sharding_maker
from laminax_runtime import _jaxlib
from laminax_runtime.arrays.hlo_shardings import REPLICATED, Tiling, are_equal_hlo_shardings, is_replicated, tiled_rank
from laminax_runtime.backends import meshes, placement
from laminax_runtime.base.members import set_members

GSPMDSharding = _jaxlib.GSPMDSharding
NamedSharding = _jaxlib.NamedSharding
Sharding = _jaxlib.Sharding
SingleDeviceSharding = _jaxlib.SingleDeviceSharding

Device = _jaxlib.Device
Index = tuple[slice, ...]
Shape = tuple[int, ...]

# --- any sharding ---

if TYPE_CHECKING:  # the classes on which the methods below are set
    _SharedBase = Sharding
    _SingleDeviceBase = SingleDeviceSharding
    _NamedBase = NamedSharding
    _GSPMDBase = GSPMDSharding
else:
    _SharedBase = _SingleDeviceBase = _NamedBase = _GSPMDBase = object


class _SharedMethods(_SharedBase):
    """Describes how an array is laid out over devices."""

    @property
    def device_set(self) -> set[Device]:
        """The devices that hold a part of the array, those of other processes included."""
        return set(self._internal_device_list)

    @property
    def num_devices(self) -> int:
        return len(self._internal_device_list)

    @property
    def memory_kind(self) -> str | None:
        """The kind of memory on the devices, or None for their default."""
        return self._memory_kind

    def with_memory_kind(self, kind: str) -> Any:
        """The same sharding in another kind of memory; subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} has no with_memory_kind; a subclass of Sharding must define it.")

    @property
    def is_fully_addressable(self) -> bool:
        """Whether all devices belong to this process."""
        return self._internal_device_list.is_fully_addressable

    @property
    def has_addressable_devices(self) -> bool:
        return len(self._internal_device_list.addressable_device_list) > 0

    @property
    def addressable_devices(self) -> set[Device]:
        """The devices of this process that hold a part of the array."""
        return set(self._internal_device_list.addressable_device_list)

    @property
    def is_fully_replicated(self) -> bool:
        """Whether every device holds the whole array."""
        raise NotImplementedError(f"{type(self).__name__} does not say whether it replicates")

    @property
    def _device_assignment(self) -> tuple[Device, ...]:
        return tuple(self._internal_device_list)

    @property
    def _addressable_device_assignment(self) -> tuple[Device, ...]:
        return tuple(self._internal_device_list.addressable_device_list)

    @property
    def _is_concrete(self) -> bool:
        return True

    def _to_xla_hlo_sharding(self, num_dimensions: int) -> _jaxlib.HloSharding:
        raise NotImplementedError(f"{type(self).__name__} has no XLA sharding")

    def shard_shape(self, global_shape: Shape) -> Shape:
        """The shape of each device's part of an array of shape `global_shape`.

        Raises:
            ValueError: an axis does not divide into the number of parts.
        """
        shape = tuple(global_shape)
        tiled = tiling(self, len(shape))
        if tiled is None:
            return shape
        if any(size % parts for size, parts in zip(shape, tiled.parts, strict=True)):
            raise ValueError(f"an array of shape {shape} {misfit(self, shape)}")
        return tuple(size // parts for size, parts in zip(shape, tiled.parts, strict=True))

    def devices_indices_map(self, global_shape: Shape) -> dict[Device, Index]:
        """For each device, the slices of an array of shape `global_shape` that it holds."""
        return dict(_indices_map(self, tuple(global_shape)))

    def addressable_devices_indices_map(self, global_shape: Shape) -> dict[Device, Index]:
        """`devices_indices_map` for the devices of this process."""
        local = self.addressable_devices
        return {device: index for device, index in _indices_map(self, tuple(global_shape)).items() if device in local}

    def is_equivalent_to(self, other: Sharding, ndim: int) -> bool:
        """Whether both place the same parts of an array of `ndim` axes on the same devices; a mesh without devices is its own place."""
        return self is other or (
            self.memory_kind == other.memory_kind
            and _place(self) == _place(other)
            and are_equal_hlo_shardings(self._to_xla_hlo_sharding(ndim), other._to_xla_hlo_sharding(ndim))
        )

    def check_compatible_aval(self, aval_shape: Shape) -> None:
        """Raises ValueError if arrays of this shape cannot be laid out so."""


def _place(sharding: Sharding) -> Any:
    return sharding._internal_device_list if sharding._is_concrete else sharding.mesh


def misfit(sharding: Sharding, shape: Shape, what: str = "arrays", *, may_be_padded: bool = False) -> str | None:
    """Why arrays of this shape cannot be laid out so, as the end of a sentence about one; None if they can.

    `what` says in the plural, as JAX's errors do, what the arrays are: "pjit arguments", for one. Parts of values inside of
    programs may be padded, so that axes need not divide.
    """
    spec = getattr(sharding, "spec", None)
    where = f"as {spec}" if spec is not None else f"by {sharding}"
    if spec is not None and len(spec) > len(shape):
        return (
            f"cannot be split {where}: the spec has {len(spec)} entries, and the array {len(shape)} axes.\n"
            f"One of {what} is incompatible with its sharding annotation {spec}: {_rank_misfit(sharding, len(spec), shape)} "
            f"Shorten the spec to at most {len(shape)} entries."
        )
    if spec is None:
        sharding.check_compatible_aval(shape)
    tiled = None if may_be_padded else tiling(sharding, len(shape))
    for axis, (size, parts) in enumerate(zip(shape, tiled.parts, strict=True) if tiled is not None else ()):
        if size % parts:
            return (
                f"cannot be split {where}: axis {axis} has size {size}, {_of_mesh(sharding, axis, parts)}.\n"
                f"Sharding {sharding} implies that array axis {axis} is partitioned {parts} times, but the dimension size is "
                f"{size} (full shape: {shape}, per-dimension tiling factors: {[*(tiled.parts if tiled else ())]} should evenly divide "
                f"the shape).\nPad axis {axis} to {-(-size // parts) * parts}, or shard an axis whose size is a multiple of {parts}."
            )
    return None


def _rank_misfit(sharding: Sharding, at_least: int, shape: Shape) -> str:
    """The message that arrays have too few axes, in JAX's words."""
    words = f"Sharding {sharding} is only valid for values of rank at least {at_least}, but was applied to a value of rank {len(shape)}."
    return words if shape else words + " For scalars the PartitionSpec should be P()."


def _of_mesh(sharding: Sharding, axis: int, parts: int) -> str:
    """`mesh axis 'data' has 4 devices.` and the mesh."""
    if not isinstance(sharding, NamedSharding):
        return f"which is not a multiple of its {parts} parts"
    entry = sharding.spec[axis]
    what = f"the mesh axes {entry} have" if isinstance(entry, tuple) else f"mesh axis {entry!r} has"
    return f"{what} {parts} devices; mesh {dict(sharding.mesh.shape)}"


def has_terms(sharding: Sharding) -> bool:
    """Whether the devices hold terms of a sum that is the array."""
    return isinstance(sharding, NamedSharding) and bool(sharding.spec.unreduced)


@functools.lru_cache(maxsize=4096)
def tiling(sharding: Sharding, ndim: int) -> Tiling | None:
    """The tiling of arrays of `ndim` axes; None if each device has the whole array."""
    hlo_sharding = sharding._to_xla_hlo_sharding(ndim)
    if (hlo_sharding.is_replicated() or hlo_sharding.is_unreduced() or hlo_sharding.is_maximal()
            or not hlo_sharding.tile_assignment_dimensions()):
        return None
    unsupported = set(hlo_sharding.subgroup_types()) - {_jaxlib.OpSharding.Type.REPLICATED, _jaxlib.OpSharding.Type.UNREDUCED}
    if unsupported or hlo_sharding.is_manual() or hlo_sharding.is_unknown():
        raise NotImplementedError(f"{sharding}: only tiled and replicated shardings say which device has which part")
    return Tiling(hlo_sharding, ndim)


@functools.lru_cache(maxsize=4096)
def _indices_map(sharding: Sharding, shape: Shape) -> dict[Device, Index]:
    if has_terms(sharding):
        raise NotImplementedError(
            f"device_indices_map doesn't work with unreduced: by {sharding} each device has a term of a sum, not a part of the array. "
            "Use reshard to make the sum first, or read the terms from x.addressable_shards."
        )
    shard = sharding.shard_shape(shape)
    tiled = tiling(sharding, len(shape))
    whole = (slice(None),) * len(shape)
    if tiled is None:
        return {device: whole for device in sharding._device_assignment}

    def of_device(number: int) -> Index:
        places: Sequence[int] = tiled.coordinates[number]
        return tuple([slice(None) if parts == 1 else slice(at * size, (at + 1) * size)
                      for at, size, parts in zip(places, shard, tiled.parts, strict=True)])

    return {device: of_device(i) for i, device in enumerate(sharding._device_assignment)}


# --- one device ---


class _SingleDeviceMethods(_SingleDeviceBase):
    """The whole array on one device."""

    is_fully_replicated = True
    num_devices = 1

    @property
    def device_set(self) -> set[Device]:
        return {self._device}

    @property
    def is_fully_addressable(self) -> bool:
        return self._device.process_index == self._device.client.process_index()

    @property
    def _device_assignment(self) -> tuple[Device, ...]:
        return (self._device,)

    def _to_xla_hlo_sharding(self, num_dimensions: int) -> _jaxlib.HloSharding:
        return REPLICATED

    def with_memory_kind(self, kind: str) -> SingleDeviceSharding:
        return SingleDeviceSharding(self._device, memory_kind=kind)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, SingleDeviceSharding):
            return False
        return self._device == other._device and self._memory_kind == other._memory_kind

    def __hash__(self) -> int:
        return hash((self._device, self._memory_kind))

    def __repr__(self) -> str:
        return f"SingleDeviceSharding(device={self._device!r}{_memory(self)})"

    def __reduce__(self) -> tuple[Any, Any]:
        return _single_device_from_id, (self._device.platform, self._device.id, self._memory_kind)


def _memory(sharding: Sharding) -> str:
    return "" if sharding._memory_kind is None else f", memory_kind={sharding._memory_kind}"


def _device_from_id(platform: str, device_id: int) -> Device:
    for device in placement.devices(platform):
        if device.id == device_id:
            return device
    raise ValueError(f"the pickled sharding is on {platform} device {device_id}, which this process does not have")


def _single_device_from_id(platform: str, device_id: int, memory_kind: str | None) -> SingleDeviceSharding:
    return SingleDeviceSharding(_device_from_id(platform, device_id), memory_kind=memory_kind)


# --- a mesh and a partition spec ---


class _NamedMethods(_NamedBase):
    """The array's axes split over the axes of a mesh, as a partition spec says."""

    @property
    def num_devices(self) -> int:
        return self.mesh.size

    @property
    def is_fully_replicated(self) -> bool:
        if self.mesh.size == 1:
            return True
        return not self.spec.unreduced and math.prod(map(self.mesh.shape.get, self.spec.names())) == 1

    @property
    def _is_concrete(self) -> bool:
        return isinstance(self.mesh, meshes.Mesh)

    def _to_xla_hlo_sharding(self, num_dimensions: int) -> _jaxlib.HloSharding:
        return _named_to_hlo(self, num_dimensions)

    def check_compatible_aval(self, aval_shape: Shape) -> None:
        if len(aval_shape) < len(self.spec):
            raise ValueError(f"an array of shape {tuple(aval_shape)} {misfit(self, tuple(aval_shape))}")

    def with_memory_kind(self, kind: str) -> NamedSharding:
        return NamedSharding(self.mesh, self.spec, memory_kind=kind)

    @property
    def replicated_axes(self) -> frozenset:
        """The mesh axes over which the array is copied: those that neither split it nor are unreduced or reduced."""
        return frozenset(self.mesh.axis_names) - {*self.spec.names(), *self.spec.unreduced, *self.spec.reduced}

    def update(self, **changes: Any) -> NamedSharding:
        """The sharding that differs in the given ones of `mesh`, `spec` and `memory_kind`."""
        fields = {"mesh": self.mesh, "spec": self.spec, "memory_kind": self._memory_kind} | changes
        return NamedSharding(fields["mesh"], fields["spec"], memory_kind=fields["memory_kind"])

    def __repr__(self) -> str:
        return f"NamedSharding(mesh={self.mesh}, spec={self.spec}{_memory(self)})"

    def __reduce__(self) -> tuple[Any, Any]:
        return _named_from_parts, (self.mesh, self.spec, self._memory_kind)


def _named_from_parts(mesh: Any, spec: Any, memory_kind: str | None) -> NamedSharding:
    return NamedSharding(mesh, spec, memory_kind=memory_kind)


@functools.lru_cache(maxsize=4096)
def _named_to_hlo(sharding: NamedSharding, ndim: int) -> _jaxlib.HloSharding:
    """The XLA sharding of a NamedSharding for arrays of `ndim` axes.

    The devices' grid is transposed: first the mesh axes that split array axes, in the order of these, then the unused ones, then the
    `unreduced` ones.
    """
    mesh = sharding.mesh
    sizes = dict(mesh.shape)
    terms = [name for name in sizes if name in sharding.spec.unreduced]
    entries = [e if isinstance(e, tuple) else () if e is None or e is UNCONSTRAINED else (e,) for e in sharding.spec.partitions]
    if any(entries[ndim:]):
        raise ValueError(f"an array of {ndim} axes {misfit(sharding, (1,) * ndim)}")
    entries = entries[:ndim] + [()] * (ndim - len(entries))  # entries without names beyond the last axis split nothing
    used = [name for entry in entries for name in entry]
    parts = [math.prod(sizes[name] for name in entry) for entry in entries]
    counts = [(math.prod(sizes[name] for name in terms), _jaxlib.OpSharding.Type.UNREDUCED)] if terms else []
    copies = mesh.size // math.prod(parts) // math.prod(count for count, _ in counts)
    if math.prod(parts) == 1 and not terms:
        return REPLICATED
    if copies != 1:
        counts.insert(0, (copies, _jaxlib.OpSharding.Type.REPLICATED))
    position = {name: i for i, name in enumerate(sizes)}
    order = [position[name] for name in (*used, *(name for name in sizes if name not in used and name not in terms), *terms)]
    grid = np.arange(mesh.size, dtype=np.int64).reshape(tuple(sizes.values())).transpose(order)
    shape = (*parts, *(count for count, _ in counts))
    return _jaxlib.HloSharding.subgroup_with_device_ordering(np.ascontiguousarray(grid.reshape(shape)), [kind for _, kind in counts])


def _check_spec(mesh: Any, spec: Any) -> None:
    """Runs in the constructor of every NamedSharding: each name is an axis of the mesh and comes once."""
    if not isinstance(spec, PartitionSpec):
        raise TypeError(
            f"NamedSharding: expected a PartitionSpec for spec, got {spec!r} of type {type(spec).__name__}. "
            "Write PartitionSpec('data', None), with one entry per axis of the array."
        )
    if UNCONSTRAINED in spec.partitions and mesh.axis_names and not mesh.auto_axes:
        raise ValueError(
            f"NamedSharding: PartitionSpec {spec} cannot contain `P.UNCONSTRAINED` when no mesh axis_types are `Auto`; the mesh is {mesh}. "
            "Say of each axis how it is split, None for one that is whole."
        )
    refuse_extrema("NamedSharding", spec)
    seen: set[Any] = set()
    for name in (*spec.names(), *spec.unreduced, *spec.reduced):
        if name not in mesh.axis_names:
            kind = "Unreduced axes" if name in spec.unreduced else "Reduced axes" if name in spec.reduced else "Resource axis"
            raise ValueError(
                f"NamedSharding: {kind}: {name} of {spec} is not found in mesh: {tuple(mesh.axis_names)}. "
                "Name axes that the mesh has, or give another mesh."
            )
        if name not in mesh.explicit_axes and (name in spec.unreduced or name in spec.reduced):
            what = "Unreduced" if name in spec.unreduced else "Reduced"
            raise ValueError(
                f"NamedSharding: {what} axes can only refer to mesh axes that is of type `Explicit`. Got {spec} and mesh: {mesh}. "
                "Make the mesh with AxisType.Explicit for this axis, or leave the axis out."
            )
        if name in seen:
            raise ValueError(
                "A single NamedSharding spec specification can map every mesh axis to at most one positional dimension, but "
                f"{spec} has duplicate entries for `{name}`. Split one axis of the array over it, and leave it out of the others."
            )
        seen.add(name)


_jaxlib.set_spec_check(_check_spec)


def _sharding_of_type(split: TypeSharding | None, ndim: int) -> NamedSharding:
    """The sharding that `aval.sharding` returns, over a mesh without devices."""
    return (NamedSharding(meshes.get_abstract_mesh(), PartitionSpec(*[None] * ndim)) if split is None
            else NamedSharding(split.mesh, split.spec))


def _over_current_mesh(spec: PartitionSpec) -> NamedSharding | None:
    return None if (mesh := meshes.current_mesh()) is None else NamedSharding(mesh, spec)


set_sharding_maker(_sharding_of_type, _over_current_mesh)


# --- an XLA sharding ---


class _GSPMDMethods(_GSPMDBase):
    """A list of devices with an XLA sharding over them."""

    @property
    def is_fully_replicated(self) -> bool:
        return is_replicated(self._hlo_sharding)

    def _to_xla_hlo_sharding(self, num_dimensions: int) -> _jaxlib.HloSharding:
        return self._hlo_sharding

    def check_compatible_aval(self, aval_shape: Shape) -> None:
        if not is_replicated(self._hlo_sharding) and len(aval_shape) < tiled_rank(self._hlo_sharding):
            raise ValueError(_rank_misfit(self, tiled_rank(self._hlo_sharding), tuple(aval_shape)))

    def with_memory_kind(self, kind: str) -> GSPMDSharding:
        return GSPMDSharding(self._devices, self._hlo_sharding, memory_kind=kind)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, GSPMDSharding):
            return False
        return (
            self._memory_kind == other._memory_kind
            and self._internal_device_list == other._internal_device_list
            and are_equal_hlo_shardings(self._hlo_sharding, other._hlo_sharding)
        )

    def __hash__(self) -> int:
        hlo_sharding = REPLICATED if self.is_fully_replicated else self._hlo_sharding
        return hash((self._internal_device_list, hash(hlo_sharding), self._memory_kind))

    def __repr__(self) -> str:
        return f"GSPMDSharding({self._hlo_sharding!r}{_memory(self)})"

    def __reduce__(self) -> tuple[Any, Any]:
        ids = [(device.platform, device.id) for device in self._devices]
        return _gspmd_from_ids, (ids, self._hlo_sharding.to_proto().SerializeToString(), self._memory_kind)


def _gspmd_from_ids(ids: list[tuple[str, int]], serialized: bytes, memory_kind: str | None) -> GSPMDSharding:
    proto = _jaxlib.OpSharding()
    proto.ParseFromString(serialized)
    return GSPMDSharding([_device_from_id(*pair) for pair in ids], proto, memory_kind=memory_kind)


def get_replicated(devices: Any, *, memory_kind: str | None = None) -> GSPMDSharding:
    """The sharding that gives each of the devices the whole array."""
    return GSPMDSharding(devices, REPLICATED, memory_kind=memory_kind)


# --- putting the methods on jaxlib's classes ---

set_members(Sharding, _SharedMethods)
set_members(SingleDeviceSharding, _SingleDeviceMethods)
set_members(NamedSharding, _NamedMethods)
set_members(GSPMDSharding, _GSPMDMethods)
GSPMDSharding.get_replicated = staticmethod(get_replicated)


def devices_of(sharding: Sharding) -> tuple[Device, ...]:
    """The devices of a sharding, in its order."""
    return sharding._device_assignment


def have_same_devices(a: Sharding, b: Sharding) -> bool:
    """Whether two shardings are over the same devices, in one order."""
    return a._internal_device_list == b._internal_device_list


def hlo_sharding(sharding: Sharding, ndim: int) -> _jaxlib.HloSharding:
    """The XLA sharding of a sharding for arrays of a rank: a tiling over the positions in its list of devices."""
    return sharding._to_xla_hlo_sharding(ndim)


def is_manual(sharding: Sharding) -> bool:
    """Whether it is the sharding of arrays within a program that each device runs on its part."""
    return isinstance(sharding, GSPMDSharding) and sharding._hlo_sharding.is_manual()


@functools.lru_cache(maxsize=1024)
def on_device(device: Device) -> SingleDeviceSharding:
    """The sharding of an array on one device; one object per device, so that comparing it is cheap."""
    return SingleDeviceSharding(device)


def as_sharding(target: Any) -> Sharding:
    """A device as the sharding that puts everything there; a sharding as it is.

    Raises:
        TypeError: the target is neither.
    """
    if isinstance(target, Sharding):
        return target
    if isinstance(target, _jaxlib.Device):
        return on_device(target)
    raise TypeError(f"expected a device or a sharding, got {target!r} of type {type(target).__name__}")
