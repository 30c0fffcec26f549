"""The types of sizes of axes: int, and types of expressions that are registered here (`symbolic_dims`)."""

from __future__ import annotations

from typing import Any

size_types: set[type] = {int}  # asked where an int is expected in most cases, by a look-up


def register_size_type(cls: type) -> None:
    """Lets instances of `cls` be sizes of axes; they are hashed and compared as ints are, and have arithmetic."""
    size_types.add(cls)


def is_expression(value: Any) -> bool:
    """Whether a value is a size that is no int."""
    return type(value) is not int and type(value) in size_types
