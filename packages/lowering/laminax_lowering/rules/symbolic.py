"""Symbolic dimensions as values: computed from the variables, which are parameters of each function."""

from __future__ import annotations

from laminax_ir.symbolic.symbolic_dims import SymbolicDim
from laminax_ir.symbolic.symbolic_values import dim_as_value_p
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.registry import lowering_rule
from laminax_lowering.writing.ssa_values import Value


@lowering_rule(dim_as_value_p)
def _dim_as_value(ctx: FunctionWriter, *, dim: SymbolicDim) -> Value:
    return ctx.convert(ctx.size_value(dim), ctx.avals_out[0].dtype)
