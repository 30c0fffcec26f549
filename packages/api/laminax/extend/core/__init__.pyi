# Written by tools/stubs.py.
"""Programs, their parts and traces, for libraries that work on them. A table of contents: names load on first use."""

from collections.abc import Callable, Iterator, Sequence
from laminax._src.names.extend.core import OpaqueTraceState
from laminax_ir.programs.jaxpr import Jaxpr as _Jaxpr, JaxprEqn as _JaxprEqn, Var as _Var
from laminax_ir.programs.primitive import Primitive as _Primitive
from laminax_ir.tracing.source import SourceInfo
from laminax_ir.tracing.trace import Trace, current_trace
from laminax_ir.types.avals import ShapedArray
from typing import Any
from laminax._src.names.extend.core import Effects as Effects
from laminax._src.names.extend.core import take_current_trace as take_current_trace
from laminax._src.names.extend.debug_info import DebugInfo as DebugInfo
from laminax._src.names.refused import AbstractToken as AbstractToken
from laminax.core import check_jaxpr as check_jaxpr
from laminax.core import jaxpr_as_fun as jaxpr_as_fun
from laminax.extend.core import primitives as primitives
from laminax_ir.ops.tokens import Token as Token
from laminax_ir.programs.effects import Effect as Effect
from laminax_ir.programs.jaxpr import ClosedJaxpr as ClosedJaxpr
from laminax_ir.programs.jaxpr import DropVar as DropVar
from laminax_ir.programs.jaxpr import Jaxpr as Jaxpr
from laminax_ir.programs.jaxpr import JaxprEqn as JaxprEqn
from laminax_ir.programs.jaxpr import Literal as Literal
from laminax_ir.programs.jaxpr import Var as Var
from laminax_ir.programs.primitive import Primitive as Primitive
from laminax_ir.types.errors import InconclusiveDimensionOperation as InconclusiveDimensionOperation
from laminax_ir.types.errors import JaxprTypeError as JaxprTypeError

__all__: list[str]

array_types: set[Any]
def concrete_or_error(force: Callable[..., Any] | None, val: Any, context: str = '') -> Any:
    """The value itself, converted by `force`."""
def find_top_trace(xs: Sequence[Any]) -> Trace:
    """The innermost trace of the tracers among the values; the evaluating one if none is a tracer."""
def gensym() -> Callable[[ShapedArray], _Var]:
    """A function that makes new variables of given avals."""
def get_opaque_trace_state(convention: Any = None) -> OpaqueTraceState:
    """Which trace is current, as a value to compare with later ones: objects made under another trace must not be changed."""
def jaxprs_in_params(params: dict[str, Any]) -> Iterator[_Jaxpr]:
    """The programs among an equation's parameters."""
def mapped_aval(size: int, axis: int | None, aval: ShapedArray) -> ShapedArray:
    """The aval of one slice along an axis."""
def new_jaxpr_eqn(
    invars: Sequence[Any],
    outvars: Sequence[_Var],
    primitive: _Primitive,
    params: dict[str, Any],
    effects: Any,
    source_info: SourceInfo | None = None,
    ctx: None = None,
) -> _JaxprEqn:
    """An equation `outvars = primitive[params] invars`."""
no_effects: frozenset[Any]
def nonempty_axis_env_DO_NOT_USE() -> bool:
    """Whether named axes are mapped around this call."""
def primal_dtype_to_tangent_dtype(primal_dtype: Any) -> Any:
    """The dtype of tangents: the same for floating and complex dtypes, what an extended dtype says, float0 for the others."""
def set_current_trace(trace: Trace | None, check_leaks: bool = False) -> current_trace:
    """Context manager: makes a trace current in this thread; None means that values are computed."""
def subjaxprs(jaxpr: _Jaxpr) -> Iterator[_Jaxpr]:
    """The programs among the parameters of a program's equations."""
def unmapped_aval(size: int, axis: int | None, aval: ShapedArray, explicit_mesh_axis: None = None) -> ShapedArray:
    """The aval with a new axis."""
def unsafe_am_i_under_a_jit_DO_NOT_USE() -> bool:
    """Whether operations are recorded as a program now."""
def unsafe_am_i_under_a_vmap_DO_NOT_USE() -> bool:
    """Whether operations are mapped now, within the function that is being traced."""
def unsafe_get_axis_names_DO_NOT_USE() -> list[Any]:
    """The named axes that are mapped around this call."""
def valid_jaxtype(x: Any) -> bool:
    """Whether x is an array of a dtype that arrays can have, a tracer or a number."""
