"""The cost of calling a function of `autojit` again, beside `jit`: microseconds per call for 1, 10 and 100 arrays.

    PYTHONPATH=packages/ir:packages/transforms:packages/lowering:packages/runtime:packages/api python benchmarks/autojit.py
    ./bazelw run //benchmarks:autojit

Processor time of the calling thread, so that other work on the machine counts little; the fastest of several rounds, in which the
functions take turns. Each function returns the sum of the first array's elements and its second argument, if it has one.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import laminax
import laminax.numpy as jnp

COUNTS = (1, 10, 100)


class State:
    """Arrays as attributes."""

    def __init__(self, arrays: Sequence[Any]) -> None:
        for i, array in enumerate(arrays):
            setattr(self, f"w{i}", array)


def all_of_list(arrays: list[Any]) -> Any:
    return arrays


def all_of_state(state: State) -> Any:
    return state


def first_of_args(*arrays: Any) -> Any:
    return arrays[0].sum()


def first_of_list(arrays: list[Any]) -> Any:
    return arrays[0].sum()


def first_of_state(state: State) -> Any:
    return state.w0.sum()


def cases(count: int) -> dict[str, Callable[[], Any]]:
    """What is called, by name."""
    arrays = [jnp.full((4,), float(i)) for i in range(count)]
    by_position, by_list = laminax.jit(first_of_args, keep_unused=True), laminax.jit(first_of_list, keep_unused=True)
    auto_position, auto_list, auto_state = map(laminax.autojit, (first_of_args, first_of_list, first_of_state))
    state, returned, auto_returned = State(arrays), laminax.jit(all_of_list), laminax.autojit(all_of_state)
    return {
        "jit, arrays": lambda: by_position(*arrays),
        "autojit, arrays": lambda: auto_position(*arrays),
        "jit, a list": lambda: by_list(arrays),
        "autojit, a list": lambda: auto_list(arrays),
        "autojit, an object": lambda: auto_state(state),
        "jit, a list returned": lambda: returned(arrays),
        "autojit, an object returned": lambda: auto_returned(state),
    }


def fastest(calls: dict[str, Callable[[], Any]], rounds: int, number: int) -> dict[str, float]:
    """Microseconds per call."""
    best = dict.fromkeys(calls, float("inf"))
    for name, call in calls.items():
        laminax.block_until_ready(call())
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.thread_time()
            for _ in range(number):
                call()
            best[name] = min(best[name], (time.thread_time() - start) / number * 1e6)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--number", type=int, default=300, help="calls per round")
    options = parser.parse_args()
    print(f"{'':28}" + "".join(f"{count:>10}" for count in COUNTS))
    found = [fastest(cases(count), options.rounds, options.number) for count in COUNTS]
    for name in found[0]:
        print(f"{name:28}" + "".join(f"{each[name]:10.1f}" for each in found))


if __name__ == "__main__":
    main()
