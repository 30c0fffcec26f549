"""`call_p` and `closed_call_p`: calls of a function and of a program, as interpreters of programs bind them.

A call is always the operation `jit` in laminax's programs. These two are bound as such calls; no equation has them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from laminax_ir.ops.calls import call_jaxpr as bind_jit
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.programs.primitive import Primitive
from laminax_ir.tracing.wrapped_functions import WrappedFun

from laminax._src.compiling.jit import jit
from laminax._src.compiling.tracing import function_name

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


class _CallPrimitive(Primitive):
    """A call of a function of arrays that returns a sequence of arrays."""

    call_primitive = True

    def bind(self, fun: WrappedFun, *operands: Any, name: str | None = None) -> list[Any]:
        """The results of the function, called as a program of its own; `name` is what the call is named."""
        def call(*operands: ArrayLike) -> list[Array]:
            return fun.call_wrapped(*operands)
        call.__name__ = name or function_name(fun.f)
        return list(jit(call)(*operands))


class _ClosedCallPrimitive(Primitive):
    """A call of a closed jaxpr."""

    call_primitive = True

    def bind(self, *operands: Any, call_jaxpr: ClosedJaxpr, name: str = "closed_call") -> list[Any]:
        """The results of the program; `name` is what the call is named."""
        return bind_jit(call_jaxpr, *operands, name=name)


call_p = _CallPrimitive("call", multiple_results=True)
closed_call_p = _ClosedCallPrimitive("closed_call", multiple_results=True)
