"""The values that a pullback has saved: those that are arguments of the function, by their places in them, and the others.

Programs look at them to see what a derivative keeps, take arguments out so that they are not kept twice, and put them back before the
pullback is called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping, Sequence

import numpy as np

from laminax_ir.pytrees.pytree import register_pytree_node, tree_flatten, tree_unflatten
from laminax_ir.types.avals import type_classes
from laminax_transforms.differentiation.linear import LinearEqn, LinearProgram

if TYPE_CHECKING:
    from laminax_ir.pytrees.pytree import PyTreeDef


class NotNeeded:
    """Stands for an argument of the function that the pullback has no need of."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "NotNeeded()"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NotNeeded)

    def __hash__(self) -> int:
        return hash(NotNeeded)


class NotSaveable:
    """Stands for an argument of the function that the pullback needs and must be given before it is called."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "NotSaveable()"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NotSaveable)

    def __hash__(self) -> int:
        return hash(NotSaveable)


register_pytree_node(NotNeeded, lambda marker: ((), None), lambda _, children: NotNeeded())
register_pytree_node(NotSaveable, lambda marker: ((), None), lambda _, children: NotSaveable())
_MARKERS = (NotNeeded, NotSaveable)

Place = tuple[int, int, int]  # the number of an argument's leaf, of an equation, of an operand of it


def argument_places(program: LinearProgram, leaf_ids: Sequence[int]) -> tuple[Place, ...]:
    """Where a program uses the leaves of the arguments, given by their ids; Python's scalars may be the same object by chance."""
    numbers = {identity: i for i, identity in enumerate(leaf_ids)}
    return tuple([(numbers[id(x)], number, position) for number, eqn in enumerate(program.eqns) for position, x in enumerate(eqn.operands)
                  if id(x) in numbers and hasattr(x, "dtype") and type(x) not in type_classes])


def without_arguments(program: LinearProgram, places: Sequence[Place], saveable: Sequence[bool]) -> LinearProgram:
    """The program without the arguments that may not be saved, flags by leaf; `NotSaveable` is in their places."""
    return _with_operands(program, {(number, position): NotSaveable() for leaf, number, position in places if not saveable[leaf]}, {})


def is_whole(program: LinearProgram, places: Sequence[Place]) -> bool:
    """Whether a program has all of its arguments."""
    return not any(isinstance(program.eqns[number].operands[position], NotSaveable) for _, number, position in places)


def _with_operands(program: LinearProgram, at: Mapping[tuple[int, int], Any], others: Mapping[int, Any]) -> LinearProgram:
    """The program with other operands: `at` has them by the numbers of equation and operand, `others` by the id of the old operand."""
    eqns = []
    for number, eqn in enumerate(program.eqns):
        operands = [x if type(x) in type_classes else at[number, i] if (number, i) in at else others.get(id(x), x)
                    for i, x in enumerate(eqn.operands)]
        eqns.append(LinearEqn(eqn.primitive, operands, eqn.params, eqn.inputs, eqn.output, eqn.out_avals, eqn.source))
    return LinearProgram(eqns, program.in_avals, program.inputs, program.results, program.out_avals, program.size)


def _arrays_of(program: LinearProgram) -> list[Any]:
    """The values that a program uses, each once: its residuals, and arrays of rank 0 that are literals; no Python or NumPy numbers."""
    found = {id(x): x for eqn in program.eqns for x in eqn.operands
             if type(x) not in type_classes and not isinstance(x, (bool, int, float, complex, np.generic, np.ndarray))}
    found.update((id(x), x) for x in program.residuals())
    return list(found.values())


class SavedValues:
    """The values that a program saves, as two lists that may be changed.

    Args:
      program: the program.
      places: where it uses arguments.
      in_tree: the structure of the arguments.
    """

    __slots__ = ("args_res", "opaque_residuals", "_places", "_in_tree", "_saved")

    def __init__(self, program: LinearProgram, places: Sequence[Place], in_tree: PyTreeDef) -> None:
        leaves: list[Any] = [NotNeeded()] * in_tree.num_leaves
        for leaf, number, position in places:
            leaves[leaf] = program.eqns[number].operands[position]
        arguments = {id(x) for x in leaves}
        self._places, self._in_tree = places, in_tree
        self._saved = [x for x in _arrays_of(program) if id(x) not in arguments]
        self.args_res: list[Any] = list(tree_unflatten(in_tree, leaves))
        self.opaque_residuals: list[Any] = list(self._saved)

    def put_into(self, program: LinearProgram, name: str, is_called: bool) -> LinearProgram:
        """The program with the values that are in the lists now.

        Args:
          program: the program.
          name: the function's name.
          is_called: whether it needs all values; else `NotSaveable` may be among them.

        Raises:
          ValueError: if an argument that is needed was taken out, or a list has another length.
        """
        if len(self.opaque_residuals) != len(self._saved):
            raise ValueError(f"vjp({name}): opaque_residuals must have the {len(self._saved)} values that were in it, got "
                             f"{len(self.opaque_residuals)}. Change values in their places.")
        arguments = self._arguments(name, is_called)
        others = {id(old): new for old, new in zip(self._saved, self.opaque_residuals)}
        return _with_operands(program, {(number, position): arguments[leaf] for leaf, number, position in self._places}, others)

    def _arguments(self, name: str, is_called: bool) -> list[Any]:
        """The leaves of the arguments as `args_res` has them now; a marker for each leaf of an argument that was taken out."""
        structures = self._in_tree.children()
        if len(self.args_res) != len(structures):
            raise ValueError(f"vjp({name}): args_res must have one entry for each of the {len(structures)} arguments, got "
                             f"{len(self.args_res)}.")
        needed = {leaf for leaf, _, _ in self._places}
        leaves: list[Any] = []
        for i, (entry, structure) in enumerate(zip(self.args_res, structures)):
            found, treedef = tree_flatten(entry, lambda x: isinstance(x, _MARKERS))
            if treedef != structure:
                # One that was taken out may be put back later, also into a copy: that which a loop makes of its results.
                missing: Any = NotSaveable if entry is None and not is_called else NotNeeded
                found = [missing() if len(leaves) + j in needed else NotNeeded() for j in range(structure.num_leaves)]
            for x in found:
                if isinstance(x, _MARKERS if is_called else NotNeeded) and len(leaves) in needed:
                    raise ValueError(f"vjp({name}): the VJP function was applied before restoring its not-saveable residuals, or those "
                                     f"that were taken out: args_res[{i}] lacks a value that the derivative needs. Put the argument back, "
                                     f"vjp_fun.args_res[{i}] = argument {i} of {name}, before vjp_fun is called.")
                leaves.append(x)
        return leaves
