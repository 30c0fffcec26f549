# Written by tools/stubs.py.
"""Functions with derivative rules of their own, and what their rules meet. A table of contents: names load on first use."""

from collections.abc import Callable
from laminax_ir.ops.functions_with_rules import CustomJVPCallPrimitive, CustomVJPCallPrimitive
from typing import Any
from laminax import closure_convert as closure_convert
from laminax import custom_gradient as custom_gradient
from laminax_ir.types.symbolic_zeros import SymbolicZero as SymbolicZero
from laminax_transforms.custom.custom_jvp import custom_jvp as custom_jvp
from laminax_transforms.custom.custom_vjp import custom_vjp as custom_vjp
from laminax_transforms.custom.rule_arguments import CustomVJPPrimal as CustomVJPPrimal

__all__: list[str]

custom_jvp_call_p: CustomJVPCallPrimitive
custom_vjp_call_p: CustomVJPCallPrimitive
def custom_vjp_primal_tree_values(tree: Any) -> Any:
    """The values of the arguments of a forward rule with `symbolic_zeros`, without the marks that say which of them are differentiated."""
def linear_call(fun: Callable[..., Any], fun_transpose: Callable[..., Any], residual_args: Any, linear_args: Any) -> Any:
    """Calls a linear function whose transpose is a second given function, and is not derived from the first."""
def zero_from_primal(val: Any, symbolic_zeros: bool = False) -> Any:
    """Zero tangents for a pytree of values: arrays, or `SymbolicZero`s."""
