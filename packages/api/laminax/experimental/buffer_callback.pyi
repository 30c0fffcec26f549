# Written by tools/stubs.py.
"""Callbacks that write into the buffers of a program. A table of contents: names load on first use."""

from collections.abc import Callable, Mapping
from typing import Any
from laminax_runtime.backends.ffi import Buffer as Buffer
from laminax_runtime.backends.ffi import ExecutionContext as ExecutionContext
from laminax_runtime.backends.ffi import ExecutionStage as ExecutionStage

__all__: list[str]

def buffer_callback(
    callback: Callable[..., None],
    result_shape_dtypes: Any,
    *,
    has_side_effect: bool = False,
    vmap_method: str | None = None,
    input_output_aliases: Mapping[int, int] | None = None,
    command_buffer_compatible: bool = False,
) -> Callable[..., Any]:
    """A function that calls a Python function on the buffers of a program, on the CPU or a GPU, without copies."""
