"""The gain of compiling by regions: laminax with and without regions, and jax, on programs that train, two of them over eight devices.

    python benchmarks/regions.py --laminax_python=a/bin/python --jax_python=b/bin/python
    ./bazelw run //benchmarks:regions

For each program and each side: how far the peak of the resident memory rises over four steps, what the first step takes, with tracing and
compiling, and what a step takes after that. Every measurement is made in a process of its own; after their first steps the three
take turns, a step each, so that a machine that is busy with other work slows all of them down. Times are processor times of all threads,
the first step's as it is, a step's as the median of the ratios of a turn. The last column says where laminax as it is by default
is worse than 1.1 times the better of the two others in memory or in the first step, or 1.05 times in a step. Linux only.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time
from typing import Any

import training_programs

SIDES = {"regions": {}, "whole": {"LAMINAX_COMPILE_REGIONS": "0"}, "jax": {}}
FIRST_STEPS = 4  # until the peak of the memory is read
LIMITS = {"peak": 1.1, "first": 1.1, "step": 1.05}


class Side:
    """A process that trains a program: its first steps are measured when it starts, then one step each time it is asked."""

    def __init__(self, side: str, program: str, options: argparse.Namespace):
        interpreter = options.jax_python if side == "jax" else options.laminax_python
        self.process = subprocess.Popen([interpreter, __file__, "--train", side, program], env=_environment(side, program, options),
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.found: dict[str, float] = json.loads(self._line())

    def step(self) -> float:
        """The seconds of a step."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return float(self._line())

    def _line(self) -> str:
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("regions: a measurement failed; what it printed stands above.")
        return line

    def __enter__(self) -> Side:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.process.communicate()  # the end of its input ends it


def _environment(side: str, program: str, options: argparse.Namespace) -> dict[str, str]:
    """laminax is found where this process would find it, jax in the folders that `jax_paths` lists."""
    own = {**os.environ, **SIDES[side], "LAMINAX_ENABLE_COMPILATION_CACHE": "0", "JAX_ENABLE_COMPILATION_CACHE": "0"}
    if (count := training_programs.PROGRAMS[program].num_devices) > 1:
        own["XLA_FLAGS"] = f"{own.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={count}"
    own.pop("PYTHONDONTWRITEBYTECODE", None)  # modules that a first step loads are compiled once, as those of an installation
    if side != "jax":
        own["PYTHONPATH"] = os.pathsep.join(sys.path)
    elif options.jax_paths:
        listing = pathlib.Path(options.jax_paths).absolute()
        own["PYTHONPATH"] = os.pathsep.join(str(listing.parent / line) for line in listing.read_text().splitlines())
    return own


def train(side: str, program: str) -> None:
    """The work of one side's process: prints the cost of the first steps as JSON, then the seconds of one step for each line it reads."""
    lib = importlib.import_module("jax" if side == "jax" else "laminax")
    training = training_programs.PROGRAMS[program]
    params, *data = lib.block_until_ready(training.placed(lib))
    lib.block_until_ready(lib.jit(lambda x: x + 1)(1.0))  # starts the compiler and its threads
    before = peak_memory()
    step = training.step(lib)
    start = time.process_time()
    params, loss = lib.block_until_ready(step(params, *data))
    first = time.process_time() - start
    for _ in range(FIRST_STEPS - 1):
        params, loss = lib.block_until_ready(step(params, *data))
    print(json.dumps({"peak": (peak_memory() - before) / 1e6, "first": first, "loss": float(loss)}), flush=True)
    for _ in sys.stdin:
        start = time.process_time()
        params, loss = lib.block_until_ready(step(params, *data))
        print(time.process_time() - start, flush=True)


def peak_memory() -> int:
    """The largest resident memory of this process so far, in bytes."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:"))


def measure(program: str, options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """For each side its peak, first step and step: medians of the rounds; a step is that of jax times the median of the turns' ratios."""
    rounds: dict[str, list[dict[str, float]]] = {side: [] for side in SIDES}
    for number in range(options.rounds):
        order = [*SIDES][number % len(SIDES):] + [*SIDES][:number % len(SIDES)]
        with contextlib.ExitStack() as stack:
            processes = {side: stack.enter_context(Side(side, program, options)) for side in order}
            seconds: dict[str, list[float]] = {side: [] for side in SIDES}
            for turn in range(options.turns):
                for side in order[::1 if turn % 2 else -1]:
                    seconds[side].append(processes[side].step())
        usual = statistics.median(seconds["jax"])
        for side, process in processes.items():
            ratio = statistics.median(own / theirs for own, theirs in zip(seconds[side], seconds["jax"], strict=True))
            rounds[side].append({**process.found, "step": usual * ratio})
    losses = [found["loss"] for values in rounds.values() for found in values]
    if max(losses) - min(losses) > 1e-3 * abs(losses[0]):
        raise SystemExit(f"regions: the sides of {program} differ in their losses, {losses}")
    return {side: {name: statistics.median(found[name] for found in values) for name in LIMITS} for side, values in rounds.items()}


def row(program: str, found: dict[str, dict[str, float]]) -> str:
    """A line of the table."""
    cells, over = [program], []
    for name, limit in LIMITS.items():
        values = [found[side][name] for side in SIDES]
        ratio = values[0] / max(min(values[1:]), 1e-9)
        cells += [f"{value:.0f}" if name == "peak" else f"{value:.3g}" for value in values] + [f"{ratio:.2f}"]
        if ratio > limit:
            over.append(name)
    return " | ".join([*cells, ", ".join(over) or "-"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", default=",".join(training_programs.PROGRAMS), help="those to measure, of: %(default)s")
    parser.add_argument("--rounds", type=int, default=3, help="how often each side is started")
    parser.add_argument("--turns", type=int, default=10, help="steps of each side in a round")
    parser.add_argument("--laminax_python", default=sys.executable, help="interpreter that runs laminax")
    parser.add_argument("--jax_python", default=sys.executable, help="interpreter that runs jax")
    parser.add_argument("--jax_paths", help="file with the folders jax is imported from, a line each, relative to that file")
    parser.add_argument("--train", nargs=2, metavar=("SIDE", "PROGRAM"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.train:
        return train(*options.train)
    names = options.programs.split(",")
    if unknown := set(names) - set(training_programs.PROGRAMS):
        parser.error(f"--programs: there is no program {', '.join(sorted(unknown))}")
    print("program | " + " | ".join(f"{name} of {', '.join(SIDES)} | ratio" for name in ("peak in MB", "first step in s", "step in s"))
          + " | over")
    for program in names:
        print(row(program, measure(program, options)), flush=True)


if __name__ == "__main__":
    main()
