"""Kinds of memory, as types say it: values of type `f32<host>[8,2]` lie in the host's memory, those of type `f32[8,2]` in the device's own.

Operations compute where their operands lie, and these must lie in one kind of memory, scalars apart; `device_put` moves values.
Source: JAX's documentation, "JAX Memories and Host Offloading".
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

HOST_KIND = "pinned_host"


class MemorySpace(enum.Enum):
    """A kind of memory: the device's own, or the host's that the device can reach. `Any` stands for a kind that is not known."""

    Device = enum.auto()
    Host = enum.auto()
    Any = enum.auto()

    def __repr__(self) -> str:
        return f"MemorySpace.{self.name}"

    if not TYPE_CHECKING:
        __hash__ = object.__hash__  # each is one object; the enumeration's own hash, by name, is a call in Python


def space_of_kind(kind: str | None) -> MemorySpace:
    """The kind of memory in types for the name that devices have for one: all but "pinned_host" count as the device's own."""
    return MemorySpace.Host if kind == HOST_KIND else MemorySpace.Device


def kind_of_space(space: MemorySpace) -> str:
    """The devices' name for a kind of memory.

    Raises:
      ValueError: for `Any`.
    """
    if space is MemorySpace.Any:
        raise ValueError("memory.Space.Any names no memory to put values in. Give Space.Device or Space.Host.")
    return HOST_KIND if space is MemorySpace.Host else "device"
