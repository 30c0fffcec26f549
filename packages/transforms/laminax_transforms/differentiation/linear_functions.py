"""Functions that run a linear program. As pytrees of its residuals they may be arguments and results of jitted functions."""

from __future__ import annotations

import copy
from typing import Any, Sequence, TypeVar

from laminax_ir.pytrees.pytree import register_pytree_node
from laminax_transforms.differentiation.linear import LinearProgram


class LinearFunction:
    """A function whose `__call__` runs a linear program.

    Args:
      program: the program.
      primals: further values that the function needs; leaves like the residuals.
    """

    __slots__ = ("program", "primals", "skeleton", "__weakref__")

    def __init__(self, program: LinearProgram, primals: Sequence[Any] = ()) -> None:
        self.program = program
        self.primals = primals
        self.skeleton: LinearFunction | None = None

    def current_program(self) -> LinearProgram:
        """The program, with the values that the function has saved; a subclass may let them be changed."""
        return self.program

    def settle(self) -> None:
        """Called before the values that the program has saved are taken out of it."""

    def replace(self, program: LinearProgram, primals: Sequence[Any]) -> LinearFunction:
        """The same function with another program."""
        other = copy.copy(self)
        other.program = program
        other.primals = primals
        return other


F = TypeVar("F", bound=type[LinearFunction])


def register_linear_function(kind: F) -> F:
    """Class decorator: its instances are pytrees of their residuals and `primals`."""
    register_pytree_node(kind, _flatten, _unflatten)
    return kind


class _Slot:
    """The place of a residual in a function's structure."""

    __slots__ = ()


def _flatten(function: LinearFunction) -> tuple[Any, Any]:
    """The residuals, and the function without them as the structure; computed once, so that a function has the same structure each time."""
    program = function.current_program()
    if function.skeleton is None:
        function.settle()
        residuals = program.residuals()
        emptied = program.with_residuals([_Slot() for _ in residuals])
        function.skeleton = function.replace(emptied, (_Slot(),) * len(function.primals))
    else:
        residuals = _in_slots(function.skeleton.program, program)
    return [*residuals, *function.primals], function.skeleton


def _in_slots(skeleton: LinearProgram, program: LinearProgram) -> list[Any]:
    """The values that a program has where the skeleton has slots; what was traced there may be a literal now."""
    found: dict[int, Any] = {}
    for emptied, eqn in zip(skeleton.eqns, program.eqns):
        for slot, x in zip(emptied.operands, eqn.operands):
            if type(slot) is _Slot:
                found.setdefault(id(slot), x)
    return list(found.values())


def _unflatten(skeleton: LinearFunction, leaves: Sequence[Any]) -> LinearFunction:
    split = len(leaves) - len(skeleton.primals)
    function = skeleton.replace(skeleton.program.with_residuals(leaves[:split]), tuple(leaves[split:]))
    function.skeleton = skeleton
    return function
