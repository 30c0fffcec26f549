"""Measures one library in a process of its own: what compare.py starts, with a request as JSON.

    python measure.py '{"library": "laminax", "program": "mlp100", "quantities": ["lower"], "collects": true, "clock": "wall",
                        "in_turns": false}'

prints `{"versions": {...}, "results": {"lower": {"value": seconds, "equations": 3306}}}`. Times are the shortest of
several: what disturbs a process only ever makes it slower. Each tracing gets a fresh function, and the garbage of one
repetition is collected before the next begins. The clock "wall" is the one a user waits by; "cpu", the processor time of
all threads, tells more on a machine that is busy with other work.

Calls of microseconds are measured in turns instead, where the machine's speed changes from one tenth of a second to the next:
the request says `"in_turns": true`, the process prints the versions once it is ready, and then, for each line with a quantity's
name that it reads, the seconds per call of one short burst.
"""

from __future__ import annotations

import gc
import importlib
import json
import operator
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time, "thread": time.thread_time}

BURST_SECONDS = 0.005

# The parts that an ordinary program uses. laminax loads a part on first use, jax loads all parts at once.
IMPORTED = ("jit", "grad", "vmap", "make_jaxpr", "device_put", "numpy.sin", "random.normal", "tree.map")


@dataclass(frozen=True)
class Quantity:
    """A quantity that can be measured.

    label: what the table calls it.
    unit: "s" for a time, "B" for memory, "losses" for a list of numbers that should be the same for both libraries.
    measure: the function, of a `Bench`; returns the value, or (value, number of equations), or, if in_turns, what to call.
    needs_program: whether it is measured for each program, or once for the library.
    needs_cache: whether it is measured in a process of its own, with a compilation cache on disk that an equal process has
      filled before.
    in_turns: whether it is the time of a short call, measured in bursts that take turns with those of the other library.
    """

    label: str
    unit: str
    measure: Callable[[Bench], Any]
    needs_program: bool
    needs_cache: bool = False
    in_turns: bool = False


QUANTITIES: dict[str, Quantity] = {}


def quantity(name: str, label: str, unit: str = "s", needs_program: bool = True, **where: bool):
    """Decorator: adds a quantity to the table. A process measures them in the order they have here."""

    def register(measure):
        QUANTITIES[name] = Quantity(label, unit, measure, needs_program, **where)
        return measure

    return register


class Bench:
    """A library that has just been imported, and a program with its arguments on the device.

    Args:
      library: "laminax" or "jax".
      program: a name from `programs.NAMES`, or None.
      clock: tells seconds.
    """

    def __init__(self, library: str, program: str | None, clock: Callable[[], float]):
        self.clock = clock
        start = clock()
        self.lib = importlib.import_module(library)
        for name in IMPORTED:
            operator.attrgetter(name)(self.lib)
        self.import_seconds = clock() - start
        self.import_bytes = peak_memory()
        if program is not None:
            self.program = importlib.import_module(f"programs.{program}")
            self.args = self.lib.block_until_ready(self.lib.device_put(self.program.arguments()))

    def fresh(self) -> Callable:
        """A new function object of the program."""
        return self.program.fresh(self.lib)

    def fresh_step(self) -> Callable:
        """The program's value and gradient, jitted: what a training step spends its time on."""
        return self.lib.jit(self.lib.value_and_grad(self.fresh()))

    def best(self, run: Callable, prepare: Callable | None = None, repetitions: int = 7) -> tuple[float, Any]:
        """The shortest time that `run` takes, on what `prepare` returns if given, and its last result."""
        seconds = []
        for _ in range(repetitions):
            args = () if prepare is None else (prepare(),)
            result = None  # the results of the last repetition are freed here, outside of the measured time
            gc.collect()
            start = self.clock()
            result = run(*args)
            seconds.append(self.clock() - start)
        return min(seconds), result

    def burst(self, call: Callable[[], Any], count: int) -> float:
        """The seconds that `count` calls take."""
        start = self.clock()
        for _ in range(count):
            call()
        return self.clock() - start


