"""Calls of jitted functions with references among their arguments, or that close over references.

A pure program runs: it takes the arrays in the references, and returns their new values as further results. Such calls pass through
Python each time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Sequence

from laminax_ir.options import config
from laminax_ir.options.records import Record
from laminax_ir.pytrees.pytree import tree_unflatten
from laminax_ir.refs.refs import Ref, ValueRef, check_aliases
from laminax_ir.tracing.trace import is_tracing
from laminax_ir.types.ref_types import AbstractRef

from laminax._src.compiling.checking.checked_results import check_results, is_checking
from laminax._src.compiling.key_uses import mark_results, use_keys
from laminax._src.compiling.tracing import Call, TracedFunction, function_name

if TYPE_CHECKING:
    from laminax._src.compiling.jit import JitFunction


class PureCall(Call):
    """A call with arrays in the place of references, followed by the arrays in the references that the function closes over."""

    __slots__ = ("donated",)

    def __init__(self, call: Call, leaves: Sequence[Any], donated: tuple[bool, ...]) -> None:
        self.leaves = list(leaves)
        self.donated = donated
        self.in_tree, self.static_args, self.static_kwargs, self.count = call.in_tree, call.static_args, call.static_kwargs, call.count

    def namer(self, fun: Callable) -> Callable[[int], str]:
        own, count = super().namer(fun), self.in_tree.num_leaves
        return lambda i: own(i) if i < count else "a reference that the function closes over"


class RefUse(Record):
    """How a pure program is called in the place of a program with references.

    Args:
      closed_over: the references that the function closes over, whose arrays are further arguments.
      written: for each argument whether it is a reference that is written to, whose new value is then a further result.
      donated: which of the written references are read as well: the program may put their new arrays in the memory of the old ones.
    """
    closed_over: tuple[Ref, ...]
    written: tuple[bool, ...]
    donated: tuple[bool, ...]

    def values(self, leaves: Sequence[Any], donates: bool) -> list[Any]:
        """The arguments of the pure program; arrays that it may overwrite are copied, unless only the reference holds them."""
        return [(x.load_to_donate() if donates and is_donated and isinstance(x, ValueRef) else x.load()) if isinstance(x, Ref) else x
                for x, is_donated in zip((*leaves, *self.closed_over), self.donated)]

    def write_back(self, leaves: Sequence[Any], outs: list[Any]) -> list[Any]:
        """Writes the new values of references, which the pure program returned; returns the other results."""
        refs = [x for x, is_written in zip((*leaves, *self.closed_over), self.written) if is_written]
        count = len(outs) - len(refs)
        for ref, value in zip(refs, outs[count:]):
            ref.store_own(value)
        return outs[:count]


_QUESTION = ("without references",)


def without_refs(traced: TracedFunction) -> tuple[TracedFunction, RefUse]:
    """The pure form of a traced function, and how to call it."""
    found = traced.closed.derived.get(_QUESTION)
    if found is None:
        from laminax_ir.recording.discharge import discharged_with_constants
        pure, closed_over = discharged_with_constants(traced.closed)
        function = TracedFunction(pure.closed, traced.out_tree, traced.name, traced.key)
        found = traced.closed.remember(_QUESTION, (function, RefUse(tuple(closed_over), pure.written, pure.may_overwrite())))
    return found


def pure_call(traced: TracedFunction, call: Call) -> tuple[TracedFunction, PureCall, RefUse]:
    """The pure form of a traced function and of a call ahead of time; a reference known by its type becomes an array known by its type."""
    pure, use = without_refs(traced)
    leaves = [type(x)(x.aval.inner_aval) if isinstance(getattr(x, "aval", None), AbstractRef) and not isinstance(x, Ref) else x
              for x in call.leaves]
    return pure, PureCall(call, use.values(leaves, donates=False), use.donated), use


def _is_spread(x: Any) -> bool:
    """Whether x is a reference to an array on several devices; its new array may have another sharding."""
    return isinstance(x, Ref) and len(getattr(getattr(x.load(), "sharding", None), "device_set", ())) > 1


def run_with_refs(jitted: JitFunction, call: Call, traced: TracedFunction) -> Any:
    """The result of a call of a jitted function that has references.

    Raises:
      ValueError: if a reference is given twice.
    """
    consts = traced.closed.consts
    check_aliases(function_name(jitted.fun), "jit", call.leaves, consts, call.namer(jitted.fun))
    if is_tracing():
        return jitted.bind(call, traced)
    pure, use = without_refs(traced)
    donates = not is_checking() and not any(map(_is_spread, (*call.leaves, *use.closed_over)))
    values = PureCall(call, use.values(call.leaves, donates), use.donated if donates else ())
    marks = use_keys(pure.closed, values.leaves, f"jit({jitted.name})") if config.debug_key_reuse.value else ()
    outs, _ = jitted.run(values, pure)
    if marks:
        mark_results(outs, marks)
    if is_checking():
        check_results(outs, f"jit({jitted.name})", pure.closed, values.leaves)
    return tree_unflatten(traced.out_tree, use.write_back(call.leaves, outs))
