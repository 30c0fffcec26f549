"""The compiler's text read as data: computations of instructions, in the order in which they run, each with the user's line.

The compiler prints its scheduled module with tables of the files and frames that instructions came from. What it made itself, such as
copies, has no frame; it belongs to the line of what it reads.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Iterator

from laminax._src.inspecting.places import Place

Index = tuple[int, ...]  # the place of an array in a tuple of tuples

_BITS = {"pred": 8, "token": 0, "opaque": 0, "s2": 2, "u2": 2, "s4": 4, "u4": 4, "bf16": 16, "c64": 64, "c128": 128}


@lru_cache(maxsize=4096)
def num_bytes(shape: str) -> int:
    """The bytes of an array of a shape such as `f32[5,64]{1,0}`, without what its layout may add."""
    dtype, _, rest = shape.partition("[")
    bits = _BITS.get(dtype)
    if bits is None:
        found = re.match(r"[a-z]+(\d+)", dtype)
        bits = int(found[1]) if found else 0
    return (num_elements(shape) * bits + 7) // 8 if rest else 0


@lru_cache(maxsize=4096)
def num_elements(shape: str) -> int:
    """The elements of an array of a shape."""
    return math.prod(dimensions(shape))


@lru_cache(maxsize=4096)
def dimensions(shape: str) -> tuple[int, ...]:
    """The sizes of the axes of an array; bounds of dynamic ones."""
    inside = shape.partition("[")[2].partition("]")[0]
    return tuple(int(size.strip().removeprefix("<=")) for size in inside.split(",") if size.strip())


@lru_cache(maxsize=4096)
def leaves(shape: str) -> tuple[tuple[Index, str], ...]:
    """The arrays of a shape, which may be a tuple of tuples: where each stands, and its shape without layout."""
    return tuple(_leaves(shape, ()))


def _leaves(shape: str, index: Index) -> Iterator[tuple[Index, str]]:
    if not shape.startswith("("):
        yield index, shape.partition("{")[0]
        return
    for i, part in enumerate(_split(re.sub(r"/\*.*?\*/", "", shape[1:_closing(shape, 0)]))):
        yield from _leaves(part, (*index, i))


def _split(text: str) -> list[str]:
    """The parts of a list, at its commas outside of brackets."""
    parts, depth, start = [], 0, 0
    for at, char in enumerate(text):
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    return [*parts, text[start:].strip()] if text.strip() else []


def _closing(text: str, at: int) -> int:
    """Where the parenthesis that opens there closes; the end where none does."""
    depth = 0
    for end in range(at, len(text)):
        if text[end] == "(":
            depth += 1
        elif text[end] == ")":
            depth -= 1
            if depth == 0:
                return end
    return len(text)


@dataclass(slots=True)
class Instruction:
    """One instruction of the compiled program.

    Attributes:
      name: its name in the text.
      shape: the type of its result, with layout.
      opcode: what it does, `fusion`.
      operands: the names of the instructions whose results it reads.
      attributes: the text after the operands.
      text_line: its line in the text, from 0.
      op_name: the program's name for it, `jit(f)/jvp(layer)/tanh`.
      place: the user's line.
      calls: the computations that it runs, by their role: `body`, `calls`.
    """

    name: str
    shape: str
    opcode: str
    operands: tuple[str, ...]
    attributes: str
    text_line: int
    op_name: str = ""
    place: Place | None = None
    calls: tuple[tuple[str, str], ...] = ()

    @property
    def arrays(self) -> tuple[tuple[Index, str], ...]:
        """The arrays of the result: where each stands in it, and its shape."""
        return leaves(self.shape)

    @property
    def trip_count(self) -> int | None:
        """How often the compiler knows a loop to run."""
        found = re.search(r'"known_trip_count":\{"n":"(\d+)"', self.attributes)
        return int(found[1]) if found else None

    @property
    def what(self) -> str:
        """What the instruction is, for people: the operation of the program that it came from, or its opcode."""
        return self.op_name.rpartition("/")[2] or self.opcode


@dataclass
class Computation:
    """Instructions in the order in which they run; the last one gives the result, unless another is the root."""

    name: str
    instructions: list[Instruction] = field(default_factory=list)
    root: str = ""

    @cached_property
    def by_name(self) -> dict[str, Instruction]:
        return {instruction.name: instruction for instruction in self.instructions}

    @property
    def parameters(self) -> list[Instruction]:
        """The parameters by number."""
        found = [(int(i.attributes.partition(")")[0]), i) for i in self.instructions if i.opcode == "parameter"]
        return [i for _, i in sorted(found, key=lambda pair: pair[0])]


@dataclass
class Module:
    """A compiled module: its text, its computations by name, and the name of the one that runs."""

    text: str
    computations: dict[str, Computation]
    entry: str

    @cached_property
    def fused(self) -> set[str]:
        """The computations whose values have no memory of their own: those of fusions, reductions and the like."""
        inlined = {"call", "while", "conditional", "async-start"}
        return {callee for computation in self.computations.values() for i in computation.instructions if i.opcode not in inlined
                for _, callee in i.calls}


_HEADER = re.compile(r"(ENTRY )?%?([\w.\-]+) .*\{$")
_INSTRUCTION = re.compile(r"\s+(ROOT )?%?([\w.\-]+) = ")
_OPCODE = re.compile(r" ([a-z][\w\-]*)\(")
_NAMES = re.compile(r"%([\w.\-]+)")
_CALL = re.compile(r"(calls|to_apply|body|condition|true_computation|false_computation)=%?([\w.\-]+)")
_CALLS = re.compile(r"(branch_computations|called_computations)=\{([^}]*)\}")
_OP_NAME = re.compile(r'op_name="((?:[^"\\]|\\.)*)"')
_FRAME = re.compile(r"stack_frame_id=(\d+)")
_FILE = re.compile(r'source_file="([^"]*)"(?: source_line=(\d+))?')


def read_module(text: str) -> Module:
    """Reads the compiler's text."""
    lines = text.split("\n")
    places = _places(lines)
    module = Module(text, {}, "")
    current: Computation | None = None
    for number, line in enumerate(lines):
        if current is None:
            header = _HEADER.match(line) if line.endswith("{") else None
            if header is not None and not line.startswith("HloModule"):
                current = module.computations[header[2]] = Computation(header[2])
                if header[1]:
                    module.entry = header[2]
        elif line.startswith("}"):
            current = None
        elif (instruction := _instruction(line, number, places)) is not None:
            current.instructions.append(instruction)
            if line.lstrip().startswith("ROOT "):
                current.root = instruction.name
    for computation in module.computations.values():
        computation.root = computation.root or computation.instructions[-1].name
    _spread_places(module)
    return module


