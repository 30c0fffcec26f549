"""Which parameters of an operation its printed equations leave out, and which are worded in a way of their own.

The module that defines an operation says so here; the printer, which is loaded when something is printed, looks it up.
"""

from __future__ import annotations

from typing import Any, Callable

# By the primitive's name, then by the parameter's.
hidden: dict[str, dict[str, Any]] = {}
formats: dict[str, dict[str, Callable[[Any], str]]] = {}


def hide_params(primitive_name: str, **values: Any) -> None:
    """Leaves parameters out of the printed form when they have the given values (`...` for any)."""
    if primitive_name in hidden:
        raise ValueError(f"{primitive_name}: hide_params was called for it before, with {hidden[primitive_name]}")
    hidden[primitive_name] = values


def format_param(primitive_name: str, key: str) -> Callable[[Callable[[Any], str]], Callable[[Any], str]]:
    """Decorator: the function gives the text of one parameter."""
    def register(function: Callable[[Any], str]) -> Callable[[Any], str]:
        formats.setdefault(primitive_name, {})[key] = function
        return function
    return register
