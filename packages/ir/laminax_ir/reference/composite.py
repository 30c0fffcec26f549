"""A composite means its decomposition."""

from __future__ import annotations

from laminax_ir.ops.composite import composite_p
from laminax_ir.reference.evaluate import evaluate, reference_rule


@reference_rule(composite_p)
def _composite(*operands, jaxpr, name, attributes, version):
    return evaluate(jaxpr, *operands)
