"""Operations on shapes: axes that stay are split as they were; where axes are cut or merged, the parts must stay whole."""

from __future__ import annotations

from typing import Any, Sequence

from laminax_ir.ops import shape_primitives as op
from laminax_ir.programs.result_types import sharding_rules, sum_rules
from laminax_ir.sharding_rules import sums
from laminax_ir.sharding_rules.agreement import entries_of, joined, listed, of_parts, refuse, without
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.type_shardings import names_of, parts_of


@sharding_rules(op.broadcast_in_dim_p)
def _broadcast_in_dim(out: ShapedArray, x: ShapedArray, *, shape: tuple[int, ...], broadcast_dimensions: tuple[int, ...],
                      sharding: Any = None) -> tuple:
    entries: list[Any] = [None] * len(shape)
    for axis, size, entry in zip(broadcast_dimensions, x.shape, entries_of(x)):
        if size == shape[axis]:
            entries[axis] = entry
    return tuple(entries)


@sharding_rules(op.transpose_p)
def _transpose(out: ShapedArray, x: ShapedArray, *, permutation: tuple[int, ...]) -> tuple:
    entries = entries_of(x)
    return tuple(entries[axis] for axis in permutation)


@sharding_rules(op.squeeze_p)
def _squeeze(out: ShapedArray, x: ShapedArray, *, dimensions: tuple[int, ...]) -> tuple:
    return without(entries_of(x), dimensions)


@sharding_rules(op.rev_p)
def _rev(out: ShapedArray, x: ShapedArray, *, dimensions: tuple[int, ...]) -> tuple:
    return entries_of(x)


@sharding_rules(op.concatenate_p)
def _concatenate(out: ShapedArray, *avals: ShapedArray, dimension: int) -> tuple:
    first = entries_of(avals[0])
    if any(entries_of(x) != first for x in avals):
        refuse(f"concatenate: All operands should have the same sharding. Got {listed(avals)}. Use reshard on some of them.")
        sized = [x.update(shape=tuple(1 if axis == dimension else size for axis, size in enumerate(x.shape))) for x in avals]
        return joined(sized, sized[0].shape, str)
    entries = list(first)
    if entries[dimension] is not None and out.shape[dimension] % parts_of(entries[dimension], _mesh(avals)):
        refuse(f"concatenate: the result's axis {dimension} of size {out.shape[dimension]} is not divisible by the parts of "
               f"{entries[dimension]!r}, got {listed(avals)}. Use reshard on the operands.")
        entries[dimension] = None
    return tuple(entries)


def _mesh(avals: Sequence[ShapedArray]) -> Any:
    return next(x._split.mesh for x in avals if x._split is not None)


@sharding_rules(op.pad_p)
def _pad(out: ShapedArray, x: ShapedArray, padding_value: ShapedArray, *, padding_config: tuple[tuple[int, ...], ...]) -> tuple:
    return of_parts("pad", x, out.shape, "padding")


@sharding_rules(op.split_p)
def _split(outs: Sequence[ShapedArray], x: ShapedArray, *, sizes: tuple[int, ...], axis: int) -> list[tuple]:
    return [of_parts("split", x, out.shape, "split") for out in outs]


@sharding_rules(op.tile_p)
def _tile(out: ShapedArray, x: ShapedArray, *, reps: tuple[int, ...]) -> tuple:
    entries = list(entries_of(x))
    for axis, (entry, n) in enumerate(zip(entries, reps)):
        if entry is not None and n != 1:
            refuse(f"tile: the axis {axis} of {x.str_short()} cannot be sharded where the tiling is non-trivial: it would be repeated {n} "
                   "times. Use reshard on the operand.")
            entries[axis] = None
    return tuple(entries)


