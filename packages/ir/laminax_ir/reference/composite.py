"""A composite means its decomposition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from laminax_ir.ops.composite import composite_p
from laminax_ir.reference.evaluate import evaluate, reference_rule

if TYPE_CHECKING:
    import numpy as np

    from laminax_ir.programs.jaxpr import ClosedJaxpr


@reference_rule(composite_p)
def _composite(*operands: np.ndarray, jaxpr: ClosedJaxpr, name: str, attributes: tuple[tuple[Any, ...], ...],
               version: int) -> list[np.ndarray]:
    return evaluate(jaxpr, *operands)
