"""Scaled products in StableHLO: the composite that XLA has kernels for, with the definition as its decomposition."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from laminax_ir.ops.scaled_dot import scaled_dot_p, scaled_product
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray
from laminax_lowering.rules.composite import emit_composite
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.registry import lowering_rule
from laminax_lowering.writing.ssa_values import Value

if TYPE_CHECKING:
    import numpy as np


@lowering_rule(scaled_dot_p)
def _scaled_dot(ctx: FunctionWriter, *operands: Value, dimension_numbers: tuple[tuple[Any, ...], ...],
                preferred_element_type: np.dtype) -> Value:
    program = _program(tuple([x.aval.strip_weak_type() for x in operands]), dimension_numbers, preferred_element_type)
    attributes = (("dimension_numbers", dimension_numbers), ("preferred_element_type", preferred_element_type))
    return emit_composite(ctx, "xla.scaled_dot", program, operands, attributes)[0]


@functools.lru_cache(maxsize=256)
def _program(avals: tuple[ShapedArray, ...], dimension_numbers: Any, preferred_element_type: Any) -> ClosedJaxpr:
    params = {"dimension_numbers": dimension_numbers, "preferred_element_type": preferred_element_type}
    return stage(lambda *xs: [scaled_product(*xs, **params)], avals, "xla.scaled_dot")
