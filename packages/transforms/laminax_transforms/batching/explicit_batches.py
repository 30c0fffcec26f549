"""Batches that are split over explicit mesh axes, and operations under `vmap` whose results are to be split in a given way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Hashable, Sequence

from laminax_ir.ops.sharding import reshard
from laminax_ir.options.config import remove_size_one_mesh_axis_from_type
from laminax_ir.tracing.explicit_axes import context_mesh, is_resolving
from laminax_ir.types.avals import get_aval
from laminax_ir.types.type_shardings import TypeSharding, names_of

if TYPE_CHECKING:  # its module imports this one
    from laminax_transforms.batching.batch_axes import Axis


def mesh_axes_of(name: str, args: Sequence[Any], in_axes: Sequence[int | None], spmd_name: Hashable) -> Any:
    """The mesh axes that split the mapped axis: the entry of that axis in the specs of the arguments, which must agree.

    Raises:
      ValueError: if they differ, or split an argument that is not mapped, or `spmd_axis_name` is given too and is another.
    """
    mapped = [(get_aval(x), b) for x, b in zip(args, in_axes) if b is not None]  # an argument that is not mapped may be any object
    entries = [aval._split.spec.partitions[b] for aval, b in mapped if aval._split is not None]
    if len(set(entries)) > 1:
        listed = ", ".join(f"{aval.str_short()} along axis {b}" for aval, b in mapped)
        raise ValueError(f"{name}: Mapped away dimension of inputs passed to vmap should be sharded the same. Got inconsistent axis specs: "
                         f"{', '.join(map(repr, entries))}, for {listed}. Use reshard on some of them.")
    entry = entries[0] if entries else None
    if entry is not None and spmd_name is not None and not _is_named_so(spmd_name, entry):
        raise ValueError(f"{name}: Only one of spmd_axis_name or arrays sharded on `Explicit` mesh axis type is allowed. Got "
                         f"spmd_axis_name={spmd_name!r} and arrays sharded over {entry!r}. Leave spmd_axis_name out.")
    if entry is not None:
        _check_unmapped(name, entry, [x for x, b in zip(args, in_axes) if b is None])
    return entry


def _check_unmapped(name: str, entry: Any, args: Sequence[Any]) -> None:
    """The examples' operands are whole along the mesh axes over which the batch is split: each device has some of the examples."""
    for x in args:
        split = getattr(getattr(x, "aval", None), "_split", None)
        if split is not None and set(names_of(entry)) & set(split.spec.names()):
            raise ValueError(f"{name}: Unmapped values passed to vmap cannot be sharded along the mesh axis you are vmapping over. "
                             f"Got type: {get_aval(x).str_short()} with in_axes None, and a mapped axis that is split over {entry!r}. "
                             "Use reshard on it first.")


def _is_named_so(spmd_name: Hashable, entry: Any) -> bool:
    """Whether `spmd_axis_name` names the mesh axes that split the mapped axis; of those that types leave out it may name any."""
    names, mesh = names_of(spmd_name), context_mesh()
    if remove_size_one_mesh_axis_from_type.value and mesh is not None:
        names = tuple(name for name in names if mesh.shape.get(name) != 1)
    return names == names_of(entry)


def split_batch(x: Any, axis: int, mesh_axes: Any) -> Any:
    """The value with its new axis split over explicit mesh axes, unless these split other axes of the value."""
    split = get_aval(x)._split
    if split is None:
        return x
    entries = list(split.spec.partitions)
    if set(names_of(mesh_axes)) & {n for entry in entries for n in names_of(entry)}:
        return x
    entries[axis] = mesh_axes
    return reshard(x, split.with_entries(entries))


def with_out_sharding(rule: Callable) -> Callable:
    """The batching rule of an operation whose parameter `out_sharding` may say how its result is split.

    The batched result is split in the same way, and its batch axis as the batch axis of the operands.
    A batch that is split over explicit mesh axes meets operands that are not mapped, and whole; what that leaves open is whole, too.
    """
    def batched_rule(axis: Axis, values: Sequence[Any], batch_axes: Sequence[int | None], params: dict[str, Any]) -> Any:
        key = next((key for key in ("out_sharding", "sharding") if isinstance(params.get(key), TypeSharding)), None)
        if key is None:
            if axis.mesh_axes is None or is_resolving.value:
                return rule(axis, values, batch_axes, params)
            with is_resolving(True):
                return rule(axis, values, batch_axes, params)
        with is_resolving(True):
            result, b = rule(axis, values, batch_axes, {**params, key: None})
        return reshard(result, with_batch(params[key], axis, b)), b
    return batched_rule


def with_batch(split: TypeSharding, axis: Axis, batch_axis: int | None) -> TypeSharding:
    """The split of a batch of values that are split so each, with the mapped axis at `batch_axis`.

    The mapped axis is split over the mesh axes that split the batch, if they are free.
    """
    if batch_axis is None:
        return split
    entries = list(split.spec.partitions)
    names = axis.mesh_axes if axis.spmd_name is None else axis.spmd_name
    taken = {n for entry in entries for n in names_of(entry)}
    explicit = split.mesh.explicit_axes
    is_free = all(n in explicit and n not in taken for n in names_of(names))
    entries.insert(batch_axis, names if is_free else None)
    return split.with_entries(entries)
