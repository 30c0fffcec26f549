"""Many lengths through one training step: what each new length costs with sizes as names, with plain `jit`, and with jax.

    PYTHONPATH=packages/ir:packages/transforms:packages/lowering:packages/runtime:packages/api python benchmarks/abstracted_axes.py
    python benchmarks/abstracted_axes.py --jax_python=jax_env/bin/python
    ./bazelw run //benchmarks:abstracted_axes -- --lengths=100

A model of three layers is differentiated and stepped through on batches of 1, 2, 3, ... examples. Each side runs in processes of its own:
with the caches on disk off, and then twice with a cache in a folder of its own, of which the second process finds everything there.
After a first length, printed are how often the model's function was run in Python and how often a program was lowered for all others; per
length the time on the wall, the processor time of all threads, the time in the compiler or in reading its cache, and the rest of the time
on the wall; and the processor time of a call whose length was seen before.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np

SIDES = ("names", "names, quick compiler", "plain jit", "jax")
LOWERING = "/jax/core/compile/jaxpr_to_mlir_module_duration"
COMPILING = "/jax/core/compile/backend_compile_duration"
SIZES = ((16, 32), (32, 32), (32, 4))  # of the layers' matrices
CALLS = 2000  # of lengths that were seen


def arguments(length: int) -> tuple[Any, ...]:
    """Parameters, inputs and targets."""
    rng = np.random.default_rng(0)
    params = [(rng.normal(size=size).astype(np.float32) / size[0], np.zeros(size[1], np.float32)) for size in SIZES]
    return params, np.ones((length, SIZES[0][0]), np.float32), np.ones((length, SIZES[-1][1]), np.float32)


class Model:
    """The loss of the model, in the terms of a library; counts how often it is run."""

    def __init__(self, lib: Any) -> None:
        self.jnp = importlib.import_module(f"{lib.__name__}.numpy")
        self.runs = 0

    def __call__(self, params: Any, x: Any, y: Any) -> Any:
        self.runs += 1
        for matrix, bias in params[:-1]:
            x = self.jnp.tanh(x @ matrix + bias)
        matrix, bias = params[-1]
        return self.jnp.mean((x @ matrix + bias - y) ** 2)


def run(side: str, lengths: int) -> dict[str, float]:
    """The work of one process."""
    lib = importlib.import_module("jax" if side == "jax" else "laminax")
    monitoring = importlib.import_module(f"{lib.__name__}.monitoring")
    seconds: dict[str, list[float]] = {LOWERING: [], COMPILING: []}
    monitoring.register_event_duration_secs_listener(lambda event, duration, **_: seconds.get(event, []).append(duration))
    model = Model(lib)
    options: dict[str, Any] = {"abstracted_axes": (None, {0: "n"}, {0: "n"})} if side.startswith("names") else {}
    if side == "names, quick compiler":
        options["compiler_options"] = {"xla_backend_optimization_level": 0}
    step = lib.jit(lib.value_and_grad(model), **options)
    lib.block_until_ready(step(*arguments(lengths + 1)))  # the first one loads the libraries, and starts the compiler
    runs = model.runs
    for found in seconds.values():
        found.clear()
    wall, cpu = time.perf_counter(), time.process_time()
    for length in range(1, lengths + 1):
        lib.block_until_ready(step(*arguments(length)))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    result = {"runs": model.runs - runs, "lowerings": len(seconds[LOWERING]), "wall": wall / lengths, "cpu": cpu / lengths,
              "compiler": sum(seconds[COMPILING]) / lengths, "rest": (wall - sum(seconds[COMPILING])) / lengths}
    params, x, y = lib.device_put(arguments(lengths))
    lib.block_until_ready(step(params, x, y))
    calls = []
    for _ in range(5):
        start = time.thread_time()
        for _ in range(CALLS // 5):
            out = step(params, x, y)
        calls.append((time.thread_time() - start) / (CALLS // 5))
        lib.block_until_ready(out)
    return {**result, "call": min(calls)}


def measured(side: str, options: argparse.Namespace, cache: str | None) -> dict[str, float]:
    """What a process of a side finds, with a cache on disk in a folder or with none."""
    environment = {**os.environ, "LAMINAX_ENABLE_COMPILATION_CACHE": str(bool(cache)), "JAX_ENABLE_COMPILATION_CACHE": str(bool(cache)),
                   "JAX_COMPILATION_CACHE_DIR": cache or "", "LAMINAX_COMPILATION_CACHE_DIR": cache or "",
                   "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0", "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "0"}
    if not cache:
        del environment["JAX_COMPILATION_CACHE_DIR"], environment["LAMINAX_COMPILATION_CACHE_DIR"]
    if side != "jax":
        environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    else:
        environment.pop("PYTHONPATH", None)
    command = [options.jax_python if side == "jax" else sys.executable, __file__, f"--side={side}", f"--lengths={options.lengths}"]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", type=int, default=500)
    parser.add_argument("--jax_python", help="the Python of an environment with jax; without it, that side is left out")
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        print(json.dumps(run(options.side, options.lengths)))
        return
    print(f"{options.lengths} lengths\n{'':24} {'runs':>5} {'lowerings':>9} {'wall ms':>8} {'cpu ms':>8} {'compiler ms':>11} "
          f"{'rest ms':>8} {'call us':>8}")
    for side in SIDES if options.jax_python else SIDES[:-1]:
        with tempfile.TemporaryDirectory() as folder:
            for title, cache in ((side, None), (None, folder), ("  in the cache on disk", folder)):
                found = measured(side, options, cache)
                if title is not None:
                    print(f"{title:24} {found['runs']:5} {found['lowerings']:9} {found['wall'] * 1e3:8.2f} {found['cpu'] * 1e3:8.2f} "
                          f"{found['compiler'] * 1e3:11.2f} {found['rest'] * 1e3:8.2f} {found['call'] * 1e6:8.2f}", flush=True)


if __name__ == "__main__":
    main()
