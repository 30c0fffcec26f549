"""Operations of users on references: they are done by their programs, with the references."""

from __future__ import annotations

from typing import Any, Sequence

from laminax_ir.ops.user_operations import call_hi_primitive_p
from laminax_ir.recording.discharge import discharge_rules, eval_with_refs


@discharge_rules(call_hi_primitive_p)
def _user_operation(operands: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    closed = params["call_jaxpr"]
    return eval_with_refs(closed.jaxpr, closed.consts, *operands)
