"""Why a value of a program that is being recorded is not known: what it depends on, for messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Sequence

from laminax_ir.tracing import source

if TYPE_CHECKING:
    from laminax_ir.programs.jaxpr import JaxprEqn
    from laminax_ir.recording.staging_trace import StagedTracer

_MOST_LINES = 5


def why_unknown(tracer: StagedTracer) -> str:
    """The arguments that the value depends on, or where it was made if it depends on none."""
    trace = tracer._trace
    needed = {tracer.variable}
    first = []  # equations that make something of nothing that is needed
    for eqn in reversed(trace.eqns):
        if not needed.isdisjoint(eqn.outvars):
            before = len(needed)
            needed.update(v for v in eqn.invars if not hasattr(v, "val"))
            if len(needed) == before:
                first.append(eqn)
    names = [trace.argument_name(i) or f"number {i}" for i, var in enumerate(trace.invars) if var in needed]
    if names:
        many = len(names) > 1
        return (f"This concrete value was not available in Python because it depends on the value{'s' * many} of the argument{'s' * many} "
                f"{_listed(names)}{f' of {trace.name}' if trace.name else ''}.")
    for var, value, _ in trace.constants.values():
        if var in needed and hasattr(value, "why_unknown"):
            return value.why_unknown()
    return f"This value became part of {trace.name or 'the program'} due to operations on these lines: {_lines(first[::-1])}."


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _lines(eqns: Sequence[JaxprEqn]) -> str:
    lines = ", ".join(f"{eqn.primitive} at {source.summarize(eqn.source_info)}" for eqn in eqns[:_MOST_LINES])
    return lines + (". Additional originating lines are not shown" if len(eqns) > _MOST_LINES else "")
