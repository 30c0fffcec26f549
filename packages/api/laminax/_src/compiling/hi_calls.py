"""Calls of jitted functions whose programs have values of users' types (`laminax_ir.types.hi_types`).

The program of arrays runs (`laminax_ir.recording.type_lowering`). Values among the arguments are taken apart into the arrays that they
consist of, and results are put together of theirs; such calls pass through Python each time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from laminax_ir.options.records import Record
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.pytrees.pytree import tree_structure
from laminax_ir.recording.type_lowering import lowered
from laminax_ir.types.hi_types import HiType, lo_avals, lowered_values, raised_values

from laminax._src.compiling.abstract_arguments import AvalHolder
from laminax._src.compiling.tracing import Call, TracedFunction

if TYPE_CHECKING:
    from laminax._src.compiling.executables import Program
    from laminax._src.compiling.jit import JitFunction

_QUESTION = ("traced function of arrays",)


def _parts(x: Any) -> list[Any]:
    """The arrays that an argument consists of; their types, if only its type is known."""
    if isinstance(x, AvalHolder) and isinstance(x.aval, HiType):
        return [AvalHolder(aval) for aval in lo_avals(x.aval)]
    return lowered_values([x])


class LoweredCall(Call):
    """A call with the arrays that its arguments consist of in their places."""

    __slots__ = ("donated", "numbers")

    def __init__(self, call: Call, donated: tuple[bool, ...]) -> None:
        parts = [*map(_parts, call.leaves)]
        self.leaves = [x for part in parts for x in part]
        self.numbers = [i for i, part in enumerate(parts) for _ in part]  # of the argument that each is part of
        self.donated = tuple([donated[i] for i in self.numbers]) if donated else ()
        self.in_tree, self.static_args, self.static_kwargs, self.count = call.in_tree, call.static_args, call.static_kwargs, call.count

    def namer(self, fun: Callable) -> Callable[[int], str]:
        own, numbers = super().namer(fun), self.numbers
        return lambda i: own(numbers[i]) if i < len(numbers) else own(i)


class HiTypeUse(Record):
    """How a program of arrays is called in the place of one with values of users' types among arguments or results.

    Args:
      out_avals: the types of the results.
    """
    out_avals: tuple[Any, ...]

    closed_over: ClassVar[tuple[Any, ...]] = ()

    def values(self, leaves: Sequence[Any], donates: bool) -> list[Any]:
        """The arguments of the program of arrays."""
        return lowered_values(leaves)

    def write_back(self, leaves: Sequence[Any], outs: Sequence[Any]) -> list[Any]:
        """The results, made of those of the program of arrays."""
        return raised_values(self.out_avals, outs)


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
    traced, call, use = call_on_arrays(jitted, call, traced)
    outs, program = jitted.run(call, traced)
    return (outs, program) if use is None else (use.write_back((), outs), None)


def call_on_arrays(jitted: JitFunction, call: Call, traced: TracedFunction) -> tuple[TracedFunction, Call, HiTypeUse | None]:
    """The traced function of arrays, the call of it, and how they stand for the given ones; None where nothing at the border changes.

    Raises:
      NotImplementedError: if the function has shardings for its arguments or results, of which some are of users' types.
    """
    closed = traced.closed
    if not has_hi_arguments(closed):
        return function_of_arrays(traced), call, None
    if jitted.is_sharded:
        raise NotImplementedError(f"{jitted.title}: in_shardings and out_shardings are not supported for values of types of users' own; "
                                  "got some among the arguments or results. Give shardings to arrays inside of the function.")
    return function_of_arrays(traced), LoweredCall(call, jitted.donated(call)), HiTypeUse(tuple(closed.out_avals))

