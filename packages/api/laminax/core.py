"""Programs as values: jaxprs, their parts, and running them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Iterator

from laminax_ir.avals import AbstractValue, ShapedArray, ShapeDtypeStruct, get_aval
from laminax_ir.check import check_jaxpr
from laminax_ir.errors import JaxprTypeError
from laminax_ir.jaxpr import (
    Atom,
    ClosedJaxpr,
    DropVar,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    eval_jaxpr,
    jaxpr_as_fun,
    no_effects,
    subjaxprs,
)
from laminax_ir.primitive import Primitive
from laminax_ir.trace import Trace, Tracer, current_trace, eval_trace

from laminax._src import setup  # noqa: F401
from laminax._src.api import ensure_compile_time_eval

__all__ = [
    "AbstractValue", "Atom", "ClosedJaxpr", "DropVar", "Jaxpr", "JaxprEqn", "JaxprTypeError", "Literal", "ParamDict", "Primitive",
    "ShapeDtypeStruct", "ShapedArray", "Trace", "Tracer", "Value", "Var", "check_jaxpr", "ensure_compile_time_eval",
    "eval_context", "eval_jaxpr", "get_aval", "jaxpr_as_fun", "max_dim", "min_dim", "no_effects", "subjaxprs",
]

ParamDict = dict[str, Any]
Value = Any


@contextmanager
def eval_context() -> Iterator[None]:
    """Context manager: operations inside are computed; a traced value among their operands is an error."""
    with current_trace(eval_trace):
        yield


def max_dim(d1: int, d2: int) -> int:
    """The larger of two sizes."""
    return max(d1, d2)


def min_dim(d1: int, d2: int) -> int:
    """The smaller of two sizes."""
    return min(d1, d2)
