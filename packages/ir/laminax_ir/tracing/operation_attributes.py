"""Attributes of operations for the compiler: texts by name, which XLA keeps with an operation (`set_xla_metadata`).

Those of an operation are in the name stack of its source, so that its derivatives and batches have them too. The option
`operation_attributes` has those in force around a program: programs are traced with them, and caches tell programs apart by them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from laminax_ir.options import config
from laminax_ir.tracing.name_stacks import Attributes, NameStack
from laminax_ir.tracing.trace import state

in_use: list[None] = []  # an entry once there have been any: until then nobody need look


def attributes_of(name_stack: Sequence[str]) -> dict[str, str]:
    """The attributes of an operation with this name stack: inner changes go over outer ones."""
    found: dict[str, str | None] = {}
    for name in name_stack:
        if type(name) is Attributes:
            found.update(name.changes)
    return {name: text for name, text in found.items() if text is not None}


@contextmanager
def changed_attributes(changes: Mapping[str, Any]) -> Iterator[None]:
    """Gives the operations inside attributes beside those of the block around, or takes some of these away.

    Args:
      changes: by name the value, of which the text counts (`true` for True), or None, which takes the attribute away.
    """
    texts = {name: None if value is None else attribute_text(value) for name, value in changes.items()}
    outer = dict(config.operation_attributes.value or ())
    inner = {name: text for name, text in {**outer, **texts}.items() if text is not None}
    in_use[:] = [None]
    names, state.name_stack = state.name_stack, NameStack((*state.name_stack, Attributes(texts)))
    try:
        with config.operation_attributes(tuple(inner.items())):
            yield
    finally:
        state.name_stack = names


def attribute_text(value: Any) -> str:
    """An attribute's value as the compiler gets it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def names_of_programs() -> NameStack:
    """What the name stack begins with in a program that is traced inside of `changed_attributes`."""
    return NameStack((Attributes(dict(config.operation_attributes.value or ())),))
