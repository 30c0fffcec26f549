"""The axes of devices that a program per device runs along, while it is traced or transformed.

They are named axes, and more: a trace inside is of another meaning than the same outside, so they are an option that traces
depend on. Along a *checked* axis the types of values say along which axes they vary (`ShapedArray.named_shape`). A value that
does not vary is one value, which all devices have: its cotangent is the sum of what each makes of it.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Hashable, Iterator, Sequence

from laminax_ir.options import config_options
from laminax_ir.tracing.trace import extend_axis_env
from laminax_ir.types.abstract_meshes import AbstractMesh, AxisType, NamedGrid


def _check(value: Any) -> tuple:
    if isinstance(value, tuple):
        return value
    raise ValueError


def _parse(text: str) -> tuple:
    raise ValueError


manual_axes = config_options.define(
    "manual_axes", (), config_options.ValueType("triples of a name, a size and whether it is checked, set by laminax itself", _check, _parse),
    "The axes of devices along which the function that is being traced runs; set by pmap and shard_map.", affects_tracing=True)


def _check_mesh(value: Any) -> Any:
    if value is None or isinstance(value, NamedGrid):
        return value
    raise ValueError


manual_mesh = config_options.define(
    "manual_mesh", None, config_options.ValueType("None or a mesh, set by laminax itself", _check_mesh, _parse),
    "The mesh of the shard_map whose function is being traced.", affects_tracing=True)


@contextmanager
def running_along(axes: Sequence[tuple[Hashable, int]], is_checked: bool, mesh: NamedGrid | None = None,
                  unchecked_axes: Sequence[Hashable] = ()) -> Iterator[None]:
    """While it lasts, functions are traced as programs of one of the devices along these axes, which are axes of `mesh` if that is given."""
    triples = [(name, size, is_checked and name not in unchecked_axes) for name, size in axes]
    with (manual_axes((*manual_axes.value, *triples)), extend_axis_env(*axes),
          manual_mesh(manual_mesh.value if mesh is None else mesh)):
        yield


def mesh_of_shard_map() -> AbstractMesh | None:
    """The mesh of the shard_map whose function is being traced, its axes along which the function runs being manual."""
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