@sharding_rules(op.reshape_p)
def _reshape(out: ShapedArray, x: ShapedArray, *, new_sizes: tuple[int, ...], dimensions: Any = None, sharding: Any = None) -> tuple:
    """One axis may be cut in several, or several merged into one: the mesh axes of the one split the several, from the first on."""
    if dimensions is not None and x._split is not None:
        x = x.update(shape=tuple(x.shape[i] for i in dimensions), sharding=x._split._replace(
            spec=x._split.spec.update(partitions=tuple(entries_of(x)[i] for i in dimensions))))
    entries, groups = entries_of(x), _axis_groups(x.shape, new_sizes)
    if groups is None:
        return _refused_reshape(x, new_sizes, "")
    cut, merged = ([g for g in groups if len(g[i]) == 1 and len(g[1 - i]) > 1] for i in (0, 1))
    if any(len(old) > 1 and len(new) > 1 for old, new in groups) or cut and merged:
        return _refused_reshape(x, new_sizes, "")
    if len(cut) > 1 or len(merged) > 1:
        return _refused_reshape(x, new_sizes, f"{'Splitting' if cut else 'Merging'} on more than 1 axis is not supported. ")
    result: list[Any] = [None] * len(new_sizes)
    if x._split is None:
        return tuple(result)
    for old, new in groups:
        found = [entries[axis] for axis in old]
        while found and found[-1] is None:
            found.pop()
        if None in found:
            return _refused_reshape(x, new_sizes, "")
        dealt = _dealt([name for entry in found for name in names_of(entry)], [new_sizes[axis] for axis in new], x._split.mesh)
        if dealt is None:
            return _refused_reshape(x, new_sizes, "")
        for axis, taken in zip(new, dealt):
            result[axis] = taken
    kept = _kept_axes_of_one(groups, x.ndim, len(new_sizes))
    for axis in range(x.ndim):
        if entries[axis] is not None and not any(axis in old for old, _ in groups):
            if axis not in kept:
                return _refused_reshape(x, new_sizes, "")
            result[kept[axis]] = entries[axis]
    return tuple(result)


def _kept_axes_of_one(groups: list[tuple[list[int], list[int]]], rank: int, new_rank: int) -> dict[int, int]:
    """Axes of size 1 before a reshape, and those after it that stand between the same other axes: the first is the first, and so on."""
    kept: dict[int, int] = {}
    ends = [(-1, -1), *((old[-1], new[-1]) for old, new in groups)]
    starts = [*((old[0], new[0]) for old, new in groups), (rank, new_rank)]
    for (end, new_end), (start, new_start) in zip(ends, starts):
        kept.update(zip(range(end + 1, start), range(new_end + 1, new_start)))
    return kept


def _dealt(names: list, sizes: list, mesh: Any) -> list | None:
    """The mesh axes that split one axis, dealt to the axes it is cut into, each split in full before the next; None if impossible."""
    dealt: list[Any] = []
    for size in sizes:
        taken = []
        while names and size > 1:
            if size % mesh.shape[names[0]]:
                return None
            size //= mesh.shape[names[0]]
            taken.append(names.pop(0))
        dealt.append(tuple(taken) if len(taken) > 1 else taken[0] if taken else None)
    return None if names else dealt


def _refused_reshape(x: ShapedArray, new_sizes: tuple[int, ...], why: str) -> tuple:
    refuse(f"reshape: {why}This reshape is not supported. Please specify the sharding of the output via the `out_sharding` argument of "
           f"reshape. Got operand {x.str_short()} and new sizes {new_sizes}.")
    return (None,) * len(new_sizes)


def _axis_groups(old: tuple[int, ...], new: tuple[int, ...]) -> list[tuple[list[int], list[int]]] | None:
    """Axes before and after a reshape that hold the same elements, as few together as possible; axes of size 1 are left out."""
    if 0 in old:
        return None
    first, second = ([axis for axis, size in enumerate(shape) if size != 1] for shape in (old, new))
    groups, i, j = [], 0, 0
    while i < len(first):
        a, b = [first[i]], [second[j]]
        sizes = [old[first[i]], new[second[j]]]
        i, j = i + 1, j + 1
        while sizes[0] != sizes[1]:
            if sizes[0] < sizes[1]:
                a.append(first[i])
                sizes[0] *= old[first[i]]
                i += 1
            else:
                b.append(second[j])
                sizes[1] *= new[second[j]]
                j += 1
        groups.append((a, b))
    return groups


# Sums over mesh axes that have not been made

sum_rules(op.transpose_p, op.squeeze_p, op.rev_p, op.split_p, op.pad_p)(sums.kept)
sum_rules(op.broadcast_in_dim_p, op.iota_p)(sums.kept_or_given)
sum_rules(op.concatenate_p)(sums.all_alike("concatenate"))
sum_rules(op.reshape_p)(sums.reshaped)
