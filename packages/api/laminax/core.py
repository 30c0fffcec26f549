"""Programs as values: jaxprs, their parts, and running them."""

from __future__ import annotations

from laminax_ir.avals import AbstractValue, ShapedArray, ShapeDtypeStruct, get_aval
from laminax_ir.check import check_jaxpr
from laminax_ir.errors import JaxprTypeError
from laminax_ir.jaxpr import (
    Atom, ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, Var, eval_jaxpr, jaxpr_as_fun, no_effects, subjaxprs,
)
from laminax_ir.primitive import Primitive
from laminax_ir.trace import Trace, Tracer

from laminax._src import setup  # noqa: F401

__all__ = [
    "AbstractValue", "Atom", "ClosedJaxpr", "DropVar", "Jaxpr", "JaxprEqn", "JaxprTypeError", "Literal", "Primitive",
    "ShapeDtypeStruct", "ShapedArray", "Trace", "Tracer", "Var", "check_jaxpr", "eval_jaxpr", "get_aval", "jaxpr_as_fun",
    "no_effects", "subjaxprs",
]
