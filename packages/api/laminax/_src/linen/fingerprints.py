"""Fingerprints of modules: hashable values that are equal where modules behave alike, wherever they are used."""

from __future__ import annotations

import dataclasses
from typing import Any, Hashable, Mapping

from laminax._src.linen.base import ModuleBase, ModuleState, own_fields
from laminax._src.linen.scope import Variable


@dataclasses.dataclass(frozen=True)
class _Identical:
    """A value without a hash, equal to itself only."""
    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identical) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


class Fingerprint:
    """The fingerprints of the parts of one call. A module that occurs again is the number that it was first given."""

    def __init__(self) -> None:
        self.numbers: dict[int, int] = {}

    def of(self, value: Any) -> Hashable:
        """The fingerprint of a module, of a container, or of any value: itself, where it has a hash."""
        if isinstance(value, ModuleBase):
            return self._of_module(value)
        if isinstance(value, Variable):
            return Variable, value.collection, value.name, value.unbox
        if isinstance(value, Mapping):
            return type(value), tuple((key, self.of(item)) for key, item in value.items())
        if isinstance(value, (list, tuple)):
            return type(value), tuple(self.of(item) for item in value)
        try:
            hash(value)
        except Exception:  # a class without a hash, or whose hash fails
            return _Identical(value)
        return type(value), value  # 1, 1.0 and True are equal, and not alike

    def _of_module(self, module: Any) -> Hashable:
        if id(module) in self.numbers:
            return self.numbers[id(module)]
        self.numbers[id(module)] = len(self.numbers)
        return (type(module), module.scope is None, self.of_state(module._state),
                tuple(self.of(getattr(module, name)) for name in own_fields(module)))

    def of_state(self, state: ModuleState) -> Hashable:
        """What a clone takes over of a module's state."""
        return state.in_compact_method, state.in_setup, tuple(state.autoname_cursor.items())
