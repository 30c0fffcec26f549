"""Programs, their parts and traces, by the names that JAX's extension interface gives them."""

from __future__ import annotations

from typing import AbstractSet, Any, Callable, Iterator, Sequence
from weakref import ref

import numpy as np

from laminax_ir.key_arrays.extended_arrays import ExtendedArray
from laminax_ir.key_arrays.keys import PRNGKeyArray
from laminax_ir.programs.check import check_jaxpr
from laminax_ir.programs.effects import Effect
from laminax_ir.programs.jaxpr import ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, Var, jaxprs_among, no_effects
from laminax_ir.programs.primitive import Primitive
from laminax_ir.recording.evaluation import jaxpr_as_fun
from laminax_ir.recording.staging_trace import StagingTrace
from laminax_ir.tracing.source import SourceInfo, unknown
from laminax_ir.tracing.trace import Trace, Tracer, current_trace, eval_trace, state
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray, get_aval, is_array_like
from laminax_ir.types.errors import InconclusiveDimensionOperation, JaxprTypeError
from laminax_runtime import ArrayImpl
from laminax_transforms.batching.batching import BatchTrace

__all__ = ["ClosedJaxpr", "DropVar", "Effect", "InconclusiveDimensionOperation", "Jaxpr", "JaxprEqn", "JaxprTypeError", "Literal",
           "Primitive", "Var", "check_jaxpr", "jaxpr_as_fun", "no_effects"]

Effects = AbstractSet[Effect]

array_types: set[type[Any]] = {ArrayImpl, ExtendedArray, PRNGKeyArray, np.ndarray, *(dtype.type for dtype in dtypes.supported_dtypes)}
"""The types of arrays, besides tracers and Python's numbers."""


# --- programs ---


def new_jaxpr_eqn(invars: Sequence[Any], outvars: Sequence[Var], primitive: Primitive, params: dict[str, Any], effects: Any,
                  source_info: SourceInfo | None = None, ctx: None = None) -> JaxprEqn:
    """An equation `outvars = primitive[params] invars`.

    Args:
      invars: variables and literals.
      outvars: variables, which it assigns.
      primitive: the operation.
      params: its parameters.
      effects: a set of effects.
      source_info: where it comes from.
      ctx: must be None.

    Raises:
      NotImplementedError: if ctx is not None.
    """
    if ctx is not None:
        raise NotImplementedError(f"new_jaxpr_eqn: ctx must be None, equations have no context here; got {ctx!r}")
    return JaxprEqn(list(invars), list(outvars), primitive, dict(params), frozenset(effects), source_info or unknown)


def jaxprs_in_params(params: dict[str, Any]) -> Iterator[Jaxpr]:
    """The programs among an equation's parameters."""
    yield from jaxprs_among(params.values())


def subjaxprs(jaxpr: Jaxpr) -> Iterator[Jaxpr]:
    """The programs among the parameters of a program's equations."""
    for eqn in jaxpr.eqns:
        yield from jaxprs_among(eqn.params.values())


def gensym() -> Callable[[ShapedArray], Var]:
    """A function that makes new variables of given avals."""
    return Var


# --- avals ---


def mapped_aval(size: int, axis: int | None, aval: ShapedArray) -> ShapedArray:
    """The aval of one slice along an axis.

    Args:
      size: the axis' size.
      axis: the axis; None for an array that does not have it.
      aval: of the whole array.

    Raises:
      ValueError: if the axis has another size.
    """
    if axis is None:
        return aval
    if aval.shape[axis] != size:
        raise ValueError(f"mapped_aval: axis {axis} of {aval.str_short()} does not have size {size}")
    axis %= aval.ndim
    return aval.update(shape=aval.shape[:axis] + aval.shape[axis + 1:])


