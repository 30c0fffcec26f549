"""Hints leave values as they are."""

from __future__ import annotations

from typing import Any, Sequence

from laminax_ir.ops import hints as op
from laminax_ir.programs.result_types import sharding_rules
from laminax_ir.sharding_rules.agreement import elementwise_rule
from laminax_ir.types.avals import ShapedArray

elementwise_rule(op.stage_p)
elementwise_rule(op.todense_p)
elementwise_rule(op.xla_metadata_value_p)


@sharding_rules(op.dce_sink_p)
def _dce_sink(outs: Sequence[ShapedArray], *avals: ShapedArray, **_params: Any) -> list[tuple]:
    return [()] * len(outs)
