"""Abstract meshes: grids of devices with named axes, known by their sizes and names alone."""

from __future__ import annotations

import collections
import enum
import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from laminax_ir.types.arguments import check_hashable

# Holds "explicit axes" once a type may have a sharding, and "memories" once a type may have a memory space; empty, no type has either.
in_use: set[str] = set()


class AxisType(enum.Enum):
    """Who decides how arrays are split over a mesh axis: the compiler, the types in the program, or the programmer."""

    Auto = enum.auto()
    Explicit = enum.auto()
    Manual = enum.auto()

    def __repr__(self) -> str:
        return self.name

    __str__ = __repr__


class NamedGrid:
    """The common base of meshes of devices and abstract meshes: axes with sizes, names and types.

    Subclasses set `axis_sizes`, `axis_names` and `axis_types`.
    """

    axis_sizes: tuple[int, ...]
    axis_names: tuple[Hashable, ...]
    axis_types: tuple[AxisType, ...]

    @property
    def shape(self) -> collections.OrderedDict[Hashable, int]:
        """The size of each axis, by name."""
        return collections.OrderedDict(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def shape_tuple(self) -> tuple[tuple[Hashable, int], ...]:
        """Pairs of an axis' name and its size."""
        return tuple(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def size(self) -> int:
        """How many devices there are; an empty mesh has none."""
        return math.prod(self.axis_sizes) if self.axis_names else 0

    @property
    def empty(self) -> bool:
        return not self.axis_names

    def _axes_of_type(self, kind: AxisType) -> tuple[Hashable, ...]:
        return tuple(name for name, found in zip(self.axis_names, self.axis_types, strict=True) if found is kind)

    @property
    def auto_axes(self) -> tuple[Hashable, ...]:
        return self._axes_of_type(AxisType.Auto)

    @property
    def explicit_axes(self) -> tuple[Hashable, ...]:
        return self._axes_of_type(AxisType.Explicit)

    @property
    def manual_axes(self) -> tuple[Hashable, ...]:
        return self._axes_of_type(AxisType.Manual)

    @property
    def are_all_axes_auto(self) -> bool:
        return all(kind is AxisType.Auto for kind in self.axis_types)

    @property
    def are_all_axes_explicit(self) -> bool:
        return all(kind is AxisType.Explicit for kind in self.axis_types)

    @property
    def are_all_axes_manual(self) -> bool:
        return all(kind is AxisType.Manual for kind in self.axis_types)

    @property
    def are_all_axes_explicit_or_manual(self) -> bool:
        return AxisType.Auto not in self.axis_types

    @property
    def is_scalar(self) -> bool:
        """Whether it is one device, and has no axes."""
        return self.size == 1 and not self.axis_names

    def _describe(self) -> str:
        axes = ", ".join(f"{name!r}: {size}" for name, size in self.shape_tuple)
        return f"{axes}, axis_types={self.axis_types}" if axes else ""


class AbstractMesh(NamedGrid):
    """A mesh without devices: what a program needs to know of the mesh it runs on.

    Args:
      axis_sizes: the size of each axis.
      axis_names: a hashable name per axis; a string for a mesh of one axis.
      axis_types: one type for all axes, one per axis, or None: all `AxisType.Explicit`, as in `make_mesh`.
      abstract_device: the kind of device that the mesh is of, a `sharding.AbstractDevice`, or None where that does not matter.

    Raises:
      ValueError: if their numbers differ or a name comes twice.

    Example:
      >>> AbstractMesh((4, 2), ("data", "model"))
      AbstractMesh('data': 4, 'model': 2, axis_types=(Explicit, Explicit))
    """

    def __init__(self, axis_sizes: Sequence[int], axis_names: str | Sequence[Hashable],
                 axis_types: AxisType | Sequence[AxisType] | None = None, *, abstract_device: Any = None) -> None:
        self.abstract_device = abstract_device
        self.axis_sizes: tuple[int, ...] = tuple(axis_sizes)
        self.axis_names: tuple[Hashable, ...] = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
        self.axis_types: tuple[AxisType, ...] = normal_axis_types("AbstractMesh", axis_types, len(self.axis_names),
                                                                       AxisType.Explicit)
        if len(self.axis_sizes) != len(self.axis_names):
            raise ValueError(f"AbstractMesh: {len(self.axis_sizes)} axis sizes, {self.axis_sizes}, but {len(self.axis_names)} names, "
                             f"{self.axis_names}. Name each axis.")
        check_hashable("AbstractMesh", "an axis name", *self.axis_names)
        if len(set(self.axis_names)) != len(self.axis_names):
            raise ValueError(f"AbstractMesh: the axis names {self.axis_names} are not distinct")
        self._key = (self.axis_sizes, self.axis_names, self.axis_types, abstract_device)
        self._hash = hash(self._key)

    @property
    def abstract_mesh(self) -> AbstractMesh:
        return self

    _internal_device_list = None  # an attribute that jaxlib's NamedSharding reads

    def update(self, axis_sizes: Sequence[int] | None = None, axis_names: Sequence[Hashable] | None = None,
               axis_types: Sequence[AxisType] | None = None, **device: Any) -> AbstractMesh:
        """The mesh that differs in what is given; `abstract_device` may be given too, also None."""
        return AbstractMesh(self.axis_sizes if axis_sizes is None else axis_sizes,
                            self.axis_names if axis_names is None else axis_names,
                            self.axis_types if axis_types is None else axis_types, **{"abstract_device": self.abstract_device, **device})

    devices: property = property(lambda self: _refuse_devices("devices"), doc="Refused: there are none.")
    device_ids: property = property(lambda self: _refuse_devices("device_ids"), doc="Refused: there are no devices.")
    local_devices: property = property(lambda self: _refuse_devices("local_devices"), doc="Refused: there are no devices.")
    local_mesh: property = property(lambda self: _refuse_devices("local_mesh"), doc="Refused: there are no devices.")
    is_multi_process: property = property(lambda self: _refuse_devices("is_multi_process"), doc="Refused: there are no devices.")

    def update_axis_types(self, name_to_type: Mapping[Hashable, AxisType]) -> AbstractMesh:
        """The mesh whose axes of the given names have other types."""
        return self.update(axis_types=tuple(name_to_type.get(name, kind) for name, kind in zip(self.axis_names, self.axis_types)))

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, AbstractMesh) and self._key == other._key)

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return _mesh_of_parts, self._key

    def __repr__(self) -> str:
        device = "" if self.abstract_device is None else f", {self.abstract_device!r}"
        return f"AbstractMesh({self._describe() or '()'}{device})"


