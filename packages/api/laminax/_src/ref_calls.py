"""Calls of jitted functions that have references: those among their arguments, and those they close over.

The program that runs is the pure one: it takes the arrays in the references, and returns what the references have in them
afterwards. Such calls come to Python each time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Callable, Sequence
from weakref import WeakKeyDictionary

from laminax_ir.discharge import discharged, with_refs_as_parameters
from laminax_ir.jaxpr import ClosedJaxpr
from laminax_ir.pytree import tree_unflatten
from laminax_ir.refs import Ref, check_aliases, read
from laminax_ir.trace import eval_trace, state

from laminax._src.checked_results import check_results, is_checking
from laminax._src.tracing import Call, TracedFunction, function_name

if TYPE_CHECKING:
    from laminax._src.jit import _JitFunction


class PureCall(Call):
    """A call with the arrays in references in their places, and those of what the function closes over behind them."""

    __slots__ = ()

    def __init__(self, call: Call, leaves: Sequence[Any]):
        self.leaves = list(leaves)
        self.in_tree, self.static_args, self.static_kwargs, self.count = call.in_tree, call.static_args, call.static_kwargs, call.count

    def namer(self, fun: Callable) -> Callable[[int], str]:
        own, count = super().namer(fun), self.in_tree.num_leaves
        return lambda i: own(i) if i < count else "a reference that the function closes over"


_pure: WeakKeyDictionary[ClosedJaxpr, TracedFunction] = WeakKeyDictionary()


def without_refs(traced: TracedFunction) -> tuple[TracedFunction, list[Ref], tuple[bool, ...]]:
    """A traced function as a pure one, whose results are followed by what the references have in them.

    Returns:
      The pure function, the references that the function closes over, which are further arguments, and for each argument
      whether it is a reference that is written to.
    """
    program, closed_over = with_refs_as_parameters(traced.closed)
    pure = discharged(program)
    found = _pure.get(traced.closed)
    if found is None:
        found = _pure[traced.closed] = replace(traced, closed=pure.closed)
    return found, closed_over, pure.written


def run_with_refs(jitted: _JitFunction, call: Call, traced: TracedFunction) -> Any:
    """The result of a call of a jitted function that has references.

    Raises:
      ValueError: if a reference is given twice.
    """
    consts = traced.closed.consts
    check_aliases(function_name(jitted.fun), "jit", call.leaves, [c for c in consts if isinstance(c, Ref)], call.namer(jitted.fun))
    if state.trace is not eval_trace:
        return jitted.bind(call, traced)
    pure, closed_over, written = without_refs(traced)
    arguments = [*call.leaves, *closed_over]
    pure_call = PureCall(call, [read(x) if isinstance(x, Ref) else x for x in arguments])
    outs, _ = jitted.run(pure_call, pure)
    if is_checking():
        check_results(outs, f"jit({jitted.name})", pure.closed, pure_call.leaves)
    count = traced.out_tree.num_leaves
    for ref, value in zip([x for x, is_written in zip(arguments, written) if is_written], outs[count:]):
        ref.store(value)
    return tree_unflatten(traced.out_tree, outs[:count])
