"""Draws random programs and compares ways of computing them: eager, compiled, evaluated by NumPy, mapped, differentiated, on many devices.

    ./bazelw run //tools:fuzz -- --programs=1000 --seed=7
    python tools/fuzz.py --seconds=10
    python tools/fuzz.py --x64 --checks=differences,host

A program on which two ways disagree is made smaller and printed with its seed; the exit status is then 1. The same seed draws the same
programs.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import secrets
import sys
import time
import traceback

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"
sys.path.insert(0, str(pathlib.Path(__file__).parent))

import numpy as np  # noqa: E402
from fuzzing.checks import CHECKS, counts  # noqa: E402
from fuzzing.drawing import drawn_program  # noqa: E402
from fuzzing.programs import Program, drawn_inputs  # noqa: E402
from fuzzing.shrinking import shrunk  # noqa: E402

import laminax  # noqa: E402

PROGRAMS_BETWEEN_CLEARINGS = 200  # then compiled programs are freed


def failure(check: str, program: Program, seed: int) -> str | None:
    """What a check finds wrong with a program: the error's last line and kind, or None."""
    arguments = drawn_inputs(np.random.default_rng(seed), program.inputs)
    try:
        CHECKS[check](program, arguments)
    except Exception as error:
        return f"{type(error).__name__}: {error}" if str(error) else traceback.format_exc()
    return None


def examined(seed: int, checks: list[str], steps: int) -> str | None:
    """Draws the program of a seed and checks it; the report on a smaller one if something is wrong."""
    program = drawn_program(seed, steps)
    for check in checks:
        found = failure(check, program, seed)
        if found is None:
            continue
        kind = found.partition(":")[0]
        small = shrunk(program, lambda smaller: (failure(check, smaller, seed) or "").partition(":")[0] == kind)
        return f"seed {seed}, check {check}:\n{small.text()}\n{failure(check, small, seed) or found}\n"
    return None


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=None, help="how many programs; by default as many as the time permits")
    parser.add_argument("--seconds", type=float, default=None, help="how long; by default until the programs are checked")
    parser.add_argument("--seed", type=int, default=None, help="of the first program, the next have the next; by default a new one")
    parser.add_argument("--steps", type=int, default=8, help="the most steps of a program")
    parser.add_argument("--checks", default=",".join(CHECKS), help="which ways are compared")
    parser.add_argument("--x64", action="store_true", help="with 64-bit types")
    options = parser.parse_args(arguments)
    seed = secrets.randbits(31) if options.seed is None else options.seed
    checks = options.checks.split(",")
    if unknown := set(checks) - set(CHECKS):
        parser.error(f"--checks: there is no {', '.join(sorted(unknown))}; there are {', '.join(CHECKS)}")
    programs = 100 if options.programs is None and options.seconds is None else options.programs
    with laminax.enable_x64(options.x64 or bool(laminax.config.jax_enable_x64)):
        return _run(seed, programs, options.seconds, checks, options.steps)


def _run(seed: int, programs: int | None, seconds: float | None, checks: list[str], steps: int) -> int:
    """Checks so many programs, or for so long; 1 if something is wrong."""
    end = time.monotonic() + (float("inf") if seconds is None else seconds)
    count = wrong = 0
    while (programs is None or count < programs) and time.monotonic() < end:
        if (report := examined(seed + count, checks, steps)) is not None:
            wrong += 1
            print(report, flush=True)
        count += 1
        if count % PROGRAMS_BETWEEN_CLEARINGS == 0:
            laminax.clear_caches()
    print(f"{count} programs from seed {seed} on, {wrong} on which {', '.join(checks)} disagree")
    if "regions" in checks:
        print(", ".join(f"{number} {what}" for what, number in counts.items()))
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
