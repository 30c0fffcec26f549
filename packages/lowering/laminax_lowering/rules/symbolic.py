"""Symbolic dimensions as values: computed from the variables, which are parameters of each function."""

from __future__ import annotations

from laminax_ir.symbolic.symbolic_dims import SymbolicDim
from laminax_ir.symbolic.symbolic_values import dim_as_value_p
from laminax_lowering.writing.registry import lowering_rule


@lowering_rule(dim_as_value_p)
def _dim_as_value(ctx, *, dim: SymbolicDim):
    return ctx.convert(ctx.size_value(dim), ctx.avals_out[0].dtype)
