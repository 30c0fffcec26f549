# Written by tools/stubs.py.
"""Source positions of equations. A table of contents: names load on first use."""

from laminax_ir.tracing.name_stacks import NameStack as _NameStack
from laminax_ir.tracing.source import SourceInfo as _SourceInfo
from laminax_ir.tracing.name_stacks import NameStack as NameStack
from laminax_ir.tracing.source import SourceInfo as SourceInfo
from laminax_ir.tracing.trace import name_scope as extend_name_stack

__all__: list[str]

def current() -> _SourceInfo:
    """The line of the user's program that is being executed."""
def current_name_stack() -> _NameStack:
    """The names of scopes and transformations around what is being traced."""
def new_name_stack(name: str = '') -> _NameStack:
    """A name stack of one name, or of none."""
def new_source_info() -> _SourceInfo:
    """A position that is not known."""
def register_exclusion(path: str) -> None:
    """Marks a file as a library's own: its lines are never the user's."""
def summarize(source_info: _SourceInfo, num_frames: int = 1) -> str:
    """A position as text, `train.py:41 in train_step`; empty if it is not known."""
