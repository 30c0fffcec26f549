"""Functions with derivative rules of their own, and what their rules meet."""

from __future__ import annotations

from laminax_ir.ops.calls import custom_jvp_call_p, custom_vjp_call_p
from laminax_transforms.custom.custom_derivatives import custom_jvp, custom_vjp
from laminax_transforms.custom.custom_gradients import closure_convert, custom_gradient
from laminax_transforms.custom.custom_transposes import linear_call
from laminax_transforms.custom.rule_arguments import CustomVJPPrimal, SymbolicZero, custom_vjp_primal_tree_values, zero_from_primal

import laminax._src  # noqa: F401  (puts the layers together)

__all__ = ["CustomVJPPrimal", "SymbolicZero", "closure_convert", "custom_gradient", "custom_jvp", "custom_jvp_call_p",
           "custom_vjp", "custom_vjp_call_p", "custom_vjp_primal_tree_values", "linear_call", "zero_from_primal"]