def peak_memory() -> int:
    """The largest resident memory of this process so far, in bytes."""
    try:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:"))
    except OSError:  # not Linux. There, `ru_maxrss` would also count the process that started this one.
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


@quantity("import", "import", needs_program=False)
def _import(bench: Bench):
    return bench.import_seconds


@quantity("import_memory", "peak RSS after import", "B", needs_program=False)
def _import_memory(bench: Bench):
    return bench.import_bytes


@quantity("first_step", "first step, cold")
def _first_step(bench: Bench):
    """Trace, lower, compile and run, in a process that has done none of it before."""
    step = bench.fresh_step()
    start = bench.clock()
    bench.lib.block_until_ready(step(*bench.args))
    return bench.clock() - start


@quantity("warm_first_step", "first step, warm disk cache", needs_cache=True)
def _warm_first_step(bench: Bench):
    """The same where an earlier process has compiled the program and left it in the cache on disk."""
    return _first_step(bench)


@quantity("make_jaxpr", "make_jaxpr")
def _make_jaxpr(bench: Bench):
    seconds, jaxpr = bench.best(lambda: bench.lib.make_jaxpr(bench.fresh())(*bench.args))
    return seconds, count_equations(jaxpr)


@quantity("make_jaxpr_grad", "make_jaxpr of grad")
def _make_jaxpr_grad(bench: Bench):
    seconds, _ = bench.best(lambda: bench.lib.make_jaxpr(bench.lib.grad(bench.fresh()))(*bench.args))
    return seconds, _forward_equations(bench)


@quantity("make_jaxpr_vmap", "make_jaxpr of vmap")
def _make_jaxpr_vmap(bench: Bench):
    import numpy as np

    lib, axes = bench.lib, bench.program.BATCH_AXES
    args = [
        arg if axis is None else lib.tree.map(lambda x: np.stack([np.asarray(x)] * 16), arg)
        for arg, axis in zip(bench.args, axes, strict=True)
    ]
    seconds, _ = bench.best(lambda: lib.make_jaxpr(lib.vmap(bench.fresh(), axes))(*args))
    return seconds, _forward_equations(bench)


@quantity("lower", "lower value_and_grad")
def _lower(bench: Bench):
    traced = bench.fresh_step().trace(*bench.args)
    seconds, _ = bench.best(lambda traced: traced.lower(), lambda: bench.fresh_step().trace(*bench.args))
    return seconds, count_equations(traced.jaxpr)


@quantity("compile", "compile value_and_grad")
def _compile(bench: Bench):
    lowered = lambda: bench.fresh_step().trace(*bench.args).lower()  # noqa: E731
    return bench.best(lambda lowered: lowered.compile(), lowered, repetitions=2)[0]


@quantity("step", "steady-state step", in_turns=True)
def _step(bench: Bench):
    step = bench.fresh_step()
    return lambda: bench.lib.block_until_ready(step(*bench.args))


TRAINING_STEPS, LEARNING_RATE = 20, 0.02


@quantity("training", f"losses of {TRAINING_STEPS} steps", "losses")
def _training(bench: Bench):
    """Gradient descent on the program's first argument; the loss before each step."""
    step = bench.fresh_step()
    params, *rest = bench.args
    losses = []
    for _ in range(TRAINING_STEPS):
        loss, gradient = step(params, *rest)
        losses.append(float(loss))
        params = bench.lib.tree.map(lambda x, g: x - LEARNING_RATE * g, params, gradient)
    return losses


@quantity("dispatch", "jit(x + 1), cached", needs_program=False, in_turns=True)
def _dispatch(bench: Bench):
    add_one, x = bench.lib.jit(lambda x: x + 1), _small_array(bench)
    return lambda: add_one(x)


@quantity("dispatch_dict", "jit of 100 leaves, cached", needs_program=False, in_turns=True)
def _dispatch_dict(bench: Bench):
    add_one = bench.lib.jit(lambda tree: {name: x + 1 for name, x in tree.items()})
    tree = {f"leaf{i}": _small_array(bench) for i in range(100)}
    return lambda: add_one(tree)


