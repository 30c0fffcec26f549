"""Memory over a program's run: what is in memory at each step, the most at once, and which line made it.

A program has its arguments and results in memory as long as it runs; in between values come and go. That is as the runtime does it, and so
the sum is that of `memory_analysis()`: arguments and results, less those that share memory, and what lies between. The compiler gives
the values between fixed places in one piece of memory; what no value needs of it at the peak is named as gaps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Sequence

from laminax._src.inspecting.assignments import Kind, read_assignment
from laminax._src.inspecting.compiled_text import Instruction, Module, read_module
from laminax._src.inspecting.places import Place, byte_text
from laminax._src.inspecting.schedule import Life, Schedule, schedule


@dataclass(frozen=True)
class Buffer:
    """A value in memory.

    Attributes:
      size: its bytes.
      type: its type in the compiled program, `f32[64,256]`.
      kind: "argument", "result" or "temporary"; or "reusing" for a value in the memory of a result that is not there yet, or of a donated
        argument that is not needed any more, which takes no memory of its own.
      name: the path of an argument or result, or the operation that made the value.
      place: the user's line that made it; None for arguments, and for what no line made.
      first, last: the steps of the run between which it is in memory, both included.
    """

    size: int
    type: str
    kind: Kind
    name: str
    place: Place | None
    first: int
    last: int


@dataclass(frozen=True)
class MemoryRun:
    """Memory over the run of a program.

    Attributes:
      in_use: the bytes in use at each step.
      steps: what each step is, with its line: (text, place).
      buffers: all values, the largest first.
      arguments, results, shared, temporary: the bytes of the arguments, of the results, of what is both, and of the piece of memory for
        all that lies between.
      peak_step: the step at which the most is in use.
      code: the bytes of machine code, as far as the platform tells them.
    """

    in_use: tuple[int, ...]
    steps: tuple[tuple[str, Place | None], ...]
    buffers: tuple[Buffer, ...]
    arguments: int
    results: int
    shared: int
    temporary: int
    peak_step: int
    code: int

    @property
    def peak(self) -> int:
        """The bytes that the program needs at once, as the compiler has laid them out."""
        return self.arguments + self.results - self.shared + self.temporary

    @property
    def at_peak(self) -> list[Buffer]:
        """The values in memory at the peak, the largest first."""
        step = self.peak_step
        return [b for b in self.buffers if b.kind in ("argument", "result") or b.kind == "temporary" and b.first <= step <= b.last]

    @property
    def gaps(self) -> int:
        """The bytes at the peak that no value needs: between values, for their alignment, and for another moment's."""
        return self.peak - sum(b.size for b in self.at_peak)


def memory_of_module(module: Module, executable: Any, argument_names: Sequence[str], result_names: Sequence[str]) -> \
        tuple[MemoryRun, Schedule]:
    """The memory of one compiled module, and its schedule.

    Args:
      module: its text, read.
      executable: the runtime's executable.
      argument_names: a name for each parameter.
      result_names: a name for each result.
    """
    stats = executable.memory_analysis()
    message = getattr(stats, "serialized_buffer_assignment_proto", b"")
    values = None
    if message and (modules := executable.hlo_modules()):
        values = read_assignment(message, modules[0].as_serialized_hlo_module_proto())
    found = schedule(module, values)
    entry = module.computations[module.entry]
    parameters = {p.name: i for i, p in enumerate(entry.parameters)}
    results = {id(life): index[0] if index else 0 for index, life in found.results.items()}  # the last index of one in two places
    buffers = [buffer for life in found.lives
               if (buffer := _buffer(life, parameters, results, argument_names, result_names)) is not None]
    shared = stats.alias_size_in_bytes
    fixed = stats.argument_size_in_bytes + stats.output_size_in_bytes - shared
    in_use = _sums(buffers, fixed, max(len(found.steps), 1))
    steps = tuple((i.what, i.place) for i, _ in found.steps) or (("", None),)
    peak_step = max(range(len(in_use)), key=in_use.__getitem__)
    temporary = stats.temp_size_in_bytes if values is not None else max(in_use) - fixed
    run = MemoryRun(in_use, steps, tuple(sorted(buffers, key=lambda b: -b.size)), stats.argument_size_in_bytes, stats.output_size_in_bytes,
                    shared, temporary, peak_step, stats.generated_code_size_in_bytes)
    return run, found


