# Written by tools/stubs.py.
"""Lowering rules, and what they are written with. A table of contents: names load on first use."""

from collections.abc import Callable, Sequence
from laminax._src.names.interpreters.mlir import LoweringRule as _LoweringRule
from laminax_ir.programs.effects import EffectKinds
from laminax_ir.programs.primitive import Primitive
from laminax_ir.types.avals import ShapedArray
from laminax_lowering.writing.context import FunctionWriter as _LoweringRuleContext
from typing import Any
from jaxlib.mlir import ir as ir
from laminax._src.names.interpreters.mlir import LoweringRule as LoweringRule
from laminax._src.names.interpreters.mlir_objects import TokenSet as TokenSet
from laminax_lowering.writing.context import FunctionWriter as LoweringRuleContext

__all__: list[str]

def aval_to_ir_type(ctx: Any, aval: ShapedArray | None = None) -> Any:
    """The MLIR tensor type of an abstract value; sizes that are expressions are dynamic."""
def aval_to_ir_types(ctx: Any, aval: ShapedArray | None = None) -> tuple[Any, ...]:
    """The MLIR types of an abstract value, of which there is one; arguments as for `aval_to_ir_type`."""
def custom_call(
    call_target_name: str,
    *,
    result_types: Sequence[Any],
    operands: Sequence[Any],
    backend_config: str | bytes | dict[str, Any] | None = '',
    has_side_effect: bool = False,
    result_shapes: Sequence[Any] | None = None,
    called_computations: Sequence[str] = ...,
    api_version: int = 2,
    operand_output_aliases: dict[int, int] | None = None,
    operand_layouts: Sequence[Sequence[int]] | None = None,
    result_layouts: Sequence[Sequence[int]] | None = None,
    extra_attributes: dict[str, Any] | None = None,
) -> Any:
    """In a rule: a call of a function outside of the program, which is registered under a name."""
def dense_int_array(xs: Sequence[int]) -> Any:
    """Integers as an attribute `array<i64: ...>`."""
def dense_int_elements(xs: Sequence[int]) -> Any:
    """Integers as an attribute `dense<[...]> : tensor<nxi64>`."""
def dtype_to_ir_type(dtype: Any) -> Any:
    """The MLIR type of an element."""
def emit_python_callback(
    ctx: _LoweringRuleContext,
    callback: Callable[..., Sequence[Any]],
    token: Any,
    operands: Sequence[Any],
    operand_avals: Sequence[ShapedArray],
    result_avals: Sequence[ShapedArray],
    *,
    has_side_effect: bool,
    returns_token: bool = True,
    partitioned: bool = False,
    sharding: None = None,
) -> tuple[Sequence[Any], Any, Any]:
    """In a lowering rule: a call of a Python function, when the compiled program runs."""
def flatten_ir_types(xs: Any) -> list[Any]:
    """The types in nested sequences of them, in order."""
def flatten_ir_values(xs: Any) -> list[Any]:
    """The values in nested sequences of values and operations, in order; an operation stands for its results."""
def i32_attr(i: int) -> Any:
    """An integer of 32 bits as an attribute."""
def i64_attr(i: int) -> Any:
    """An integer of 64 bits as an attribute."""
def ir_attribute(val: Any) -> Any:
    """A value as an attribute: booleans, integers (i64), floats (f64), strings, bytes, NumPy scalars and arrays, dtypes, and sequences and
    dictionaries of such values."""
def ir_constant(
    val: Any,
    *,
    const_lowering: dict[tuple[int, ShapedArray | None], Any] | None = None,
    aval: ShapedArray | None = None,
) -> Any:
    """A constant."""
def ir_constants(
    val: Any,
    *,
    const_lowering: dict[tuple[int, ShapedArray | None], Any] | None = None,
    aval: ShapedArray | None = None,
) -> tuple[Any, ...]:
    """The constants that a value is, of which there is one; arguments as for `ir_constant`."""
def lower_fun(fun: Callable[..., Any], multiple_results: bool = True) -> _LoweringRule:
    """A lowering rule that writes what a Python function of arrays does."""
lowerable_effects: EffectKinds
def make_ir_context() -> Any:
    """A new context of MLIR with the dialects of StableHLO programs."""
def module_to_bytecode(module: Any) -> bytes:
    """An MLIR module as bytecode, without a version: for the same version of MLIR."""
def module_to_string(module: Any, enable_debug_info: bool | None = None) -> str:
    """The text of an MLIR module, with locations if enable_debug_info is True."""
def register_lowering(
    prim: Primitive,
    rule: _LoweringRule,
    platform: str | None = None,
    inline: bool = True,
    cacheable: bool = True,
) -> None:
    """Says how an operation is compiled; a rule that there was is replaced. To be called before the operation is first compiled."""
def shape_tensor(ctx: Any, sizes: Sequence[Any] | None = None) -> Any:
    """Sizes as one value `i32[n]`: each is a number, or the `ir.Value` of a scalar."""
def token_type() -> Any:
    """The MLIR type of a token of StableHLO, which orders effects."""
