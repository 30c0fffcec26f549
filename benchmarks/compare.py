"""laminax beside jax: the same programs, on the same jaxlib, each in processes of its own.

A round measures one library, then the other, so that both see the machine in the same state; what is compared is the
ratio within a round. Calls of microseconds need both libraries closer together than that: there a round holds both processes at
once, which take turns in bursts of some milliseconds, and its ratio is the median of the ratios of neighbouring bursts.
Those processes run `measure.py`, which runs the programs in `programs/`.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
from typing import Any

import measure
import programs
from absl import app, flags

LIBRARIES = ("laminax", "jax")
TURNS = 100

flags.DEFINE_list("programs", list(programs.NAMES), f"Programs to measure, of: {', '.join(programs.NAMES)}.")
flags.DEFINE_list("quantities", list(measure.QUANTITIES), f"Quantities to measure, of: {', '.join(measure.QUANTITIES)}.")
flags.DEFINE_integer("rounds", 5, "How often each library is measured, in turn.", lower_bound=1)
flags.DEFINE_bool("collects", True, "Whether Python's garbage collector runs while something is measured, as it does for users.")
flags.DEFINE_enum("clock", "wall", list(measure.CLOCKS), "What time is: \"cpu\", the processor time of all threads, or for short calls "
                  "\"thread\", that of the calling thread, is for a machine busy with other work.")
flags.DEFINE_string("json", None, "File to write everything measured to, as JSON.")
flags.DEFINE_string("laminax_python", sys.executable, "Interpreter that runs laminax.")
flags.DEFINE_string("jax_python", sys.executable, "Interpreter that runs jax.")
flags.DEFINE_string("jax_paths", None, "File with the folders jax is imported from, one per line, relative to that file. "
                    "By default jax is taken from its interpreter's own environment.")
flags.register_validator("programs", lambda names: set(names) <= set(programs.NAMES), "there is no such program")
flags.register_validator("quantities", lambda names: set(names) <= set(measure.QUANTITIES), "there is no such quantity")
FLAGS = flags.FLAGS


def main(argv: list[str]) -> None:
    if len(argv) > 1:
        raise app.UsageError(f"unexpected arguments: {' '.join(argv[1:])}")
    with tempfile.TemporaryDirectory() as bytecode:
        os.environ["PYTHONPYCACHEPREFIX"] = bytecode
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        rows, versions = _measure_all()
    print(_table(rows, versions))
    if FLAGS.json:
        document = {"versions": versions, "machine": _machine(), "rounds": FLAGS.rounds, "collects": FLAGS.collects,
                    "clock": FLAGS.clock, "rows": rows}
        pathlib.Path(FLAGS.json).write_text(json.dumps(document, indent=1) + "\n")


def _measure_all() -> tuple[list[dict[str, Any]], dict[str, str]]:
    """All rounds; returns the table's rows, and the versions of everything involved."""
    for library in LIBRARIES:  # writes the bytecode of what will be imported, and brings the files into memory
        for program in FLAGS.programs:
            _run(library, program, ["first_step"])
    versions: dict[str, str] = {}
    samples: dict[tuple[str | None, str], dict[str, list[dict]]] = {}
    ratios: dict[tuple[str | None, str], list[float]] = {}

    def add(library: str, program: str | None, report: dict[str, Any]) -> None:
        _check_versions(versions, report["versions"])
        for name, result in report["results"].items():
            samples.setdefault((program, name), {}).setdefault(library, []).append(result)

    for number in range(FLAGS.rounds):
        for program in (None, *FLAGS.programs):
            names = [name for name in FLAGS.quantities if measure.QUANTITIES[name].needs_program == (program is not None)]
            in_turns = [name for name in names if measure.QUANTITIES[name].in_turns]
            warm = [name for name in names if measure.QUANTITIES[name].needs_cache]
            cold = [name for name in names if name not in in_turns + warm]
            if not names:
                continue
            print(f"round {number + 1} of {FLAGS.rounds}: {program or 'the library itself'}", file=sys.stderr)
            for library in LIBRARIES:
                for report in [_run(library, program, cold)] if cold else []:
                    add(library, program, report)
                for name in warm:
                    add(library, program, _run_warm(library, program, name))
            if in_turns:
                reports, found = _take_turns(program, in_turns)
                for library in LIBRARIES:
                    add(library, program, reports[library])
                for name in in_turns:
                    ratios.setdefault((program, name), []).append(found[name])
    return [_row(program, name, by_library, ratios.get((program, name)))
            for (program, name), by_library in samples.items()], versions