@quantity("eager_add", "eager x + x", needs_program=False, in_turns=True)
def _eager_add(bench: Bench):
    x = _small_array(bench)
    return lambda: x + x


@quantity("eager_sin", "eager sin(x)", needs_program=False, in_turns=True)
def _eager_sin(bench: Bench):
    sin, x = bench.lib.numpy.sin, _small_array(bench)
    return lambda: sin(x)


@quantity("eager_numpy", "eager x + numpy array", needs_program=False, in_turns=True)
def _eager_numpy(bench: Bench):
    x, y = _small_array(bench), _small_numpy_array()
    return lambda: x + y


@quantity("eager_normal", "eager random.normal", needs_program=False, in_turns=True)
def _eager_normal(bench: Bench):
    normal, key = bench.lib.random.normal, bench.lib.random.PRNGKey(0)
    return lambda: normal(key, (8,))


@quantity("dispatch_numpy", "jit(x + 1) of a numpy array, cached", needs_program=False, in_turns=True)
def _dispatch_numpy(bench: Bench):
    add_one, x = bench.lib.jit(lambda x: x + 1), _small_numpy_array()
    return lambda: add_one(x)


@quantity("compiled_call", "lower(x).compile()(x)", needs_program=False, in_turns=True)
def _compiled_call(bench: Bench):
    x = _small_array(bench)
    compiled = bench.lib.jit(lambda x: x + 1).lower(x).compile()
    return lambda: compiled(x)


def _small_array(bench: Bench):
    return bench.lib.device_put(_small_numpy_array())


def _small_numpy_array():
    import numpy as np

    return np.ones((8, 8), np.float32)


def count_equations(jaxpr: Any) -> int:
    """The equations of a jaxpr of either library, with those of the jaxprs inside it."""
    total = 0
    for eqn in getattr(jaxpr, "jaxpr", jaxpr).eqns:
        total += 1
        for value in eqn.params.values():
            for item in value if isinstance(value, (tuple, list)) else (value,):
                if hasattr(item, "eqns"):
                    total += count_equations(item)
    return total


def _forward_equations(bench: Bench) -> int:
    return count_equations(bench.lib.make_jaxpr(bench.fresh())(*bench.args))


def measure_all(bench: Bench, names: list[str]) -> dict[str, dict[str, Any]]:
    """The value of each quantity, and the number of equations that it is for, or None."""
    results = {}
    for name in names:
        measured = QUANTITIES[name].measure(bench)
        value, equations = measured if isinstance(measured, tuple) else (measured, None)
        results[name] = {"value": value, "equations": equations}
    return results


def take_turns(bench: Bench, names: list[str]) -> None:
    """Answers each line of standard input, a quantity's name, with the seconds per call of one burst; see the module."""
    calls = {name: QUANTITIES[name].measure(bench) for name in names}
    counts = dict.fromkeys(names, 1)
    for name, call in calls.items():
        call()  # compiles
        while bench.burst(call, counts[name]) < BURST_SECONDS:
            counts[name] *= 2
    gc.collect()
    for line in sys.stdin:
        name = line.strip()
        print(bench.burst(calls[name], counts[name]) / counts[name], flush=True)


def versions_of(library: str, module: Any) -> dict[str, str]:
    import jaxlib.version

    return {"python": platform.python_version(), "jaxlib": jaxlib.version.__version__, library: module.__version__}


def main(request: dict[str, Any]) -> None:
    """Measures what is asked for; see the module's docstring."""
    if not request["collects"]:
        gc.disable()
    bench = Bench(request["library"], request["program"], CLOCKS[request["clock"]])
    names = [name for name in QUANTITIES if name in request["quantities"]]
    versions = versions_of(request["library"], bench.lib)
    if request["in_turns"]:
        print(json.dumps(versions), flush=True)
        take_turns(bench, names)
    else:
        print(json.dumps({"versions": versions, "results": measure_all(bench, names)}))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
