"""Linear calls, evaluated by running the called program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from laminax_ir.ops.linear_call import linear_call_p
from laminax_ir.reference.evaluate import evaluate, reference_rule

if TYPE_CHECKING:
    import numpy as np

    from laminax_ir.programs.jaxpr import ClosedJaxpr


@reference_rule(linear_call_p)
def _linear_call(*operands: np.ndarray, call: ClosedJaxpr, **_params: Any) -> list[np.ndarray]:
    return evaluate(call, *operands)
