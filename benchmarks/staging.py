"""The cost of tracing, transforming and lowering, in microseconds per equation of the program.

    PYTHONPATH=packages/ir:packages/transforms:packages/lowering python benchmarks/staging.py
    ./bazelw run //benchmarks:staging
    ./bazelw run //benchmarks:staging -- --growth

With `--growth`, what staging and the transformations cost per equation at 1,000 and 30,000 equations, in time and in memory
that the result keeps, and the ratio of the two: it should be 1.

The program is a chain of elementwise operations and one contraction in eight, on arrays of 8 by 8; it is written out as often as
it takes for 3,000 and 30,000 equations, so that a cost that grows faster than the program shows. Processor time of the
fastest of several repetitions, each of a new function; the garbage collector stays on, as it is for users. Needs no
jaxlib.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.contraction import dot_general
from laminax_ir.ops.reduction import reduce_sum
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray
from laminax_lowering.lower import lower
from laminax_transforms import grad, jvp, vmap

MATRIX = ShapedArray((8, 8), np.dtype(np.float32))
SCALE = np.float32(0.5)
MATMUL = (((1,), (0,)), ((), ()))


def program(equations: int) -> Callable[[Any, Any], Any]:
    """A new function of two f32[8,8] that makes this many equations, and one sum."""

    def chain(x, w):
        for _ in range(equations // 8):
            y = dot_general(x, w, MATMUL)
            y = op.tanh(op.add(y, w))
            x = op.mul(op.sub(op.sin(y), x), op.mul(SCALE, op.exp(y)))
        return reduce_sum(x, axes=(0, 1))

    return chain


def staged(fun: Callable, *avals: ShapedArray) -> ClosedJaxpr:
    return stage(lambda *args: [fun(*args)], avals)


def quantities(equations: int) -> dict[str, tuple[Callable[[Any], Any], Callable[[], Any]]]:
    """For each quantity the measured function, and the function that makes its argument; `BUDGETS` has the budgets in microseconds."""
    batch = ShapedArray((4, 8, 8), MATRIX.dtype)
    return {
        "staging": (lambda fun: staged(fun, MATRIX, MATRIX), lambda: program(equations)),
        "grad": (lambda fun: staged(grad(fun), MATRIX, MATRIX), lambda: program(equations)),
        "vmap": (lambda fun: staged(vmap(fun, in_axes=(0, None)), batch, MATRIX), lambda: program(equations)),
        "lowering": (lambda closed: lower(closed), lambda: staged(program(equations), MATRIX, MATRIX)),
    }


def growth_quantities() -> dict[str, tuple[Callable[[Callable], Callable], ShapedArray]]:
    """The transformations of the program, each with the type of its first argument."""
    batch = ShapedArray((4, 8, 8), MATRIX.dtype)

    def total_of_grad(fun):
        return lambda x, w: reduce_sum(grad(fun)(x, w), axes=(0, 1))

    def tangent(fun):
        return lambda x, w: jvp(fun, (x, w), (x, w))[1]

    return {
        "stage": (lambda fun: fun, MATRIX), "grad": (grad, MATRIX), "vmap": (lambda fun: vmap(fun, (0, None)), batch),
        "grad(grad)": (lambda fun: grad(total_of_grad(fun)), MATRIX), "vmap(grad)": (lambda fun: vmap(grad(fun), (0, None)), batch),
        "jvp(vmap)": (lambda fun: tangent(vmap(fun, (0, None))), batch),
    }


def print_growth(small: int, large: int, repetitions: int) -> None:
    """Microseconds and kept blocks of memory per equation, of a small program and of a large one.

    The small one's time is that of as many as make up the large one, one after the other, each let go before the next: so
    both are measured over equally long times, which noise disturbs alike. The ratio is the median of one per repetition.
    """
    many = large // small
    print(f"per equation | us, {small:,} equations | us, {large:,} | ratio | blocks of memory, {small:,} | {large:,} | ratio")
    for name, (transform, aval) in growth_quantities().items():
        def measure(fun, transform=transform, aval=aval):
            return staged(transform(fun), aval, MATRIX)

        measure(program(80))  # modules load on first use
        pairs = []
        for _ in range(repetitions):
            in_parts = sum(best(measure, lambda: program(small), 1) for _ in range(many)) / large * 1e6
            pairs.append((in_parts, best(measure, lambda: program(large), 1) / large * 1e6))
        parts, whole = (min(column) for column in zip(*pairs))
        blocks = [_kept_blocks(measure, equations) for equations in (small, large)]
        print(f"{name} | {parts:.2f} | {whole:.2f} | {statistics.median(b / a for a, b in pairs):.2f} | {blocks[0]:.1f} | "
              f"{blocks[1]:.1f} | {blocks[1] / blocks[0]:.3f}", flush=True)


def _kept_blocks(measure: Callable[[Any], Any], equations: int) -> float:
    fun = program(equations)
    gc.collect()
    before = sys.getallocatedblocks()
    kept = measure(fun)
    gc.collect()
    after = sys.getallocatedblocks()
    del kept
    return (after - before) / equations


# What the design aims at, in microseconds per equation of the program. Those of grad and vmap include staging; lowering's
# is for the text alone.
BUDGETS = {"staging": 6.0, "grad": 25.0, "vmap": 16.0, "lowering": 3.0}


def best(measure: Callable[[Any], Any], prepare: Callable[[], Any], repetitions: int) -> float:
    """The shortest processor time of `measure`, in seconds."""
    seconds = []
    for _ in range(repetitions):
        argument = prepare()
        gc.collect()
        start = time.process_time()
        measure(argument)
        seconds.append(time.process_time() - start)
    return min(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--equations", type=int, nargs="+", default=[3_000, 30_000])
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--growth", action="store_true", help="print costs per equation at 1,000 and 30,000 equations instead")
    arguments = parser.parse_args()
    if arguments.growth:
        print_growth(1_000, 30_000, arguments.repetitions)
        return
    for measure, prepare in quantities(80).values():  # modules load on first use
        measure(prepare())
    print("microseconds per equation | " + " | ".join(f"{n:,} equations" for n in arguments.equations) + " | budget")
    for name in BUDGETS:
        row = []
        for equations in arguments.equations:
            measure, prepare = quantities(equations)[name]
            row.append(f"{best(measure, prepare, arguments.repetitions) / equations * 1e6:.2f}")
        print(f"{name} | " + " | ".join(row) + f" | {BUDGETS[name]:g}")


if __name__ == "__main__":
    main()
