"""What staging and transforming cost grows like the program: lines of Python executed, memory kept, and the most memory in use.

Counts, and no clock: they are the same in each run. `benchmarks/staging.py --growth` prints the times.
"""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.calls import bind_checkpoint
from laminax_ir.ops.contraction import dot_general
from laminax_ir.ops.reduction import reduce_sum
from laminax_ir.recording.evaluation import eval_jaxpr
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray
from laminax_transforms import grad, jvp, vmap

SCALAR = ShapedArray((), np.dtype(np.float32))
MATRIX, BATCH = ShapedArray((4, 4), np.dtype(np.float32)), ShapedArray((3, 4, 4), np.dtype(np.float32))
SMALL, LARGE = 200, 2_000


def chain(equations: int) -> Callable:
    """A function of two matrices that makes this many equations, and one sum."""
    def fun(x, w):
        for _ in range(equations // 8):
            y = op.tanh(op.add(dot_general(x, w, (((1,), (0,)), ((), ()))), w))
            x = op.mul(op.sub(op.sin(y), x), op.mul(np.float32(0.5), op.exp(y)))
        return reduce_sum(x, (0, 1))
    return fun


def both(fun):
    return lambda x, w: jvp(fun, (x, w), (x, w))


TRANSFORMATIONS = {
    "stage": (lambda f: f, MATRIX), "grad": (grad, MATRIX), "vmap": (lambda f: vmap(f, (0, None)), BATCH), "jvp": (both, MATRIX),
    "grad(grad)": (lambda f: grad(lambda x, w: reduce_sum(grad(f)(x, w), (0, 1))), MATRIX),
    "vmap(grad)": (lambda f: vmap(grad(f), (0, None)), BATCH), "jvp(vmap)": (lambda f: both(vmap(f, (0, None))), BATCH),
}


def job(name: str, equations: int) -> Callable:
    transform, aval = TRANSFORMATIONS[name]
    fun = transform(chain(equations))

    def run():
        def flat(x, w):
            result = fun(x, w)
            return list(result) if isinstance(result, tuple) else [result]
        return stage(flat, [aval, MATRIX])
    return run


def lines_executed(run: Callable) -> int:
    """How many lines of Python a call executes."""
    count = 0

    def trace(_frame, event, _argument):
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    return count


def blocks_kept(run: Callable) -> int:
    """How many blocks of memory the result holds."""
    gc.collect()
    before = sys.getallocatedblocks()
    result = run()
    gc.collect()
    kept = sys.getallocatedblocks() - before
    del result
    return kept


def peak_bytes(run: Callable) -> int:
    """The most memory in use during a call."""
    gc.collect()
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("measure", [lines_executed, blocks_kept, peak_bytes], ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_cost_per_equation_does_not_grow(name, measure):
    job(name, 80)()  # what is loaded and remembered at the first use
    small, large = (measure(job(name, equations)) / equations for equations in (SMALL, LARGE))
    assert large <= 1.15 * small, (
        f"{name}: {measure.__name__} per equation: {small:.1f} in a program of {SMALL} equations, {large:.1f} of {LARGE}")
    assert large > 0


def nested_checkpoints(depth: int) -> Callable:
    """The gradient of checkpointed functions, each of which calls the one inside of it twice."""
    program = stage(lambda x: [op.sin(x)], [SCALAR])
    for _ in range(depth):
        def twice(x, inner=program):
            (y,), (z,) = (bind_checkpoint(inner, v, name="f", prevent_cse=True, policy=None) for v in (x, op.neg(x)))
            return [op.mul(y, z)]
        program = stage(twice, [SCALAR])
    return lambda: stage(lambda x: [grad(lambda x: eval_jaxpr(program.jaxpr, (), x)[0])(x)], [SCALAR])


def test_nested_checkpoints_cost_by_the_program_and_not_by_the_call():
    """Whether reverse rules are called in a program was asked of every call in it: 18 levels took 20 s."""
    nested_checkpoints(2)()
    small, large = (lines_executed(nested_checkpoints(depth)) for depth in (5, 10))
    assert large < 2.3 * small


def test_the_measure_sees_a_quadratic_cost():
    """A transformation that walks over the whole program at each step."""
    def quadratic(equations):
        def run():
            values = []
            for i in range(equations):
                values.append(i)
                for _ in values:
                    pass
        return run

    assert lines_executed(quadratic(200)) / 200 * 2 < lines_executed(quadratic(1000)) / 1000
