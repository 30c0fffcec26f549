"""Leaked tracers: values of a trace that are used, or kept, after that trace has ended."""

from __future__ import annotations

import gc
from types import CellType, FrameType, FunctionType
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
        f"Leaked trace {trace.known_as}: a value traced by {trace.name or 'a transformation'} is still alive after that trace has ended.\n"
        f"  value: {tracer.aval.str_short()}" + (f", {origin}" if origin else "") + (f"; kept by {holder}" if holder else "")
        + "\nReturn it from the transformed function instead of keeping it.\n" + _chain([tracer], tracer.origin()[1]))


_LONGEST_CHAIN = 5  # who keeps the keeper of a value is of interest, and who keeps that one


def _chain(box: list, where: str) -> str:
    """Lines that say what refers to the value in `box`, what to that, and so on."""
    x = box[0]
    lines = [f"This {type(x).__name__} with object id {id(x)} was created on line:\n  {where or 'unknown'}"]
    seen = {id(box), id(lines)}
    for _ in range(_LONGEST_CHAIN):
        seen.add(id(x))
        found = _referrer(x, seen)
        if found is None:
            break
        keeper, how = found
        lines.append(f"{_named(x)} is referred to by {_named(keeper)}{how}")
        x = keeper
    return "\n".join(lines)


def _named(x: Any) -> str:
    name = getattr(x, "__name__", None)
    return f"<{type(x).__name__} {id(x)}>" + (f" ({name})" if isinstance(name, str) else "")


def _referrer(x: Any, seen: set[int]) -> tuple[Any, str] | None:
    """An object that refers to x, and how it does: `['hi']`, `.dct`, ` closed-over variable x`."""
    for referrer in gc.get_referrers(x):
        if id(referrer) in seen or isinstance(referrer, FrameType):
            continue
        if isinstance(referrer, CellType):
            for function in gc.get_referrers(*(t for t in gc.get_referrers(referrer) if isinstance(t, tuple))):
                if isinstance(function, FunctionType) and referrer in (cells := function.__closure__ or ()):
                    return function, f" closed-over variable {function.__code__.co_freevars[cells.index(referrer)]}"
        elif isinstance(referrer, list):
            return referrer, f"[{next(i for i, entry in enumerate(referrer) if entry is x)}]"
        elif isinstance(referrer, dict):
            key = next((key for key, entry in referrer.items() if entry is x), None)
            return referrer, f"[{key!r}]"
        elif any(entry is x for entry in getattr(referrer, "__dict__", {}).values()):
            return referrer, f".{next(name for name, entry in vars(referrer).items() if entry is x)}"
    return None


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
        if type(referrer) is CellType:
            return "a variable that a function closed over"
    return ""
