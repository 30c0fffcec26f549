"""Programs as values: jaxprs, their parts, and running them."""

from __future__ import annotations

from typing import Any

from laminax_ir.programs.check import check_jaxpr
from laminax_ir.programs.jaxpr import Atom, ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, Var, no_effects, subjaxprs
from laminax_ir.programs.primitive import Primitive
from laminax_ir.recording.evaluation import eval_jaxpr, jaxpr_as_fun
from laminax_ir.symbolic.symbolic_dims import InconclusiveDimensionOperation, is_constant_shape, is_symbolic_dim, max_dim, min_dim
from laminax_ir.tracing.trace import Trace, Tracer, current_trace, eval_trace
from laminax_ir.types.avals import AbstractValue, ShapedArray, ShapeDtypeStruct, get_aval
from laminax_ir.types.errors import JaxprTypeError

from laminax._src.compiling.scopes import ensure_compile_time_eval

__all__ = [
    "AbstractValue", "Atom", "ClosedJaxpr", "DropVar", "InconclusiveDimensionOperation", "Jaxpr", "JaxprEqn", "JaxprTypeError", "Literal",
    "ParamDict", "Primitive", "ShapeDtypeStruct", "ShapedArray", "Trace", "Tracer", "Value", "Var", "check_jaxpr",
    "ensure_compile_time_eval", "eval_context", "eval_jaxpr", "get_aval", "is_constant_dim", "is_constant_shape", "jaxpr_as_fun", "max_dim",
    "min_dim", "no_effects", "subjaxprs",
]

ParamDict = dict[str, Any]
Value = Any


def eval_context() -> current_trace:
    """Context manager: operations inside are computed; a traced value among their operands is an error."""
    return current_trace(eval_trace)


def is_constant_dim(d: Any) -> bool:
    """Whether the size of an axis is a number, and no expression in variables."""
    return not is_symbolic_dim(d)
