"""Partition specs: over which axes of a mesh each axis of an array is split."""

from __future__ import annotations

import enum
from collections.abc import Hashable, Iterator
from typing import Any


class UnconstrainedType:
    """The type of `PartitionSpec.UNCONSTRAINED`: the compiler decides how this axis is split."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNCONSTRAINED"

    def __reduce__(self) -> str:
        return "UNCONSTRAINED"


UNCONSTRAINED = UnconstrainedType()


class UnreducedKind(enum.Enum):
    """What has not been done over the mesh axes that a spec calls unreduced."""

    sum = enum.auto()
    max = enum.auto()
    min = enum.auto()


class P:
    """For each axis of an array, the mesh axes that it is split over.

    Args:
      *partitions: per axis a name of a mesh axis, a tuple of names (the first varies slowest), None for an axis that is
        whole on every device, or `PartitionSpec.UNCONSTRAINED`. Axes beyond the last entry are whole.
      unreduced: names of mesh axes over which the devices hold parts of a sum that has not been made.
      reduced: names of mesh axes over which a sum has been made.
      unreduced_kind: what has not been made: a sum, which it is by default where names are unreduced.

    Raises:
      NotImplementedError: for a maximum or minimum that has not been made.
      ValueError: if a name is both in the entries and in `unreduced` or `reduced`, or in both of these.
      TypeError: if `unreduced` or `reduced` is no set of names.

    Example:
      >>> PartitionSpec("data", None, ("model", "expert"))
      P('data', None, ('model', 'expert'))
    """

    __slots__ = ("partitions", "unreduced", "reduced", "_hash")

    UNCONSTRAINED = UNCONSTRAINED

    partitions: tuple[Any, ...]
    unreduced: frozenset[Any]
    reduced: frozenset[Any]
    _hash: int

    def __init__(self, *partitions: Any, unreduced: Any = frozenset(), reduced: Any = frozenset(),
                 unreduced_kind: UnreducedKind | None = None) -> None:
        put = object.__setattr__
        put(self, "partitions", tuple(map(_normal_entry, partitions)))
        put(self, "unreduced", _normal_set("unreduced", unreduced))
        put(self, "reduced", _normal_set("reduced", reduced))
        try:
            put(self, "_hash", hash((self.partitions, self.unreduced, self.reduced)))
        except TypeError as error:
            raise TypeError("PartitionSpec: an entry must be None, the name of a mesh axis, or a tuple of names, which are hashable; "
                            f"got {partitions!r} ({error})") from None
        if self.unreduced or self.reduced:
            self._check_sets()
        if unreduced_kind is not None:
            check_unreduced_kind("PartitionSpec", unreduced_kind, self.unreduced)

    @property
    def unreduced_kind(self) -> UnreducedKind | None:
        """What has not been made over the unreduced axes: a sum; None without such axes."""
        return UnreducedKind.sum if self.unreduced else None

    def to_tangent_spec(self) -> P:
        """How tangents of an array that is split so are split: as the array is."""
        return self

    def to_ct_spec(self) -> P:
        """How cotangents of such an array are split: its `unreduced` axes are `reduced` in them, and the other way round."""
        return self.update(unreduced=self.reduced, reduced=self.unreduced)

    def to_lo(self) -> list[P]:
        """The specs of the arrays that a value consists of: this one."""
        return [self]

    def _check_sets(self) -> None:
        split = set(self.names())
        for what, names in (("unreduced", self.unreduced), ("reduced", self.reduced)):
            if split & names:
                raise ValueError(f"PartitionSpec: {sorted(split & names, key=str)} cannot both split an axis and be in {what}; got "
                                 f"{self!r}")
        if self.unreduced & self.reduced:
            raise ValueError(f"PartitionSpec: {sorted(self.unreduced & self.reduced, key=str)} cannot be both in unreduced and in "
                             f"reduced; got {self!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"PartitionSpec is immutable; use update(partitions=...) to make another one, not {name} = ...")

    def names(self) -> Iterator[Hashable]:
        """The mesh axes that split an axis of the array, in order."""
        for entry in self.partitions:
            if type(entry) is tuple:
                yield from entry
            elif entry is not None and entry is not UNCONSTRAINED:
                yield entry

    def update(self, **changes: Any) -> PartitionSpec:
        """The spec that differs in the given ones of `partitions`, `unreduced`, `reduced` and `unreduced_kind`."""
        fields = {"partitions": self.partitions, "unreduced": self.unreduced, "reduced": self.reduced, **changes}
        return PartitionSpec(*fields.pop("partitions"), **fields)

    def index(self, value: Any) -> int:
        """The position of the first entry equal to `value`."""
        return self.partitions.index(_normal_entry(value))

    def count(self, value: Any) -> int:
        """How many entries equal `value`."""
        return self.partitions.count(_normal_entry(value))

    def __len__(self) -> int:
        return len(self.partitions)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.partitions)

    def __getitem__(self, index: int | slice) -> Any:
        return self.partitions[index]

    def __add__(self, other: Any) -> PartitionSpec:
        if isinstance(other, PartitionSpec):
            return PartitionSpec(*self.partitions, *other.partitions, unreduced=self.unreduced | other.unreduced,
                                 reduced=self.reduced | other.reduced)
        return self.update(partitions=self.partitions + tuple(other)) if isinstance(other, tuple) else NotImplemented

    def __radd__(self, other: Any) -> PartitionSpec:
        return self.update(partitions=other + self.partitions) if isinstance(other, tuple) else NotImplemented

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (isinstance(other, PartitionSpec) and self.partitions == other.partitions and self.unreduced == other.unreduced
                and self.reduced == other.reduced)

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_parts, (self.partitions, self.unreduced, self.reduced)

    def __init_subclass__(cls, **_options: Any) -> None:
        raise TypeError(f"Subclassing `jax.P` is prohibited: specs are compared by their type. Keep a spec in {cls.__name__} instead.")

    def __repr__(self) -> str:
        entries = ", ".join(map(repr, self.partitions)) + ("," if len(self.partitions) == 1 else "")
        sets = [f"{name}={{{', '.join(map(repr, sorted(value, key=str)))}}}"
                for name, value in (("unreduced", self.unreduced), ("reduced", self.reduced)) if value]
        return f"P({', '.join([*([entries.rstrip(',') if sets else entries] if entries else []), *sets])})"


PartitionSpec = P


def check_unreduced_kind(name: str, kind: Any, unreduced: frozenset) -> None:
    """Sums are the only ones that are known here.

    Raises:
      TypeError: if it is no `UnreducedKind`.
      ValueError: if nothing is unreduced.
      NotImplementedError: for maxima and minima.
    """
    if not isinstance(kind, UnreducedKind):
        raise TypeError(f"{name}: unreduced_kind must be an UnreducedKind or None, got {kind!r} of type {type(kind).__name__}")
    if not unreduced:
        raise ValueError(f"{name}: unreduced_kind is {kind}, but no mesh axis is in unreduced. Leave it out, or name the axes.")
    if kind is not UnreducedKind.sum:
        raise NotImplementedError(f"{name}: unreduced_kind={kind} is not supported: only sums can be left open over mesh axes. Take the "
                                  f"{kind.name}imum with lax.p{kind.name} instead.")


def _normal_entry(entry: Any) -> Any:
    """A tuple of one name as the name, an empty one as None."""
    if isinstance(entry, (tuple, list)):
        names = tuple(entry)
        if any(isinstance(name, (tuple, list)) for name in names):
            raise ValueError(f"A tuple inside PartitionSpec cannot contain a nested tuple. Got {names}. Write the names one after the "
                             f"other.")
        return None if not names else names[0] if len(names) == 1 else names
    return entry


def _normal_set(name: str, value: Any) -> frozenset[Any]:
    if not isinstance(value, (set, frozenset)):
        raise TypeError(f"PartitionSpec: {name} must be a set of names of mesh axes, got {value!r} of type {type(value).__name__}")
    if None in value:
        raise ValueError(f"PartitionSpec: {name} cannot contain None; got {value!r}")
    return frozenset(value)


def _from_parts(partitions: tuple[Any, ...], unreduced: frozenset[Any], reduced: frozenset[Any]) -> PartitionSpec:
    return PartitionSpec(*partitions, unreduced=unreduced, reduced=reduced)
