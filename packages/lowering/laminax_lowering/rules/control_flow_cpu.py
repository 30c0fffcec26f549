"""Loops on one CPU device: sums of products that gradients make round by round are made after the loop, products of the inputs with fixed
matrices before it, and the arrays in which a loop stacks its results right before it.

The compiler starts what depends on nothing as early as it can, to have work for all cores: the zeros that stacks are made of, and so the
stacks of all loops of a program, are in memory from its first operation on. With zeros that depend on what the loop reads, those of a
loop that runs late are made late. Eight recurrent layers (`gru8` of the benchmarks) need 91 MB besides their arguments, not 116 as in
JAX; a step takes 0.20 s instead of 0.21, and the first step as long. The zeros are a comparison that is false of every float, which the
compiler does not know; if it did, it would be as without.
"""

from __future__ import annotations

from operator import itemgetter
from typing import Any, Sequence

import numpy as np

from laminax_ir.ops.control_flow import scan_p
from laminax_ir.types.avals import ShapedArray
from laminax_lowering.planning.loop_products import with_products_before_loop
from laminax_lowering.planning.loop_sums import with_sums_after_loop
from laminax_lowering.planning.operation_costs import num_bytes
from laminax_lowering.writing.comparisons import compare
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.registry import cpu_kernel
from laminax_lowering.writing.ssa_values import Value
from laminax_lowering.writing.types import i64_array

MIN_BYTES = 1 << 20  # of the stacks of a loop, below which they may be in memory for as long as they like

_FLOATS = frozenset(map(np.dtype, (np.float32, np.float64)))


@cpu_kernel(scan_p)
def _scan(ctx: FunctionWriter, *operands: Value, **_params: Any) -> list[Value] | None:
    """See `planning.loop_sums` and `planning.loop_products`."""
    program = with_sums_after_loop(ctx.eqn) or with_products_before_loop(ctx.eqn)
    return None if program is None else ctx.run(program, operands)


def late_stacks(ctx: FunctionWriter, avals: Sequence[ShapedArray], operands: Sequence[Value]) -> list[Value] | None:
    """Zeros for the results that a loop stacks, made after its operands; None if plain zeros will do."""
    if not ctx.module.uses_cpu_kernels or ctx.module.loop_depth or not all(aval.dtype in _FLOATS for aval in avals):
        return None
    made = [(v.order, v) for v in operands if v.order is not None and v.dtype in _FLOATS and v.aval.size > 0]
    if not made or sum(map(num_bytes, avals)) < MIN_BYTES:
        return None
    last = max(made, key=itemgetter(0))[1]
    rank, dtype = last.aval.ndim, last.dtype
    first = ctx.emit("stablehlo.slice", [last], results=[ShapedArray((1,) * rank, dtype)], attributes={
        "start_indices": i64_array((0,) * rank), "limit_indices": i64_array((1,) * rank), "strides": i64_array((1,) * rank)})
    number = ctx.emit("stablehlo.reshape", [first], results=[ShapedArray((), dtype)])
    never = compare(ctx, number, number, "LT")  # false of every float, NaN as well, and the compiler does not know it
    return [ctx.emit("stablehlo.broadcast_in_dim", [ctx.emit("stablehlo.convert", [never], results=[ShapedArray((), aval.dtype)])],
                     results=[aval], attributes={"broadcast_dimensions": i64_array(())}) for aval in avals]
