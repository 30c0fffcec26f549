"""Batch axes: the position of the mapped axis in a value, and moving it to another position."""

from __future__ import annotations

from typing import Any, Callable, Hashable, Sequence

from laminax_ir.ops.shape import broadcast_in_dim, expand_dims, transpose
from laminax_ir.options.records import Record
from laminax_ir.programs.primitive import Primitive
from laminax_ir.types.avals import ShapedArray, get_aval, insert_axis
from laminax_ir.types.hi_types import HiType, MappingSpec, batched_type, types_in_use
from laminax_transforms.base.registry import batching_rules
from laminax_transforms.batching.explicit_batches import split_batch


class Axis(Record):
    """A mapped axis: its size, its name (None: nameless), and the mesh axes it is sharded over, if any."""
    size: int
    name: Hashable = None
    spmd_name: Hashable = None
    mesh_axes: Hashable = None  # the explicit mesh axes that it is split over, as an entry of a spec


def move_batch_axis(x: Any, batch_axis: int | None, target: int | None, size: int, mesh_axes: Hashable = None) -> Any:
    """Moves the batch axis to `target`, broadcasting a value that is not mapped; the new axis is split over the explicit mesh axes.

    Raises:
      ValueError: if a mapped value is to become unmapped.
    """
    if target is None:
        if batch_axis is not None:
            raise ValueError("a mapped value was to be returned unmapped")
        return x
    if isinstance(target, MappingSpec) or isinstance(batch_axis, MappingSpec) or types_in_use() and isinstance(get_aval(x), HiType):
        return _moved_as_told(x, batch_axis, target)
    if batch_axis is None:
        x = broadcast_batch(x, size, target)
        if mesh_axes is not None:
            x = split_batch(x, target, mesh_axes)
        return x
    return move_axis(x, batch_axis, target)


def _moved_as_told(x: Any, spec: Any, target: Any) -> Any:
    """A value of a type of users' own, if it is mapped as wanted: only operations of the type could map it otherwise.

    Raises:
      NotImplementedError: if it is not mapped, or in another way.
    """
    aval = get_aval(x)
    if spec is None:
        raise NotImplementedError(f"vmap: a value of the type {aval.str_short()}, which is the same for all examples, cannot be repeated "
                                  "for each. Map the operation that makes it, or give out_axes=None for it.")
    wanted = aval.leading_axis_spec() if target == 0 else target
    if spec != wanted:
        raise NotImplementedError(f"vmap: a value of the type {aval.str_short()} is mapped as {spec!r} says, and is needed as "
                                  f"{wanted!r} says: there is no operation that changes it. Have it mapped so from the beginning, or make "
                                  "arrays of it.")
    return x


def with_specs(values: Sequence[Any], axes: Sequence[Any]) -> list[Any]:
    """The batch axes of values, with the type's `leading_axis_spec()` in place of 0 for values of users' types.

    Raises:
      NotImplementedError: if such a value is mapped along another numbered axis.
    """
    found = list(axes)
    for i, (x, axis) in enumerate(zip(values, axes)):
        if axis is not None and isinstance(aval := get_aval(x), HiType) and not isinstance(axis, MappingSpec):
            if axis != 0:
                raise NotImplementedError(f"vmap: a value of the type {aval.str_short()} would be mapped along its axis {axis}, behind the "
                                          "axis that scan goes along, which is not supported. Make arrays of it inside of the loop.")
            found[i] = aval.leading_axis_spec()
    return found


def broadcast_batch(x: Any, size: int, axis: int) -> Any:
    """`x` repeated `size` times along a new axis."""
    shape = get_aval(x).shape
    axes = tuple(i for i in range(len(shape) + 1) if i != axis)
    return broadcast_in_dim(x, (*shape[:axis], size, *shape[axis:]), axes)


def move_axis(x: Any, source: int, target: int) -> Any:
    """`x` with one axis moved; itself when it is there already."""
    if source == target:
        return x
    order = [i for i in range(len(get_aval(x).shape)) if i != source]
    order.insert(target, source)
    return transpose(x, tuple(order))


def batch_axis_first(x: Any, batch_axis: int | None, size: int) -> Any:
    """`x` with the batch axis in front, broadcast if it has none: the normal form many rules start from."""
    return move_batch_axis(x, batch_axis, 0, size)


def define_elementwise_batching(*primitives: Primitive) -> None:
    """Declares that operations go element by element: a batch of their operands is one more axis."""
    for primitive in primitives:
        batching_rules.add(primitive, elementwise_batching(primitive))


def elementwise_batching(primitive: Primitive) -> Callable:
    """The batching rule of an elementwise operation on operands that broadcast against each other."""
    def rule(_axis: Axis, operands: Sequence[Any], batch_axes: Sequence[int | None], params: dict[str, Any]) -> tuple[Any, int | None]:
        if len(operands) == 1:
            return primitive.bind(operands[0], **params), batch_axes[0]
        first_shape = None
        aligned = True
        for x, b in zip(operands, batch_axes):  # the common case: all mapped alike, or scalars beside them
            if b is not None:
                if first_shape is None:
                    first_shape, axis = len(x.shape), b
                aligned = aligned and b == axis and len(x.shape) == first_shape
            else:
                aligned = aligned and not getattr(x, "shape", ())
        if aligned:
            return primitive.bind(*operands, **params), axis
        rank = max(len(get_aval(x).shape) - (b is not None) for x, b in zip(operands, batch_axes))
        return primitive.bind(*[align(x, b, rank) for x, b in zip(operands, batch_axes)], **params), 0
    return rule


def align(x: Any, batch_axis: int | None, rank: int) -> Any:
    """Batch axis in front and `rank` axes behind it; scalars that are not mapped stay scalars."""
    shape = get_aval(x).shape
    if batch_axis is None:
        return expand_dims(x, (0,)) if shape else x
    x = move_axis(x, batch_axis, 0)
    missing = rank - (len(shape) - 1)
    return expand_dims(x, tuple(range(1, 1 + missing))) if missing else x


def add_batch_axis(aval: ShapedArray, size: int, batch_axis: int | None, mesh_axes: Hashable = None) -> ShapedArray:
    """The aval with an axis of the given size inserted, which is split over explicit mesh axes; itself for None."""
    if batch_axis is None:
        return aval
    if isinstance(aval, HiType):
        return batched_type(aval, size, aval.leading_axis_spec() if batch_axis == 0 else batch_axis)
    return insert_axis(aval, batch_axis, size, mesh_axes)
