"""Staging: from a Python function to a program of arrays, in which there are no references any more."""

from __future__ import annotations

from typing import Any, Callable, Iterable, Sequence

from laminax_ir.options.composition import compose
from laminax_ir.programs.effects import has_refs
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.recording.staging_trace import StagingTrace, record_program
from laminax_ir.types.avals import ShapedArray


def stage(fun: Callable[..., Iterable[Any]], in_avals: Sequence[ShapedArray], name: str | None = None,
          argument_names: Sequence[str] | Callable[[int], str] | None = None, keeps_refs: bool = False,
          trace_type: Callable[..., StagingTrace] = StagingTrace) -> ClosedJaxpr:
    """Traces a flat function to a jaxpr.

    Args:
      fun: takes one value per aval and returns a sequence of values.
      in_avals: the avals of the arguments.
      name: the function's name, for messages.
      argument_names: what messages call the arguments, or a function from an index to that.
      keeps_refs: whether the program may have references; if not, the function's own references become values of the program.
      trace_type: the class of the trace that records, or what makes one.

    Returns:
      The closed jaxpr. Its constants may be tracers of the enclosing trace.

    Raises:
      NotImplementedError: if the function closes over references, unless keeps_refs.
      LeakedTracerError: if the function uses a tracer of a finished trace, or, with the option
        `check_leaks`, keeps one of its own.
    """
    closed = record_program(fun, in_avals, name, argument_names, trace_type)
    if keeps_refs or not closed.jaxpr.effects or not has_refs(closed.jaxpr.effects):
        return closed
    from laminax_ir.recording.discharge import without_refs  # for programs with references only
    return without_refs(closed)


compose()  # a caller that traces functions expects tracers to have their arithmetic
