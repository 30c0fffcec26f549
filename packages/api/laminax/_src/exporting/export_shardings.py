"""The shardings of an exported function: the number of its devices, and the shardings of its arguments and results.

An exported function names no devices. Its shardings are over meshes without devices, and are translated to the mesh that the function
is called on.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Sequence

import laminax_runtime as runtime
from laminax_ir.key_arrays.extended_arrays import physical_aval
from laminax_ir.ops.placements import shardings_in
from laminax_ir.types.abstract_meshes import AbstractMesh, AxisType
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.memory_spaces import HOST_KIND, MemorySpace, space_of_kind
from laminax_ir.types.partition_specs import PartitionSpec

from laminax._src.compiling.stages import Traced
from laminax._src.placement.layouts import sharding_of
from laminax._src.placement.partitioning import Partitioning, committed_sharding, writable_shardings


@dataclass(frozen=True)
class Layout:
    """How a program is split over devices.

    nr_devices: the number of devices.
    in_shardings, out_shardings: the sharding of each argument and result, over a mesh without devices; None is the compiler's choice.
    is_split: whether some value of the program, arguments and results included, is split.
    moved_results: the numbers of the results that out_shardings say the memory of; types say the memory of all others.
    """
    nr_devices: int
    in_shardings: tuple[runtime.NamedSharding | None, ...]
    out_shardings: tuple[runtime.NamedSharding | None, ...]
    is_split: bool
    moved_results: frozenset[int] = frozenset()

    def of_vjp(self) -> Layout:
        """The layout of the derivative, which takes the arguments and the results' cotangents, and returns the arguments' cotangents."""
        return Layout(self.nr_devices, (*self.in_shardings, *self.out_shardings), self.in_shardings, self.is_split)


def layout_of(traced: Traced) -> Layout:
    """The layout of a traced function, from the shardings given to jit, those of its arguments, and those that the program names.

    Raises:
      ValueError: if the shardings are over different devices, or over meshes without devices of different sizes.
      NotImplementedError: if a layout of arrays in memory is given.
    """
    closed, jit_function, call = traced.jaxpr, traced._jit_function, traced._call
    inside = [where for where, _ in shardings_in(closed)]
    is_split = any(not isinstance(where, runtime.Sharding) or _splits(where) for where in inside)
    known = [*map(committed_sharding, call.leaves), *(where for where in inside if isinstance(where, runtime.Sharding))]
    moved = _moved_results(traced)
    if any(sharding is not None and not sharding._is_concrete for sharding in known):
        count, in_shardings, out_shardings = _over_abstract_mesh(traced, known)
    else:
        where = jit_function.place(traced._traced, call, are_types=True)
        if not isinstance(where, Partitioning):
            return Layout(1, (None,) * len(closed.in_avals), (None,) * len(closed.out_avals), is_split, moved)
        if where.in_layouts:
            raise NotImplementedError(f"export({traced.fun_name}): layouts are not part of exported functions, got {where.in_layouts} for "
                                      f"the arguments and {where.out_layouts} for the results. Leave them out; the jit around a call of "
                                      "the exported function may have some.")
        count, in_shardings, out_shardings = len(where.devices), where.in_shardings, where.out_shardings
    ins, outs = _without_devices(in_shardings, closed.in_avals), _without_devices(out_shardings, closed.out_avals)
    return Layout(count, ins, outs, is_split or any(map(_splits, (*ins, *outs))), moved)


def _moved_results(traced: Traced) -> frozenset[int]:
    """The results that out_shardings put into the host's memory."""
    given = traced._jit_function.result_formats(traced._traced) if traced._jit_function.is_sharded else None
    return frozenset(i for i, leaf in enumerate(given or ())
                     if space_of_kind(getattr(sharding_of(leaf), "memory_kind", None)) is MemorySpace.Host)


def _over_abstract_mesh(traced: Traced, known: Sequence[Any]) -> tuple[int, Sequence[Any], Sequence[Any]]:
    """The number of devices and the shardings of a function some of whose shardings are over a mesh without devices."""
    jit_function = traced._jit_function
    given = jit_function.formats(traced._traced, traced._call) if jit_function.is_sharded else (None, None)
    given_ins, given_outs = (side and [*map(sharding_of, side)] for side in given)
    found = [committed_sharding(x) for x in traced._call.leaves]
    ins = [given or sharding for given, sharding in zip(given_ins or [None] * len(found), found)]
    outs = given_outs or [None] * len(traced.jaxpr.out_avals)
    counts = {s.mesh.size if isinstance(s, runtime.NamedSharding) else s.num_devices: s for s in (*known, *ins, *outs) if s is not None}
    if len(counts) > 1:
        listed = ", ".join(f"{sharding} over {count}" for count, sharding in counts.items())
        raise ValueError(f"export({traced.fun_name}): the shardings are over different numbers of devices: {listed}. Use one mesh.")
    return next(iter(counts)), ins, outs


def _without_devices(shardings: Sequence[Any], avals: Sequence[ShapedArray]) -> tuple[runtime.NamedSharding | None, ...]:
    """The same shardings over meshes without devices; the memory is in the types."""
    return tuple(None if s is None else runtime.NamedSharding(s.mesh.abstract_mesh, s.spec)
                 for s in writable_shardings(shardings, avals))


