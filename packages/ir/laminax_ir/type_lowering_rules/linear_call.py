"""Calls of linear functions with values of users' types: their programs, since nothing is transposed any more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from laminax_ir.ops.linear_call import linear_call_p
from laminax_ir.recording.evaluation import eval_jaxpr
from laminax_ir.recording.type_lowering import type_lowering_rules


@type_lowering_rules(linear_call_p)
def _linear_call(operands: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    return eval_jaxpr(params["call"].jaxpr, params["call"].consts, *operands)
