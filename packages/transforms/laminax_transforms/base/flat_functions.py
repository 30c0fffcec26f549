"""Functions on pytrees as functions of flat lists of arrays, and their arguments checked and named."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Callable, Sequence

from laminax_ir.pytrees.pytree import keystr, tree_flatten, tree_flatten_with_path, tree_unflatten
from laminax_ir.refs.refs import Ref, check_returned
from laminax_ir.tracing.trace import state
from laminax_ir.types.arguments import function_name
from laminax_ir.types.avals import is_array_like

if TYPE_CHECKING:
    from laminax_ir.pytrees.pytree import PyTreeDef
    from laminax_ir.types.annotations import Array


def check_array_leaves(what: str, tree: Any, accepts: Callable[[Any], bool] = is_array_like) -> None:
    """Raises TypeError for a leaf that is neither accepted nor a reference; `what` names the tree in the message."""
    for path, leaf in tree_flatten_with_path(tree)[0]:
        if not accepts(leaf) and not isinstance(leaf, Ref):
            raise TypeError(f"{what}{keystr(path)} is not an array: got {leaf!r} of type {type(leaf).__name__}, which is not a valid JAX "
                            "type. Pass arrays or scalars, or close over it, or mark it as static.")


def argument_paths(fun: Callable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
    """The name of each leaf of a call's arguments, `x['tokens']`: by the function's parameters, `args[1]` where these are not known."""
    try:
        signature = inspect.signature(fun)
        names = [name for name in signature.bind_partial(*args).arguments
                 if signature.parameters[name].kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    except (TypeError, ValueError):
        names = []
    paths = []
    for path, _ in tree_flatten_with_path(args)[0]:
        i = path[0].idx
        paths.append((names[i] if i < len(names) else f"args[{i}]") + keystr(path[1:]))
    return paths + [f"{path[0].key}{keystr(path[1:])}" for path, _ in tree_flatten_with_path(kwargs)[0]]


def _primal_in(trace: Any) -> Callable[[Any], Any]:
    """The trace's function from a dual value to its primal; only differentiation has auxiliary data."""
    return trace.primal


class FlatFunction:
    """A function on pytrees as a function of flat lists; remembers the result's structure and the auxiliary data of one call."""

    __slots__ = ("fun", "in_tree", "has_aux", "out_tree", "_aux", "result_name", "accepts", "is_leaf")

    def __init__(self, fun: Callable, in_tree: PyTreeDef, has_aux: bool = False, result_name: str = "the result of",
                 accepts: Callable[[Any], bool] = is_array_like, is_leaf: Callable[[], Callable[[Any], bool] | None] | None = None) -> None:
        self.fun = fun
        self.in_tree = in_tree
        self.has_aux = has_aux
        self.result_name = result_name  # for messages, followed by the function's name
        self.accepts = accepts  # what a leaf of the result may be
        self.is_leaf = is_leaf  # says, once the result is there, which containers in it are taken whole
        self.out_tree: Any = None  # known once it was called
        self._aux: Any = None

    def __call__(self, *flat: Any) -> list[Array]:
        result = self.fun(*tree_unflatten(self.in_tree, flat))
        if self.has_aux:
            if not isinstance(result, (tuple, list)) or len(result) != 2:
                raise TypeError(f"with has_aux=True, {function_name(self.fun)} must return a pair (result, aux), a two-element tuple, got "
                                f"{type(result).__name__}")
            result, aux = result
            aux_leaves, aux_tree = tree_flatten(aux)
            self._aux = aux_tree, [*map(_primal_in(state.trace), aux_leaves)]
        leaves, self.out_tree = tree_flatten(result, None if self.is_leaf is None else self.is_leaf())
        for leaf in leaves:
            if not self.accepts(leaf):
                check_returned(function_name(self.fun), state.trace.name.partition("(")[0], result)
                check_array_leaves(f"{self.result_name} {function_name(self.fun)}", result, self.accepts)
        return leaves

    @property
    def aux(self) -> Any:
        """The auxiliary data. Its containers are made when it is asked for, after the trace has ended: some remember their trace."""
        return tree_unflatten(*self._aux)


def with_refs_made(fun: Callable[..., Sequence[Any]], refs: Sequence[tuple], make: Callable[..., Ref]) -> Callable[..., Sequence[Any]]:
    """A flat function that gets references of a transformation in the places of some arguments.

    Args:
      fun: the function that is transformed.
      refs: for each reference the place of the argument and the `parts`; `make(trace, *parts)` makes the reference, in the trace of
        the transformation.
    """
    def with_refs(*flat: Any) -> Sequence[Any]:
        arguments = list(flat)
        for place, *parts in refs:
            arguments[place] = make(state.trace, *parts)
        return fun(*arguments)
    return with_refs
