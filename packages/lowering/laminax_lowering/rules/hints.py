"""StableHLO of hints: nothing, but for a value that the compiler must compute too."""

from __future__ import annotations

from laminax_ir.ops import hints as op
from laminax_lowering.registry import lowering_rule


@lowering_rule(op.stage_p)
def _stage(ctx, x):
    return x


@lowering_rule(op.dce_sink_p)
def _dce_sink(ctx, x, *, prevent_mlir_dce):
    if prevent_mlir_dce:
        ctx.emit("stablehlo.custom_call", [x], results=[], attributes={
            "call_target_name": '"dce_sink"', "has_side_effect": "true", "api_version": "4 : i32", "backend_config": "{}"})
    return []
