"""Sequences: programs that consist of several executables, run in turn on the same devices.

The values between them are arrays of this process that nobody else sees. These arrays are let go, or overwritten, as soon as no later step
needs them, so that a sequence needs about the memory of the whole program compiled at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from laminax_ir.types.avals import ShapedArray
from laminax_runtime.arrays import shardings, transfer
from laminax_runtime.arrays.arrays import ArrayImpl
from laminax_runtime.backends import placement, processes
from laminax_runtime.base import options
from laminax_runtime.compiling import watched
from laminax_runtime.compiling.compile import Executable


class Step(NamedTuple):
    """An executable, and the numbers of the values that it takes, that it gives, and that no later step needs.

    has_effects: whether it does more than that; its end can then be waited for.
    is_ordered: whether what else it does comes before what later steps do.
    """

    executable: Executable
    operands: tuple[int, ...]
    results: tuple[int, ...]
    dead: tuple[int, ...]
    has_effects: bool = False
    is_ordered: bool = False


class SequenceToken:
    """Tokens of the steps of one run, as one: it is ready when all of them are."""

    def __init__(self, tokens: Sequence[Any]) -> None:
        self._tokens = tokens

    def block_until_ready(self) -> None:
        for token in self._tokens:
            token.block_until_ready()


@dataclass(frozen=True)
class MemoryStatistics:
    """XLA's memory statistics of an executable, for a sequence of them; in bytes.

    decision: why the program is a sequence, in words.
    """

    argument_size_in_bytes: int
    output_size_in_bytes: int
    alias_size_in_bytes: int
    temp_size_in_bytes: int
    generated_code_size_in_bytes: int
    peak_memory_in_bytes: int
    host_argument_size_in_bytes: int = 0
    host_output_size_in_bytes: int = 0
    host_alias_size_in_bytes: int = 0
    host_temp_size_in_bytes: int = 0
    host_generated_code_size_in_bytes: int = 0
    decision: str = ""


class ExecutableSequence:
    """Executables on the same devices that are run in turn; stands for one `Executable`.

    Values are known by number: the arguments are the first ones. Each has one sharding, in which one step gives it and others take it.

    Args:
        name: what the program is called in errors.
        steps: the executables with the values that each takes and gives.
        in_avals: one per argument.
        results: the numbers of the values that are the results.
        out_avals: one per result.
        consumed: arguments that the program overwrites, by number; they are deleted.
        is_pinned: whether the results are committed to the devices even if no argument is.
        decision: why the program is a sequence, in words.
        in_shardings, out_shardings: one per argument and per result; by default all on the only device.
    """

    def __init__(self, name: str, steps: Sequence[Step], in_avals: Sequence[ShapedArray], results: Sequence[int],
                 out_avals: Sequence[ShapedArray], consumed: Sequence[int], is_pinned: bool, decision: str = "", *,
                 in_shardings: Sequence[shardings.Sharding] | None = None,
                 out_shardings: Sequence[shardings.Sharding] | None = None) -> None:
        self.name = name
        self.steps = tuple(steps)
        self.devices: tuple[placement.Device, ...] = steps[0].executable.devices
        self.in_avals = tuple(in_avals)
        self.out_avals = tuple(out_avals)
        self.results = tuple(results)
        self.consumed = tuple(consumed)
        self.is_pinned = is_pinned
        self.decision = decision
        used = {i for step in steps for i in step.operands}
        self.kept = tuple(i in used for i in range(len(in_avals)))
        self._used = tuple(sorted(used.intersection(range(len(in_avals)))))
        only = shardings.on_device(self.devices[0])
        self._shardings = (only,) * len(in_avals) if in_shardings is None else tuple(in_shardings)
        self.in_shardings: tuple[shardings.Sharding, ...] = tuple([self._shardings[i] for i in self._used])
        self.out_shardings = (only,) * len(out_avals) if out_shardings is None else tuple(out_shardings)
        self._num_values = 1 + max(i for step in steps for i in (*step.operands, *step.results))
        self._runs = {is_committed: [self._run_of(step, is_committed) for step in steps] for is_committed in (False, True)}

    def __reduce__(self) -> tuple[Any, Any]:
        make = partial(ExecutableSequence, in_shardings=self._shardings, out_shardings=self.out_shardings)
        return make, (self.name, self.steps, self.in_avals, self.results, self.out_avals, self.consumed,
                      self.is_pinned, self.decision)

    def _run_of(self, step: Step, is_committed: bool) -> tuple:
        """The parts of running a step: jaxlib's executable, its operands, and the handlers that make arrays of its results."""
        executable = step.executable
        operands = tuple([i for i, is_kept in zip(step.operands, executable.kept, strict=True) if is_kept])
        return executable.loaded, operands, executable.result_handlers(is_committed), step

    def execute(self, args: Sequence[Any]) -> list[ArrayImpl]:
        """Runs the steps; as `Executable.execute`."""
        return self._run(args, [])

    def execute_with_token(self, args: Sequence[Any]) -> tuple[list[ArrayImpl], SequenceToken]:
        """Runs the steps; as `Executable.execute_with_token`."""
        tokens: list[Any] = []
        results = self._run(args, tokens)
        return results, SequenceToken(tokens)

    def _run(self, args: Sequence[Any], tokens: list[Any]) -> list[ArrayImpl]:
        """Runs the steps, and adds the tokens of those with effects to a list."""
        if len(args) != len(self.in_avals):
            raise TypeError(f"{self.name} takes {len(self.in_avals)} arrays, got {len(args)}")
        if options.no_execution.value:
            raise RuntimeError(f"{self.name} was to be run, but the option no_execution is set. Run it outside of that.")
        is_committed = self.is_pinned or any(type(x) is ArrayImpl and x._committed for x in args)
        values: list[Any] = [None] * self._num_values
        for i in self._used:
            values[i] = transfer.place_argument(args[i], self._shardings[i])
        self._run_steps(values, is_committed, tokens)
        for i in self.consumed:
            if type(args[i]) is ArrayImpl and not args[i].is_deleted():
                args[i].delete()
        return [values[i] for i in self.results]

    __call__ = execute

    def _run_steps(self, values: list[Any], is_committed: bool, tokens: list[Any]) -> None:
        is_watched = processes.state.watch is not None
        for loaded, operands, handlers, (_, _, results, dead, has_effects, is_ordered) in self._runs[is_committed]:
            if is_watched:
                outs, token = watched.execute(loaded, [values[i] for i in operands], handlers, self.devices)
                tokens.append(token)
                if is_ordered:
                    token.block_until_ready()
            elif has_effects:
                found = loaded.execute_sharded([values[i] for i in operands], with_tokens=True)
                outs = found.consume_with_handlers(handlers)
                tokens.append(found.consume_token())
                if is_ordered:
                    tokens[-1].block_until_ready()
            else:
                outs = loaded.execute_sharded([values[i] for i in operands]).consume_with_handlers(handlers)
            for i, out in zip(results, outs):
                values[i] = out
            for i in dead:
                values[i] = None

    # looking inside

    @property
    def executables(self) -> list[Executable]:
        """The different ones, in the order in which they are first run."""
        return list({id(step.executable): step.executable for step in self.steps}.values())

    def as_text(self) -> str:
        """The optimised HLO of each executable, with the number of times that it is run."""
        counts = {id(e): sum(step.executable is e for step in self.steps) for e in self.executables}
        return "\n".join(f"// {self.name}: run {counts[id(e)]} times\n{e.as_text()}" for e in self.executables)

    def hlo_modules(self) -> list[Any]:
        """The optimised HLO of each executable as jaxlib's module objects."""
        return [module for e in self.executables for module in e.hlo_modules()]

    def cost_analysis(self) -> dict[str, float]:
        """XLA's estimates for one run, summed over the steps."""
        costs = {id(e): e.cost_analysis() for e in self.executables}
        total: dict[str, float] = {}
        for step in self.steps:
            for name, cost in costs[id(step.executable)].items():
                total[name] = total.get(name, 0) + cost
        return total

    def memory_analysis(self) -> MemoryStatistics:
        """The bytes of arguments, results and code on a device, and of the values between: the most that exist at once in any step."""
        stats = {id(e): e.memory_analysis() for e in self.executables}
        sizes: dict[int, int] = {}
        live, most = 0, 0
        for step in self.steps:
            found = stats[id(step.executable)]
            for i, aval, sharding in zip(step.results, step.executable.out_avals, step.executable.out_shardings):
                sizes[i] = 0 if i in self.results else _num_bytes(aval, sharding)
                live += sizes[i]
            most = max(most, live + found.temp_size_in_bytes - found.alias_size_in_bytes)
            live -= sum(sizes.get(i, 0) for i in step.dead)
        arguments = sum(_num_bytes(self.in_avals[i], self._shardings[i]) for i in self._used)
        outputs = sum(map(_num_bytes, self.out_avals, self.out_shardings))
        aliased = sum(_num_bytes(self.in_avals[i], self._shardings[i]) for i in self.consumed)
        code = sum(s.generated_code_size_in_bytes for s in stats.values())
        return MemoryStatistics(arguments, outputs, aliased, most, code, arguments + outputs - aliased + most,
                                decision=self.decision)

    @property
    def parameter_layouts(self) -> list[Any]:
        """The layout of each argument that a step takes, as jaxlib has it."""
        found: dict[int, Any] = {}
        for step in reversed(self.steps):
            operands = [i for i, is_kept in zip(step.operands, step.executable.kept, strict=True) if is_kept]
            found.update(zip(operands, step.executable.parameter_layouts, strict=True))
        return [found[i] for i in self._used]

    @property
    def result_layouts(self) -> list[Any]:
        """The layout of each result, as jaxlib has it."""
        found = {i: layout for step in self.steps for i, layout in zip(step.results, step.executable.result_layouts, strict=True)}
        return [found[i] for i in self.results]

    @property
    def loaded(self) -> Any:
        raise NotImplementedError(f"{self.name} is a sequence of {len(self.executables)} executables, not one of the runtime's. With the "
                                  "option compile_regions off it is compiled as one.")

    def __repr__(self) -> str:
        return (f"<ExecutableSequence {self.name}: {len(self.steps)} runs of {len(self.executables)} executables on "
                f"{', '.join(map(str, self.devices))}>")


def _num_bytes(aval: ShapedArray, sharding: shardings.Sharding) -> int:
    """The bytes of a value on each device."""
    return math.prod(sharding.shard_shape(aval.shape)) * aval.dtype.itemsize
