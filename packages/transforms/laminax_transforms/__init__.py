"""laminax-transforms: differentiation and batching of programs of `laminax_ir`, without a compiler.

This module is a table of contents: a name's module is imported when the name is first used, so that who takes `vmap` does not wait
for what differentiates.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from laminax_ir import setup as _setup  # noqa: F401  (arithmetic on tracers)
from laminax_ir.tracing.source import register_internal_folder as _register_internal_folder

if TYPE_CHECKING:
    from laminax_ir.types.symbolic_zeros import SymbolicZero
    from laminax_transforms.batching.vectorize import vmap
    from laminax_transforms.custom.custom_gradients import closure_convert, custom_gradient
    from laminax_transforms.custom.custom_jvp import custom_jvp
    from laminax_transforms.custom.custom_transposes import linear_call
    from laminax_transforms.custom.custom_vjp import custom_vjp
    from laminax_transforms.custom.rule_arguments import (
        CustomVJPPrimal,
        custom_vjp_primal_tree_values,
        stop_gradient,
        zero_from_primal,
    )
    from laminax_transforms.differentiation.autodiff import jvp, linearize, vjp
    from laminax_transforms.differentiation.gradients import grad, value_and_grad
    from laminax_transforms.differentiation.jacobians import hessian, jacfwd, jacobian, jacrev
    from laminax_transforms.differentiation.linear_transposes import linear_transpose
    from laminax_transforms.programs.passes import fwd_and_bwd
    from laminax_transforms.rematerializing.checkpoint import checkpoint, checkpoint_name, remat
    from laminax_transforms.rematerializing.checkpoint_policies import checkpoint_policies
    from laminax_transforms.rematerializing.saved_residuals import print_saved_residuals, saved_residuals

__version__ = "0.2.0"

_NAMES = {
    "batching.vectorize": "vmap",
    "custom.custom_jvp": "custom_jvp",
    "custom.custom_vjp": "custom_vjp",
    "custom.custom_gradients": "closure_convert custom_gradient",
    "custom.custom_transposes": "linear_call",
    "custom.rule_arguments": "CustomVJPPrimal SymbolicZero custom_vjp_primal_tree_values stop_gradient zero_from_primal",
    "differentiation.autodiff": "jvp linearize vjp",
    "differentiation.gradients": "grad value_and_grad",
    "differentiation.jacobians": "hessian jacfwd jacobian jacrev",
    "differentiation.linear_transposes": "linear_transpose",
    "programs.passes": "fwd_and_bwd",
    "rematerializing.checkpoint": "checkpoint checkpoint_name remat",
    "rematerializing.checkpoint_policies": "checkpoint_policies",
    "rematerializing.saved_residuals": "print_saved_residuals saved_residuals",
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names.split()}
__all__ = [
    "CustomVJPPrimal", "SymbolicZero", "checkpoint", "checkpoint_name", "checkpoint_policies", "closure_convert",
    "custom_gradient", "custom_jvp", "custom_vjp", "custom_vjp_primal_tree_values", "fwd_and_bwd", "grad", "hessian", "jacfwd",
    "jacobian", "jacrev", "jvp", "linear_call", "linear_transpose", "linearize", "print_saved_residuals", "remat", "saved_residuals",
    "stop_gradient", "value_and_grad", "vjp", "vmap", "zero_from_primal",
]

_register_internal_folder(__file__)


def __getattr__(name: str) -> Any:
    if (module := _MODULE_OF.get(name)) is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
