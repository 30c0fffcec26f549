"""Moving values to other memory of the devices that they are on, as `device_put(x, memory.Space.Host)` does."""

from __future__ import annotations

from typing import Any

import laminax_runtime as runtime
from laminax_ir.key_arrays.extended_arrays import ExtendedArray, array_of_stored
from laminax_ir.ops.sharding import in_memory
from laminax_ir.recording.staging_trace import record_explicitly
from laminax_ir.tracing.trace import Tracer
from laminax_ir.types.memory_spaces import MemorySpace, kind_of_space

Space = MemorySpace

__all__ = ["Space"]


def sharding_in(x: Any, space: MemorySpace) -> runtime.Sharding:
    """The sharding that the value x has, or will have, but in this kind of memory.

    Raises:
      ValueError: for `Space.Any`.
    """
    kind = _kind(space)
    is_array = isinstance(x, (runtime.ArrayImpl, ExtendedArray))
    return (x.sharding if is_array else runtime.on_device(runtime.placement_device())).with_memory_kind(kind)


def put_in_memory(x: Any, space: MemorySpace) -> Any:
    """The value x in a kind of memory of its devices; committed to them if x was."""
    if isinstance(x, ExtendedArray):
        return array_of_stored(x.dtype, put_in_memory(x.base, space))
    placed = runtime.device_put(x, sharding_in(x, space))
    return placed if getattr(x, "committed", False) else runtime.as_uncommitted(placed)


def put_traced_in_memory(x: Tracer, space: MemorySpace) -> Any:
    """`device_put` to a kind of memory as an operation of the program that is being traced."""
    _kind(space)
    record_explicitly()
    return in_memory(x, space)


def _kind(space: MemorySpace) -> str:
    try:
        return kind_of_space(space)
    except ValueError as error:
        raise ValueError(f"device_put: {error}") from None
