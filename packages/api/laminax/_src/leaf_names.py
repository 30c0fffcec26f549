"""What the leaves of arguments and results are called in compiled programs: `params['w']`, `result[0]`."""

from __future__ import annotations

from typing import Any, Callable

from laminax_ir.pytree import keystr, tree_flatten_with_path

from laminax._src.tracing import Call, _parameter_name


def argument_names(fun: Callable, call: Call) -> list[str]:
    """The name of each leaf of a call's arguments, by the function's parameters."""
    args, kwargs = call.in_tree.unflatten(range(call.in_tree.num_leaves))
    for i, _ in call.static_args:
        args = (*args[:i], None, *args[i:])
    names = []
    for i, argument in enumerate(args):
        paths = tree_flatten_with_path(argument)[0]
        if paths:
            name = _parameter_name(fun, i)
            names += [name + keystr(path) for path, _ in paths]
    for name, argument in kwargs.items():
        names += [name + keystr(path) for path, _ in tree_flatten_with_path(argument)[0]]
    return names


def result_names(out_tree: Any) -> list[str]:
    """The name of each leaf of a result."""
    return ["result" + keystr(path) for path, _ in tree_flatten_with_path(out_tree.unflatten(range(out_tree.num_leaves)))[0]]
