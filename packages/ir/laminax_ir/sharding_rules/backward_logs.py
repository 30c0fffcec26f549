"""Logs of backward rules have no results; their operands may be split in any way."""

from __future__ import annotations

from typing import Any

from laminax_ir.ops.backward_logs import backward_log_p
from laminax_ir.programs.result_types import sharding_rules


@sharding_rules(backward_log_p)
def _backward_log(outs: list[Any], *avals: Any, **_params: Any) -> list[Any]:
    return []
