"""Partition specs: over which axes of a mesh each axis of an array is split."""

from __future__ import annotations

import enum
from collections.abc import Hashable, Iterator
from typing import Any
from weakref import WeakValueDictionary


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
      unreduced_kind: what has not been made: a sum, which it is by default where names are unreduced. No program can leave open a
        maximum or a minimum: a spec may say so, and what takes one refuses it.

    Equal specs are one object, so that comparing them mostly compares addresses.

    Raises:
      ValueError: if a name is both in the entries and in `unreduced` or `reduced`, or in both of these, or a kind is given for no axes.
      TypeError: if `unreduced` or `reduced` is no set of names, or `unreduced_kind` no `UnreducedKind`.

    Example:
      >>> PartitionSpec("data", None, ("model", "expert"))
      P('data', None, ('model', 'expert'))
    """

    __slots__ = ("partitions", "unreduced", "reduced", "unreduced_kind", "_hash", "__weakref__")

    UNCONSTRAINED = UNCONSTRAINED

    partitions: tuple[Any, ...]
    unreduced: frozenset[Any]
    reduced: frozenset[Any]
    unreduced_kind: UnreducedKind | None
    _hash: int

    def __new__(cls, *partitions: Any, unreduced: Any = frozenset(), reduced: Any = frozenset(),
                unreduced_kind: UnreducedKind | None = None) -> P:
        entries = tuple(map(_normal_entry, partitions))
        unreduced, reduced = _normal_set("unreduced", unreduced), _normal_set("reduced", reduced)
        kind = UnreducedKind.sum if unreduced and unreduced_kind is None else unreduced_kind
        parts = (entries, unreduced, reduced, kind)
        try:
            known = _specs.get(parts)
        except TypeError as error:
            raise TypeError("PartitionSpec: an entry must be None, the name of a mesh axis, or a tuple of names, which are hashable; "
                            f"got {partitions!r} ({error})") from None
        return _new_spec(parts) if known is None else known

    def to_tangent_spec(self) -> P:
        """How tangents of an array that is split so are split: as the array is."""
        return self

    def to_ct_spec(self) -> P:
        """How cotangents of such an array are split: its `unreduced` axes are `reduced` in them, and the other way round.

        Raises:
          NotImplementedError: for maxima and minima, which have no such cotangents.
        """
        refuse_extrema("to_ct_spec", self)
        return self.update(unreduced=self.reduced, reduced=self.unreduced)

    def to_lo(self) -> list[P]:
        """The specs of the arrays that a value consists of: this one."""
        return [self]

    def _check_sets(self) -> None:
        split = set(self.names())
        for what, names in (("unreduced", self.unreduced), ("reduced", self.reduced)):
            if split & names:
                raise ValueError(f"PartitionSpec: partitions cannot overlap with {what}: {sorted(split & names, key=str)} cannot both "
                                 f"split an axis and be in {what}; got {self!r}")
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
        if fields["unreduced"]:
            fields.setdefault("unreduced_kind", self.unreduced_kind)
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
            if None is not self.unreduced_kind is not other.unreduced_kind is not None:
                raise TypeError(f"PartitionSpec: {self} and {other} cannot be added, since their unreduced_kind differs.")
            return PartitionSpec(*self.partitions, *other.partitions, unreduced=self.unreduced | other.unreduced,
                                 reduced=self.reduced | other.reduced, unreduced_kind=self.unreduced_kind or other.unreduced_kind)
        return PartitionSpec(*self.partitions, *other) if self._takes(other, "__add__") else NotImplemented

    def __radd__(self, other: Any) -> PartitionSpec:
        return PartitionSpec(*other, *self.partitions) if self._takes(other, "__radd__") else NotImplemented

    def _takes(self, other: Any, method: str) -> bool:
        """Whether an operand of an addition is a tuple of entries.

        Raises:
          TypeError: if it is and this spec has sets of axes, of which the tuple says nothing.
        """
        if isinstance(other, tuple) and (self.unreduced or self.reduced):
            raise TypeError(f"a tuple, {other}, cannot be added to {self}, which has {'unreduced' if self.unreduced else 'reduced'} in "
                            f"`{method}` of PartitionSpec. Use update(partitions=...), or add PartitionSpec(...).")
        return isinstance(other, tuple)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (isinstance(other, PartitionSpec) and self.partitions == other.partitions and self.unreduced == other.unreduced
                and self.reduced == other.reduced and self.unreduced_kind is other.unreduced_kind)

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_parts, (self.partitions, self.unreduced, self.reduced, self.unreduced_kind)

    def __init_subclass__(cls, **_options: Any) -> None:
        raise TypeError(f"Subclassing `jax.P` is prohibited: specs are compared by their type. Keep a spec in {cls.__name__} instead.")

    def __repr__(self) -> str:
        entries = ", ".join(map(repr, self.partitions)) + ("," if len(self.partitions) == 1 else "")
        sets = [f"{name}={{{', '.join(map(repr, sorted(value, key=str)))}}}"
                for name, value in (("unreduced", self.unreduced), ("reduced", self.reduced)) if value]
        if self.unreduced_kind is not None:
            sets.append(f"unreduced_kind={self.unreduced_kind.name}")
        return f"P({', '.join([*([entries.rstrip(',') if sets else entries] if entries else []), *sets])})"


PartitionSpec = P

_specs: WeakValueDictionary[tuple[Any, ...], P] = WeakValueDictionary()


def _new_spec(parts: tuple[Any, ...]) -> P:
    """The spec of these parts, which was not known; where two threads make it at once, the two are equal."""
    spec, put = object.__new__(P), object.__setattr__
    for name, value in zip(("partitions", "unreduced", "reduced", "unreduced_kind"), parts):
        put(spec, name, value)
    put(spec, "_hash", hash(parts))
    check_unreduced_kind("PartitionSpec", spec.unreduced_kind, spec.unreduced)
    if spec.unreduced or spec.reduced:
        spec._check_sets()
    _specs[parts] = spec
    return spec


def check_unreduced_kind(name: str, kind: Any, unreduced: frozenset) -> None:
    """A kind goes with axes that are unreduced.

    Raises:
      TypeError: if it is no `UnreducedKind`.
      ValueError: if nothing is unreduced.
    """
    if kind is None:
        return
    if not isinstance(kind, UnreducedKind):
        raise TypeError(f"{name}: Expected unreduced_kind to be of type `UnreducedKind`, or None, got {kind!r} of type "
                        f"{type(kind).__name__}")
    if not unreduced:
        raise ValueError(f"{name}: unreduced_kind is {kind}, but no mesh axis is in unreduced. Leave it out, or name the axes.")


def refuse_extrema(name: str, spec: P) -> None:
    """Raises NotImplementedError for a spec of a maximum or minimum that has not been made: only sums can be left open in programs."""
    kind = spec.unreduced_kind
    if kind is not None and kind is not UnreducedKind.sum:
        raise NotImplementedError(f"{name}: unreduced_kind={kind} of {spec} is not supported: only sums can be left open over mesh axes. "
                                  f"Take the {kind.name}imum with lax.p{kind.name} instead.")


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


def _from_parts(partitions: tuple[Any, ...], unreduced: frozenset[Any], reduced: frozenset[Any],
                unreduced_kind: UnreducedKind | None = None) -> PartitionSpec:
    return PartitionSpec(*partitions, unreduced=unreduced, reduced=reduced, unreduced_kind=unreduced_kind)
