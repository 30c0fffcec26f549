"""Sorts of a few integers inside loops on the CPU, by their ranks: a loop with a call of a sort in it is not compiled as one kernel."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from laminax_ir.ops import elementwise as e
from laminax_ir.ops.shape import concatenate
from laminax_ir.ops.slicing import slice_in_dim
from laminax_ir.types import dtypes
from laminax_lowering.rules.linalg_kernels import run_program
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.ssa_values import Value

MOST = 8  # elements along the axis: the work grows with the square


def sorted_by_ranks(ctx: FunctionWriter, operands: Sequence[Value], dimension: int, num_keys: int) -> list[Value] | None:
    """The operands in the stable order of the first, which has integers; None if there are too many, or for other keys.

    The gradient of a Kalman filter of two states, 200 steps, which inverts permutations of pivots: 0.15 ms -> 0.085.
    """
    aval = operands[0].aval
    if num_keys != 1 or not dtypes.issubdtype(aval.dtype, dtypes.integer) or aval.size == 0 or not 1 < aval.shape[dimension] <= MOST:
        return None
    if any(dtypes.is_extended(x.aval.dtype) for x in operands):
        return None
    return run_program(ctx, lambda *xs: _in_order(xs, dimension), operands)


def _in_order(xs: Sequence[Any], dimension: int) -> list[Any]:
    count = xs[0].shape[dimension]
    parts = [[slice_in_dim(x, i, i + 1, axis=dimension) for i in range(count)] for x in xs]
    keys = parts[0]
    ranks = []
    for i in range(count):
        # of equal ones the first comes first
        before = [e.le(keys[j], keys[i]) if j < i else e.lt(keys[j], keys[i]) for j in range(count) if j != i]
        rank = e.convert_element_type(before[0], np.int32)
        for is_before in before[1:]:
            rank = e.add(rank, e.convert_element_type(is_before, np.int32))
        ranks.append(rank)
    results = []
    for part in parts:
        placed = []
        for place in range(count):
            found = part[0]
            for i in range(1, count):
                found = e.select(e.eq(ranks[i], np.int32(place)), part[i], found)
            placed.append(found)
        results.append(concatenate(placed, dimension))
    return results
