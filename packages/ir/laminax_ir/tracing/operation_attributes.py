"""Attributes of operations for the compiler: texts by name, which XLA keeps with an operation (`set_xla_metadata`).

The attributes of an operation are in the name stack of its source, so that its derivatives and batched forms have them too. The ambient
value `attributes_around` has the attributes in force around a program: programs are traced with them, and caches tell programs apart by
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from laminax_ir.options.ambient import UNSET, define_ambient
from laminax_ir.options.restoring import Restoring
from laminax_ir.tracing.name_stacks import TRANSPOSE, Attributes, NameStack
from laminax_ir.tracing.trace import state

attributes_around = define_ambient(
    "operation_attributes", (),
    "Attributes for the compiler that operations are given, as pairs of a name and a text in order; set by set_xla_metadata.")
in_use: set[str] = set()  # the names of all attributes given so far: while it is empty, name stacks need no search


def attributes_of(name_stack: Sequence[str]) -> dict[str, str]:
    """The attributes of an operation with this name stack: inner changes go over outer ones."""
    found: dict[str, str | None] = {}
    is_backward = False
    for name in name_stack:
        if type(name) is Attributes:
            found.update(name.backward if is_backward and name.backward is not None else name.changes)
        elif name is TRANSPOSE:
            is_backward = True
    return {name: text for name, text in found.items() if text is not None}


class changed_attributes(Restoring):
    """Context manager: gives the operations inside attributes beside those of the block around, or takes some of these away.

    Args:
      changes: values by name, each given as its text (`true` for True); None takes the attribute away.
      backward: other changes for the operations that transposition makes of those inside.
    """

    __slots__ = ("_texts", "_backward")

    def __init__(self, changes: Mapping[str, Any], backward: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self._texts = _texts(changes)
        self._backward = None if backward is None else _texts(backward)

    def _recreate_cm(self) -> changed_attributes:
        return changed_attributes(self._texts, self._backward)

    def _present(self) -> tuple[Any, NameStack]:
        return attributes_around.get_local(), state.name_stack

    def _change(self) -> None:
        inner = {name: text for name, text in {**dict(attributes_around.value), **self._texts}.items() if text is not None}
        in_use.update(self._texts, self._backward or ())
        attributes_around.set_local(tuple(sorted(inner.items())) or UNSET)
        state.name_stack = NameStack((*state.name_stack, Attributes(self._texts, self._backward)))

    def _put_back(self, before: tuple[Any, NameStack]) -> None:
        attributes, state.name_stack = before
        attributes_around.set_local(attributes)


def _texts(changes: Mapping[str, Any]) -> dict[str, str | None]:
    return {name: None if value is None else attribute_text(value) for name, value in changes.items()}


def attribute_text(value: Any) -> str:
    """An attribute's value as the compiler gets it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def names_of_programs() -> NameStack:
    """The beginning of the name stacks in a program that is traced inside of `changed_attributes`."""
    return NameStack((Attributes(dict(attributes_around.value)),))