def _instruction(line: str, number: int, places: dict[int, Place]) -> Instruction | None:
    head = _INSTRUCTION.match(line)
    if head is None:
        return None
    start = head.end()
    end = _closing(line, start) + 1 if line[start] == "(" else line.index(" ", start)
    opcode = _OPCODE.match(line, end)
    if opcode is None:
        return None
    closing = _closing(line, opcode.end() - 1)
    operands = () if opcode[1] in ("constant", "parameter") else tuple(_NAMES.findall(line, opcode.end(), closing))
    attributes = line[opcode.end():] if opcode[1] in ("constant", "parameter") else line[closing + 1:]
    op_name, frame = _OP_NAME.search(attributes), _FRAME.search(attributes)
    place = places.get(int(frame[1])) if frame else None
    if place is None and (file := _FILE.search(attributes)) is not None and file[2] and file[1] != "-":  # `-` is the module itself
        place = Place(file[1], int(file[2]))
    calls = tuple(_CALL.findall(attributes)) if "=" in attributes else ()
    for role, names in _CALLS.findall(attributes):
        calls += tuple((role, name.strip().lstrip("%")) for name in names.split(","))
    return Instruction(head[2], line[start:end], opcode[1], operands, attributes, number, op_name[1] if op_name else "", place, calls)


def _places(lines: list[str]) -> dict[int, Place]:
    """The user's line of each stack frame in the tables of a module."""
    tables: dict[str, dict[int, str]] = {}
    current: dict[int, str] | None = None
    for line in lines:
        if line.endswith("{"):
            break  # the first computation
        if line in ("FileNames", "FunctionNames", "FileLocations", "StackFrames"):
            current = tables[line] = {}
        elif current is not None and (entry := re.match(r"(\d+) (.*)", line)):
            current[int(entry[1])] = entry[2]
    files = {key: text.strip('"') for key, text in tables.get("FileNames", {}).items()}
    locations: dict[int, Place] = {}
    for key, text in tables.get("FileLocations", {}).items():
        numbers = dict(re.findall(r"(\w+)=(\d+)", text))
        locations[key] = Place(files.get(int(numbers.get("file_name_id", 0)), ""), int(numbers.get("line", 0)))
    found = {}
    for key, text in tables.get("StackFrames", {}).items():
        place = locations.get(int(dict(re.findall(r"(\w+)=(\d+)", text)).get("file_location_id", 0)))
        if place is not None and place.file not in ("", "-"):
            found[key] = place
    return found


def _spread_places(module: Module) -> None:
    """Gives instructions that the compiler made the lines of what they read, or else of what reads them."""
    for computation in module.computations.values():
        by_name = computation.by_name
        for instruction in computation.instructions:
            if instruction.place is None and instruction.opcode not in ("parameter", "constant"):
                called = [module.computations[name] for _, name in instruction.calls if name in module.computations]
                roots = [c.by_name[c.root] for c in called]
                read = [by_name[name] for name in instruction.operands if name in by_name]
                instruction.place = next((i.place for i in (*roots, *read) if i.place is not None), None)
        for instruction in reversed(computation.instructions):
            if instruction.place is not None:
                for name in instruction.operands:
                    operand = by_name.get(name)
                    if operand is not None and operand.place is None and operand.opcode not in ("parameter", "constant"):
                        operand.place = instruction.place
