"""Operations and loops on the CPU: laminax, laminax without its CPU kernels, jax, and NumPy, SciPy or PyTorch where they have the same.

    python benchmarks/cpu.py --laminax_python=a/bin/python --jax_python=b/bin/python --json=cpu.json
    python benchmarks/cpu.py --programs=sort,argsort.grad --sizes=2 --turns=20
    ./bazelw run //benchmarks:cpu -- --table=loops

Each side is one process for all programs. For each program, its gradient where it has one, and each of three sizes: what tracing, lowering
and compiling it takes (the shortest of `compiles` times, with a new function each time), and what a step takes. The sides take turns, a
burst of steps each, and a ratio is the median of the ratios of the turns, so that a machine that is busy with other work slows all of
them down alike; with `--of=least` it is that of the shortest bursts, for machines whose other work comes and goes within a turn.
Times of steps are by the clock on the wall (`--clock=cpu`: processor time of all threads), those of compiling are processor time. After
the rows come geometric means, and how many ratios to jax are above 1.05. Where the results of laminax and jax differ by more than `RTOL`,
the row says so. A process that has jax never has laminax.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import time
from typing import Any

import cpu_operations
import numpy as np
from cpu_programs import CpuProgram

LIMIT = 1.05
RTOL = 1e-3  # for sums over all results of single-precision programs
SIDES = {"laminax": {}, "general": {"LAMINAX_CPU_KERNELS": "0"}, "jax": {}, "numpy": {}}


def tables() -> dict[str, dict[str, CpuProgram]]:
    """The tables by name."""
    found = {"operations": cpu_operations.OPERATIONS}
    if importlib.util.find_spec("cpu_loops"):
        found["loops"] = importlib.import_module("cpu_loops").LOOPS
    return found


class Side:
    """A process that compiles programs and runs them when it is asked."""

    def __init__(self, side: str, options: argparse.Namespace) -> None:
        self.name = side
        interpreter = {"jax": options.jax_python, "numpy": options.numpy_python}.get(side, options.laminax_python)
        self.process = subprocess.Popen([interpreter, __file__, "--serve", side, "--clock", options.clock], env=_environment(side, options),
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, **question: Any) -> Any:
        """The answer to a question, as `serve` gives it."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"cpu: the process of {self.name} ended at {question}; what it printed stands above.")
        return json.loads(line)

    def __enter__(self) -> Side:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.process.communicate()  # the end of its input ends it


def _environment(side: str, options: argparse.Namespace) -> dict[str, str]:
    """laminax is found where this process would find it, jax in the folders that `jax_paths` lists."""
    own = {**os.environ, **SIDES[side], "LAMINAX_ENABLE_COMPILATION_CACHE": "0", "JAX_ENABLE_COMPILATION_CACHE": "0"}
    own.update(LAMINAX_PLATFORMS="cpu", JAX_PLATFORMS="cpu")
    here = str(pathlib.Path(__file__).parent)
    if side in ("laminax", "general"):
        own["PYTHONPATH"] = os.pathsep.join(sys.path)
    elif side == "jax" and options.jax_paths:
        listing = pathlib.Path(options.jax_paths).absolute()
        own["PYTHONPATH"] = os.pathsep.join([here, *(str(listing.parent / line) for line in listing.read_text().splitlines())])
    else:
        own["PYTHONPATH"] = here
    return own


# The work of a side's process


