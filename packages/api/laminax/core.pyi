# Written by tools/stubs.py.
"""Programs as values: jaxprs, their parts, and running them."""

from collections.abc import Callable, Iterable, Sequence
from laminax_ir.programs.jaxpr import ClosedJaxpr as _ClosedJaxpr, Jaxpr as _Jaxpr, JaxprEqn as _JaxprEqn
from laminax_ir.symbolic.symbolic_dims import DimSize
from laminax_ir.tracing.trace import current_trace
from laminax_ir.types.avals import ShapedArray as _ShapedArray
from types import GenericAlias
from typing import Any
from laminax._src.compiling.scopes import ensure_compile_time_eval as ensure_compile_time_eval
from laminax._src.names.interpreters.partial_eval import Val as Value
from laminax_ir.programs.jaxpr import Atom as Atom
from laminax_ir.programs.jaxpr import ClosedJaxpr as ClosedJaxpr
from laminax_ir.programs.jaxpr import DropVar as DropVar
from laminax_ir.programs.jaxpr import Jaxpr as Jaxpr
from laminax_ir.programs.jaxpr import JaxprEqn as JaxprEqn
from laminax_ir.programs.jaxpr import Literal as Literal
from laminax_ir.programs.jaxpr import Var as Var
from laminax_ir.programs.primitive import Primitive as Primitive
from laminax_ir.tracing.trace import Trace as Trace
from laminax_ir.tracing.trace import Tracer as Tracer
from laminax_ir.types.avals import ShapedArray as AbstractValue
from laminax_ir.types.avals import ShapedArray as ShapedArray
from laminax_ir.types.errors import InconclusiveDimensionOperation as InconclusiveDimensionOperation
from laminax_ir.types.errors import JaxprTypeError as JaxprTypeError
from laminax_ir.types.shape_dtype_structs import ShapeDtypeStruct as ShapeDtypeStruct

__all__: list[str]

ParamDict: GenericAlias
def check_jaxpr(jaxpr: _Jaxpr | _ClosedJaxpr) -> None:
    """Checks a jaxpr and the jaxprs in it."""
def eval_context() -> current_trace:
    """Context manager: operations inside are computed; a traced value among their operands is an error."""
def eval_jaxpr(jaxpr: _Jaxpr, consts: Sequence[Any], *args: Any, propagate_source_info: bool = True) -> list[Any]:
    """Runs a jaxpr by binding its equations one by one under the current trace; values are let go after their last use."""
def get_aval(value: Any) -> _ShapedArray:
    """The aval of a value: a tracer, an array, a NumPy array or scalar, a Python scalar."""
def is_constant_dim(d: Any) -> bool:
    """Whether the size of an axis is a number, and no expression in variables."""
def is_constant_shape(shape: Iterable[Any]) -> bool:
    """Whether all sizes are numbers."""
def jaxpr_as_fun(closed_jaxpr: _ClosedJaxpr, *args: Any) -> Callable[..., list[Any]]:
    """The closed jaxpr as a Python function of its flat arguments, or of those after `args`, returning the list of results."""
def max_dim(d1: DimSize, d2: DimSize) -> DimSize:
    """The larger of two sizes."""
def min_dim(d1: DimSize, d2: DimSize) -> DimSize:
    """The smaller of two sizes."""
no_effects: frozenset[Any]
def subjaxprs(eqn: _JaxprEqn) -> list[_Jaxpr]:
    """The jaxprs among an equation's parameters."""
