"""First steps of real programs: libraries written for JAX on laminax, through `laminax.experimental.as_jax`, and on JAX.

    python benchmarks/ecosystem.py --python=a/bin/python

The interpreter has the libraries (flax, optax, dm-haiku, equinox, diffrax, numpyro, blackjax) and jax; laminax is found where this process
finds it. Each side runs in processes of its own, in turn with the other: one with an empty cache on disk (cold), then one that finds what
the first has left there (warm). What goes there is each library's choice: laminax keeps all programs but the fastest to compile, JAX those
that take a second. The first step counts from before the model is built and initialised until its result is there, without imports, in
processor time of all threads; a step is the median of those after it, of which there are ten at least, and half a second's together; and
memory how far the peak of the resident memory rises from before the program is built. Linux only.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

SIDES = ("laminax", "jax")
MEASURED = ("cold", "warm", "step", "memory")
STEPS = 10
STEP_SECONDS = 0.5  # steps of a few milliseconds vary by a half among the first ten


def measure(side: str, program: str) -> None:
    """The work of one process: prints what was measured as JSON."""
    if side == "laminax":
        importlib.import_module("laminax.experimental.as_jax")
    jax = importlib.import_module("jax")
    build = importlib.import_module("ecosystem_programs").PROGRAMS[program]
    import_libraries()
    jax.block_until_ready(jax.jit(lambda x: x + 1)(1.0))  # starts the compiler and its threads
    before, start = peak_memory(), time.process_time()
    state, step = build()
    state, value = step(state)
    jax.block_until_ready((state, value))
    first, steps, told = time.process_time() - start, [], math.nan
    while len(steps) < STEPS or sum(steps) < STEP_SECONDS:
        start = time.process_time()
        state, value = step(state)
        jax.block_until_ready((state, value))
        steps.append(time.process_time() - start)
        if len(steps) == STEPS:
            told = float(value)
    print(json.dumps({"first": first, "step": statistics.median(steps), "memory": (peak_memory() - before) / 1e6,
                      "value": told}), flush=True)


def import_libraries() -> None:
    """Imports what programs import, which is no part of a first step."""
    for name in ("optax", "flax.linen", "flax.nnx", "haiku", "equinox", "diffrax", "numpyro.infer", "blackjax"):
        importlib.import_module(name)


def peak_memory() -> int:
    """The largest resident memory of this process so far, in bytes."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:"))


def run(side: str, program: str, cache: str, python: str) -> dict[str, float]:
    """One process of a side, with a folder for the cache on disk."""
    name = side.upper()
    own = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), f"{name}_ENABLE_COMPILATION_CACHE": "1",
           f"{name}_COMPILATION_CACHE_DIR": cache}
    done = subprocess.run([python, __file__, "--measure", side, program], env=own, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{program} on {side} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def compared(program: str, options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """What was measured for each side: medians over the rounds, in which the sides take turns at being first."""
    found: dict[str, list[dict[str, float]]] = {side: [] for side in SIDES}
    for number in range(options.rounds):
        for side in SIDES[::1 if number % 2 else -1]:
            with tempfile.TemporaryDirectory() as cache:
                cold, warm = (run(side, program, cache, options.python) for _ in range(2))
            found[side].append({"cold": cold["first"], "warm": warm["first"], "step": min(cold["step"], warm["step"]),
                                "memory": cold["memory"], "value": cold["value"]})
    return {side: {name: statistics.median(one[name] for one in rounds) for name in (*MEASURED, "value")}
            for side, rounds in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", default="", help="those to measure; all by default")
    parser.add_argument("--rounds", type=int, default=3, help="how often each side is started, cold and warm")
    parser.add_argument("--python", default=sys.executable, help="interpreter that has the libraries and jax")
    parser.add_argument("--json", help="file to write the figures to")
    parser.add_argument("--measure", nargs=2, metavar=("SIDE", "PROGRAM"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        return measure(*options.measure)
    listed = subprocess.run([options.python, "-c", "import ecosystem_programs as e; print(*e.PROGRAMS)"], capture_output=True, text=True,
                            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, check=True).stdout.split()
    names = options.programs.split(",") if options.programs else listed
    if unknown := set(names) - set(listed):
        parser.error(f"--programs: there is no program {', '.join(sorted(unknown))}; there are {', '.join(listed)}")
    print("program | " + " | ".join(f"{name} of {' and '.join(SIDES)} | ratio" for name in MEASURED) + " | values")
    rows, ratios = {}, {name: [] for name in MEASURED}
    for program in names:
        try:
            rows[program] = compared(program, options)
        except RuntimeError as error:
            print(error, file=sys.stderr, flush=True)
            continue
        cells, (ours, theirs) = [program], rows[program].values()
        for name in MEASURED:
            ratios[name].append(ours[name] / theirs[name])
            cells += [f"{ours[name]:.3g} {theirs[name]:.3g}", f"{ratios[name][-1]:.2f}"]
        print(" | ".join([*cells, f"{ours['value']:.6g} {theirs['value']:.6g}"]), flush=True)
    for name, values in ratios.items():
        if values:
            print(f"geometric mean of {name}: {math.exp(statistics.mean(map(math.log, values))):.2f}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
