"""Values of the program that is being written, and the tables in which functions find their constants again."""

from __future__ import annotations

from operator import attrgetter
from typing import Any, Callable, Iterable

import numpy as np

from laminax_ir.programs.jaxpr import Literal, Var
from laminax_ir.symbolic.symbolic_dims import DimSize
from laminax_ir.types.avals import ShapedArray


class Value:
    """An SSA value: its name and the aval it has."""

    __slots__ = ("name", "aval")

    def __init__(self, name: str, aval: ShapedArray) -> None:
        self.name: str = name
        self.aval: ShapedArray = aval

    shape: property = property(attrgetter("aval.shape"))
    dtype: property = property(attrgetter("aval.dtype"))

    @property
    def order(self) -> int | None:
        """The place of the operation that made it in the order of writing; None for arguments and constants, which have other names."""
        number = self.name[1:].partition("#")[0]
        return int(number) if number.isdigit() else None


class AtomValues(dict):
    """The values of a program's atoms: of variables as they are set, of literals when they are first asked for."""

    __slots__ = ("constant",)

    def __init__(self, constant: Callable[[Literal], Value], values: Iterable[tuple[Var, Value]]) -> None:
        super().__init__(values)
        self.constant = constant

    def __missing__(self, literal: Literal) -> Value:
        value = self[literal] = self.constant(literal)
        return value


class Constants:
    """The constant operations of a function, or of a region that takes nothing from outside, and how to find them again.

    values: by their bytes, dtype and shape.
    literals: by the identity of the literal's value, and its aval; with the value itself.
    scalars: the value of those of rank 0, by name.
    splats: those made by repeating one of rank 0, by its name and their shape.
    """

    __slots__ = ("lines", "values", "literals", "scalars", "splats")

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.values: dict[tuple[Any, ...], Value] = {}
        self.literals: dict[tuple[int, ShapedArray], tuple[Value, Any]] = {}
        self.scalars: dict[str, np.ndarray[Any, Any]] = {}
        self.splats: dict[tuple[str, tuple[DimSize, ...]], Value] = {}
