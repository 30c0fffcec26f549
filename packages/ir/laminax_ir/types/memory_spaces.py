"""Kinds of memory, as types say it: values of type `f32<host>[8,2]` lie in the host's memory, those of type `f32[8,2]` in the device's own.

Operations compute where their operands lie, and these must lie in one kind of memory, scalars apart; `device_put` moves values.
Source: JAX's documentation, "JAX Memories and Host Offloading".
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

HOST_KIND = "pinned_host"


class MemorySpace(enum.Enum):
    """A kind of memory: the device's own, or the host's that the device can reach. `Any` stands for a kind that is not known."""

    Device = enum.auto()
    Host = enum.auto()
    Any = enum.auto()

    def __repr__(self) -> str:
        return f"MemorySpace.{self.name}"

    __hash__ = object.__hash__  # there is one object of each; that of the name is a call in Python


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


def result_space(primitive: Any, avals: Sequence[Any]) -> MemorySpace:
    """Where the results of an operation lie: with its operands; for one whose results have types of their own, `Device` leaves them as they are.

    Raises:
      ValueError: if operands that are no scalars lie in several kinds of memory.
    """
    if primitive.family == "indexing" and primitive.name.startswith("scatter") or primitive.name == "broadcast_in_dim":
        return avals[0].memory_space
    if primitive.name == "call_exported":
        return MemorySpace.Device
    if avals and all(aval.memory_space is MemorySpace.Any for aval in avals):
        return MemorySpace.Any
    first = None
    for aval in avals:
        if aval.ndim:
            if first is None:
                first = aval
            elif aval.memory_space is not first.memory_space:
                raise ValueError(
                    f"memory_space of all inputs passed to `{primitive.name}` must be the same. Got one operand with type: "
                    f"{first.str_short(short_dtypes=False)} and another operand with type: {aval.str_short(short_dtypes=False)}. Move one of them with "
                    "device_put(x, memory.Space.Device) or device_put(x, memory.Space.Host).")
    return MemorySpace.Device if first is None else first.memory_space
