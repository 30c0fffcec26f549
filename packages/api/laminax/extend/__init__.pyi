# Written by tools/stubs.py.
"""Operations of your own: a primitive, and one rule per thing that can be done with it."""

from collections.abc import Callable
from laminax_ir.programs.primitive import Primitive as _Primitive, RuleTable
from laminax_transforms.base.registry import Rule
from typing import Any
from laminax.extend import backend as backend
from laminax.extend import core as core
from laminax.extend import ifrt_programs as ifrt_programs
from laminax.extend import linear_util as linear_util
from laminax.extend import mlir as mlir
from laminax.extend import random as random
from laminax.extend import sharding as sharding
from laminax.extend import source_info_util as source_info_util
from laminax.extend import xla as xla
from laminax_ir.programs.primitive import Primitive as Primitive

__all__: list[str]

def axis_batching_rule(*primitives: _Primitive, uses_axis_name: bool = False) -> Callable[[Rule], Rule]:
    """Decorator: `rule(axis, operands, batch_axes, **params)`, for rules that need the mapped axis' size or name."""
def batching_rule(*primitives: _Primitive) -> Callable[[Rule], Rule]:
    """Decorator: `rule(operands, batch_axes, **params) -> (result, result's batch axis)`."""
def define_jvp(primitive: _Primitive, *partials: Callable[..., Any] | None) -> None:
    """Defines the JVP as a sum over operands."""
def define_linear(primitive: _Primitive) -> None:
    """Declares an operation linear in its only operand, or in all operands jointly: tangents go through it."""
def define_zero_derivative(*primitives: _Primitive) -> None:
    """Declares operations whose derivative is zero wherever it exists (comparisons, rounding, integers)."""
def effects_rule(primitive: _Primitive) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: the function gives the primitive's effects."""
def is_linear(operand: Any) -> bool:
    """In a transpose rule: whether the operation is to be transposed with respect to this operand."""
def jvp_rule(*primitives: _Primitive, symbolic_zeros: bool = False) -> Callable[[Rule], Rule]:
    """Decorator: `rule(primals, tangents, **params) -> (result, tangent)`, or lists of them."""
def linearize_rule(*primitives: _Primitive) -> Callable[[Rule], Rule]:
    """Decorator: `rule(primals, tangents, **params) -> (result, tangent)`, for operations whose tangents are not recorded by their JVP
    rule, such as calls, whose program is split in two. Zero tangents arrive as `ZERO`."""
def lowering_rule(*primitives: _Primitive, platforms: tuple[str, ...] | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: the function lowers each of the primitives, on all platforms or on those named."""
reference_rule: RuleTable
def shape_rule(primitive: _Primitive) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: the function is the primitive's shape rule."""
def transpose_rule(*primitives: _Primitive) -> Callable[[Rule], Rule]:
    """Decorator: `rule(ct, *operands, **params)` returns one cotangent or None per operand."""
