"""Open sums: casts write nothing, and the rest is written as the collectives of values that vary."""

from __future__ import annotations

from typing import Any

from laminax_ir.ops import open_sums as op
from laminax_lowering.rules.collectives import all_gather, all_reduce, reduce_scatter
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.registry import lowering_rule
from laminax_lowering.writing.ssa_values import Value


@lowering_rule(op.preduced_p, op.vary_unreduced_cast_p, op.reduced_vary_cast_p)
def _cast(ctx: FunctionWriter, x: Value, *, axes: tuple) -> Value:
    return Value(x.name, ctx.avals_out[0])


@lowering_rule(op.unreduced_psum_p)
def _unreduced_psum(ctx: FunctionWriter, x: Value, *, axes: tuple) -> Any:
    return all_reduce(ctx, "stablehlo.add", x, axes)


@lowering_rule(op.unreduced_reduce_scatter_p)
def _unreduced_reduce_scatter(ctx: FunctionWriter, x: Value, **params: Any) -> Value:
    return reduce_scatter(ctx, x, axis_index_groups=None, **params)


@lowering_rule(op.all_gather_reduced_p)
def _all_gather_reduced(ctx: FunctionWriter, x: Value, **params: Any) -> Value:
    return all_gather(ctx, x, axis_index_groups=None, **params)
