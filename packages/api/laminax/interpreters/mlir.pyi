# Written by tools/stubs.py.
"""Lowering rules. A table of contents: names load on first use."""

from collections.abc import Callable, Sequence
from laminax._src.names.interpreters.mlir import LoweringRule as _LoweringRule
from laminax_ir.programs.primitive import Primitive
from laminax_ir.types.avals import ShapedArray
from laminax_lowering.writing.context import FunctionWriter as _LoweringRuleContext
from typing import Any
from laminax._src.names.interpreters.mlir import LoweringRule as LoweringRule
from laminax_lowering.writing.context import FunctionWriter as LoweringRuleContext

__all__: list[str]

def emit_python_callback(
    ctx: _LoweringRuleContext,
    callback: Callable[..., Sequence[Any]],
    token: None,
    operands: Sequence[Any],
    operand_avals: Sequence[ShapedArray],
    result_avals: Sequence[ShapedArray],
    *,
    has_side_effect: bool,
    returns_token: bool = True,
    partitioned: bool = False,
    sharding: None = None,
) -> tuple[Sequence[Any], None, Any]:
    """In a lowering rule: a call of a Python function, when the compiled program runs."""
def lower_fun(fun: Callable[..., Any], multiple_results: bool = True) -> _LoweringRule:
    """A lowering rule that writes what a Python function of arrays does."""
def register_lowering(
    prim: Primitive,
    rule: _LoweringRule,
    platform: str | None = None,
    inline: bool = True,
    cacheable: bool = True,
) -> None:
    """Says how an operation is compiled; a rule that there was is replaced. To be called before the operation is first compiled."""