def unmapped_aval(size: int, axis: int | None, aval: ShapedArray, explicit_mesh_axis: None = None) -> ShapedArray:
    """The aval with a new axis.

    Args:
      size: the new axis' size.
      axis: where it is to be; None for nowhere.
      aval: of one slice.
      explicit_mesh_axis: must be None.

    Raises:
      NotImplementedError: if explicit_mesh_axis is not None.
    """
    if explicit_mesh_axis is not None:
        raise NotImplementedError(f"unmapped_aval: explicit_mesh_axis is not supported, got {explicit_mesh_axis!r}")
    if axis is None:
        return aval
    axis %= aval.ndim + 1
    return aval.update(shape=(*aval.shape[:axis], size, *aval.shape[axis:]))


def primal_dtype_to_tangent_dtype(primal_dtype: Any) -> Any:
    """The dtype of tangents: the same for floating and complex dtypes, what an extended dtype says, float0 for the others."""
    if dtypes.is_extended(primal_dtype):
        return dtypes.tangent_dtype_of(primal_dtype)
    return primal_dtype if dtypes.issubdtype(primal_dtype, dtypes.inexact) else dtypes.float0


def valid_jaxtype(x: Any) -> bool:
    """Whether x is an array of a dtype that arrays can have, a tracer or a number."""
    if not is_array_like(x):
        return False
    try:
        get_aval(x)
    except TypeError:  # a NumPy array of objects, strings or records
        return False
    return True


# --- traces ---


def _traces() -> Iterator[Trace]:
    """The traces at work, from the current one to the outermost; each hands operations to the next."""
    trace: Any = state.trace
    while trace is not None and trace is not eval_trace:
        yield trace
        trace = getattr(trace, "parent", None)


class OpaqueTraceState:
    """Which trace was current; equal to another one if it was the same."""

    __slots__ = ("_trace",)

    def __init__(self, trace: Trace) -> None:
        self._trace = ref(trace)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, OpaqueTraceState) and self._trace() is not None and self._trace() is other._trace()

    def __hash__(self) -> int:
        return hash(self._trace)


def find_top_trace(xs: Sequence[Any]) -> Trace:
    """The innermost trace of the tracers among the values; the evaluating one if none is a tracer."""
    found = {x._trace for x in xs if isinstance(x, Tracer)}
    return next((trace for trace in _traces() if trace in found), eval_trace)


def get_opaque_trace_state(convention: Any = None) -> OpaqueTraceState:
    """Which trace is current, as a value to compare with later ones: objects made under another trace must not be changed.

    Args:
      convention: whose convention the caller means; all mean the same here.
    """
    return OpaqueTraceState(state.trace)


def set_current_trace(trace: Trace | None, check_leaks: bool = False) -> current_trace:
    """Context manager: makes a trace current in this thread; None means that values are computed.

    Args:
      trace: the trace.
      check_leaks: must be False; the setting `check_tracer_leaks` looks for leaks.

    Raises:
      NotImplementedError: if check_leaks is True.
    """
    if check_leaks:
        raise NotImplementedError("set_current_trace: check_leaks=True is not supported; use the setting check_tracer_leaks")
    return current_trace(eval_trace if trace is None else trace)


class take_current_trace(current_trace):
    """Context manager: gives the current trace, while values are computed inside."""

    def __init__(self) -> None:
        super().__init__(eval_trace)

    def _recreate_cm(self) -> take_current_trace:
        return take_current_trace()

    def _change(self) -> Trace:
        super()._change()
        return self._saved[-1]


def nonempty_axis_env_DO_NOT_USE() -> bool:
    """Whether named axes are mapped around this call."""
    return bool(state.axis_sizes)


def unsafe_get_axis_names_DO_NOT_USE() -> list[Any]:
    """The named axes that are mapped around this call."""
    return list(state.axis_sizes)


def unsafe_am_i_under_a_jit_DO_NOT_USE() -> bool:
    """Whether operations are recorded as a program now."""
    return any(isinstance(trace, StagingTrace) for trace in _traces())


def unsafe_am_i_under_a_vmap_DO_NOT_USE() -> bool:
    """Whether operations are mapped now, within the function that is being traced."""
    return any(isinstance(trace, BatchTrace) for trace in _traces())
