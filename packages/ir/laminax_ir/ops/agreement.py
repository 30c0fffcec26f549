"""Agreement of types in control flow: the results of a loop's body with its carry, and branches with each other.

The comparison itself is cheap; the messages, which say where two structures or types part, are made only when something is wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Sequence

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.collectives import vary
from laminax_ir.ops.control_primitives import same_type
from laminax_ir.pytrees.pytree import keystr, leaf_paths, structure_differences
from laminax_ir.tracing.manual_axes import checked_axes, varies_beyond
from laminax_ir.types import dtypes
from laminax_ir.types.arguments import function_name
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.hi_types import HiType

if TYPE_CHECKING:
    from laminax_ir.pytrees.pytree import PyTreeDef


def promote_weak(values: list[Any], avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray]) -> list[Any] | None:
    """Initial values converted to the dtype their loop returns, where they are weakly typed; None if nothing changes."""
    promoted = None
    for i, (x, before, after) in enumerate(zip(values, avals, out_avals)):
        if before.weak_type and not isinstance(after, HiType) and before.dtype != after.dtype and before.shape == after.shape:
            dtype = dtypes.result_type(before, after)
            if dtype != before.dtype:
                promoted = list(values) if promoted is None else promoted
                promoted[i] = op.convert_element_type(x, dtype)
    return promoted


def vary_like(values: Sequence[Any], avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray]) -> list[Any] | None:
    """The initial values, made to vary along each axis of devices along which the loop's results vary; None if all do."""
    missing = [[name for name in after.named_shape if name not in before.named_shape] for before, after in zip(avals, out_avals)]
    return [vary(x, names) for x, names in zip(values, missing)] if any(missing) else None


def same_types(avals: Sequence[ShapedArray], others: Sequence[ShapedArray]) -> bool:
    """Whether two rows of avals have the same shapes and dtypes."""
    return all(a is b or same_type(a, b) for a, b in zip(avals, others))


_REVISE_CARRY = "Revise the function so that {}."


def check_carry(caller: str, argument: str, in_tree: Any, in_avals: Sequence[ShapedArray], out_tree: Any,
                out_avals: Sequence[ShapedArray]) -> None:
    """Checks that a loop returns what it takes; `argument` is the body's name for it."""
    if in_tree != out_tree:
        differences = _listed([
            f"the input carry {_component(argument, path)} is {a} but the corresponding component of the carry output is {b}, "
            f"so {reason}" for path, a, b, reason in structure_differences(in_tree, out_tree)])
        raise TypeError(f"{caller} body function carry input and carry output must have the same pytree structure, but "
                        f"they differ:\n\n{differences or f'{in_tree} and {out_tree}.'}\n\n"
                        + _REVISE_CARRY.format("the carry output has the same pytree structure as the carry input"))
    if not same_types(in_avals, out_avals):
        differences = _listed([
            f"the input carry {_component(argument, path)} has type {_long_name(a)} but the corresponding output carry "
            f"component has type {_long_name(b)}, so {_difference(a, b)}"
            for path, a, b in zip(leaf_paths(in_tree), in_avals, out_avals) if not same_type(a, b)])
        raise TypeError(f"{caller} body function carry input and carry output must have equal types, but they differ:\n\n"
                        f"{differences}\n\n"
                        + _REVISE_CARRY.format("all output types match the corresponding input types"))
    if checked_axes():
        _check_variation(caller, argument, in_tree, in_avals, out_avals)


def _check_variation(caller: str, argument: str, in_tree: PyTreeDef, in_avals: Sequence[ShapedArray],
                     out_avals: Sequence[ShapedArray]) -> None:
    """Checks that a carry does not begin to vary along axes of devices where the first one does not."""
    found = [(path, a, names) for path, a, b in zip(leaf_paths(in_tree), in_avals, out_avals) if (names := varies_beyond(b, a))]
    if not found:
        return
    differences = _listed([f"the input carry {_component(argument, path)}, {_long_name(a)}, is the same along the axes {names}, and the "
                           "corresponding output carry varies" for path, a, names in found])
    remedies = [f"applying `jax.lax.pcast(..., {names}, to='varying')` to the initial carry value of {_component(argument, path)}"
                for path, _, names in found]
    raise TypeError(f"{caller} body function carry input and carry output must have equal types, but they differ:\n\n{differences}\n\n"
                    f"{_advice(remedies)}")


def _advice(remedies: list[str]) -> str:
    return f"This might be fixed by {remedies[0]}." if len(remedies) == 1 else f"This might be fixed by:\n{_listed(remedies)}"


