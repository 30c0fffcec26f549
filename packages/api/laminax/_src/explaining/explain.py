"""`laminax.explain`: a report about a function and what it has been compiled to."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import laminax_runtime as runtime
from laminax_ir.options.config_options import find
from laminax_ir.programs.jaxpr import Jaxpr
from laminax_ir.types.arguments import check_callable

from laminax._src.base.leaf_names import result_names
from laminax._src.compiling.compiled import Compiled
from laminax._src.compiling.jit import jit
from laminax._src.compiling.stages import Lowered, Traced
from laminax._src.compiling.tracing import trace_cache
from laminax._src.explaining.compiled_costs import CompiledCosts, compiled_costs
from laminax._src.explaining.differences import Difference, difference
from laminax._src.explaining.history import History, Recorder, traces_of
from laminax._src.explaining.program_costs import ProgramCosts, program_costs
from laminax._src.explaining.report import Report, SourceLine
from laminax._src.explaining.structure import spec_text, structure
from laminax._src.explaining.texts import Text, compiled_text, jaxpr_text, stablehlo_text
from laminax._src.inspecting.compiled_text import Module, read_module
from laminax._src.inspecting.memory import MemoryRun, memory_of_module, memory_of_sequence
from laminax._src.inspecting.places import Place
from laminax._src.inspecting.schedule import Schedule


class Explain:
    """Reports about functions: `laminax.explain(f, *args)` makes one, and `laminax.explain.diff(a, b)` compares two.

    Example:
      >>> report = laminax.explain(lambda x, w: (x @ w).sum(), jnp.ones((8, 16)), jnp.ones((16, 4)))
      >>> report.flops  # 2 * 8 * 16 * 4 of the product, and 8 * 4 of the sum
      1056.0
    """

    def __call__(self, fun: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Report:
        """Traces and compiles a function for arguments, and reports what it costs and why; the function does not run.

        Args:
          fun: a function of arrays, jitted or not.
          *args, **kwargs: its arguments: arrays, or anything with shape and dtype.

        Returns:
          The report: `print` it for a summary, `show()` it in a browser, or write it with `html(path)`.

        Raises:
          TypeError: if `fun` is not callable.
          NotImplementedError: if sizes are symbolic: what a program needs is not known before they are.

        Example:
          >>> report = laminax.explain(lambda x, w: (x @ w).sum(), jnp.ones((8, 16)), jnp.ones((16, 4)))
          >>> report.flops  # 2 * 8 * 16 * 4 of the product, and 8 * 4 of the sum
          1056.0
          >>> report.memory.peak > 0 and [b.type for b in report.memory.at_peak if b.kind == "argument"]
          ['f32[8,16]', 'f32[16,4]']
        """
        check_callable("explain", fun)
        jitted: Any = fun if hasattr(fun, "_laminax_jit") else jit(fun)
        misses = trace_cache.misses
        with Recorder() as history:
            traced: Traced = jitted.trace(*args, **kwargs)
            history.was_traced = trace_cache.misses == misses
            lowered = traced.lower()
            history.was_compiled = _is_compiled(lowered)
            with _with_lines_in_key(True):  # else a program from the disk names the lines of an earlier version of the function
                compiled = lowered.compile()
                text = stablehlo_text(lowered.as_text(debug_info=True))
                if history.was_compiled and isinstance(compiled, Compiled) and _names_other_lines(compiled, text):
                    history.was_compiled_again = True
                    lowered._traced.programs.clear()
                    compiled = lowered.compile()
        if not isinstance(compiled, Compiled):
            raise NotImplementedError(f"explain: {jitted._laminax_jit.name} has symbolic sizes, and its costs depend on them. Give "
                                      "arguments of known shapes.")
        function = jitted._laminax_jit
        history.traces = traces_of(function.fun, compiled._signature.namer, function.entries, traced._traced)
        return _report(traced, lowered, compiled, text, history)

    def diff(self, before: Report, after: Report) -> Difference:
        """What changed between two reports, such as those of two versions of a function: totals, lines, buffers, the program.

        Args:
          before: a report.
          after: another.

        Returns:
          The difference: `print` it, `show()` it, or write it with `html(path)`.

        Raises:
          TypeError: if one is no report.

        Example:
          >>> before = laminax.explain(lambda x: jnp.sin(x) * 2, jnp.ones(8))
          >>> after = laminax.explain(lambda x: jnp.sin(x) * 2 + jnp.cos(x), jnp.ones(8))
          >>> laminax.explain.diff(before, after).totals["flops"]
          (16.0, 32.0)
        """
        for name, value in (("before", before), ("after", after)):
            if not isinstance(value, Report):
                raise TypeError(f"explain.diff: {name} must be a report, as laminax.explain(f, *args) returns it, got {value!r} of type "
                                f"{type(value).__name__}")
        return difference(before, after)

    def __repr__(self) -> str:
        return "<laminax.explain: explain(f, *args) reports what a compiled function costs, explain.diff(a, b) compares two reports>"


explain = Explain()
_with_lines_in_key = find("compilation_cache_include_metadata_in_key")


def _is_compiled(lowered: Lowered) -> bool:
    """Whether the program that compiling gives is kept already, for these devices and options."""
    where = lowered._where
    return any(key[0] == where for key in lowered._traced.programs)


def _names_other_lines(compiled: Compiled, text: Text) -> bool:
    """Whether a compiled program is one that the disk kept of a function whose lines stood elsewhere."""
    lines = {place for place in text.places if place is not None}
    return any(instruction.place not in lines for part, _ in _parts(compiled._program.executable)
               for computation in read_module(part.as_text()).computations.values() for instruction in computation.instructions
               if instruction.place is not None)


def _report(traced: Traced, lowered: Lowered, compiled: Compiled, text: Text, history: History) -> Report:
    executable = compiled._program.executable
    closed = traced._traced.closed
    platform = lowered._module.platforms[0]
    known: dict[Jaxpr, ProgramCosts] = {}
    asked = program_costs(closed.jaxpr, known)
    parts = _parts(executable)
    modules = {id(part): read_module(part.as_text()) for part, _ in parts}
    runs, memory = _memory(compiled, parts, modules)
    costs = CompiledCosts()
    for part, count in parts:
        once = compiled_costs(modules[id(part)], runs[id(part)][1].steps, platform)
        for _ in range(count):
            costs.add(once)
    shardings = [spec_text(getattr(s, "spec", None)) for s in (*executable.in_shardings, *executable.out_shardings)]
    blocks = structure(compiled._signature.name, closed.jaxpr, costs.collectives, [s for s in shardings if s], known)
    headings = [(f"{part.name}, run {count} times", modules[id(part)]) for part, count in parts]
    return Report(
        compiled._signature.name, executable.devices[0].platform, len(executable.devices), _source_lines(asked, costs, memory),
        asked.total.flops, sum(costs.bytes_at.values()), memory, blocks, history, tuple(costs.collectives), jaxpr_text(closed),
        text, compiled_text(headings), getattr(executable, "decision", ""),
        any(schedule.has_unknown_loops for _, schedule in runs.values()))


def _parts(executable: Any) -> list[tuple[Any, int]]:
    """The executables of a program, and how often each runs."""
    if not isinstance(executable, runtime.ExecutableSequence):
        return [(executable, 1)]
    return [(part, sum(step.executable is part for step in executable.steps)) for part in executable.executables]


def _memory(compiled: Compiled, parts: Sequence[tuple[Any, int]], modules: dict[int, Module]) -> \
        tuple[dict[int, tuple[MemoryRun, Schedule]], MemoryRun]:
    """The memory of each executable, and of the program."""
    signature, program = compiled._signature, compiled._program
    executable = program.executable
    names = [*[f"constant {i}" for i in range(len(program.const_args))], *map(signature.namer, range(len(signature.in_avals)))]
    results = result_names(signature.out_tree)
    if isinstance(executable, runtime.ExecutableSequence):
        runs = {id(part): memory_of_module(modules[id(part)], part, [], [f"result {i}" for i in range(len(part.out_avals))])
                for part, _ in parts}
        return runs, memory_of_sequence(executable, runs, modules, names, results)
    kept = [name for name, is_kept in zip(names, executable.kept) if is_kept]
    run, schedule = memory_of_module(modules[id(executable)], executable, kept, results)
    return {id(executable): (run, schedule)}, run


def _source_lines(asked: ProgramCosts, costs: CompiledCosts, memory: MemoryRun) -> tuple[SourceLine, ...]:
    places = sorted({place for place in (*asked.by_place, *costs.time_at) if place is not None})
    total_time = sum(costs.time_at.values()) or 1.0
    moved: dict[Place | None, int] = {}
    for collective in costs.collectives:
        moved[collective.place] = moved.get(collective.place, 0) + collective.moved
    in_use: dict[Place | None, int] = {}
    for count, (_, place) in zip(memory.in_use, memory.steps):
        in_use[place] = max(in_use.get(place, 0), count)
    held = _held(memory)
    return tuple(
        SourceLine(place, place.text, count.operations, count.flops, costs.bytes_at.get(place, 0.0),
                   costs.time_at.get(place, 0.0) / total_time, held.get(place, 0), in_use.get(place, 0), moved.get(place, 0))
        for place in places for count in [asked.by_place[place]])


def _held(memory: MemoryRun) -> dict[Place | None, int]:
    """The most bytes that the values of each line take at once."""
    changes: dict[Place | None, list[tuple[int, int]]] = {}
    for buffer in memory.buffers:
        if buffer.kind != "argument":
            changes.setdefault(buffer.place, []).extend(((buffer.first, buffer.size), (buffer.last + 1, -buffer.size)))
    found = {}
    for place, events in changes.items():
        total = most = 0
        for _, change in sorted(events):  # at one step, what ends comes first
            total += change
            most = max(most, total)
        found[place] = most
    return found
