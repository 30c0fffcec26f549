"""Leaked tracers: values of a trace that are used, or kept, after that trace has ended."""

from __future__ import annotations

import gc
from typing import Any, Sequence

from laminax_ir.tracing import source
from laminax_ir.tracing.trace import Trace, Tracer
from laminax_ir.types.errors import LeakedTracerError


def check_no_tracers(operands: Sequence[Any]) -> None:
    """For evaluators: a tracer among the operands has outlived its trace.

    Raises:
      LeakedTracerError: naming the tracer's origin.
    """
    for x in operands:
        if isinstance(x, Tracer):
            raise leaked_tracer_error(x)


def leaked_tracer_error(tracer: Tracer) -> LeakedTracerError:
    """The error for a tracer met where its trace is not at work any more."""
    trace = tracer._trace
    traced = f"a value traced by {trace.name}" if trace.name else "a traced value"
    how = "after that trace had ended" if trace.ended else "outside the function being traced"
    what, where = tracer.origin()
    used = source.summarize(source.current(3))
    return LeakedTracerError(
        f"Encountered an unexpected tracer: {traced} was used {how}.\n  value: {tracer.aval.str_short(short_dtypes=False)}"
        + (f", {what}" if what else "") + (f", which was created on line {where}" if where else "")
        + (f", and used at {used}" if used else "")
        + "\nReturn it from the transformed function instead of saving it to an object or to global state. "
          "LAMINAX_CHECK_LEAKS=1 reports it as soon as the function returns.")


def check_for_leaks(trace: Trace) -> None:
    """Looks for tracers of an ended trace that are still alive. Slow: it searches the whole heap.

    Raises:
      LeakedTracerError: if there is one; the message says what keeps it.
    """
    gc.collect()
    leaked = [x for x in gc.get_referrers(trace) if isinstance(x, Tracer) and x._trace is trace]
    if not leaked:
        return
    tracer = leaked.pop()
    leaked.clear()
    origin, holder = tracer.describe_origin(), _describe_holder([tracer])
    raise LeakedTracerError(
        f"a value traced by {trace.name or 'a transformation'} is still alive after that trace has ended.\n"
        f"  value: {tracer.aval.str_short()}" + (f", {origin}" if origin else "") + (f"; kept by {holder}" if holder else "")
        + "\nReturn it from the transformed function instead of keeping it.")


def _describe_holder(box: list) -> str:
    """The object that keeps the value in `box`, in words for a message; empty when it is hard to say."""
    for referrer in sorted(gc.get_referrers(*box), key=lambda x: isinstance(x, tuple)):  # which may be the arguments of a call under way
        entries = referrer if isinstance(referrer, dict) else getattr(referrer, "__dict__", {})
        for key in entries:
            if entries[key] is not box[0]:
                continue
            if entries is not referrer:
                return f"the attribute {key} of a {type(referrer).__name__}"
            return f"the global variable {key} of {entries['__name__']}" if "__builtins__" in entries \
                else f"the entry {key!r} of a dict"
        if referrer is not box and isinstance(referrer, (list, tuple, set)):
            return f"a {type(referrer).__name__}"
        if type(referrer).__name__ == "cell":
            return "a variable that a function closed over"
    return ""
