"""References that a function under `vmap` takes: examples of a batch of arrays.

Such a reference belongs to the trace of the transformation. A read of it reads the reference to the whole batch, which is outside, and
gives a tracer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Sequence

from laminax_ir.refs.refs import Ref, read, write
from laminax_ir.tracing.trace import current_trace
from laminax_ir.types.avals import remove_axis
from laminax_ir.types.ref_types import AbstractRef
from laminax_transforms.base.flat_functions import with_refs_made
from laminax_transforms.batching.batch_axes import move_batch_axis

if TYPE_CHECKING:  # its module imports this one
    from laminax_transforms.batching.batching import BatchTrace


def mapped_write_error(ref: Ref, adds: bool) -> ValueError:
    """The error of a mapped function that writes to a reference that is not mapped: each example would write another value."""
    operation = "an addupdate" if adds else "a set/swap"
    return ValueError(f"performing {operation} operation with vmapped value on an unbatched array reference of type {ref.aval}. Move the "
                      "array reference to be an argument to the vmapped function? Make it in the function, or pass it with in_axes=0.")


class MappedRef(Ref):
    """A reference to one example of the arrays in `batch`, along an axis of it."""

    __slots__ = ("batch", "axis")
    _trace: BatchTrace

    def __init__(self, trace: BatchTrace, batch: Ref, axis: int) -> None:
        self._trace = trace
        self.aval = AbstractRef(remove_axis(batch.aval.inner_aval, axis), batch.aval.kind)
        self.batch = batch
        self.axis = axis

    def load(self) -> Any:
        with current_trace(self._trace.parent):
            return self._trace.join(read(self.batch), self.axis)

    def store(self, value: Any) -> None:
        value, axis = self._trace.split(value)
        with current_trace(self._trace.parent):
            write("ref_set", self.batch, (), move_batch_axis(value, axis, self.axis, self._trace.axis.size))


def with_mapped_refs(fun: Callable[..., Sequence[Any]], refs: Sequence[tuple[int, Ref, int]]) -> Callable[..., Sequence[Any]]:
    """A flat function under `vmap` that gets references to examples in the places of some arguments: (place, batch, axis)."""
    return with_refs_made(fun, refs, MappedRef)
