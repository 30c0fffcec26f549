"""A composite means its decomposition."""

from __future__ import annotations

from typing import Any

from laminax_ir.ops.composite import composite_p
from laminax_ir.reference.evaluate import evaluate, reference_rule


@reference_rule(composite_p)
def _composite(*operands: Any, jaxpr: Any, name: str, attributes: Any, version: Any) -> Any:
    return evaluate(jaxpr, *operands)
