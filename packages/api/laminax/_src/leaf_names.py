"""What the leaves of arguments and results are called in compiled programs: `params['w']`, `result[0]`."""

from __future__ import annotations

from typing import Any, Callable, Sequence

from laminax_ir.pytree import keystr, tree_flatten_with_path

from laminax._src.tracing import _keyword_name, _parameter_name


def argument_names(fun: Callable, in_tree: Any, static_positions: Sequence[int] = ()) -> list[str]:
    """The name of each leaf of a call's arguments, by the function's parameters.

    Args:
      fun: the function.
      in_tree: the structure of the arguments that are not static, as (args, kwargs).
      static_positions: where static arguments are among the positional ones.
    """
    args, kwargs = in_tree.unflatten(range(in_tree.num_leaves))
    for i in static_positions:
        args = (*args[:i], None, *args[i:])
    names = []
    for i, argument in enumerate(args):
        paths = tree_flatten_with_path(argument)[0]
        if paths:
            name = _parameter_name(fun, i)
            names += [name + keystr(path) for path, _ in paths]
    for name, argument in kwargs.items():
        name = _keyword_name(fun, name)
        names += [name + keystr(path) for path, _ in tree_flatten_with_path(argument)[0]]
    return names


def result_names(out_tree: Any) -> list[str]:
    """The name of each leaf of a result."""
    return ["result" + keystr(path) for path, _ in tree_flatten_with_path(out_tree.unflatten(range(out_tree.num_leaves)))[0]]
