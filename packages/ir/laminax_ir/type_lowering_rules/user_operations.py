"""Operations of users on values of users' types: their programs are of arrays already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from laminax_ir.ops.user_operations import call_hi_primitive_p
from laminax_ir.recording.evaluation import eval_jaxpr
from laminax_ir.recording.type_lowering import type_lowering_rules
from laminax_ir.types.hi_types import lowered_values, raised_values


@type_lowering_rules(call_hi_primitive_p)
def _user_operation(operands: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    program = params["call_jaxpr"]
    outs = eval_jaxpr(program.jaxpr, program.consts, *lowered_values(operands))
    return raised_values(params["operation"].out_avals, outs)