def _result_makers(module: Module) -> list[Instruction]:
    """The instructions that give a module's results."""
    entry = module.computations[module.entry]
    root = entry.by_name[entry.root]
    return [entry.by_name[name] for name in root.operands] if root.opcode == "tuple" else [root]


def _buffer(life: Life, parameters: dict[str, int], results: dict[int, int], argument_names: Sequence[str],
            result_names: Sequence[str]) -> Buffer | None:
    value, maker = life.value, life.maker
    allocation = value.allocation
    kind: Kind = allocation.kind if allocation is not None else "temporary"
    if kind == "constant" or maker is None or maker.opcode == "constant" or value.size == 0:
        return None
    if allocation is None and maker.opcode == "parameter" and maker.name in parameters:
        kind = "argument"
    elif allocation is None and id(life) in results:
        kind = "result"
    name, place = maker.what, maker.place
    positions = [at for at, _ in value.positions] if allocation is not None else [maker.name]
    if kind == "argument":
        number = next((parameters[at] for at in positions if at in parameters), None)
        if number is None:  # a later value in the memory of a donated argument
            kind = "reusing"
        else:
            name, place = argument_names[number] if number < len(argument_names) else maker.name, None
    elif kind == "result":
        number = results.get(id(life))
        if number is None:  # an earlier value in the memory of a result
            kind = "reusing"
        elif number < len(result_names):
            name = f"{result_names[number]} = {name}"
    shapes = dict(maker.arrays)
    shape = shapes.get(life.index, "table of addresses" if maker.shape.startswith("(") else maker.shape.partition("{")[0])
    return Buffer(value.size, shape, kind, name, place, life.first, life.last)


def _sums(buffers: Sequence[Buffer], fixed: int, count: int) -> tuple[int, ...]:
    """The bytes in use at each of `count` steps."""
    changes = [0] * (count + 1)
    for buffer in buffers:
        if buffer.kind == "temporary":
            changes[min(buffer.first, count - 1)] += buffer.size
            changes[min(buffer.last, count - 1) + 1] -= buffer.size
    found, total = [], fixed
    for change in changes[:count]:
        total += change
        found.append(total)
    return tuple(found)


def memory_of_sequence(sequence: Any, runs: dict[int, tuple[MemoryRun, Schedule]], modules: dict[int, Module],
                       argument_names: Sequence[str], result_names: Sequence[str]) -> MemoryRun:
    """The memory of executables that are run in turn, with the values between them.

    Args:
      sequence: the runtime's `ExecutableSequence`.
      runs: the memory of each of its executables, by the id of the executable.
      modules: their texts, likewise.
      argument_names: a name for each argument.
      result_names: a name for each result.
    """
    total = sequence.memory_analysis()
    used = sorted({i for step in sequence.steps for i in step.operands if i < len(sequence.in_avals)})
    results = {number: i for i, number in enumerate(sequence.results)}
    makers = {key: _result_makers(module) for key, module in modules.items()}
    buffers: list[Buffer] = []
    between: dict[int, Buffer] = {}
    in_use: list[int] = []
    steps: list[tuple[str, Place | None]] = []
    fixed = total.argument_size_in_bytes + total.output_size_in_bytes - total.alias_size_in_bytes
    live = 0
    for i, sharding in zip(used, sequence.in_shardings):
        aval = _part(sequence.in_avals[i], sharding)
        buffers.append(Buffer(_size(aval), _type_text(aval), "argument", argument_names[i] if i < len(argument_names) else f"argument {i}",
                              None, 0, 0))
    for step in sequence.steps:
        run, _ = runs[id(step.executable)]
        start = len(steps)
        made = makers[id(step.executable)]
        for place, (number, whole, sharding) in enumerate(zip(step.results, step.executable.out_avals, step.executable.out_shardings)):
            aval, name = _part(whole, sharding), made[place].what
            size = _size(aval)
            buffer = Buffer(size, _type_text(aval), "temporary", name, made[place].place, start, start)
            if number in results:
                name = f"{result_names[results[number]]} = {name}" if results[number] < len(result_names) else name
                buffers.append(replace(buffer, kind="result", name=name))
            else:
                between[number] = buffer
                live += size
        own = run.arguments + run.results - run.shared
        steps += run.steps
        in_use += [fixed + live - run.shared + count - own for count in run.in_use]
        buffers += [replace(b, first=b.first + start, last=min(b.last, len(run.steps) - 1) + start) for b in run.buffers
                    if b.kind in ("temporary", "reusing")]
        for number in step.dead:
            if number in between:
                buffer = between.pop(number)
                live -= buffer.size
                buffers.append(replace(buffer, last=len(steps) - 1))
    buffers += [replace(b, last=len(steps) - 1) for b in between.values()]
    peak_step = max(range(len(in_use)), key=in_use.__getitem__)
    return MemoryRun(tuple(in_use), tuple(steps), tuple(sorted(buffers, key=lambda b: -b.size)), total.argument_size_in_bytes,
                     total.output_size_in_bytes, total.alias_size_in_bytes, total.temp_size_in_bytes, peak_step,
                     total.generated_code_size_in_bytes)


