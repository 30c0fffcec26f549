"""The names of leaves of arguments and results, in messages and compiled programs: `params['w']`, `result[0]`."""

from __future__ import annotations

import inspect
from typing import Any, Callable, Sequence

from laminax_ir.pytrees.pytree import keystr, leaf_paths


def argument_names(fun: Callable | None, in_tree: Any, static_positions: Sequence[int] = ()) -> list[str]:
    """The name of each leaf of a call's arguments, by the function's parameters.

    Args:
      fun: the function; None where it is gone, or unknown.
      in_tree: the structure of the arguments that are not static, as (args, kwargs).
      static_positions: the positions of static arguments.
    """
    arguments: dict[tuple[bool, Any], str] = {}
    names = []
    for (side, key, *path) in leaf_paths(in_tree):
        is_keyword = side.idx == 1
        which = is_keyword, key.key if is_keyword else key.idx
        if which not in arguments:
            arguments[which] = _keyword_name(fun, which[1]) if is_keyword else parameter_name(fun, _position(which[1], static_positions))
        names.append(arguments[which] + keystr(tuple(path)))
    return names


def _position(index: int, static_positions: Sequence[int]) -> int:
    """The position of the argument that is number `index` among those that are not static."""
    for position in sorted(static_positions):
        index += position <= index
    return index


def parameter_name(fun: Callable | None, position: int) -> str:
    """The name of a positional parameter; `args[3]` for one of many behind a star, or when it is unknown."""
    if fun is None:
        return f"args[{position}]"
    try:
        parameters = list(inspect.signature(fun).parameters.values())
    except (TypeError, ValueError):
        return f"args[{position}]"
    named = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if position < len(named):
        return named[position].name
    stars = [p.name for p in parameters if p.kind is p.VAR_POSITIONAL] or ["args"]
    return f"{stars[0]}[{position - len(named)}]"


def _keyword_name(fun: Callable | None, name: str) -> str:
    """The name of an argument passed by keyword; `kwargs['b']` for one of many behind two stars."""
    if fun is None:
        return f"kwargs[{name!r}]"
    try:
        parameters = inspect.signature(fun).parameters
    except (TypeError, ValueError):
        return f"kwargs[{name!r}]"
    stars = [p.name for p in parameters.values() if p.kind is p.VAR_KEYWORD]
    return f"{stars[0]}[{name!r}]" if stars and name not in parameters else name


def result_names(out_tree: Any) -> list[str]:
    """The name of each leaf of a result."""
    return ["result" + keystr(path) for path in leaf_paths(out_tree)]
