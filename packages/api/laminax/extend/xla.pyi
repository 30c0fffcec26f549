# Written by tools/stubs.py.
"""Passes of your own in XLA's compiler. A table of contents: names load on first use."""

from collections.abc import Callable, Sequence
from laminax_runtime.compiling.transformations import PipelineStage as _PipelineStage
from laminax_runtime.compiling.transformations import PipelineStage as PipelineStage

__all__: list[str]

def clear_hlo_module_transformation(name: str, stage: _PipelineStage = ..., platforms: Sequence[str] | str | None = None) -> bool:
    """Takes a pass out of the compiler again."""
def register_hlo_module_transformation(
    callback: Callable[[bytes], bytes | None],
    *,
    name: str,
    stage: _PipelineStage = ...,
    platforms: Sequence[str] | str | None = None,
) -> None:
    """Adds a pass to the compiler, which runs whenever a program is compiled; programs that are compiled already stay as they are."""
