"""However a function is split, it means its program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from laminax_ir.ops.custom_partitioning import custom_partitioning_p
from laminax_ir.reference.evaluate import evaluate, reference_rule

if TYPE_CHECKING:
    import numpy as np

    from laminax_ir.programs.jaxpr import ClosedJaxpr


@reference_rule(custom_partitioning_p)
def _custom_partitioning(*operands: np.ndarray, jaxpr: ClosedJaxpr, **_params: Any) -> list[np.ndarray]:
    return evaluate(jaxpr, *operands)
