"""NumPy meaning of scaled products: the scales repeated, the products in float32 or wider."""

from __future__ import annotations

from typing import Any

import numpy as np

from laminax_ir.ops.contraction import dot_general_p
from laminax_ir.ops.scaled_dot import scaled_dot_p
from laminax_ir.reference.evaluate import evaluate_primitive, reference_rule
from laminax_ir.reference.widening import widened


@reference_rule(scaled_dot_p)
def _scaled_dot(lhs: np.ndarray, rhs: np.ndarray, lhs_scale: np.ndarray, rhs_scale: np.ndarray, *,
                dimension_numbers: tuple[tuple[Any, ...], ...], preferred_element_type: np.dtype) -> np.ndarray:
    operands = []
    for x, scale in ((lhs, lhs_scale), (rhs, rhs_scale)):
        for axis, (count, size) in enumerate(zip(scale.shape, x.shape)):
            scale = np.repeat(scale, size // count if count else 1, axis)
        operands.append((widened(x) * widened(scale)).astype(preferred_element_type))
    return evaluate_primitive(dot_general_p, operands, {
        "dimension_numbers": dimension_numbers, "precision": None, "preferred_element_type": preferred_element_type, "out_sharding": None})
