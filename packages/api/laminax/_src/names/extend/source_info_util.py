"""Source positions of equations, by the names that JAX's extension interface gives them."""

from __future__ import annotations

from laminax_ir.tracing import source
from laminax_ir.tracing.name_stacks import NameStack
from laminax_ir.tracing.source import SourceInfo
from laminax_ir.tracing.trace import name_scope, state

__all__ = ["NameStack", "SourceInfo"]

extend_name_stack = name_scope


def current() -> SourceInfo:
    """The line of the user's program that is being executed."""
    return source.current()


def new_source_info() -> SourceInfo:
    """A position that is not known."""
    return SourceInfo(None, -1, state.name_stack)


def current_name_stack() -> NameStack:
    """The names of scopes and transformations around what is being traced."""
    return state.name_stack


def new_name_stack(name: str = "") -> NameStack:
    """A name stack of one name, or of none."""
    return NameStack((name,) if name else ())


def summarize(source_info: SourceInfo, num_frames: int = 1) -> str:
    """A position as text, `train.py:41 in train_step`; empty if it is not known.

    Args:
      source_info: as equations have it.
      num_frames: must be 1: one frame is recorded.

    Raises:
      NotImplementedError: if num_frames is not 1.
    """
    if num_frames != 1:
        raise NotImplementedError(f"summarize: one frame is recorded for each equation, num_frames must be 1, got {num_frames}")
    return source.summarize(source_info)


def register_exclusion(path: str) -> None:
    """Marks a file as a library's own: its lines are never the user's.

    Args:
      path: the file, such as `__file__`, or what the paths of several begin with.
    """
    source.pass_over(path)
