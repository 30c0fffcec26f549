"""Explicit mesh axes: which mesh a program is traced for.

The types of values say how they are split over these axes; `result_types` finds the types of the results of operations.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from laminax_ir.options.ambient import define_ambient
from laminax_ir.tracing.manual_axes import manual_axes, manual_mesh, mesh_of_shard_map
from laminax_ir.types.abstract_meshes import AbstractMesh
from laminax_ir.types.memory_spaces import MemorySpace, space_of_kind
from laminax_ir.types.partition_specs import PartitionSpec, UnreducedKind
from laminax_ir.types.type_shardings import TypeSharding, type_sharding

abstract_mesh = define_ambient(
    "abstract_mesh", None, "The mesh that functions are traced for, without its devices, or None; set by set_mesh and use_abstract_mesh.",
    normal=lambda mesh: None if mesh is None or mesh.empty else mesh)

is_resolving = define_ambient(
    "is_resolving_shardings", False,
    "Whether operations whose operands leave open how the result is split have one that is whole there; set while cotangents are computed, "
    "which are split as their primals in the end.")

sums_left_open = define_ambient(
    "sums_left_open", frozenset(),
    "Along which mesh axes sums in products are left open while it is resolved how results are split: "
    "where the result is asked for as their terms.",
    normal=frozenset)


@contextmanager
def without_mesh() -> Iterator[None]:
    """Context manager: functions are traced for no mesh inside.

    For programs that are made once and serve all callers: the mesh that is set when the first one asks must not be in them.
    """
    if abstract_mesh.value is None and manual_mesh.value is None:
        yield
        return
    with abstract_mesh(None), manual_mesh(None), manual_axes(()):
        yield


def context_mesh() -> AbstractMesh | None:
    """The mesh that the function is traced for, if there is one; in a program per device, the axes along which it runs are manual."""
    mesh = mesh_of_shard_map()
    return abstract_mesh.value if mesh is None else mesh


def explicit_mesh() -> AbstractMesh | None:
    """`context_mesh`, if it has explicit axes."""
    mesh = context_mesh()
    return mesh if mesh is not None and mesh.explicit_axes else None


def check_in_device_memory(name: str, sharding: Any) -> None:
    """An `out_sharding` says over which devices a result is split; operations put their results in the devices' own memory.

    Raises:
      ValueError: if it names the host's memory.
    """
    if space_of_kind(getattr(sharding, "memory_kind", None)) is MemorySpace.Host:
        raise ValueError(f"{name}: a sharding with memory_kind is not allowed as out_sharding. Please use `laminax.device_put` to move the "
                         f"result to other memory. Got sharding={sharding}.")


def out_sharding(name: str, sharding: Any, ndim: int) -> TypeSharding | None:
    """The user's `out_sharding` in the form of the parameter that operations have.

    Args:
      name: the function that it was given to.
      sharding: None, a partition spec of the mesh that is set, or a sharding over a mesh.
      ndim: the number of axes of the result.

    Raises:
      TypeError: if sharding is none of these.
      ValueError: if no mesh is set for a partition spec, or it names axes that are not explicit, or has more entries than the result
        axes, or leaves a maximum or minimum open.
    """
    if sharding is None:
        return None
    mesh: Any
    spec: Any
    if isinstance(sharding, PartitionSpec):
        mesh, spec = context_mesh(), sharding
        if mesh is None:
            raise ValueError(f"{name}: Using PartitionSpec when you are not under a mesh context is not allowed, "
                             f"since it refers to the axes of the mesh that is set; got {sharding}. Please set a mesh via "
                             f"`laminax.set_mesh` if a PartitionSpec is passed to {name}, or give a NamedSharding.")
    else:
        mesh, spec = getattr(sharding, "mesh", None), getattr(sharding, "spec", None)
        if mesh is None or not isinstance(spec, PartitionSpec):
            raise TypeError(f"{name}: out_sharding must be a PartitionSpec or a NamedSharding, "
                            f"got {sharding!r} of type {type(sharding).__name__}.")
        mesh = mesh.abstract_mesh
        if (context := context_mesh()) is not None and context != mesh:
            raise ValueError(f"{name}: Context mesh {context} should match the mesh of sharding {mesh} passed to {name}. "
                             "Give a PartitionSpec of the mesh that is set.")
    if spec.unreduced_kind not in (None, UnreducedKind.sum):
        raise ValueError(f"`out_sharding` passed to `{name}` is {spec}, and an out_sharding with unreduced_kind={spec.unreduced_kind.name} "
                         f"cannot be more unreduced than the input: only sums can be left open. Use {name} without it, and take the "
                         f"{spec.unreduced_kind.name}imum with lax.p{spec.unreduced_kind.name} inside of shard_map.")
    names = (*spec.names(), *spec.unreduced, *spec.reduced)
    if unknown := [n for n in names if n not in mesh.axis_names]:
        raise ValueError(f"{name}: the axis {unknown[0]!r} of {spec} is not an axis of the mesh {mesh}. "
                         f"Resource axis: {unknown[0]} of {spec} is not found in mesh: {mesh.axis_names}.")
    if others := [n for n in names if n not in mesh.explicit_axes]:
        raise ValueError(f"{name}: PartitionSpec passed to {name} cannot contain axis names that are of type Auto or Manual; "
                         f"got {spec} with {others[0]!r} for the mesh {mesh}. Use with_sharding_constraint for such axes.")
    if not mesh.explicit_axes:
        return None
    return type_sharding(TypeSharding(mesh, spec), (0,) * ndim, name)  # whether sizes divide is seen when they are known
