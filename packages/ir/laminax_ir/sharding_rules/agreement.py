"""The common parts of the rules of several families: entries of specs, and how those of several operands go together."""

from __future__ import annotations

from typing import Any, Callable, Sequence

from laminax_ir.programs.primitive import Primitive
from laminax_ir.programs.result_types import sharding_rules
from laminax_ir.tracing.explicit_axes import is_resolving
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.errors import ShardingTypeError
from laminax_ir.types.type_shardings import parts_of

Entries = tuple  # of a spec: per axis None, the name of a mesh axis, or a tuple of names


def entries_of(aval: ShapedArray) -> Entries:
    """One entry per axis: how the aval says it is split."""
    return (None,) * aval.ndim if aval._split is None else aval._split.spec.partitions


def refuse(message: str) -> None:
    """Raises ShardingTypeError, unless types are being resolved: then an axis that is not clear is whole."""
    if not is_resolving.value:
        raise ShardingTypeError(message)


def listed(avals: Sequence[ShapedArray]) -> str:
    return ", ".join(aval.str_short() for aval in avals)


def joined(avals: Sequence[ShapedArray], shape: Sequence[int], message: Callable[[], str]) -> Entries:
    """The entries of operands that are taken element by element; operands of rank 0, and axes of another size, do not count."""
    entries: list[Any] = [None] * len(shape)
    for aval in avals:
        if aval._split is None or aval.ndim != len(shape):
            continue
        for axis, entry in enumerate(aval._split.spec.partitions):
            if entry is None or aval.shape[axis] != shape[axis] or entries[axis] == entry:
                continue
            if entries[axis] is None:
                entries[axis] = entry
            else:
                refuse(message())
    return tuple(entries)


def without(entries: Entries, axes: Sequence[int]) -> Entries:
    """The entries of the other axes."""
    return tuple(entry for axis, entry in enumerate(entries) if axis not in axes)


def of_parts(name: str, aval: ShapedArray, shape: Sequence[int], action: str) -> Entries:
    """The entries of an operand for a result with axes of other sizes, which must divide into as many parts."""
    entries = list(entries_of(aval))
    for axis, (entry, old, new) in enumerate(zip(entries, aval.shape, shape)):
        if entry is None or old == new or aval._split is None:
            continue
        if new % (parts := parts_of(entry, aval._split.mesh)):
            refuse(f"{name}: {action} on sharded dims where out dim ({new}) is not divisible by mesh axes ({parts}) with spec ({entry}) is "
                   f"not implemented; axis {axis} of {aval.str_short()}. Reshard the operand first, or call the function in auto_axes.")
            entries[axis] = None
    return tuple(entries)


def only_batch(name: str, aval: ShapedArray, count: int) -> Entries:
    """The entries of the axes before the last `count`, which must not be split."""
    entries = entries_of(aval)
    batch = entries[:aval.ndim - count]
    if any(entries[len(batch):]):
        refuse(f"{name}: operands must not be split along their last {count} axes, which the operation takes together; "
               f"got {aval.str_short()}. Reshard the operand first.")
    return batch


def not_along(name: str, aval: ShapedArray, axis: int) -> Entries:
    """The entries of an operand whose elements along an axis are taken together, which must not be split."""
    entries = entries_of(aval)
    if entries[axis] is not None:
        refuse(f"{name}: Input should be unsharded over the axis being reduced, axis {axis} of {aval.str_short()}. "
               "Use reshard on it first.")
        return (*entries[:axis], None, *entries[axis + 1:])
    return entries


def elementwise_rule(*primitives: Primitive) -> None:
    """Gives operations the rule of those that go element by element."""
    for primitive in primitives:
        sharding_rules.add(primitive, _several(primitive.name) if primitive.multiple_results else _one(primitive.name))


def _one(name: str) -> Callable:
    def rule(out: ShapedArray, *avals: ShapedArray, **_params: Any) -> Entries:
        return joined(avals, out.shape, lambda: _incompatible(name, avals))
    return rule


def _several(name: str) -> Callable:
    def rule(outs: Sequence[ShapedArray], *avals: ShapedArray, **_params: Any) -> list[Entries]:
        return [joined(avals, out.shape, lambda: _incompatible(name, avals)) for out in outs]
    return rule


def _incompatible(name: str, avals: Sequence[ShapedArray]) -> str:
    return (f"{name} got incompatible shardings for broadcasting: {', '.join(str(a._split.spec) for a in avals if a._split is not None)}, "
            f"for operands {listed(avals)}. Use reshard on one of them.")
