"""`call_p` and `closed_call_p`: calls of a function and of a program, as interpreters of programs bind them.

A call is always the operation `jit` in laminax's programs. These two are bound as such calls; no equation has them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from laminax_ir.ops.calls import call_jaxpr as bind_jit
from laminax_ir.programs.jaxpr import ClosedJaxpr, Jaxpr
from laminax_ir.programs.primitive import Primitive
from laminax_ir.tracing.wrapped_functions import WrappedFun

from laminax._src.compiling.jit import jit
from laminax._src.compiling.tracing import function_name

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


class _CallPrimitive(Primitive):
    """A call of a function of arrays that returns a sequence of arrays."""

    call_primitive = True

    def bind(self, *operands: Any, call_jaxpr: Jaxpr | ClosedJaxpr | None = None, name: str | None = None) -> list[Any]:
        """The results of a function, called as a program of its own.

        Args:
          *operands: the function, a `WrappedFun`, and its operands; with call_jaxpr, the operands alone.
          call_jaxpr: the program that is called, in the place of a function; the constants that it leaves open are its first operands.
          name: what the call is named.

        Raises:
          TypeError: if neither call_jaxpr nor a function is given, or both are.
        """
        if call_jaxpr is not None:
            if any(isinstance(x, WrappedFun) for x in operands):
                raise TypeError("call: a function was given and call_jaxpr, a program. Give one of them.")
            return bind_jit(_closed(call_jaxpr), *operands, name=name or "call")
        if not operands or not isinstance(operands[0], WrappedFun):
            raise TypeError(f"call: expected a function that linear_util.wrap_init made, or call_jaxpr=, got {operands[:1]}")
        fun, *operands = operands  # type: ignore[assignment]

        def call(*operands: ArrayLike) -> list[Array]:
            return fun.call_wrapped(*operands)
        call.__name__ = name or function_name(fun.f)
        return list(jit(call)(*operands))


def _closed(program: Jaxpr | ClosedJaxpr) -> ClosedJaxpr:
    """The program as one that stands alone; constants that a jaxpr leaves open are its first operands."""
    if isinstance(program, ClosedJaxpr):
        return program
    return ClosedJaxpr(program.replace(constvars=(), invars=(*program.constvars, *program.invars)), ())


class _ClosedCallPrimitive(Primitive):
    """A call of a closed jaxpr."""

    call_primitive = True

    def bind(self, *operands: Any, call_jaxpr: ClosedJaxpr, name: str = "closed_call") -> list[Any]:
        """The results of the program; `name` is what the call is named."""
        return bind_jit(call_jaxpr, *operands, name=name)


call_p = _CallPrimitive("call", multiple_results=True)
closed_call_p = _ClosedCallPrimitive("closed_call", multiple_results=True)
