"""Operations that users define, evaluated by running their programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from laminax_ir.ops.user_operations import call_hi_primitive_p
from laminax_ir.reference.evaluate import evaluate, reference_rule

if TYPE_CHECKING:
    import numpy as np

    from laminax_ir.programs.jaxpr import ClosedJaxpr


@reference_rule(call_hi_primitive_p)
def _user_operation(*operands: np.ndarray, call_jaxpr: ClosedJaxpr, **_params: Any) -> list[np.ndarray]:
    return evaluate(call_jaxpr, *operands)
