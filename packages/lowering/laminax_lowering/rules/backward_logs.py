"""Logs of backward rules that nobody has asked for are not written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from laminax_ir.ops.backward_logs import backward_log_p
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.registry import lowering_rule

if TYPE_CHECKING:
    from laminax_lowering.writing.ssa_values import Value


@lowering_rule(backward_log_p)
def _backward_log(ctx: FunctionWriter, *_operands: Value, **_params: Any) -> list[Any]:
    return []
