"""Programs as values: jaxprs, their parts, and running them."""

from __future__ import annotations

from typing import Any

from laminax_ir.symbolic.symbolic_dims import is_symbolic_dim
from laminax_ir.tracing.trace import current_trace, eval_trace

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "compiling.scopes": "ensure_compile_time_eval",
    "laminax_ir.programs.check": "check_jaxpr",
    "laminax_ir.programs.jaxpr": "Atom ClosedJaxpr DropVar Jaxpr JaxprEqn Literal Var no_effects subjaxprs",
    "laminax_ir.programs.primitive": "Primitive",
    "laminax_ir.recording.evaluation": "eval_jaxpr jaxpr_as_fun",
    "laminax_ir.symbolic.symbolic_dims": "is_constant_shape max_dim min_dim",
    "laminax_ir.tracing.trace": "Trace Tracer",
    "laminax_ir.types.avals": "AbstractValue ShapedArray get_aval",
    "laminax_ir.types.shape_dtype_structs": "ShapeDtypeStruct",
    "laminax_ir.types.errors": "InconclusiveDimensionOperation JaxprTypeError",
})
__all__ += ["ParamDict", "Value", "eval_context", "is_constant_dim"]

ParamDict = dict[str, Any]
Value = Any


def eval_context() -> current_trace:
    """Context manager: operations inside are computed; a traced value among their operands is an error."""
    return current_trace(eval_trace)


def is_constant_dim(d: Any) -> bool:
    """Whether the size of an axis is a number, and no expression in variables."""
    return not is_symbolic_dim(d)
