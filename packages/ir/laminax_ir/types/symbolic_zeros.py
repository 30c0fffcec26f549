"""Zero tangents and cotangents as objects, for rules and interpreters of users that tell them from arrays of zeros."""

from __future__ import annotations

from typing import Any

from laminax_ir.types.avals import ShapedArray, get_aval


class SymbolicZero:
    """A zero tangent or cotangent handed to a rule that asked for symbolic zeros; has `shape`, `dtype`, `aval`."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray) -> None:
        self.aval: ShapedArray = aval

    @staticmethod
    def from_primal_value(val: Any) -> SymbolicZero:
        """The zero tangent of a value."""
        return SymbolicZero(get_aval(val).to_tangent_aval())

    shape: property = property(lambda self: self.aval.shape)
    dtype: property = property(lambda self: self.aval.dtype)
    ndim: property = property(lambda self: self.aval.ndim)

    def __repr__(self) -> str:
        return f"SymbolicZero({self.aval.str_short()})"
