"""Running a kernel over its grid: a loop over the steps, which cuts blocks out of the arrays, runs the kernel and puts back what it wrote.

The loop is made of ordinary operations, so transformations, all platforms and export know what to do with it: gradients pass through it
both ways, and `vmap` makes the blocks larger.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.ops import elementwise
from laminax_ir.ops.loops import fori_loop
from laminax_ir.options.ambient import define_ambient
from laminax_ir.options.records import Record
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.recording.evaluation import eval_jaxpr

from laminax._src.pallas.operands import Operand, Surroundings, uninitialized

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array


class InterpretParams(Record):
    """How kernels are interpreted.

    Args:
      detect_races, on_race: only False; steps run one after the other, so that there are no races to detect.
      out_of_bounds_reads: only "raise": known indices that are out of bounds raise an error; traced ones are clamped.
      skip_floating_point_ops: only False.
      uninitialized_memory: "nan" or "zero", what is in memory before it is written.
      num_cores_or_threads: only 1.
      vector_clock_size, logging_mode, grid_point_recorder: only None.
      dma_execution_mode: "on_wait" or "eager"; copies are made when they start, which correct kernels cannot tell.
      random_seed: only None; the steps run in the order of the grid.
      allow_hbm_allocation_in_run_scoped: there is one memory, so that this is allowed either way.
      buffer_bounds: only "logical".

    Raises:
      NotImplementedError: when a kernel runs, for what is not supported.
      ValueError: likewise, for another value of uninitialized_memory.
    """
    detect_races: bool = False
    on_race: str = "raise"
    out_of_bounds_reads: str = "raise"
    skip_floating_point_ops: bool = False
    uninitialized_memory: str = "nan"
    num_cores_or_threads: int = 1
    vector_clock_size: int | None = None
    logging_mode: Any = None
    dma_execution_mode: str = "on_wait"
    random_seed: int | None = None
    grid_point_recorder: Any = None
    allow_hbm_allocation_in_run_scoped: bool = False
    buffer_bounds: str = "logical"

    def check(self) -> None:
        """Raises an error for what is not supported."""
        only = {"detect_races": False, "out_of_bounds_reads": "raise", "skip_floating_point_ops": False, "num_cores_or_threads": 1,
                "vector_clock_size": None, "logging_mode": None, "random_seed": None, "grid_point_recorder": None,
                "buffer_bounds": "logical"}
        for name, value in only.items():
            if getattr(self, name) != value:
                raise NotImplementedError(f"InterpretParams: {name}={getattr(self, name)!r} is not supported, only {value!r}. Steps of the "
                                          "grid run one after the other, in order.")
        if self.uninitialized_memory not in ("nan", "zero"):
            raise ValueError(f"InterpretParams: uninitialized_memory must be 'nan' or 'zero', got {self.uninitialized_memory!r}")


forced_interpretation = define_ambient("forced interpretation of kernels", None, "How kernels run that do not ask to be interpreted.")


class Kernel(Record):
    """A kernel traced for operands of some types.

    Args:
      program: takes the indices of the grid, its sizes that are values, the prefetched scalars, a block of each operand, and the scratch
        memory; returns the last values of what it writes.
      written: for each scalar, block and scratch memory whether it is written to.
    """
    program: ClosedJaxpr
    written: tuple[bool, ...]


def run_kernel(kernel: Kernel, surroundings: Surroundings, scalars: Sequence[Any], inputs: Sequence[tuple[Operand, Any]],
               outputs: Sequence[tuple[Operand, Any]], scratch: Sequence[Any], is_zero: bool) -> list[Any]:
    """Runs a kernel for each step of the grid, the last axis fastest.

    Args:
      kernel: it, traced.
      surroundings: the grid.
      scalars: the prefetched ones.
      inputs, outputs: the arguments and the results, each with the array there is before the first step.
      scratch: the scratch memory before the first step.
      is_zero: whether memory that nobody has written is zero.

    Returns:
      For each result the array there is after the last step.
    """
    operands, sizes = [*inputs, *outputs], surroundings.sizes
    padded = [operand.padded(x, uninitialized(operand.aval.dtype, is_zero)) for operand, x in operands]
    first = [*scalars, *padded, *scratch]
    carried = [i for i, is_written in enumerate(kernel.written) if is_written]

    def step(index: Any, carry: list[Any]) -> list[Any]:
        values = _with_values(first, carried, carry)
        here = [*unraveled(index, sizes), *surroundings.dynamic, *values[:len(scalars)]]
        starts = [operand.starts(here) for operand, _ in operands]
        arrays = values[len(scalars):len(scalars) + len(operands)]
        blocks = [operand.block(x, start) for (operand, _), x, start in zip(operands, arrays, starts)]
        outs = eval_jaxpr(kernel.program.jaxpr, kernel.program.consts, *here, *blocks, *values[len(scalars) + len(operands):])
        for place, new in zip(carried, outs):
            which = place - len(scalars)
            is_block = 0 <= which < len(operands)
            values[place] = operands[which][0].with_block(arrays[which], new, starts[which]) if is_block else new
        return [values[i] for i in carried]

    last = _with_values(first, carried, _over_grid(sizes, step, [first[i] for i in carried]))
    arrays = last[len(scalars) + len(inputs):len(scalars) + len(operands)]
    return [operand.without_padding(x) for (operand, _), x in zip(outputs, arrays)]


def _with_values(values: Sequence[Any], places: Sequence[int], new: Sequence[Any]) -> list[Any]:
    result = list(values)
    for place, x in zip(places, new):
        result[place] = x
    return result


def _over_grid(sizes: Sequence[Any], step: Callable[[Any, list[Any]], list[Any]], carry: list[Any]) -> list[Any]:
    """The carry after all steps; a grid of one step is no loop."""
    if all(isinstance(n, int) for n in sizes):
        count = math.prod(sizes)
        if count == 1:
            return step(np.int32(0), carry)
        return fori_loop(np.int32(0), np.int32(count), step, carry) if count and carry else carry
    return fori_loop(np.int32(0), product(sizes), step, carry)


def product(sizes: Sequence[Any]) -> Any:
    """The product of sizes of the grid, an int32 scalar."""
    result: Any = np.int32(1)
    for n in sizes:
        result = elementwise.mul(result, np.int32(n) if isinstance(n, int) else n)
    return result


def unraveled(index: Any, sizes: Sequence[Any]) -> list[Array]:
    """The indices along the axes of a grid for the number of a step."""
    ids: list[Any] = []
    for axis, size in enumerate(sizes):
        later = product(sizes[axis + 1:])
        quotient = elementwise.div(index, later) if axis + 1 < len(sizes) else index
        ids.append(elementwise.rem(quotient, np.int32(size) if isinstance(size, int) else size) if axis else quotient)
    return ids
