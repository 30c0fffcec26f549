"""The functions that branches and loops are given, traced to jaxprs.

A function that closes over no tracer is traced once per structure and types of its arguments.
"""

from __future__ import annotations

from typing import Any, Callable, NamedTuple, Sequence
from weakref import WeakKeyDictionary

from laminax_ir.ops.calls import close_over_constants
from laminax_ir.ops.monoids import forget_monoids
from laminax_ir.options import ambient
from laminax_ir.programs.effects import has_refs
from laminax_ir.programs.jaxpr import ClosedJaxpr, no_effects
from laminax_ir.pytrees.pytree import keystr, tree_flatten, tree_flatten_with_path, tree_unflatten
from laminax_ir.recording.recordings import forget_recordings
from laminax_ir.recording.staging import stage
from laminax_ir.refs.refs import Ref, argument_namer, check_aliases, check_returned, is_traced
from laminax_ir.tracing.trace import Tracer, state
from laminax_ir.types.arguments import function_name
from laminax_ir.types.avals import ShapedArray, is_array_like


class TracedFunction(NamedTuple):
    """A traced pytree function: its jaxpr takes the constants, then the flat arguments."""
    jaxpr: ClosedJaxpr
    consts: list[Any]
    out_tree: Any

    @property
    def out_avals(self) -> list[ShapedArray]:
        return self.jaxpr.out_avals


_programs: WeakKeyDictionary[Callable, dict[tuple, TracedFunction]] = WeakKeyDictionary()

_TRACED_FOR = {"while_loop": "while_body", "while_loop condition": "while_cond"}  # JAX's words, in messages about leaked tracers


def trace_function(caller: str, what: str, fun: Callable, in_tree: Any, in_avals: Sequence[ShapedArray],
           identity: Callable | None = None) -> TracedFunction:
    """Traces `fun(*args)`, where `in_tree` is the structure of `args`.

    Args:
      caller, what: for messages: "scan", "body function".
      identity: the user's function that decides what `fun` does, if that is not `fun` itself.
    """
    key = (caller, in_tree, tuple(in_avals), ambient.trace_key(), tuple(state.axis_sizes.items()))
    user_fun = fun if identity is None else identity
    try:
        known = _programs.setdefault(user_fun, {})
        program = known.get(key)
    except TypeError:  # the function is not weakly referenceable, or something in the key is not hashable
        known, program = None, None
    if program is not None:
        return program
    out_tree = None

    def flat_fun(*flat: Any) -> Any:
        nonlocal out_tree
        result = fun(*tree_unflatten(in_tree, flat))
        leaves, out_tree = tree_flatten(result)
        for leaf in leaves:
            if not is_array_like(leaf):
                check_returned(function_name(user_fun), _TRACED_FOR.get(caller, caller), result)
                _report_leaf(f"{caller}: the result of the {what} {function_name(user_fun)}", result)
        return leaves

    name = f"{function_name(user_fun)} for {_TRACED_FOR.get(caller, caller)}"
    jaxpr, consts = close_over_constants(stage(flat_fun, in_avals, name=name, keeps_refs=True))
    program = TracedFunction(jaxpr, consts, out_tree)
    if known is not None and not any(map(is_traced, consts)):
        known[key] = program
    return program


def forget_traced_functions() -> None:
    """Empties the cache of traced functions and what is recorded of others, so that each is traced again when it is next used."""
    _programs.clear()
    forget_monoids()
    forget_recordings()


def _report_leaf(what: str, tree: Any) -> None:
    for path, leaf in tree_flatten_with_path(tree)[0]:
        if not is_array_like(leaf) and not isinstance(leaf, Ref):
            raise TypeError(f"{what} is of type {type(leaf).__name__} at {keystr(path) or 'the root'}, which is not a valid "
                            f"array type: {leaf!r:.80}. Use arrays, scalars, and containers of them.")


def check_refs(caller: str, fun: Callable, program: TracedFunction, in_tree: Any, arguments: Sequence[Any]) -> None:
    """Refuses a reference that a function gets twice; called for programs with effects."""
    if has_refs(program.jaxpr.effects):
        check_aliases(function_name(fun), caller, arguments, program.consts, argument_namer(fun, in_tree))


def flat_arguments(what: str, tree: Any) -> tuple[list[Any], Any]:
    leaves, treedef = tree_flatten(tree)
    for leaf in leaves:
        if not is_array_like(leaf) and not isinstance(leaf, Ref):
            _report_leaf(what, tree)
    return leaves, treedef


def concrete_value(x: Any) -> Any | None:
    """The value of something known while tracing, None for an unknown traced value."""
    return x.concrete_value() if isinstance(x, Tracer) else x


def joined_effects(programs: Sequence[ClosedJaxpr]) -> frozenset:
    effects = no_effects
    for program in programs:
        if program.effects:
            effects = effects | program.effects
    return effects
