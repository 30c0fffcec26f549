"""A compiled program as the steps of its run, and how long each of its values stays in memory.

The compiler's text is in the order in which instructions run. Loops and branches are followed where they stand, once each: a value that a
loop carries lives as long as the loop. What an instruction reads must still be in memory then, and nothing else: a value's life ends with
its last reader.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Sequence

from laminax._src.inspecting.assignments import Value
from laminax._src.inspecting.compiled_text import Computation, Index, Instruction, Module, num_bytes

Sources = dict[Index, int]  # for each array of a result the number of the value in which it lies

# Instructions whose results lie where their operands do.
_VIEWS = {"bitcast", "optimization-barrier", "add-dependency", "domain", "copy-done", "async-done", "all-gather-done", "all-reduce-done",
          "collective-permute-done", "send-done", "recv-done", "async-update"}


@dataclass(slots=True)
class Life:
    """When a value is in memory, in steps: from the first to the last, both included."""

    value: Value
    first: int
    last: int
    maker: Instruction | None = None  # what computes it
    index: Index = ()


@dataclass
class Schedule:
    """The steps of a run.

    Attributes:
      steps: the instructions that do something, with the number of times that each runs; a loop of unknown length counts once.
      lives: the values in memory, and when.
      results: the values in which the program's results lie, by place.
      has_unknown_loops: whether there is a loop whose length the compiler does not know.
    """

    steps: list[tuple[Instruction, int]] = field(default_factory=list)
    lives: list[Life] = field(default_factory=list)
    results: dict[Index, Life] = field(default_factory=dict)
    has_unknown_loops: bool = False


def schedule(module: Module, values: Sequence[Value] | None) -> Schedule:
    """Follows a module's run.

    Args:
      module: the compiled module.
      values: the compiler's values in memory; None where it does not tell them: then each result is one.
    """
    walk = _Walk(module, values)
    entry = module.computations[module.entry]
    results = walk.run(entry, [], 1)
    for life in walk.lives.values():
        allocation = life.value.allocation
        if allocation is not None and allocation.kind == "argument" or life.maker is not None and life.maker.opcode == "parameter":
            life.first = 0
    walk.read(results)
    _end_where_overwritten(list(walk.lives.values()))
    return Schedule(walk.steps, list(walk.lives.values()), {index: walk.lives[number] for index, number in results.items()},
                    walk.has_unknown_loops)


def _end_where_overwritten(lives: Sequence[Life]) -> None:
    """Ends lives one step earlier where the result of their last reader is written over them: both are never there at once."""
    beginning: dict[int, list[Life]] = {}
    for life in lives:
        beginning.setdefault(life.first, []).append(life)
    for life in lives:
        here = life.value.allocation
        if here is not None and life.first < life.last and any(
                other is not life and other.value.allocation is not None and other.value.allocation.number == here.number
                and other.value.offset < life.value.offset + life.value.size and life.value.offset < other.value.offset + other.value.size
                for other in beginning.get(life.last, ())):
            life.last -= 1


def _tells(maker: Instruction) -> int:
    """How well an instruction says what a value is: parameters and loops pass it on, copies and constants begin it."""
    if maker.opcode in ("parameter", "while", "tuple", "conditional", "call"):
        return 0
    return 2 if maker.op_name else 1


class _Walk:
    def __init__(self, module: Module, values: Sequence[Value] | None) -> None:
        self.module = module
        self.values = list(values) if values is not None else []
        self.is_told = values is not None
        self.at = {position: number for number, value in enumerate(self.values) for position in value.positions}
        self.lives: dict[int, Life] = {}
        self.steps: list[tuple[Instruction, int]] = []
        self.has_unknown_loops = False

    @property
    def now(self) -> int:
        return len(self.steps)

    def run(self, computation: Computation, arguments: Sequence[Sources], times: int) -> Sources:
        """Follows the instructions of a computation; returns where its result lies."""
        known: dict[str, Sources] = {}
        numbers = {p.name: i for i, p in enumerate(computation.parameters)}
        for instruction in computation.instructions:
            operands = [known.get(name, {}) for name in instruction.operands]
            if instruction.opcode == "parameter":
                number = numbers[instruction.name]
                sources = dict(arguments[number]) if number < len(arguments) else {}
            else:
                sources = self._structural(instruction, operands, times)
            known[instruction.name] = self._with_own(instruction, sources)
        return known.get(computation.root, {})

    def _structural(self, instruction: Instruction, operands: Sequence[Sources], times: int) -> Sources:
        """Where the result lies as far as other instructions have put it there; what is read is noted."""
        opcode = instruction.opcode
        if opcode == "tuple":
            return {(i, *index): value for i, sources in enumerate(operands) for index, value in sources.items()}
        if opcode == "get-tuple-element" and operands:
            number = int(instruction.attributes.partition("index=")[2].split(",")[0].split("}")[0] or 0)
            return {index[1:]: value for index, value in operands[0].items() if index[:1] == (number,)}
        if opcode in _VIEWS and operands:
            return dict(operands[0])
        if opcode == "constant":
            return {}
        for sources in operands:
            self.read(sources)
        calls = dict(instruction.calls)
        if opcode == "while":
            count = instruction.trip_count
            self.has_unknown_loops |= count is None
            carried = self._with_own(instruction, dict(operands[0]))
            for role in ("condition", "body"):
                self.read(self.run(self.module.computations[calls[role]], [carried], times * (count or 1)))
            self.read(carried)
            self._step(instruction, times)
            return carried
        if opcode in ("call", "async-start") or opcode == "conditional":
            callees = [self.module.computations[name] for _, name in instruction.calls]
            taken = operands[1:] if opcode == "conditional" else None
            found: Sources = {}
            for i, callee in enumerate(callees):
                found = self.run(callee, [taken[i]] if taken is not None and i < len(taken) else operands, times) or found
                self.read(found)
            self._step(instruction, times)
            return found
        self._step(instruction, times)
        return {}

    def _step(self, instruction: Instruction, times: int) -> None:
        self.steps.append((instruction, times))

    def _with_own(self, instruction: Instruction, sources: Sources) -> Sources:
        """The sources with the values that begin with the instruction itself in their places."""
        if not self.is_told:
            for index, shape in instruction.arrays if not sources else ():
                self.at.setdefault((instruction.name, index), len(self.values))
                if self.at[instruction.name, index] == len(self.values):
                    self.values.append(Value(num_bytes(shape), [(instruction.name, index)]))
        indices = [index for index, _ in instruction.arrays]
        for index in [(), *[index for index in indices if index != ()]]:
            number = self.at.get((instruction.name, index))
            if number is not None:
                sources[index] = number
                self._begin(number, instruction, index)
        return sources

    def _begin(self, number: int, instruction: Instruction, index: Index) -> None:
        time = max(self.now - 1, 0)
        life = self.lives.get(number)
        if life is None:
            life = self.lives[number] = Life(self.values[number], time, time)
        if life.maker is None or _tells(instruction) > _tells(life.maker):
            life.maker, life.index = instruction, index
        life.first, life.last = min(life.first, time), max(life.last, time)

    def read(self, sources: Sources) -> None:
        """Notes that values are needed at the step that comes next."""
        for number in sources.values():
            life = self.lives[number]
            life.last = max(life.last, self.now)
