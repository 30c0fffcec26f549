"""Shardings as text: Shardy's attributes.

A module names each mesh once, `sdy.mesh @mesh = <["data"=4, "model"=2]>`; a sharding of an array of some rank refers to a mesh and lists,
for each array axis, the mesh axes that split it: `#sdy.sharding<@mesh, [{"data"}, {}]>`, with `{?}` where the compiler decides. A sharding
is anything with `mesh` (`axis_names`, `axis_sizes`) and `spec`, a partition spec.
Source: the Shardy documentation, "Sharding representation".
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from laminax_ir.key_arrays.extended_arrays import physical_aval
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.partition_specs import UNCONSTRAINED, PartitionSpec
from laminax_lowering.writing.types import string_text


class MeshTable:
    """The meshes of a module, by their axes, in the order of their first use."""

    def __init__(self) -> None:
        self._names: dict[tuple, str] = {}
        self._single: dict[int, None] = {}  # the numbers of devices that have values alone

    def name(self, mesh: Any) -> str:
        """The symbol of a mesh, `@mesh`; equal meshes share one."""
        return self.name_of_axes(tuple(zip(map(str, mesh.axis_names), mesh.axis_sizes, strict=True)))

    def name_of_axes(self, axes: tuple[tuple[str, int], ...]) -> str:
        """The symbol of the mesh with axes of these names and sizes."""
        found = self._names.get(axes)
        if found is None:
            found = self._names[axes] = f"@mesh_{len(self._names) - 1}" if self._names else "@mesh"
        return found

    def on_device(self, number: int) -> str:
        """The sharding that puts a value on one device alone, the first one: `<@maximal_mesh_0, []>`."""
        self._single[number] = None
        return f"<@maximal_mesh_{number}, []>"

    def lines(self) -> list[str]:
        """The operations that define the meshes."""
        listed = {name: ", ".join(f"{string_text(axis)}={size}" for axis, size in axes) for axes, name in self._names.items()}
        maximal = [f"sdy.mesh @maximal_mesh_{number} = <[], device_ids=[{number}]>" for number in self._single]
        return [*(f"sdy.mesh {name} = <[{axes}]>" for name, axes in listed.items()), *maximal]


def sharding_text(meshes: MeshTable, sharding: Any, aval: ShapedArray) -> str:
    """The part between `#sdy.sharding` and the end: `<@mesh, [{"x"}, {}]>`.

    Raises:
      NotImplementedError: if the sharding is not given by a mesh and a spec.
    """
    spec = getattr(sharding, "spec", None)
    if spec is None:
        raise NotImplementedError(f"lowering: {sharding} cannot be written into a program. Use a NamedSharding.")
    return sharding_on_mesh(meshes, sharding.mesh, spec, aval)


def sharding_on_mesh(meshes: MeshTable, mesh: Any, spec: PartitionSpec, aval: ShapedArray, *, is_open: bool = False,
                     replicated: Collection[Any] = ()) -> str:
    """`sharding_text` of a mesh and a spec; if open, the compiler may split the axes further, but not over the `replicated` mesh axes."""
    ndim = physical_aval(aval).ndim  # keys are stored with one more axis
    axes = ([_axis_text(entry, is_open) for entry in (*spec.partitions, *[None] * (aval.ndim - len(spec)))]
            + ["{}"] * (ndim - max(aval.ndim, len(spec))))
    terms = f", unreduced={_names_text(mesh, spec.unreduced)}" if spec.unreduced else ""
    whole = f", replicated={_names_text(mesh, replicated)}" if replicated else ""
    given = axes[:ndim]  # arrays may have a spec of more entries, if those beyond the last axis split nothing
    return f"<{meshes.name(mesh)}, [{', '.join(given)}]{whole}{terms}>"


def _names_text(mesh: Any, names: Collection[Any]) -> str:
    """A set of mesh axes, in their order."""
    return f"{{{', '.join(string_text(str(name)) for name in mesh.axis_names if name in names)}}}"


def _axis_text(entry: Any, is_open: bool) -> str:
    if entry is UNCONSTRAINED:
        return "{?}"
    names = entry if isinstance(entry, tuple) else () if entry is None else (entry,)
    return "{" + ", ".join([*(string_text(str(name)) for name in names), *(["?"] if is_open else [])]) + "}"


def sharding_attribute(meshes: MeshTable, sharding: Any, aval: ShapedArray) -> str:
    """The attribute of an argument or result, from a sharding or from HLO's text for one."""
    if isinstance(sharding, str):
        return f"mhlo.sharding = {string_text(sharding)}"
    return f"sdy.sharding = #sdy.sharding{sharding_text(meshes, sharding, aval)}"
