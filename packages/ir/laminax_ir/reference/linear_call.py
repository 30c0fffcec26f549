"""Linear calls, evaluated by running the called program."""

from __future__ import annotations

from typing import Any

from laminax_ir.ops.linear_call import linear_call_p
from laminax_ir.reference.evaluate import evaluate, reference_rule


@reference_rule(linear_call_p)
def _linear_call(*operands: Any, call: Any, **_params: Any) -> Any:
    return evaluate(call, *operands)
