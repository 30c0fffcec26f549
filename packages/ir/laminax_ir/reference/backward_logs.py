"""Logs of backward rules do nothing unless they are asked for; they have no results."""

from __future__ import annotations

from typing import Any

from laminax_ir.ops.backward_logs import backward_log_p
from laminax_ir.reference.evaluate import reference_rule


@reference_rule(backward_log_p)
def _backward_log(*_operands: Any, **_params: Any) -> list[Any]:
    return []
