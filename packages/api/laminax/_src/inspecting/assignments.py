"""The compiler's assignment of buffers: which values lie in memory, how large they are, and which of them share it.

The compiler tells it with a program's memory statistics, as a message of `xla/service/hlo.proto`, `BufferAssignmentProto`. Instructions
have numbers in it, and names in the module's own message.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from laminax._src.inspecting.compiled_text import Index
from laminax._src.inspecting.wire import fields, packed

Kind = Literal["argument", "result", "temporary", "constant", "reusing"]
Position = tuple[str, Index]  # the name of an instruction, and the place of an array in its result


@dataclass(frozen=True, slots=True)
class Allocation:
    """A piece of memory that the program has while it runs."""

    number: int
    size: int
    kind: Kind
    parameter: int | None  # the number of the argument that lies in it


@dataclass(slots=True)
class Value:
    """A value in memory, and all that share its place: the compiler's `HloBuffer`.

    Attributes:
      size: its bytes.
      positions: where its parts are made.
      allocation: the memory in which it lies, if the compiler says so.
      offset: where it begins there.
    """

    size: int
    positions: list[Position]
    allocation: Allocation | None = None
    offset: int = 0


def read_assignment(message: bytes, module: bytes) -> list[Value]:
    """The values of a buffer assignment.

    Args:
      message: the assignment, from the memory statistics.
      module: the module that it is about, `HloModuleProto`.
    """
    names = _instruction_names(module)
    positions: dict[int, Position] = {}
    sizes: dict[int, int] = {}
    aliases: list[tuple[int, Position]] = []
    allocations: dict[int, tuple[Allocation, int]] = {}
    for number, value in fields(message):
        if not isinstance(value, bytes):
            continue
        if number == 1:
            buffer: dict[int, Any] = dict(fields(value))
            own = buffer.get(1, 0)  # numbers that are 0 are left out
            sizes[own], positions[own] = buffer.get(2, 0), _position(buffer[3], names)
        elif number == 2:
            alias: dict[int, Any] = dict(fields(value))
            aliases.append((alias.get(1, 0), _position(alias[2], names)))
        elif number == 3:
            allocation, assigned = _allocation(value)
            for buffer_id, offset in assigned:
                allocations[buffer_id] = allocation, offset
    return _values(positions, sizes, aliases, allocations)


def _instruction_names(module: bytes) -> dict[int, str]:
    """The names of a module's instructions by number."""
    found = {}
    for number, computation in fields(module):
        if number == 3 and isinstance(computation, bytes):
            for inner, instruction in fields(computation):
                if inner == 2 and isinstance(instruction, bytes):
                    parts: dict[int, Any] = {key: value for key, value in fields(instruction) if key in (1, 35)}
                    found[parts.get(35, 0)] = parts[1].decode()
    return found


def _position(message: bytes, names: dict[int, str]) -> Position:
    index: tuple[int, ...] = ()
    name, instruction = "", 0
    for number, value in fields(message):
        if number == 2 and isinstance(value, bytes):
            name = value.decode()
        elif number == 3:
            index += packed(value)
        elif number == 4 and isinstance(value, int):
            instruction = value
    return name or names.get(instruction, ""), index


def _allocation(message: bytes) -> tuple[Allocation, list[tuple[int, int]]]:
    """An allocation, and the numbers of the values in it with their offsets."""
    parts: dict[int, Any] = {}
    assigned = []
    for number, value in fields(message):
        if number == 9 and isinstance(value, bytes):
            entry: dict[int, Any] = dict(fields(value))
            assigned.append((entry.get(1, 0), entry.get(2, 0)))
        else:
            parts[number] = value
    kind: Kind = ("argument" if parts.get(5) else "constant" if parts.get(12) else "result" if parts.get(7) else "temporary")
    return Allocation(parts.get(1, 0), parts.get(2, 0), kind, parts.get(6, 0) if parts.get(5) else None), assigned


def _values(positions: dict[int, Position], sizes: dict[int, int], aliases: list[tuple[int, Position]],
            allocations: dict[int, tuple[Allocation, int]]) -> list[Value]:
    """One value for all buffers that are the same by the list of aliases."""
    by_position = {position: number for number, position in positions.items()}
    parent = {number: number for number in positions}

    def leader(number: int) -> int:
        while parent[number] != number:
            parent[number] = number = parent[parent[number]]
        return number

    for number, position in aliases:
        if number in parent and position in by_position:
            parent[leader(number)] = leader(by_position[position])
    found: dict[int, Value] = {}
    for number, position in positions.items():
        value = found.setdefault(leader(number), Value(0, []))
        value.size = max(value.size, sizes[number])
        value.positions.append(position)
        if number in allocations:
            value.allocation, value.offset = allocations[number]
    return list(found.values())