class Server:
    """Compiles and runs programs with one library."""

    def __init__(self, side: str, clock: str) -> None:
        self.side = side
        self.clock = time.process_time if clock == "cpu" else time.perf_counter
        if side != "numpy":
            self.lib = importlib.import_module("jax" if side == "jax" else "laminax")
            self.lib.block_until_ready(self.lib.jit(lambda x: x + 1)(1.0))  # starts the compiler and its threads

    def prepare(self, table: str, program: str, size: int, gradient: bool) -> dict[str, Any]:
        """Gets a program ready; says what a step takes, roughly, and the sum of all results. No answer if this side does not have it."""
        found = tables()[table][program]
        if self.side == "numpy":
            if found.peer is None or gradient:
                return {}
            _, args = found.make(_NoLibrary(), size)
            try:
                self.run = found.peer(size, *args)
            except ImportError:
                return {}
        else:
            self.fun, args = found.step(self.lib, size, gradient)
            self.args = self.lib.block_until_ready(self.lib.device_put(args))
            compiled = self.lib.jit(self.fun)
            self.run = lambda: self.lib.block_until_ready(compiled(*self.args))
        results = self.run()
        self.burst(1)
        return {"seconds": self.burst(1), "sum": _sum(results) if self.side != "numpy" else None}

    def compile(self) -> float:
        """The seconds of tracing, lowering and compiling the program that was prepared last, once more."""
        fun = self.fun
        again = self.lib.jit(lambda *args: fun(*args))
        start = time.process_time()
        again.lower(*self.args).compile()
        return time.process_time() - start

    def burst(self, count: int) -> float:
        """The seconds of a step, as the mean of several."""
        start = self.clock()
        for _ in range(count):
            self.run()
        return (self.clock() - start) / count


class _NoLibrary:
    """Stands for the library where only the arguments of a program are wanted."""

    def __getattr__(self, name: str) -> Any:
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self


def _sum(results: Any) -> float:
    """The sum over all numbers of a pytree of arrays, those that are no numbers left out."""
    if isinstance(results, (tuple, list)):
        return float(sum(map(_sum, results)))
    if isinstance(results, dict):
        return float(sum(map(_sum, results.values())))
    array = np.asarray(results)
    array = array.real.astype(np.float64) if np.issubdtype(array.dtype, np.number) else array.astype(np.float64)
    return float(array[np.isfinite(array)].sum())


def serve(side: str, clock: str) -> None:
    """Answers one line of JSON for each that it reads."""
    server = Server(side, clock)
    for line in sys.stdin:
        question = json.loads(line)
        print(json.dumps(getattr(server, question.pop("do"))(**question)), flush=True)


# Measuring


def measure(sides: list[Side], table: str, program: str, size: int, is_gradient: bool, options: argparse.Namespace) -> dict[str, Any]:
    """The times and ratios of one program in one size."""
    ready = {side: side.ask(do="prepare", table=table, program=program, size=size, gradient=is_gradient) for side in sides}
    present = [side for side in sides if ready[side]]
    seconds: dict[str, list[float]] = {side.name: [] for side in present}
    compiling: dict[str, list[float]] = {side.name: [] for side in present if side.name != "numpy"}
    for number in range(options.compiles):
        for side in present[::1 if number % 2 else -1]:
            if side.name in compiling:
                compiling[side.name].append(side.ask(do="compile"))
    jax = next((ready[side] for side in present if side.name == "jax"), ready[present[0]])
    count = max(1, int(options.burst / max(jax["seconds"], 1e-7)))
    for turn in range(options.turns):
        for side in present[::1 if turn % 2 else -1]:
            seconds[side.name].append(side.ask(do="burst", count=count))
    found: dict[str, Any] = {"program": program + ".grad" * is_gradient, "size": size}
    found["step"] = {name: min(times) if options.of == "least" else statistics.median(times) for name, times in seconds.items()}
    found["compile"] = {name: min(times) for name, times in compiling.items() if times}
    first = seconds["laminax"]
    if options.of == "least":
        found["ratio"] = {name: min(first) / min(times) for name, times in seconds.items() if name != "laminax"}
    else:
        found["ratio"] = {name: statistics.median(own / other for own, other in zip(first, times, strict=True))
                          for name, times in seconds.items() if name != "laminax"}
    if {"laminax", "jax"} <= found["compile"].keys():
        found["compile_ratio"] = found["compile"]["laminax"] / found["compile"]["jax"]
    sums = [ready[side]["sum"] for side in present if side.name in ("laminax", "jax")]
    found["differs"] = any(not math.isclose(value, sums[0], rel_tol=RTOL, abs_tol=1e-3) for value in sums)
    return found


