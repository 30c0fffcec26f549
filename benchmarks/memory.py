"""Whether memory stays flat: functions jitted anew, dispatches, eager operations, arrays made and dropped.

    PYTHONPATH=packages/ir:packages/transforms:packages/lowering:packages/runtime:packages/api python benchmarks/memory.py
    ./bazelw run //benchmarks:memory

Each row does one thing so many times, after a tenth of that to warm up, and prints the resident memory of the process before
and after, garbage collected. A program that leaks a kilobyte per jitted function would show 10 MB. Linux only.
"""

from __future__ import annotations

import argparse
import gc
import os
import resource
from collections.abc import Callable

os.environ.setdefault("LAMINAX_ENABLE_COMPILATION_CACHE", "0")  # the programs would only fill the user's folder

import numpy as np

import laminax
import laminax.numpy as jnp

X = np.arange(8, dtype=np.float32)


def jit_anew(count: int) -> None:
    """A fresh lambda, traced, compiled, run and dropped."""
    for _ in range(count):
        laminax.jit(lambda x: x * 2 + 1)(X)


def trace_grad_anew(count: int) -> None:
    """The gradient of a fresh lambda, traced and dropped."""
    for _ in range(count):
        laminax.make_jaxpr(laminax.grad(lambda x: jnp.sum(jnp.tanh(x) * x)))(X)


def dispatch(count: int) -> None:
    """One jitted function, called."""
    f, x = laminax.jit(lambda x: x * 2 + 1), jnp.asarray(X)
    for _ in range(count):
        f(x)


def eager(count: int) -> None:
    """An operator on arrays and a function of laminax.numpy."""
    x = jnp.asarray(X)
    for _ in range(count // 2):
        jnp.tanh(x + x)


def transfer(count: int) -> None:
    """A value to the device and back."""
    for _ in range(count):
        np.asarray(laminax.device_put(X))


def donate(count: int) -> None:
    """A state that is donated from step to step."""
    step, state = laminax.jit(lambda x: x + 1, donate_argnums=0), jnp.asarray(X)
    for _ in range(count):
        state = step(state)


ROWS: dict[str, tuple[Callable[[int], None], int]] = {
    "jit of a fresh lambda, called": (jit_anew, 10_000),
    "grad of a fresh lambda, traced": (trace_grad_anew, 10_000),
    "dispatch of one function": (dispatch, 100_000),
    "eager operations": (eager, 100_000),
    "device_put and back": (transfer, 100_000),
    "donating steps": (donate, 100_000),
}


def resident_megabytes() -> float:
    """The memory of this process that is in RAM now."""
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0, help="of the numbers of repetitions")
    arguments = parser.parse_args()
    print("what | times | MB before | MB after | bytes each")
    for name, (work, count) in ROWS.items():
        count = max(10, int(count * arguments.scale))
        work(count // 10)
        before = resident_megabytes()
        work(count)
        after = resident_megabytes()
        print(f"{name} | {count:,} | {before:.1f} | {after:.1f} | {(after - before) / count * 1e6:.0f}", flush=True)


if __name__ == "__main__":
    main()
