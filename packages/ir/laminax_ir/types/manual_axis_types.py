"""How a value inside of a checked `shard_map` differs from device to device: the type of `typeof(x).mat`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from laminax_ir.types.partition_specs import PartitionSpec, UnreducedKind, check_unreduced_kind, refuse_extrema


@dataclass(frozen=True, kw_only=True)
class ManualAxisType:
    """How a value inside of a checked `shard_map` differs from device to device: `typeof(x).mat`.

    Args:
      varying: the mesh axes along which devices may have different values.
      unreduced: the mesh axes along which each device has one term of a sum that is the value.
      reduced: the mesh axes along which all devices have the value, and its cotangent is such a sum.
      unreduced_kind: what the terms are of: a sum, which it is by default where axes are unreduced.

    Raises:
      NotImplementedError: for terms of a maximum or minimum.
      TypeError: if one of them is no set.
      ValueError: if an axis along which the value varies is in another one too.
    """
    varying: frozenset[Any] = frozenset()
    unreduced: frozenset[Any] = frozenset()
    reduced: frozenset[Any] = frozenset()
    unreduced_kind: UnreducedKind | None = None

    def __post_init__(self) -> None:
        for name in ("varying", "unreduced", "reduced"):
            value = getattr(self, name)
            if not isinstance(value, (set, frozenset)):
                raise TypeError(f"ManualAxisType: {name} must be a set of names of mesh axes, got {value!r} of type {type(value).__name__}")
            object.__setattr__(self, name, frozenset(value))
        for name in ("unreduced", "reduced"):
            if common := self.varying & getattr(self, name):
                raise ValueError(f"ManualAxisType: a value cannot vary along an axis that is in {name}; "
                                 f"got {sorted(common, key=str)} in both")
        if self.unreduced_kind is not None:
            check_unreduced_kind("ManualAxisType", self.unreduced_kind, self.unreduced)
            refuse_extrema("ManualAxisType", PartitionSpec(unreduced=self.unreduced, unreduced_kind=self.unreduced_kind))
        elif self.unreduced:
            object.__setattr__(self, "unreduced_kind", UnreducedKind.sum)

    def __copy__(self) -> ManualAxisType:
        return self

    def __deepcopy__(self, memo: dict[Any, Any]) -> ManualAxisType:
        return self

    @property
    def vur(self) -> frozenset[Any]:
        """All axes that it names."""
        return self.varying | self.unreduced | self.reduced

    @property
    def empty(self) -> bool:
        """Whether it names no axis."""
        return not self.vur

    def invarying(self, mesh: Any) -> frozenset[Any]:
        """The manual axes of a mesh that it does not name."""
        return frozenset(mesh.manual_axes) - self.vur

    def update(self, **changes: Any) -> ManualAxisType:
        """The type that differs in the given fields."""
        if "unreduced" in changes:
            changes.setdefault("unreduced_kind", None)
        return replace(self, **changes)

    def to_ct_mat(self) -> ManualAxisType:
        """The type of the cotangents of such a value: its `unreduced` axes are `reduced` in them, and the other way round."""
        return ManualAxisType(varying=self.varying, unreduced=self.reduced, reduced=self.unreduced)
