"""Calls of jitted functions whose programs have values of users' types (`laminax_ir.types.hi_types`).

The program of arrays runs (`laminax_ir.recording.type_lowering`). Values among the arguments are taken apart into the arrays that they
consist of, and results are put together of theirs; such calls pass through Python each time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.pytrees.pytree import tree_structure
from laminax_ir.recording.type_lowering import lowered
from laminax_ir.types.avals import get_aval
from laminax_ir.types.hi_types import HiType, lo_avals, lowered_values, raised_values

from laminax._src.compiling.tracing import Call, TracedFunction

if TYPE_CHECKING:
    from laminax._src.compiling.executables import Program
    from laminax._src.compiling.jit import JitFunction

_QUESTION = ("traced function of arrays",)


class LoweredCall(Call):
    """A call with the arrays that its arguments consist of in their places."""

    __slots__ = ("donated", "numbers")

    def __init__(self, call: Call, donated: tuple[bool, ...]) -> None:
        self.leaves = lowered_values(call.leaves)
        self.numbers = [i for i, x in enumerate(call.leaves) for _ in lo_avals(get_aval(x))]  # of the argument that each is part of
        self.donated = tuple([donated[i] for i in self.numbers]) if donated else ()
        self.in_tree, self.static_args, self.static_kwargs, self.count = call.in_tree, call.static_args, call.static_kwargs, call.count

    def namer(self, fun: Callable) -> Callable[[int], str]:
        own, numbers = super().namer(fun), self.numbers
        return lambda i: own(numbers[i]) if i < len(numbers) else own(i)


def has_hi_arguments(closed: ClosedJaxpr) -> bool:
    """Whether parameters or results of a program are of users' types."""
    return any(isinstance(aval, HiType) for aval in (*closed.in_avals, *closed.out_avals))


def function_of_arrays(traced: TracedFunction) -> TracedFunction:
    """The traced function of the arrays that arguments and results consist of; its results are a list, if some are of users' types."""
    closed = traced.closed
    found = closed.derived.get(_QUESTION)
    if found is None:
        program = lowered(closed)
        tree = tree_structure([0] * len(program.out_avals)) if has_hi_arguments(closed) else traced.out_tree
        found = closed.remember(_QUESTION, TracedFunction(program, tree, traced.name, traced.key))
    return found


def run_with_hi_types(jitted: JitFunction, call: Call, traced: TracedFunction) -> tuple[list[Any], Program | None]:
    """The results of a call, and the program that gave them if C++ may run the next such call: if all it takes and gives are arrays.

    Raises:
      NotImplementedError: if the function has shardings for its arguments or results, of which some are of users' types.
    """
    closed = traced.closed
    if not has_hi_arguments(closed):
        return jitted.run(call, function_of_arrays(traced))
    if jitted.is_sharded:
        raise NotImplementedError(f"{jitted.title}: in_shardings and out_shardings are not supported for values of types of users' own; "
                                  "got some among the arguments or results. Give shardings to arrays inside of the function.")
    outs, _ = jitted.run(LoweredCall(call, jitted.donated(call)), function_of_arrays(traced))
    return raised_values(closed.out_avals, outs), None