def check_branches(name: str, first_tree: Any, first_avals: Any, other_tree: Any, other_avals: Any, labels: tuple[str, str],
                   funs: tuple[Callable, Callable]) -> None:
    """Checks that two branches return the same structure and types.

    Along which axes of devices their results vary must agree where users wrote a branch: a result of laminax's own branches varies along
    the axes of either.
    """
    if first_tree == other_tree and same_types(first_avals, other_avals):
        if checked_axes() and not all(map(_is_own, funs)):
            _check_variation_of_branches(name, first_tree, first_avals, other_avals, labels, funs)
        return
    who = _whom(labels, funs)
    a_name, b_name = labels
    if first_tree != other_tree:
        differences = _listed([
            f"{a_name} output{_at(path)} is {a} but {b_name} output{_at(path)} is {b}, so {reason}"
            for path, a, b, reason in structure_differences(first_tree, other_tree)])
        raise TypeError(f"{name} branch outputs must have the same pytree structure, but they differ:\n\n{who}\n\n"
                        f"{differences or f'{first_tree} and {other_tree}.'}\n\n"
                        f"Revise {a_name} and/or {b_name} so that they have the same pytree structure.")
    differences = _listed([
        f"the output of {a_name}{_at(path)} has type {_long_name(a)} but the corresponding output of {b_name} has type "
        f"{_long_name(b)}, so {_difference(a, b)}"
        for path, a, b in zip(leaf_paths(first_tree), first_avals, other_avals) if not same_type(a, b)])
    raise TypeError(f"{name} branches must have equal output types but they differ.\n\n{who}\n\n{differences}\n\n"
                    f"Revise {a_name} and/or {b_name} so that all output types match.")


def _check_variation_of_branches(name: str, tree: PyTreeDef, first_avals: Sequence[ShapedArray], other_avals: Sequence[ShapedArray],
                                 labels: tuple[str, str], funs: tuple[Callable, Callable]) -> None:
    """Checks that results of branches vary along the same axes of devices."""
    differences, remedies = [], []
    for path, a, b in zip(leaf_paths(tree), first_avals, other_avals):
        missing = varies_beyond(b, a), varies_beyond(a, b)
        if any(missing):
            differences.append(f"the output of {labels[0]}{_at(path)} has type {_long_name(a)}, which {_variation(a)}, and the "
                               f"corresponding output of {labels[1]} has type {_long_name(b)}, which {_variation(b)}")
        remedies += [f"applying `jax.lax.pcast(..., {names}, to='varying')` to the output of {label}{_at(path)}"
                     for names, label in zip(missing, labels) if names]
    if differences:
        raise TypeError(f"{name} branches must have equal output types but they differ.\n\n{_whom(labels, funs)}\n\n{_listed(differences)}"
                        f"\n\n{_advice(remedies)}")


def _variation(aval: ShapedArray) -> str:
    names = tuple(name for name in checked_axes() if name in aval.named_shape)
    return f"varies along the axes {names}" if names else "is the same on all devices"


def _is_own(fun: Callable) -> bool:
    return (getattr(fun, "__module__", None) or "").startswith("laminax")


def _whom(labels: tuple[str, str], funs: tuple[Callable, Callable]) -> str:
    return "\n".join(f"{label} is {_where(fun)}" for label, fun in zip(labels, funs))


def _listed(sentences: list[str]) -> str:
    """One sentence as such, more as a list."""
    if len(sentences) > 1:
        return ";\n".join(f"  * {sentence}" for sentence in sentences) + "."
    text = "".join(f"{sentence}." for sentence in sentences)
    return f"T{text[1:]}" if text.startswith("the ") else text


def _at(path: tuple) -> str:
    return f" at path {keystr(path)}" if path else ""


def _component(argument: str, path: tuple) -> str:
    return f"component {argument}{keystr(path)}" if path else argument


def _long_name(aval: ShapedArray) -> str:
    return aval.str_short(short_dtypes=False)


def _difference(a: ShapedArray, b: ShapedArray) -> str:
    if isinstance(a, HiType) or isinstance(b, HiType):
        return "the types do not match"
    return ", and ".join(["the dtypes do not match"] * (a.dtype != b.dtype) + ["the shapes do not match"] * (a.shape != b.shape)
                        + ["they are in different memory"] * (a.memory_space is not b.memory_space)
                        or ["they are not split alike over the mesh axes"])


def _where(fun: Callable) -> str:
    code = getattr(fun, "__code__", None)
    name = function_name(fun)
    return name + (f" at {code.co_filename}:{code.co_firstlineno}" if code is not None else "")
