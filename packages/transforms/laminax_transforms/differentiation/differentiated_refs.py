"""References that a function under `jvp` takes: primals with their tangents.

Such a reference belongs to the trace of the transformation and stands for two references outside. A read gives a dual tracer of
their two values; a write divides the written value into its primal and its tangent.
"""

from __future__ import annotations

from typing import Any, Callable, Sequence

from laminax_ir.refs.refs import Ref, read, write
from laminax_ir.tracing.trace import current_trace
from laminax_ir.types.avals import get_aval
from laminax_transforms.base.flat_functions import with_refs_made
from laminax_transforms.base.zeros import instantiate


def differentiated_write_error(ref: Ref, adds: bool) -> ValueError:
    """The error of writing a value with a tangent to a reference that has no tangent."""
    operation = "an addupdate" if adds else "a set/swap"
    return ValueError(f"performing {operation} operation with a differentiated value on a non-differentiated array reference of type "
                      f"{ref.aval}. Move the array reference to be an argument of the differentiated function? Make it in the function, or "
                      "write stop_gradient(value).")


class DualRef(Ref):
    """A reference to a primal and one to its tangent."""

    __slots__ = ("primal", "tangent")
    _trace: Any  # a trace of a differentiation

    def __init__(self, trace: Any, primal: Ref, tangent: Ref) -> None:
        self._trace = trace
        self.aval = primal.aval
        self.primal = primal
        self.tangent = tangent

    def load(self) -> Any:
        with current_trace(self._trace.parent):
            return self._trace.join(read(self.primal), read(self.tangent))

    def store(self, value: Any) -> None:
        primal, tangent = self._trace.split(value)
        with current_trace(self._trace.parent):
            write("ref_set", self.primal, (), primal)
            write("ref_set", self.tangent, (), instantiate(tangent, get_aval(primal)))


def with_dual_refs(fun: Callable[..., Sequence[Any]], refs: Sequence[tuple[int, Ref, Ref]]) -> Callable[..., Sequence[Any]]:
    """A flat function under `jvp` that gets references with tangents in the places of some arguments: (place, primal, tangent)."""
    return with_refs_made(fun, refs, DualRef)
