"""Conversions to and from extended dtypes: values are stored as the arrays that they are converted from and to, so nothing is written."""

from __future__ import annotations

from typing import Any

from laminax_ir.ops.extended_dtypes import from_edtype_p, to_edtype_p
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.registry import lowering_rule
from laminax_lowering.writing.ssa_values import Value


@lowering_rule(to_edtype_p, from_edtype_p)
def _lower_same_array(ctx: FunctionWriter, x: Value, **_params: Any) -> Value:
    return Value(x.name, ctx.avals_out[0])