def _part(aval: Any, sharding: Any) -> Any:
    """The type of the part of an array that a device holds."""
    return aval.update(shape=tuple(sharding.shard_shape(aval.shape)))


def _size(aval: Any) -> int:
    return aval.size * aval.dtype.itemsize


def _type_text(aval: Any) -> str:
    """A type in the compiler's words: `s32[4]`."""
    text = aval.str_short()
    return text.replace("bool[", "pred[", 1) if text.startswith("bool[") else f"s{text[1:]}" if text.startswith("i") else text


def alike(buffers: Sequence[Buffer]) -> list[list[Buffer]]:
    """Buffers that one line made of one type, as the blocks of a loop do, together; those that take the most together first."""
    found: dict[tuple[Any, ...], list[Buffer]] = {}
    for buffer in buffers:
        name = buffer.name if buffer.place is None else buffer.name.rpartition(" = ")[2]
        found.setdefault((buffer.kind, buffer.type, buffer.size, name, buffer.place), []).append(buffer)
    return sorted(found.values(), key=lambda group: -sum(b.size for b in group))


def group_name(group: Sequence[Buffer]) -> str:
    """What the values of a group are, for people."""
    first = group[0]
    name = first.name if len(group) == 1 else first.name.rpartition(" = ")[2]
    return f"argument {name}" if first.kind == "argument" else f"results = {name}" if first.kind == "result" and len(group) > 1 else name


def memory_of(executable: Any, argument_names: Sequence[str], result_names: Sequence[str]) -> MemoryRun:
    """The memory of what runs a program: an executable, or a sequence of them; names as for `memory_of_module`."""
    parts = getattr(executable, "executables", None)
    if parts is None:
        return memory_of_module(read_module(executable.as_text()), executable, argument_names, result_names)[0]
    modules = {id(part): read_module(part.as_text()) for part in parts}
    runs = {id(part): memory_of_module(modules[id(part)], part, [], []) for part in parts}
    return memory_of_sequence(executable, runs, modules, argument_names, result_names)


def memory_note(executable: Any, title: str, argument_names: Sequence[str] = ()) -> str:
    """What to add to the error of a call that found too little memory: the three largest buffers, and what to do."""
    memory = memory_of(executable, argument_names, ())
    largest = [f"  {byte_text(b.size)}, {b.type}: {'argument ' if b.kind == 'argument' else ''}{b.name}"
               f"{f', made at {b.place}' if b.place is not None else ''}" for b in memory.at_peak[:3]]
    return "\n".join([
        f"{title} needs {byte_text(memory.peak)} of memory at once. Its largest buffers are:", *largest,
        "laminax.explain(f, *args) reports all of them with the lines that made them. It runs nothing, and takes ShapeDtypeStructs for "
        "arguments. Smaller batches, checkpoint around what is differentiated and donated arguments need less."])