def row(found: dict[str, Any]) -> str:
    """A line of the table."""
    cells = [found["program"], str(found["size"])]
    cells += [f"{1e3 * found['step'][name]:.3g}" if name in found["step"] else "-" for name in SIDES]
    cells += [f"{found['ratio'][name]:.2f}" if name in found["ratio"] else "-" for name in SIDES if name != "laminax"]
    cells += [f"{1e3 * found['compile'][name]:.0f}" if name in found["compile"] else "-" for name in ("laminax", "jax")]
    cells.append(f"{found['compile_ratio']:.2f}" if "compile_ratio" in found else "-")
    notes = ["slower"] * (found["ratio"].get("jax", 0) > LIMIT) + ["compiles slower"] * (found.get("compile_ratio", 0) > LIMIT)
    return " | ".join([*cells, ", ".join(notes + ["other numbers"] * found["differs"]) or "-"])


def summary(rows: list[dict[str, Any]]) -> str:
    """Geometric means of the ratios to jax, and how many are above the limit."""
    lines = []
    for name, ratios in (("step", [row["ratio"]["jax"] for row in rows if "jax" in row["ratio"]]),
                         ("compile", [row["compile_ratio"] for row in rows if "compile_ratio" in row])):
        if ratios:
            lines.append(f"{name}: geometric mean {statistics.geometric_mean(ratios):.3f} of jax's over {len(ratios)}, "
                         f"{sum(ratio > LIMIT for ratio in ratios)} above {LIMIT}, largest {max(ratios):.2f}")
    return "\n".join(lines)


def chosen(options: argparse.Namespace, parser: argparse.ArgumentParser) -> list[tuple[str, bool]]:
    """The programs to measure, each with whether it is the gradient."""
    programs = tables()[options.table]
    every = [(name, is_gradient) for name, program in programs.items() for is_gradient in ((False, True) if program.by else (False,))]
    if not options.programs:
        return every
    asked = [(name.removesuffix(".grad"), name.endswith(".grad")) for name in options.programs.split(",")]
    if unknown := sorted(name for name, is_gradient in asked if (name, is_gradient) not in every):
        parser.error(f"--programs: there is no program {', '.join(unknown)} in {options.table}, or it has no gradient")
    return asked


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", default="operations", choices=sorted(tables()), help="which programs")
    parser.add_argument("--programs", help="those to measure, sort,sort.grad: all by default")
    parser.add_argument("--sizes", default="0,1,2", help="which of the three sizes")
    parser.add_argument("--sides", default=",".join(SIDES), help="of: %(default)s")
    parser.add_argument("--turns", type=int, default=10, help="bursts of each side")
    parser.add_argument("--burst", type=float, default=0.01, help="about how many seconds of steps a burst has")
    parser.add_argument("--compiles", type=int, default=3, help="how often each side compiles")
    parser.add_argument("--clock", default="wall", choices=("wall", "cpu"), help="what steps are measured by")
    parser.add_argument("--of", default="median", choices=("median", "least"), help="which of the turns count")
    parser.add_argument("--json", help="file for the results")
    parser.add_argument("--laminax_python", default=sys.executable, help="interpreter that runs laminax")
    parser.add_argument("--jax_python", default=sys.executable, help="interpreter that runs jax")
    parser.add_argument("--numpy_python", default=sys.executable, help="interpreter that runs NumPy, SciPy and PyTorch")
    parser.add_argument("--jax_paths", help="file with the folders jax is imported from, a line each, relative to that file")
    parser.add_argument("--serve", metavar="SIDE", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(options.serve, options.clock)
    rows = []
    print("program | size | " + " | ".join(f"{name} ms" for name in SIDES) + " | "
          + " | ".join(f"to {name}" for name in SIDES if name != "laminax") + " | laminax compiles ms | jax | ratio | notes")
    with contextlib.ExitStack() as stack:
        sides = [stack.enter_context(Side(name, options)) for name in SIDES if name in options.sides.split(",")]
        for program, is_gradient in chosen(options, parser):
            for number in map(int, options.sizes.split(",")):
                size = tables()[options.table][program].sizes[number]
                rows.append(measure(sides, options.table, program, size, is_gradient, options))
                print(row(rows[-1]), flush=True)
    print(summary(rows))
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
