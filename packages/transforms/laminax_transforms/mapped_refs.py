"""References that a transformed function takes: batches of arrays under `vmap`, primals with tangents under `jvp`.

Such a reference lives in the trace of the transformation. Reading it reads the references outside and gives a tracer of
the two parts; writing parts what is written.
"""

from __future__ import annotations

from typing import Any, Sequence

from laminax_ir.avals import get_aval
from laminax_ir.refs import AbstractRef, Ref, read, write
from laminax_ir.trace import current_trace, state


def differentiated_write_error(ref: Ref) -> ValueError:
    """For a value with a tangent, written to a reference that has none."""
    return ValueError(f"performing a set/swap operation with a differentiated value on a non-differentiated array reference of type {ref.aval}. "
                      "Move the array reference to be an argument of the differentiated function? Make it in the function, or write "
                      "stop_gradient(value).")


def mapped_write_error(ref: Ref) -> ValueError:
    """For a write by a mapped function to a reference that is not mapped: each example would write something else."""
    return ValueError(f"performing a set/swap operation with vmapped value on an unbatched array reference of type {ref.aval}. Move the array "
                      "reference to be an argument to the vmapped function? Make it in the function, or pass it with in_axes=0.")


class MappedRef(Ref):
    """A reference to one example of the arrays in `batch`, along an axis of it."""

    __slots__ = ("batch", "axis")

    def __init__(self, trace: Any, batch: Ref, axis: int):
        from laminax_transforms.batching import remove_axis
        self._trace = trace
        self.aval = AbstractRef(remove_axis(batch.aval.inner_aval, axis))
        self.batch = batch
        self.axis = axis

    def load(self) -> Any:
        with current_trace(self._trace.parent):
            return self._trace.join(read(self.batch), self.axis)

    def store(self, value: Any) -> None:
        from laminax_transforms.batching import move_batch_axis
        value, axis = self._trace.split(value)
        with current_trace(self._trace.parent):
            write("ref_set", self.batch, (), move_batch_axis(value, axis, self.axis, self._trace.axis.size))


class DualRef(Ref):
    """A reference to a primal and one to its tangent."""

    __slots__ = ("primal", "tangent")

    def __init__(self, trace: Any, primal: Ref, tangent: Ref):
        self._trace = trace
        self.aval = primal.aval
        self.primal = primal
        self.tangent = tangent

    def load(self) -> Any:
        with current_trace(self._trace.parent):
            return self._trace.join(read(self.primal), read(self.tangent))

    def store(self, value: Any) -> None:
        from laminax_transforms.zeros import instantiate
        primal, tangent = self._trace.split(value)
        with current_trace(self._trace.parent):
            write("ref_set", self.primal, (), primal)
            write("ref_set", self.tangent, (), instantiate(tangent, get_aval(primal)))


def with_mapped_refs(fun, refs: Sequence[tuple[int, Ref, int]]):
    """A flat function under `vmap` that gets references to examples in the places of some arguments: (place, batch, axis)."""
    return _with_refs(fun, refs, MappedRef)


def with_dual_refs(fun, refs: Sequence[tuple[int, Ref, Ref]]):
    """A flat function under `jvp` that gets references with tangents in the places of some arguments: (place, primal, tangent)."""
    return _with_refs(fun, refs, DualRef)


def _with_refs(fun, refs: Sequence[tuple], make):
    def with_refs(*flat):
        arguments = list(flat)
        for place, *parts in refs:
            arguments[place] = make(state.trace, *parts)
        return fun(*arguments)
    return with_refs
