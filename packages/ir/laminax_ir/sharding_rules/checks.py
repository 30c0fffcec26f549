"""Checks have no results; their operands may be split in any way."""

from __future__ import annotations

from typing import Any

from laminax_ir.ops.checks import check_p
from laminax_ir.programs.result_types import sharding_rules


@sharding_rules(check_p)
def _check(outs: list[Any], *avals: Any, **_params: Any) -> list[Any]:
    return []
