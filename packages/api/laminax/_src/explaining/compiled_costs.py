"""What the compiled program does, by the user's line: bytes read and written, estimated time, and what devices send each other.

What is fused is one step: it reads its operands and writes its result, and what lies between is in registers. Reading counts for the line
that uses an operand, writing for the line that makes the result. Time is estimated in the bytes that move in the same time, with the
rates by which regions are planned; only shares of it are shown. A loop of a length that the compiler does not know counts once.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Iterator, Sequence

from laminax_lowering.planning.estimates import HEAVY_OPERATIONS_PER_BYTE

from laminax._src.inspecting.compiled_text import Computation, Instruction, Module, dimensions, num_bytes, num_elements
from laminax._src.inspecting.places import Place

# The cost of an element in the bytes that move in the same time; all other elementwise operations cost _SIMPLE.
_SIMPLE = 0.5
_PER_ELEMENT = {**dict.fromkeys(("divide", "sqrt", "rsqrt", "cbrt"), 1.2), **dict.fromkeys(("power", "atan2", "remainder"), 40.0),
                **dict.fromkeys(("exponential", "exponential-minus-one", "log", "log-plus-one", "tanh", "logistic", "erf"), 1.8),
                **dict.fromkeys(("sine", "cosine", "tan"), 13.0)}
_FREE = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "broadcast", "iota", "while", "call", "conditional", "reshape",
         "optimization-barrier", "after-all", "partition-id", "replica-id", "fusion"}
_SLICES = {"dynamic-slice", "slice", "gather"}
_COLLECTIVES = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "ragged-all-to-all", "collective-permute",
                "collective-broadcast")
# The operations of programs that communicate because the user says so.
_ASKED_FOR = re.compile(r"^(psum|pmax|pmin|pmean|all_gather|reduce_scatter|psum_scatter|all_to_all|ppermute|pbroadcast|psum_invariant|"
                        r"ragged_all_to_all|psum_shared)")


@dataclass(frozen=True)
class Collective:
    """Communication between devices.

    Attributes:
      kind: "all-reduce", "all-gather" and so on.
      moved: the bytes that each device sends in one run of the program.
      times: how often it happens in one.
      devices: how many devices take part in a group.
      place: the user's line.
      operation: the operation of the program that it belongs to, `jit(f)/dot_general`.
      is_asked_for: whether the program names it, as `psum`; otherwise the compiler splits values in another way there: resharding.
    """

    kind: str
    moved: int
    times: int
    devices: int
    place: Place | None
    operation: str
    is_asked_for: bool


@dataclass
class CompiledCosts:
    """Costs by line: bytes moved to and from memory, and time in the bytes that move in it."""

    bytes_at: dict[Place | None, float] = field(default_factory=lambda: defaultdict(float))
    time_at: dict[Place | None, float] = field(default_factory=lambda: defaultdict(float))
    collectives: list[Collective] = field(default_factory=list)

    def add(self, other: CompiledCosts) -> None:
        """Adds the costs of another part of the run."""
        for own, more in ((self.bytes_at, other.bytes_at), (self.time_at, other.time_at)):
            for place, count in more.items():
                own[place] += count
        self.collectives += other.collectives


def compiled_costs(module: Module, steps: Sequence[tuple[Instruction, int]], platform: str) -> CompiledCosts:
    """The costs of one run of a module; `steps` are those of its schedule."""
    costs = CompiledCosts()
    rate = HEAVY_OPERATIONS_PER_BYTE.get(platform, HEAVY_OPERATIONS_PER_BYTE["cuda"])
    owner = {i.name: c for c in module.computations.values() if c.name not in module.fused for i in c.instructions}
    for instruction, times in steps:
        computation = owner[instruction.name]
        for place, count in _traffic(instruction, computation, module):
            costs.bytes_at[place] += times * count
            costs.time_at[place] += times * count
        for inner in _inner(instruction, computation, module):
            costs.time_at[inner[0].place or instruction.place] += times * _work(*inner, rate)
        if (found := _collective(instruction, computation, times)) is not None:
            costs.collectives.append(found)
    return costs


def _inner(instruction: Instruction, computation: Computation, module: Module) -> Iterator[tuple[Instruction, Computation]]:
    """The instructions that compute, in a fusion at any depth, each with where its operands are."""
    calls = [module.computations[name] for role, name in instruction.calls if role == "calls" and name in module.computations]
    if instruction.opcode == "fusion":
        for called in calls:
            for inner in called.instructions:
                if inner.opcode == "fusion":
                    yield from _inner(inner, called, module)
                elif inner.opcode not in _FREE:
                    yield inner, called
    elif instruction.opcode not in _FREE:
        yield instruction, computation


def _work(instruction: Instruction, computation: Computation, rate: float) -> float:
    """The time of an instruction besides reading and writing."""
    heavy = heavy_operations(instruction, computation)
    if heavy:
        return heavy / rate
    if instruction.opcode == "reduce" and instruction.operands[0] in computation.by_name:
        return _SIMPLE * sum(num_elements(s) for _, s in computation.by_name[instruction.operands[0]].arrays)
    return _PER_ELEMENT.get(instruction.opcode, _SIMPLE) * sum(num_elements(shape) for _, shape in instruction.arrays)


def heavy_operations(instruction: Instruction, computation: Computation) -> int:
    """The operations on numbers of a product or a convolution, also where a library computes it; 0 for all others."""
    attributes = instruction.attributes
    if instruction.opcode not in ("dot", "convolution", "custom-call"):
        return 0
    operands = [computation.by_name[name] for name in instruction.operands if name in computation.by_name]
    if len(operands) < 2:
        return 0
    out = num_elements(instruction.arrays[0][1])
    if (labels := re.search(r"dim_labels=\w+_(\w+)->", attributes)) is not None:
        kernel = dimensions(operands[1].arrays[0][1])
        return 2 * out * math.prod(kernel) // max(kernel[labels[1].index("o")], 1) if kernel else 0
    contracted = re.search(r'lhs_contracting_dim(?:ension)?s"?[=:][\[{]([\d",]*)[\]}]', attributes)
    if contracted is None:
        return 0
    sizes = dimensions(operands[0].arrays[0][1])
    return 2 * out * math.prod(sizes[int(axis)] for axis in re.findall(r"\d+", contracted[1]))


def _traffic(instruction: Instruction, computation: Computation, module: Module) -> Iterator[tuple[Place | None, int]]:
    """The bytes that an instruction reads and writes, each with the line they count for."""
    if instruction.opcode in _FREE and instruction.opcode not in ("fusion", "broadcast", "iota", "reshape"):
        return
    operands = [computation.by_name[name] for name in instruction.operands if name in computation.by_name]
    written = sum(num_bytes(shape) for _, shape in instruction.arrays)
    if instruction.opcode == "fusion" and instruction.calls and instruction.calls[0][1] in module.computations:
        fused = module.computations[instruction.calls[0][1]]
        root = fused.by_name[fused.root]
        while root.opcode in ("bitcast", "copy") and root.operands and root.operands[0] in fused.by_name:
            root = fused.by_name[root.operands[0]]
        overwritten = ""
        if root.opcode == "dynamic-update-slice":
            written = sum(num_bytes(s) for _, s in fused.by_name[root.operands[1]].arrays)
            overwritten = root.operands[0]
        for parameter, operand in zip(fused.parameters, operands):
            yield from _reads(parameter, operand, fused, overwritten, instruction)
        yield root.place or instruction.place, written
        return
    if instruction.opcode in _SLICES:
        yield instruction.place, 2 * written
    elif instruction.opcode == "dynamic-update-slice":
        yield instruction.place, 2 * sum(num_bytes(s) for _, s in operands[1].arrays)
    else:
        yield instruction.place, written + sum(num_bytes(s) for operand in operands for _, s in operand.arrays)


def _reads(parameter: Instruction, operand: Instruction, fused: Computation, overwritten: str, fusion: Instruction) \
        -> Iterator[tuple[Place | None, int]]:
    """The bytes of one operand that a fusion reads: where it only takes slices, those."""
    readers = [i for i in fused.instructions if parameter.name in i.operands]
    size = sum(num_bytes(shape) for _, shape in operand.arrays)
    if parameter.name == overwritten and len(readers) == 1:
        return
    if readers and all(reader.opcode in _SLICES for reader in readers):
        size = min(size, sum(num_bytes(shape) for reader in readers for _, shape in reader.arrays))
    yield (readers[0].place if readers else None) or fusion.place, size


def _collective(instruction: Instruction, computation: Computation, times: int) -> Collective | None:
    kind = instruction.opcode.removesuffix("-start")
    if kind not in _COLLECTIVES:
        return None
    read = sum(num_bytes(shape) for name in instruction.operands if name in computation.by_name
               for _, shape in computation.by_name[name].arrays)
    count = _group_size(instruction.attributes)
    share = (count - 1) / count if count else 0
    moved = {"all-reduce": 2 * share * read, "all-gather": max(count - 1, 0) * read, "collective-permute": read,
             "collective-broadcast": read}.get(kind, share * read)
    return Collective(kind, round(times * moved), times, count, instruction.place, instruction.op_name,
                      _ASKED_FOR.match(instruction.op_name.rpartition("/")[2]) is not None)


def _group_size(attributes: str) -> int:
    """How many devices take part in each group of a collective."""
    if (listed := re.search(r"replica_groups=\{\{([\d,]*)\}", attributes)) is not None:
        return len(listed[1].split(","))
    if (tiled := re.search(r"replica_groups=\[([\d,]+)\]<=", attributes)) is not None:
        return math.prod([int(size) for size in tiled[1].split(",")][1:])
    if (mesh := re.search(r"replica_groups=mesh\[(.*?)\].*?\{(.*?)\}", attributes)) is not None:
        sizes = {name: int(size) for name, size in re.findall(r"'([^']+)'=(\d+)", mesh[1])}
        return math.prod(int(part) if part else sizes.get(name, 1) for name, part in re.findall(r"'([^']+)'(?::\(\d+\)(\d+))?", mesh[2]))
    if (pairs := re.search(r"source_target_pairs=\{(.*?)\}\}", attributes)) is not None:
        return len({number for number in re.findall(r"\d+", pairs[1])})
    return 0
