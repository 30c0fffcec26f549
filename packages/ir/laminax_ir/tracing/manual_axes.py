"""The axes of devices that a program per device runs along, while it is traced or transformed.

They are named axes, and also an ambient value that traces depend on: a function that is traced inside of them is another program than the
same function outside. Along a *checked* axis the types of values say along which axes they vary (`ShapedArray.named_shape`). A value that
does not vary is one
value, which all devices have: its cotangent is the sum of the devices' cotangents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Hashable, Sequence

from laminax_ir.options.ambient import define_ambient
from laminax_ir.options.config import remove_size_one_mesh_axis_from_type
from laminax_ir.options.restoring import Together
from laminax_ir.tracing.trace import extend_axis_env
from laminax_ir.types.abstract_meshes import AbstractMesh, AxisType, NamedGrid

if TYPE_CHECKING:
    from laminax_ir.types.avals import ShapedArray

manual_axes = define_ambient(
    "manual_axes", (),
    "The axes of devices along which the function that is being traced runs, as triples of a name, a size and whether it is checked; "
    "set by pmap and shard_map.")

manual_mesh = define_ambient("manual_mesh", None, "The mesh of the shard_map whose function is being traced, or None.")


def running_along(axes: Sequence[tuple[Hashable, int]], is_checked: bool, mesh: NamedGrid | None = None,
                  unchecked_axes: Sequence[Hashable] = ()) -> Together:
    """Context manager: inside, functions are traced as programs of one device along these axes (of `mesh`, if given)."""
    without_one = remove_size_one_mesh_axis_from_type.value
    triples = [(name, size, is_checked and name not in unchecked_axes and not (without_one and size == 1)) for name, size in axes]
    return Together(manual_axes((*manual_axes.value, *triples)), extend_axis_env(*axes),
                    manual_mesh(manual_mesh.value if mesh is None else mesh))


def mesh_of_shard_map() -> AbstractMesh | None:
    """The mesh of the shard_map whose function is being traced; the axes along which the function runs are manual."""
    mesh = manual_mesh.value
    if mesh is None:
        return None
    running = {name for name, _, _ in manual_axes.value}
    return mesh.abstract_mesh.update(axis_types=tuple(AxisType.Manual if name in running else kind
                                                      for name, kind in zip(mesh.axis_names, mesh.axis_types)))


def checked_axes() -> tuple[Hashable, ...]:
    """The names of the axes along which types say whether values vary."""
    value = manual_axes.value
    return tuple(name for name, _, is_checked in value if is_checked) if value else ()


def varies_beyond(aval: ShapedArray, other: ShapedArray) -> tuple[Hashable, ...]:
    """The checked axes along which values of the first type may vary, and those of the other do not."""
    value = manual_axes.value
    return tuple(name for name, _, is_checked in value
                 if is_checked and name in aval.named_shape and name not in other.named_shape) if value else ()
