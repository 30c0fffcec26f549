"""Gradients that are added to references: `vjp(...)[1].with_refs(...)`, and derivatives by references that a function takes.

A reference that a function takes is differentiated as the array in it: the function gets a new reference to that array, and the last
value of the new reference is a further result, which is written back to the caller's reference.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, Sequence, cast

from laminax_ir.pytrees.pytree import keystr, register_pytree_node, tree_flatten_with_path, tree_unflatten
from laminax_ir.refs.refs import Ref, ValueRef, read, write
from laminax_ir.tracing.trace import state
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_ir.types.ref_types import AbstractRef
from laminax_transforms.base.zeros import ZERO
from laminax_transforms.differentiation.linear import LinearProgram


class GradValue:
    """For `with_refs`: the cotangent of this argument is returned."""

    def __repr__(self) -> str:
        return "GradValue()"


class DontWant:
    """For `with_refs`: the cotangent of this argument is not computed."""

    def __repr__(self) -> str:
        return "DontWant()"


class GradRef:
    """Stands for a cotangent that was added to a reference."""

    def __repr__(self) -> str:
        return "GradRef()"


class DidntWant:
    """Stands for a cotangent that was not computed."""

    def __repr__(self) -> str:
        return "DidntWant()"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DidntWant)

    def __hash__(self) -> int:
        return hash(DidntWant)


def _of_kind(kind: Callable[[], Any], _aux: None, _children: Sequence[Any]) -> Any:
    return kind()


for _kind in (GradRef, DidntWant):
    register_pytree_node(_kind, lambda _: ((), None), partial(_of_kind, _kind))


class PullbackWithRefs:
    """A function of the cotangent that adds cotangents of the primals to the references given to `with_refs`, and returns the others.

    Args:
      name: the differentiated function's, for messages.
      pull_back: from the cotangent of the result, a program, and which ones are wanted, to the cotangents of the leaves of the arguments.
      program: the linear program.
      in_tree: the structure of the arguments.
      mask: which leaves have tangents.
      entries: for each leaf a `Ref`, `GradValue()` or `DontWant()`.
    """

    def __init__(self, name: str, pull_back: Callable[[tuple, LinearProgram, Sequence[bool]], list[Any]], program: LinearProgram,
                 in_tree: Any, mask: Sequence[bool], entries: Sequence[Any]) -> None:
        self.name = name
        self.pull_back = pull_back
        self.program = _towards(program, [not isinstance(e, DontWant) for e, has in zip(entries, mask) if has])
        self.in_tree = in_tree
        self.entries = entries

    def __call__(self, *cotangents: Any) -> Any:
        return self.placed(self.values(*cotangents))

    def values(self, *cotangents: Any) -> list[Any]:
        """The cotangents of the leaves of the arguments; None where none is wanted."""
        return self.pull_back(cotangents, self.program, [not isinstance(entry, DontWant) for entry in self.entries])

    def placed(self, values: Sequence[Any]) -> Any:
        """What a call returns: the values, but for those that it adds to their references."""
        placed: list[Any] = []
        for entry, ct in zip(self.entries, values):
            if isinstance(entry, Ref):
                write("ref_addupdate", entry, (), ct)
                placed.append(GradRef())
            else:
                placed.append(DidntWant() if isinstance(entry, DontWant) else ct)
        return tree_unflatten(self.in_tree, placed)


def _towards(program: LinearProgram, wanted: Sequence[bool]) -> LinearProgram:
    """The program with only the equations that depend on a wanted input."""
    if all(wanted):
        return program
    live = {index for index, is_wanted in zip(program.inputs, wanted) if is_wanted}
    eqns = []
    for eqn in program.eqns:
        if not eqn.inputs or any(index in live for _, index in eqn.inputs):
            eqns.append(eqn)
            live.update(eqn.outputs)
    return LinearProgram(eqns, program.in_avals, program.inputs, program.results, program.out_avals, program.size)


def checked_entries(name: str, in_tree: Any, in_avals: Sequence[ShapedArray | AbstractRef], entries: tuple) -> list[Any]:
    """The arguments of `with_refs`, checked: one entry for each leaf of the differentiated function's arguments.

    Raises:
      ValueError: for another structure than the arguments', a reference of another type than the cotangent, or no reference for
        an argument that is one.
      TypeError: for an entry that is no reference, `GradValue()` or `DontWant()`.
    """
    paths = tree_flatten_with_path(entries, is_leaf=lambda x: isinstance(x, (Ref, GradValue, DontWant)))
    if paths[1] != in_tree:
        raise ValueError(f"with_refs: there must be one entry for each array in the arguments of {name}, and the tree structures differ: "
                         f"expected {in_tree}, got {paths[1]}. An entry is a reference, ad.GradValue() or ad.DontWant()"
                         + (", and None, of the NoneType, is a structure without entries." if None in entries else "."))
    flat = []
    for (path, entry), aval in zip(paths[0], in_avals):
        where = f"with_refs: the entry for {path[0].idx}{keystr(path[1:])} of {name}"
        expected = (aval.inner_aval if isinstance(aval, AbstractRef) else aval).to_tangent_aval()
        if isinstance(entry, Ref):
            found = cast(Any, get_aval(entry)).inner_aval
            if (found.shape, found.dtype) != (expected.shape, expected.dtype):
                raise ValueError(f"{where} requires a ref of type {AbstractRef(expected)}, the type of the cotangent, got "
                                 f"{get_aval(entry)}")
        elif not isinstance(entry, (GradValue, DontWant)):
            raise TypeError(f"{where} must be a reference, ad.GradValue() or ad.DontWant(), got {entry!r:.60} of type "
                            f"{type(entry).__name__}")
        elif isinstance(aval, AbstractRef) and isinstance(entry, GradValue):
            raise ValueError(f"{where}: the gradient of a reference can't be returned as a value. Give a reference there, which it is "
                             "added to, or ad.DontWant().")
        flat.append(entry)
    return flat


def unbound_error(name: str, aval: AbstractRef) -> ValueError:
    """The error for a primal that is a reference, when no reference was given for its gradient."""
    return ValueError(f"vjp: Expected cotangent type {aval}, since {name} was given a reference: its gradient must be accumulated into a "
                      "ref. Bind one with pullback.with_refs(new_ref(zeros)), or ad.DontWant() there.")


def with_arrays_for_refs(fun: Callable, refs: Sequence[tuple[int, Ref]]) -> tuple[Callable, Callable[[Sequence[Any]], list[Any]]]:
    """A flat function with arrays in the place of references, whose last values are further results; and `write_back`.

    `write_back(results)` writes these last values to the references and returns the results of `fun` itself.

    Args:
      refs: the places of the references among the arguments, and the references.
    """
    changed: list[bool] = []

    def of_arrays(*flat: Any) -> list[Any]:
        boxes = [ValueRef(state.trace, ref.aval, flat[i]) for i, ref in refs]
        arguments = list(flat)
        for (i, _), box in zip(refs, boxes):
            arguments[i] = box
        results = fun(*arguments)
        changed.extend(box.value is not flat[i] for (i, _), box in zip(refs, boxes))
        return [*results, *[box.value for box in boxes]]

    def write_back(results: Sequence[Any]) -> list[Any]:
        count = len(results) - len(refs)
        for (_, ref), is_changed, value in zip(refs, changed, results[count:]):
            if is_changed:
                write("ref_set", ref, (), value)
        return list(results[:count])

    return of_arrays, write_back


def arrays_of(values: Sequence[Any]) -> list[Any]:
    """The values, each reference replaced by the array in it."""
    return [read(x) if isinstance(x, Ref) else x for x in values]


def no_cotangents(count: int) -> list[Any]:
    """Zero cotangents, for the last values of references: these are no results of the user's function."""
    return [ZERO] * count