def _take_turns(program: str | None, quantities: list[str]) -> tuple[dict[str, dict[str, Any]], dict[str, float]]:
    """For each library the versions and the median of its bursts, and for each quantity the ratio."""
    with contextlib.ExitStack() as stack:
        processes = {library: stack.enter_context(_Bursts(library, program, quantities)) for library in LIBRARIES}
        reports = {library: {"versions": processes[library].versions, "results": {}} for library in LIBRARIES}
        ratios = {}
        for name in quantities:
            seconds: dict[str, list[float]] = {library: [] for library in LIBRARIES}
            for turn in range(TURNS):
                for library in LIBRARIES[::1 if turn % 2 else -1]:  # neither always follows the other
                    seconds[library].append(processes[library].burst(name))
            ratios[name] = statistics.median(ours / theirs for ours, theirs in zip(*seconds.values(), strict=True))
            for library in LIBRARIES:
                reports[library]["results"][name] = {"value": statistics.median(seconds[library]), "equations": None}
    return reports, ratios


class _Bursts:
    """A process of measure.py that measures one burst when it is asked to."""

    def __init__(self, library: str, program: str | None, quantities: list[str]):
        self.library = library
        self.process = subprocess.Popen(_command(library, program, quantities, in_turns=True), env=_settings(library, None),
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.versions = json.loads(self._line())

    def burst(self, name: str) -> float:
        """Seconds per call."""
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        return float(self._line())

    def _line(self) -> str:
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"compare: measuring {self.library} in turns failed; what it printed stands above.")
        return line

    def __enter__(self) -> _Bursts:
        return self

    def __exit__(self, *exception) -> None:
        self.process.communicate()  # the end of its input ends it


def _run_warm(library: str, program: str | None, quantity: str) -> dict[str, Any]:
    """The output of measure.py in the second of two equal processes that share a compilation cache."""
    with tempfile.TemporaryDirectory() as cache:
        for _ in range(2):
            report = _run(library, program, [quantity], cache)
    return report


