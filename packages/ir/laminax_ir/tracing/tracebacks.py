"""Short tracebacks: an error that leaves laminax shows the user's frames.

An error in a function under `jit(grad(vmap(f)))` passes through dozens of frames of laminax, and a user needs none of them.
`api_boundary` marks functions that users call; an error that is raised below one leaves it without laminax's frames, as the option
`traceback_filtering` says. A call that raises nothing pays for one more frame at most: functions on a hot path have
the handler in their own body,

    except Exception as error:
        shorten(error)
        raise  # without an operand, which keeps the traceback as `shorten` leaves it
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, TypeVar, cast

from laminax_ir.options.config import traceback_filtering
from laminax_ir.tracing import source

F = TypeVar("F", bound=Callable[..., Any])

NOTE = ("--------------------\nFor simplicity, internal frames of laminax were removed from this traceback. "
        "Set LAMINAX_TRACEBACK_FILTERING=off to include them.")
hidden_paths: list[str] = []  # libraries add to it and remove from it, too


class UnfilteredStackTrace(Exception):
    """The cause that `traceback_filtering="remove_frames"` gives an error: the same one, with its whole traceback."""


def hide_path(path: str) -> None:
    """Leaves the frames of a file, or of all files whose paths begin so, out of tracebacks."""
    hidden_paths.append(path)


def is_hidden(frame: FrameType) -> bool:
    """Whether a frame is laminax's, or of a file that was hidden."""
    filename = frame.f_code.co_filename
    return source.is_internal(filename) or bool(hidden_paths) and filename.startswith(tuple(hidden_paths))


def api_boundary(fun: F) -> F:
    """Decorator: errors leave the function with a traceback of the user's frames."""

    @functools.wraps(fun)
    def boundary(*args: Any, **kwargs: Any) -> Any:
        try:
            return fun(*args, **kwargs)
        except Exception as error:
            shorten(error)
            raise

    boundary.__wrapped__ = getattr(fun, "__wrapped__", fun)  # if `fun` is itself made of a function, that function
    return cast(F, boundary)


def shorten(error: BaseException) -> None:
    """Takes laminax's frames out of an error's traceback, or marks them, as the option `traceback_filtering` says."""
    mode, trace = traceback_filtering.value, error.__traceback__
    if mode == "auto":
        mode = "tracebackhide" if _runs_in_ipython() else "quiet_remove_frames"
    if mode == "off" or trace is None:
        return
    if mode == "tracebackhide":
        while trace is not None:
            if is_hidden(trace.tb_frame):
                _hide(trace.tb_frame, error)
            trace = trace.tb_next
        return
    error.__traceback__ = filter_traceback(trace)
    if mode == "quiet_remove_frames":
        if NOTE not in getattr(error, "__notes__", ()):
            error.add_note(NOTE)
    elif not isinstance(error.__cause__, UnfilteredStackTrace):  # an inner boundary has been here
        whole = UnfilteredStackTrace(f"{type(error).__name__}: {error}\n\nThe stack trace below excludes laminax's internal frames. "
                                     "The preceding is the original exception, unmodified.\n\n--------------------")
        whole.__traceback__ = _with_callers(trace)
        whole.__cause__, whole.__context__ = error.__cause__, error.__context__
        whole.__suppress_context__ = error.__suppress_context__
        error.__cause__ = whole


def _hide(frame: FrameType, error: BaseException) -> None:
    """Marks a frame for those who print tracebacks.

    Before Python 3.13 `f_locals` is a dict that stays with the frame: the error in it would keep itself, and all that its frames hold,
    alive until cycles are collected.
    """
    shown: Any = frame.f_locals
    shown["__tracebackhide__"] = True
    if type(shown) is dict:
        for name in [name for name, value in shown.items() if value is error]:
            del shown[name]


def filter_traceback(trace: TracebackType | None) -> TracebackType | None:
    """A traceback without laminax's frames; None where no other is left."""
    entries = []
    while trace is not None:
        if not is_hidden(trace.tb_frame):
            entries.append(trace)
        trace = trace.tb_next
    kept = None
    for entry in reversed(entries):
        kept = TracebackType(kept, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return kept


def _with_callers(trace: TracebackType) -> TracebackType:
    """A traceback from the module that runs on, not from the frame where the error was caught."""
    frame: FrameType | None = trace.tb_frame
    while frame is not None and frame.f_code.co_name != "<module>" and (frame := frame.f_back) is not None:
        trace = TracebackType(trace, frame, frame.f_lasti, frame.f_lineno)
    return trace


def _runs_in_ipython() -> bool:
    ipython = sys.modules.get("IPython")
    return ipython is not None and ipython.get_ipython() is not None
