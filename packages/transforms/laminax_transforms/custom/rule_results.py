"""What rules that users give return, compared with what their functions return, in words for messages."""

from __future__ import annotations

from typing import Any

from laminax_ir.pytrees.pytree import tree_unflatten
from laminax_ir.types.avals import ShapedArray


def type_difference(function_type: tuple[Any, ...], rule_type: tuple[Any, ...]) -> tuple[str, str, str] | None:
    """How the types of a rule's result and of the function's result differ, and both types in words; None if they are the same."""
    (tree, avals), (rule_tree, rule_avals) = function_type, rule_type
    if not tree == rule_tree:
        found, expected = (str(tree_unflatten(t, [*map(_Type, some)])) for t, some in (rule_type, function_type))
        return "container/pytree structure", found, expected
    if any((a.shape, a.dtype) != (b.shape, b.dtype) for a, b in zip(avals, rule_avals)):
        found, expected = (", ".join(map(long_text, some)) for some in (rule_avals, avals))
        return "shapes/dtypes of", found, expected
    return None


def long_text(aval: ShapedArray) -> str:
    """A type as messages print it, with the whole name of the dtype: `float32[3]`."""
    return aval.str_short(short_dtypes=False)


class _Type:
    """A leaf that prints as its type, for messages that print whole trees."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return long_text(self.aval)