def _splits(sharding: Any) -> bool:
    """Whether a sharding gives devices parts of an array: over a mesh of one device none does."""
    return sharding is not None and bool(list(getattr(sharding, "spec", PartitionSpec()).names())) and sharding.mesh.size > 1


def hlo_shardings(shardings: Sequence[runtime.NamedSharding | None], avals: Sequence[ShapedArray]) -> tuple:
    """The shardings in XLA's form: tiles of an array, assigned to numbered devices."""
    return tuple(None if s is None else runtime.hlo_sharding(s, physical_aval(aval).ndim) for s, aval in zip(shardings, avals))


def shardings_on(mesh: runtime.Mesh | AbstractMesh | None, nr_devices: int, shardings: Sequence[runtime.NamedSharding | None],
                 avals: Sequence[ShapedArray], title: str, moved: Collection[int] | None = None) -> tuple[runtime.Sharding | None, ...]:
    """The shardings over the devices of a mesh, as specs of its axes where possible; without shardings the mesh is not needed.

    Args:
      mesh: the mesh, or None for the mesh without devices of the export.
      nr_devices: the number of devices that the function was exported for.
      shardings, avals: of the arguments, or of the results.
      title: what was called, for messages.
      moved: of a function for one device, the values in the host's memory that have a sharding, which says that; by default all.

    Raises:
      TypeError: if mesh is no mesh.
      ValueError: if the mesh has another number of devices.
    """
    in_host = [aval.memory_space is MemorySpace.Host for aval in avals]
    if nr_devices == 1:
        shardings = [_on_one_device(aval) if is_host and s is None and (moved is None or i in moved) else s
                     for i, (s, aval, is_host) in enumerate(zip(shardings, avals, in_host))]
    if mesh is None or all(s is None for s in shardings):
        return tuple(s.with_memory_kind(HOST_KIND) if s is not None and is_host else s for s, is_host in zip(shardings, in_host))
    if not isinstance(mesh, (runtime.Mesh, AbstractMesh)):
        raise TypeError(f"{title}: expected a mesh, got {mesh!r} of type {type(mesh).__name__}")
    if (1 if mesh.empty else mesh.size) != nr_devices:
        raise ValueError(f"{title}: the function was exported for {nr_devices} devices, and the mesh has {mesh.size}: {mesh}. Give a mesh "
                         f"of {nr_devices}.")
    found = [None if s is None else _on_mesh(s, mesh, physical_aval(aval).ndim) for s, aval in zip(shardings, avals)]
    return tuple(s.with_memory_kind(HOST_KIND) if s is not None and is_host else s for s, is_host in zip(found, in_host))


def _on_one_device(aval: ShapedArray) -> runtime.NamedSharding:
    return runtime.NamedSharding(AbstractMesh((), ()), PartitionSpec(*(None,) * aval.ndim))


def _on_mesh(sharding: runtime.NamedSharding, mesh: runtime.Mesh | AbstractMesh, ndim: int) -> runtime.Sharding:
    if sharding.mesh.empty:  # all of it is on the one device
        return runtime.NamedSharding(mesh, sharding.spec)
    if sharding.mesh.shape_tuple == mesh.shape_tuple:
        # a mesh without devices does not know their own memory, whose kind has this name on all platforms
        return runtime.NamedSharding(mesh, sharding.spec, memory_kind="device" if isinstance(mesh, AbstractMesh) else None)
    hlo = runtime.hlo_sharding(sharding, ndim)
    found = runtime.named_from_hlo(hlo, mesh, ndim)
    if found is not None:
        return found
    if isinstance(mesh, AbstractMesh):
        raise ValueError(f"the mesh {mesh} has no axes for {sharding}. Use one of the same axes.")
    return runtime.GSPMDSharding(tuple(mesh.devices.flat), hlo)


# In files


def sharding_to_json(sharding: runtime.NamedSharding | None) -> Any:
    """[[names of the mesh axes], [their sizes], [per axis of the array the names that split it]], or None; behind them, where sums are left
    open, the names of `unreduced` and those of `reduced`."""
    if sharding is None:
        return None
    names = [str(name) for name in sharding.mesh.axis_names]
    spec = sharding.spec
    sums = [sorted(map(str, axes)) for axes in (spec.unreduced, spec.reduced)]
    return [names, list(sharding.mesh.axis_sizes),
            [[str(name) for name in (entry if isinstance(entry, tuple) else () if entry is None else (entry,))] for entry in spec],
            *(sums if any(sums) else ())]


def sharding_from_json(described: Any) -> runtime.NamedSharding | None:
    """The sharding that was written as mesh axes, their sizes, the spec's entries and its open sums; None for none."""
    if described is None:
        return None
    names, sizes, spec, *sums = described
    unreduced, reduced = map(frozenset, sums or ((), ()))
    kinds = tuple(AxisType.Explicit if name in unreduced | reduced else AxisType.Auto for name in names)  # only along such are sums open
    return runtime.NamedSharding(AbstractMesh(sizes, names, kinds),
                                 PartitionSpec(*(tuple(entry) or None for entry in spec), unreduced=unreduced, reduced=reduced))
