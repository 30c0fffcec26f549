# Written by tools/stubs.py.
"""Differentiation rules in JAX's form. A table of contents: names load on first use."""

from collections.abc import Callable
from laminax._src.names.interpreters.tables import RuleMapping
from laminax_ir.programs.primitive import Primitive
from laminax_ir.types.avals import ShapedArray
from typing import Any
from laminax._src.names.interpreters.ad import UndefinedPrimal as UndefinedPrimal
from laminax_transforms.base.zeros import Zero as Zero
from laminax_transforms.differentiation.differentiation import DualTracer as JVPTracer
from laminax_transforms.differentiation.differentiation import JVPTrace as JVPTrace

__all__: list[str]

def add_jaxvals(x: Any, y: Any) -> Any:
    """The sum of two arrays of one shape and dtype."""
add_jaxvals_p: Primitive
def add_tangents(x: Any, y: Any) -> Any:
    """The sum of two tangents, each an array or a `Zero`."""
def defbilinear(prim: Primitive, lhs_rule: Callable[..., Any], rhs_rule: Callable[..., Any]) -> None:
    """Declares an operation of two operands linear in each of them."""
def defjvp(primitive: Primitive, *jvprules: Callable[..., Any] | None) -> None:
    """Defines the JVP as a sum over operands."""
def defjvp2(primitive: Primitive, *jvprules: Callable[..., Any] | None) -> None:
    """Defines the JVP as a sum over operands, each of which may use the result."""
def deflinear(primitive: Primitive, transpose_rule: Callable[..., Any]) -> None:
    """Declares an operation linear in all its operands jointly."""
def deflinear2(primitive: Primitive, transpose_rule: Callable[..., Any]) -> None:
    """Declares an operation linear in all its operands jointly."""
def get_primitive_transpose(p: Primitive) -> Callable[..., Any]:
    """The transpose rule of a primitive, in JAX's form."""
def instantiate_zeros(tangent: Any) -> Any:
    """The tangent as an array: zeros for a `Zero`, anything else as it is."""
def is_undefined_primal(x: Any) -> bool:
    """In a transpose rule: whether this operand's cotangent is asked for."""
primitive_jvps: RuleMapping
primitive_transposes: RuleMapping
def zeros_like_aval(aval: ShapedArray) -> Any:
    """An array of zeros of an aval's shape and dtype."""
