"""StableHLO of hints: nothing, but for a value that the compiler must compute too, and attributes of the operation that computes one."""

from __future__ import annotations

from typing import Any

from laminax_ir.ops import hints as op
from laminax_ir.tracing.operation_attributes import attribute_text
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.operation_attributes import give_attributes
from laminax_lowering.writing.registry import lowering_rule
from laminax_lowering.writing.ssa_values import Value


@lowering_rule(op.stage_p, op.todense_p)
def _same(ctx: FunctionWriter, x: Value) -> Value:
    return x


@lowering_rule(op.xla_metadata_value_p)
def _xla_metadata_value(ctx: FunctionWriter, x: Value, *, xla_metadata_kvs: tuple[tuple[str, Any], ...]) -> Value:
    give_attributes(ctx, x, {name: attribute_text(value) for name, value in xla_metadata_kvs})
    return x


@lowering_rule(op.dce_sink_p)
def _dce_sink(ctx: FunctionWriter, x: Value, *, prevent_mlir_dce: bool) -> list[Value]:
    if prevent_mlir_dce:
        ctx.custom_call("dce_sink", [x], results=[], attributes={
            "has_side_effect": "true", "api_version": "4 : i32", "backend_config": "{}"})
    return []
