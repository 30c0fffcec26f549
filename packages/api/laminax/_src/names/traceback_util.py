"""Tracebacks for libraries: which files' frames they want left out, and where their interfaces begin.

What `laminax_ir.tracing.tracebacks` does for laminax's own functions, under the names by which flax, equinox and others import it.
"""

from __future__ import annotations

from types import FrameType
from typing import Any, Callable, TypeVar

from laminax_ir.tracing import tracebacks
from laminax_ir.tracing.tracebacks import UnfilteredStackTrace, filter_traceback
from laminax_ir.tracing.tracebacks import hidden_paths as _exclude_paths

F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["UnfilteredStackTrace", "_exclude_paths", "api_boundary", "filter_traceback", "include_frame", "register_exclusion"]


def register_exclusion(path: str) -> None:
    """Leaves a library's file out of tracebacks; `source_info_util.register_exclusion` leaves it out of positions of equations.

    Args:
      path: the file, such as `__file__`, or what the paths of several begin with.
    """
    tracebacks.hide_path(path)


def include_frame(frame: FrameType) -> bool:
    """Whether tracebacks show a frame: it is neither laminax's nor of a registered file."""
    return not tracebacks.is_hidden(frame)


def api_boundary(fun: F | None = None, **options: Any) -> Any:
    """Decorator that marks where a library's interface begins: errors leave it without hidden frames.

    Args:
      fun: the function; left out when options are given.
      **options: `repro_api_name` and the like: labels for a recorder of calls, which exists neither here nor in JAX's releases.
    """
    return tracebacks.api_boundary if fun is None else tracebacks.api_boundary(fun)