class NoDevicesError(ValueError, AttributeError):
    """A mesh without devices was asked for them; `hasattr` answers no."""


def _refuse_devices(name: str) -> Any:
    raise NoDevicesError(f"AbstractMesh does not implement {name}: it has no devices. Make a Mesh of devices with these axes.")


def _mesh_of_parts(sizes: tuple, names: tuple, types: tuple, abstract_device: Any) -> AbstractMesh:
    return AbstractMesh(sizes, names, types, abstract_device=abstract_device)


def normal_axis_types(what: str, axis_types: Any, count: int, usual: AxisType = AxisType.Auto) -> tuple[AxisType, ...]:
    """One type per axis, the usual one by default.

    Raises:
      TypeError: if a value is no axis type.
      ValueError: if their number is not `count`.
    """
    if axis_types is None:
        axis_types = usual
    types = (axis_types,) * count if isinstance(axis_types, AxisType) else tuple(axis_types)
    for kind in types:
        if not isinstance(kind, AxisType):
            raise TypeError(f"{what}: axis_types must be AxisType values, got {kind!r} of type {type(kind).__name__}")
    if len(types) != count:
        raise ValueError(f"{what}: Number of axis names should match the number of axis_types. Got {count} names and {len(types)} "
                         f"axis_types: {types}")
    if AxisType.Explicit in types:
        in_use.add("explicit axes")
    return types
