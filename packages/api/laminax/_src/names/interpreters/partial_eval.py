"""Tracing flat functions to programs, and taking out of programs what is not needed, by JAX's names."""

from __future__ import annotations

from typing import Any, Callable, Sequence

from laminax_ir.programs.dce import dce_jaxpr, dce_rules
from laminax_ir.programs.jaxpr import ClosedJaxpr, Jaxpr
from laminax_ir.recording.staging import stage
from laminax_ir.recording.staging_trace import StagedTracer, StagingTrace
from laminax_ir.tracing.trace import current_trace
from laminax_ir.types.avals import ShapedArray, get_aval

__all__ = ["DynamicJaxprTrace", "DynamicJaxprTracer", "dce_jaxpr", "dce_rules"]

DynamicJaxprTrace, DynamicJaxprTracer = StagingTrace, StagedTracer
Val = Any


def dce_jaxpr_consts(jaxpr: Jaxpr, used_outputs: Sequence[bool], instantiate: bool | Sequence[bool] = False) \
        -> tuple[Jaxpr, list[bool], list[bool]]:
    """The part of a program that some of its results need, without the constants that it does not need.

    Args:
      jaxpr: the program.
      used_outputs: which results are needed.
      instantiate: which inputs stay though they are not used; one answer for all, or one for each.

    Returns:
      The program, which of its constants it uses, and which of its inputs it has.
    """
    if isinstance(instantiate, bool):
        instantiate = [instantiate] * len(jaxpr.invars)
    count = len(jaxpr.constvars)
    opened = jaxpr.replace(constvars=[], invars=[*jaxpr.constvars, *jaxpr.invars])
    thin, used = dce_jaxpr(opened, used_outputs, [False] * count + list(instantiate))
    kept = sum(used[:count])
    return thin.replace(constvars=thin.invars[:kept], invars=thin.invars[kept:]), used[:count], used[count:]


def close_jaxpr(jaxpr: Jaxpr) -> ClosedJaxpr:
    """A program without constants as one with a list of them, which is empty."""
    return ClosedJaxpr(jaxpr, ())


def convert_constvars_jaxpr(jaxpr: Jaxpr) -> Jaxpr:
    """The program whose constants are its first arguments."""
    return jaxpr.replace(constvars=[], invars=[*jaxpr.constvars, *jaxpr.invars])


def trace_to_jaxpr_dynamic(fun: Callable[..., Any], in_avals: Sequence[ShapedArray], *, keep_inputs: Sequence[bool] | None = None,
                           lower: bool = False, auto_dce: bool = False) -> tuple[Jaxpr, list[ShapedArray], list[Any]]:
    """Traces a flat function to a program.

    Args:
      fun: a `linear_util.WrappedFun`, or a function; takes one value for each aval and returns a sequence of values.
      in_avals: the arguments' avals.
      keep_inputs: must be None.
      lower: must be False.
      auto_dce: whether equations that no result needs are dropped.

    Returns:
      The program, the avals of its results, and the values of its constvars.

    Raises:
      NotImplementedError: if keep_inputs is given, or lower is True.
    """
    if keep_inputs is not None or lower:
        raise NotImplementedError(f"trace_to_jaxpr_dynamic: keep_inputs must be None and lower False, got {keep_inputs!r} and {lower!r}")
    closed = stage(getattr(fun, "call_wrapped", fun), list(in_avals))
    jaxpr, consts = closed.jaxpr, list(closed.consts)
    if auto_dce:
        jaxpr, used, _ = dce_jaxpr_consts(jaxpr, [True] * len(jaxpr.outvars), instantiate=True)
        consts = [c for c, is_used in zip(consts, used) if is_used]
    return jaxpr, jaxpr.out_avals, consts


class PartialVal(tuple):
    """A pair that is either `(aval, None)`, a value known by its type only, or `(None, value)`."""

    __slots__ = ()

    @classmethod
    def unknown(cls, aval: ShapedArray) -> PartialVal:
        """A value of which only the type is known."""
        return cls((aval, None))

    @classmethod
    def known(cls, const: Any) -> PartialVal:
        """A known value."""
        return cls((None, const))

    def is_known(self) -> bool:
        return self[0] is None

    def get_known(self) -> Any | None:
        """The value, or None."""
        return self[1] if self.is_known() else None

    def get_aval(self) -> ShapedArray:
        return get_aval(self[1]) if self.is_known() else self[0]


class _PartialTrace(StagingTrace):
    """Records what depends on unknown inputs; the trace below does the rest."""

    __slots__ = ()

    def _is_unknown(self, operands: Sequence[Any]) -> bool:
        return any(type(x) is StagedTracer and x._trace is self for x in operands)

    def process(self, primitive: Any, operands: Any, params: Any) -> Any:
        if self._is_unknown(operands):
            return super().process(primitive, operands, params)
        with current_trace(self.parent):
            return self.parent.process(primitive, operands, params)

    def process_custom_jvp(self, call: Any) -> Any:
        return self._process_custom(call, "process_custom_jvp")

    def process_custom_vjp(self, call: Any) -> Any:
        return self._process_custom(call, "process_custom_vjp")

    def _process_custom(self, call: Any, method: str) -> Any:
        if self._is_unknown(call.operands):
            return getattr(super(), method)(call)
        with current_trace(self.parent):
            return getattr(self.parent, method)(call)


def trace_to_jaxpr_nounits(fun: Callable[..., Any], pvals: Sequence[PartialVal], instantiate: bool = False) \
        -> tuple[Jaxpr, list[PartialVal], list[Any]]:
    """Runs a flat function on partly known arguments: computes what needs known ones only, and traces the rest to a program.

    Args:
      fun: a `linear_util.WrappedFun`, or a function; takes one value for each pair and returns a sequence of values.
      pvals: the arguments.
      instantiate: whether known results are results of the program too, and so unknown.

    Returns:
      The program from the unknown arguments to the unknown results, the results as pairs, and the values of the program's
      constvars, which are known.
    """
    trace = _PartialTrace(getattr(fun, "__name__", "<unnamed>"))
    try:
        with current_trace(trace):
            args = [x if aval is None else trace.new_input(aval) for aval, x in pvals]
            results = list(getattr(fun, "call_wrapped", fun)(*args))
        is_unknown = [instantiate or trace._is_unknown([x]) for x in results]
        closed = trace.finish([x for x, unknown in zip(results, is_unknown) if unknown])
    finally:
        trace.ended = True
    outs = [PartialVal.unknown(get_aval(x)) if unknown else PartialVal.known(x) for x, unknown in zip(results, is_unknown)]
    return closed.jaxpr, outs, list(closed.consts)
