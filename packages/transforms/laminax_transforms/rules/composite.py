"""Composites have no derivative: that of the decomposition would not be what a compiler computes for the name."""

from __future__ import annotations

from typing import Any, Sequence

from laminax_ir.ops.composite import composite_p
from laminax_transforms.base.registry import jvp_rule


@jvp_rule(composite_p, symbolic_zeros=True)
def _composite_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, name: str, **_params: Any) -> tuple[Any, Any]:
    raise ValueError(f"the composite {name} has no derivative rule. Give the function that calls it one with custom_jvp or custom_vjp.")