def _run(library: str, program: str | None, quantities: list[str], cache: str | None = None) -> dict[str, Any]:
    """The output of measure.py in a process of its own; `cache` is the folder of its compilation cache."""
    done = subprocess.run(_command(library, program, quantities, in_turns=False), env=_settings(library, cache),
                          capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"compare: measuring {', '.join(quantities)} of {library} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def _command(library: str, program: str | None, quantities: list[str], in_turns: bool) -> list[str]:
    interpreter = FLAGS.laminax_python if library == "laminax" else FLAGS.jax_python
    request = {"library": library, "program": program, "quantities": quantities, "collects": FLAGS.collects,
               "clock": FLAGS.clock, "in_turns": in_turns}
    return [interpreter, measure.__file__, json.dumps(request)]


def _settings(library: str, cache: str | None) -> dict[str, str]:
    """The environment of a process that measures."""
    return {**_environment(library), **_cache_settings(cache)}


def _cache_settings(folder: str | None) -> dict[str, str]:
    """Environment variables for both libraries; without a folder, what an earlier process compiled does not help a later one."""
    if folder is None:
        settings = {"ENABLE_COMPILATION_CACHE": "false"}
    else:
        settings = {"ENABLE_COMPILATION_CACHE": "true", "COMPILATION_CACHE_DIR": folder,
                    "PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    return {f"{library.upper()}_{name}": value for library in LIBRARIES for name, value in settings.items()}


def _environment(library: str) -> dict[str, str]:
    """laminax is found where this process would find it, jax in the folders of --jax_paths."""
    environment = dict(os.environ)
    if library == "laminax":
        environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    elif FLAGS.jax_paths:
        # Not resolve(): the folders are beside the link that Bazel makes, not beside what it points to.
        listing = pathlib.Path(FLAGS.jax_paths).absolute()
        environment["PYTHONPATH"] = os.pathsep.join(str(listing.parent / line) for line in listing.read_text().splitlines())
    return environment


def _check_versions(known: dict[str, str], reported: dict[str, str]) -> None:
    for name, version in reported.items():
        if known.setdefault(name, version) != version:
            raise SystemExit(f"compare: both libraries must run on the same {name}, but one has {known[name]} and the other "
                             f"{version}. Set --laminax_python, --jax_python or --jax_paths accordingly.")


def _machine() -> dict[str, Any]:
    return {"system": platform.platform(), "processor": _processor(), "cores": os.cpu_count()}


def _processor() -> str:
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def _row(program: str | None, name: str, by_library: dict[str, list[dict]], ratios: list[float] | None) -> dict[str, Any]:
    """All samples of one quantity, their medians, and the ratios of each round, if they were not measured as such."""
    values = {library: [sample["value"] for sample in by_library[library]] for library in LIBRARIES}
    pairs = list(zip(values["laminax"], values["jax"], strict=True))
    if measure.QUANTITIES[name].unit == "losses":  # the ratio that is furthest from 1 says how well they agree
        ratios = [max((a / b for a, b in zip(ours, theirs, strict=True)), key=lambda r: abs(r - 1)) for ours, theirs in pairs]
        values = {library: [losses[-1] for losses in values[library]] for library in LIBRARIES}
    elif ratios is None:
        ratios = [ours / theirs for ours, theirs in pairs]
    return {
        "program": program,
        "quantity": name,
        "unit": measure.QUANTITIES[name].unit,
        "samples": values,
        "median": {library: statistics.median(values[library]) for library in LIBRARIES},
        "equations": {library: by_library[library][0]["equations"] for library in LIBRARIES},
        "ratios": ratios,
        "ratio": statistics.median(ratios),
    }


def _table(rows: list[dict[str, Any]], versions: dict[str, str]) -> str:
    header = ["program", "quantity", *(f"{library} {versions[library]}" for library in LIBRARIES), "ratio", "range",
              *(f"{library} per eqn" for library in LIBRARIES)]
    lines = [header, *(_cells(row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    aligned = ["  ".join(cell.ljust(w) if i < 2 else cell.rjust(w) for i, (cell, w) in enumerate(zip(line, widths, strict=True)))
               for line in lines]
    conditions = f"Python {versions['python']}, jaxlib {versions['jaxlib']}; medians of {FLAGS.rounds} rounds, {FLAGS.clock} time"
    return "\n".join([conditions, aligned[0], "-" * len(aligned[0]), *aligned[1:]])


def _cells(row: dict[str, Any]) -> list[str]:
    median, equations = row["median"], row["equations"]
    values = [_quantity_text(median[library], row["unit"]) for library in LIBRARIES]
    per_equation = [_quantity_text(median[library] / equations[library], "s") if equations[library] else ""
                    for library in LIBRARIES]
    digits = 6 if row["unit"] == "losses" else 2
    return [row["program"] or "-", measure.QUANTITIES[row["quantity"]].label, *values, f"{row['ratio']:.{digits}f}",
            f"{min(row['ratios']):.{digits}f} to {max(row['ratios']):.{digits}f}", *per_equation]


def _quantity_text(value: float, unit: str) -> str:
    """Three digits and a unit: `12.3 ms`, `187 MB`."""
    if unit == "losses":
        return f"{value:.6g}"
    scales = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs")] if unit == "s" else [(1e9, "GB"), (1e6, "MB")]
    scale, name = next((pair for pair in scales if value >= pair[0]), scales[-1])
    number = value / scale
    return f"{number:.{2 if number < 10 else 1 if number < 100 else 0}f} {name}"


if __name__ == "__main__":
    app.run(main)
