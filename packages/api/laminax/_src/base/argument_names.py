"""Static and donated arguments: the user's positions and names are checked and completed to both.

With only positions or only names given, the other is inferred from the function's signature; with both given they are
taken as they are.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, Callable, Iterable

from laminax_ir.types.arguments import function_name

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def resolve(fun: Callable, argnums: Any, argnames: Any, what: str) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Positions and names of arguments of one kind.

    Args:
      fun: the function.
      argnums: an int, an iterable of ints, or None.
      argnames: a string, an iterable of strings, or None.
      what: "static" or "donate", for messages.

    Returns:
      The positions and the names; where only one of them was given, the other by the signature.

    Raises:
      TypeError: if they are of another type.
      ValueError: if a position or name does not exist in the signature, or names are given and there is no signature.
    """
    nums = None if argnums is None else int_tuple(argnums, f"{what}_argnums")
    names = None if argnames is None else string_tuple(argnames, f"{what}_argnames")
    if not nums and not names:
        return (), ()
    parameters = _parameters(fun)
    if parameters is None:
        if nums is None:
            raise ValueError(f"jit: Getting the signature of function {fun!r} failed. Pass {what}_argnums instead of {what}_argnames.")
        return nums, names or ()
    has_varargs = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters)
    _check_nums(fun, nums or (), sum(p.kind in _POSITIONAL for p in parameters), has_varargs, what)
    _check_names(fun, names or (), parameters, what)
    return inferred(parameters, nums, names)


def inferred(parameters: Iterable[inspect.Parameter], nums: tuple[int, ...] | None, names: tuple[str, ...] | None
             ) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Positions and names of arguments; if one of the two is None, it is inferred from the signature."""
    positional = [p.name for p in parameters if p.kind in _POSITIONAL]
    if nums is None:
        nums = tuple(positional.index(name) for name in names or () if name in positional)
    elif names is None:
        by_name = {p.name for p in parameters if p.kind in _NAMED}
        count = len(positional)
        names = tuple(positional[i] for i in nums if -count <= i < count and positional[i] in by_name)
    return nums, names or ()


def _parameters(fun: Callable) -> list[inspect.Parameter] | None:
    try:
        return list(inspect.signature(fun).parameters.values())
    except (ValueError, TypeError):
        return None


def int_tuple(value: Any, name: str) -> tuple[int, ...]:
    """An int, or a collection of ints, as a tuple; TypeError for anything else, which `name` is called in."""
    if isinstance(value, str):
        raise TypeError(f"jit: {name} must be an int or a collection of ints, got the string {value!r}")
    values = (value,) if hasattr(value, "__index__") else tuple(value) if isinstance(value, Iterable) else None
    if values is None or not all(hasattr(i, "__index__") for i in values):
        raise TypeError(f"jit: {name} must be an int or a collection of ints, got {value!r}")
    return tuple(i.__index__() for i in values)


def string_tuple(value: Any, name: str) -> tuple[str, ...]:
    """A string, or a collection of strings, as a tuple; TypeError for anything else, which `name` is called in."""
    values = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, Iterable) else None
    if values is None or not all(isinstance(s, str) for s in values):
        raise TypeError(f"jit: {name} must be a string or a collection of strings, got {value!r}")
    return values


def _check_nums(fun: Callable, nums: tuple[int, ...], count: int, has_varargs: bool, what: str) -> None:
    for i in nums:
        if not has_varargs and not -count <= i < count:
            raise ValueError(f"jitted function has {what}_argnums={nums}, but {function_name(fun)} only accepts {count} positional "
                             f"arguments")


def _check_names(fun: Callable, names: tuple[str, ...], parameters: Sequence[Any], what: str) -> None:
    accepted = [p.name for p in parameters if p.kind in _NAMED]
    takes_any = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)
    by_position = [p.name for p in parameters if p.kind not in _NAMED and p.kind is not inspect.Parameter.VAR_KEYWORD]
    for name in names:
        if name in by_position or name not in accepted and not takes_any:
            raise ValueError(f"jitted function has invalid argnames {{{name!r}}} in {what}_argnames. {function_name(fun)} does not "
                             f"take these args by name; it takes {', '.join(accepted) or 'none'}.")
