"""Programs over several devices: the devices, and the shardings of arguments and results over them.

Three kinds of shardings decide, and must agree on the devices: the shardings that the caller of `jit` gave, those of committed
arguments, and those that the program itself names. XLA's partitioner chooses the shardings that are left open.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import laminax_runtime as runtime
from laminax_ir.key_arrays.extended_arrays import ExtendedArray, physical_aval
from laminax_ir.ops.placements import constrains_layouts, shardings_in
from laminax_ir.options.records import Record
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.programs.result_types import is_explicit
from laminax_ir.tracing import source
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.memory_spaces import HOST_KIND, MemorySpace
from laminax_ir.types.partition_specs import UNCONSTRAINED, PartitionSpec


class Partitioning(Record):
    """Where a program runs, and how it is split over the devices there; part of the key of a compiled program.

    devices: in the order in which XLA numbers them.
    in_shardings, out_shardings: one per argument and result; None is XLA's choice.
    meshes: other shardings of the program; XLA's choices are expressed over their meshes where possible.
    is_pinned: whether results are committed to the devices, because a sharding, a mesh or the caller's device named them.
    in_layouts, out_layouts: one per argument and result, or none; `AUTO` is the compiler's choice, None the platform's default.
    abstract_size: where there are no devices, because all shardings are over meshes without: how many the program is for.
    """
    devices: tuple[runtime.Device, ...]
    in_shardings: tuple[runtime.Sharding | None, ...]
    out_shardings: tuple[runtime.Sharding | None, ...]
    meshes: tuple[runtime.Sharding, ...] = ()
    is_pinned: bool = True
    in_layouts: tuple[Any, ...] = ()
    out_layouts: tuple[Any, ...] = ()
    abstract_size: int | None = None

    @property
    def num_devices(self) -> int:
        return len(self.devices) if self.abstract_size is None else self.abstract_size

    def on(self, devices: Sequence[runtime.Device]) -> Partitioning:
        """The same over devices, where there were none: as many as `abstract_size`."""
        def there(sharding: Any) -> Any:
            return None if sharding is None else runtime.NamedSharding(
                runtime.on_devices(sharding.mesh, runtime.Mesh(grid, ("all",))), sharding.spec, memory_kind=sharding.memory_kind)

        grid = np.array(devices, dtype=object)
        return self.replace(devices=tuple(devices), in_shardings=tuple(map(there, self.in_shardings)), abstract_size=None,
                       out_shardings=tuple(map(there, self.out_shardings)), meshes=tuple(map(there, self.meshes)))


def committed_sharding(x: Any) -> runtime.Sharding | None:
    """The sharding of an argument that is committed to its devices; None for other arguments."""
    if isinstance(x, runtime.ArrayImpl):
        return x.sharding if x.committed else None
    if isinstance(x, ExtendedArray):
        return x.sharding if isinstance(x.base, runtime.ArrayImpl) and x.committed else None
    return getattr(x, "committed_sharding", None)  # an argument of `lower` that is known by its type and sharding


class _Claim(NamedTuple):
    """A sharding that decides on which devices a program runs, with its origin: in words and with its source line, for errors."""
    describe: Callable[[], str]
    sharding: runtime.Sharding
    locate: Callable[[], str] = str


def place(fun_name: str, closed: ClosedJaxpr, leaves: Sequence[Any], in_given: Sequence[Any] | None = None,
          out_given: Sequence[Any] | None = None, namer: Callable[[int], str] | None = None,
          device: runtime.Device | None = None, mesh: runtime.Mesh | None = None, may_lack_devices: bool = False) -> Partitioning:
    """Where to run a program on these arguments.

    Args:
      fun_name: the function's name.
      closed: the program.
      leaves: its arguments: values, or their types.
      in_given, out_given: the shardings that the caller of jit gave for arguments and results; None where there are none.
      namer: from the number of an argument to its name.
      device: the one device that the caller named, if any.
      mesh: the mesh that computations run on, if one is set.
      may_lack_devices: whether the program is only lowered, so that meshes without devices will do where there are no others.

    Raises:
      ValueError: if shardings are over different devices, an argument is not where it must be, or an axis does not divide.
    """
    title, name = f"jit({fun_name})", namer or str
    in_given = in_given or [None] * len(leaves)
    out_given = tuple(out_given) if out_given else (None,) * len(closed.out_avals)
    committed = [committed_sharding(x) for x in leaves]
    if may_lack_devices and device is None and mesh is None:
        abstract = _place_without_devices(title, closed, committed, in_given, out_given, name)
        if abstract is not None:
            return abstract
    if any(s is not None and not s._is_concrete for s in (*committed, *in_given, *out_given)):
        meshes = _meshes_with_devices((*committed, *in_given, *out_given), mesh)
        committed, in_given = ([_with_devices(title, s, meshes) for s in some] for some in (committed, in_given))
        out_given = tuple([_with_devices(title, s, meshes) for s in out_given])
    if is_explicit(closed):
        known = [*committed, *in_given, *out_given, *(s for s, _ in _shardings_inside(closed))]
        in_given = [given or found or wanted
                    for given, found, wanted in zip(in_given, committed, _typed_shardings(title, closed.in_avals, known, mesh))]
        # over axes of type Auto the compiler chooses
        out_given = tuple(given or wanted if wanted is None or not wanted.mesh.auto_axes else given
                          for given, wanted in zip(out_given, _typed_shardings(title, closed.out_avals, known, mesh)))
    _check_memories(title, closed.in_avals, leaves, in_given, name)
    _check_agreement(title, closed.in_avals, committed, in_given, name)
    in_shardings = [given or found for given, found in zip(in_given, committed)]
    _check_fit(title, "pjit arguments", closed.in_avals, in_given, name)
    _check_fit(title, "pjit outputs", closed.out_avals, out_given, lambda i: "the result" if len(out_given) == 1 else f"result {i}")

    claims = _claims(fun_name, closed, device, in_shardings, mesh, out_given, name)
    is_pinned = bool(claims)
    if not claims:
        claims = [_Claim(lambda: "the default device", runtime.on_device(runtime.placement_device()))]
    _check_one_assignment(title, claims)
    _check_abstract_meshes(title, [s.mesh for s, _ in _shardings_inside(closed) if not s._is_concrete], claims)
    _check_memory(title, [s for s, _ in _shardings_inside(closed)])
    meshes = [claim.sharding for claim in claims if isinstance(claim.sharding, runtime.NamedSharding)
              and claim.sharding not in in_shardings]
    return Partitioning(runtime.devices_of(claims[0].sharding), tuple(in_shardings), out_given, tuple(dict.fromkeys(meshes)), is_pinned)


def _claims(fun_name: str, closed: ClosedJaxpr, device: runtime.Device | None, in_shardings: Sequence[Any], mesh: runtime.Mesh | None,
            out_given: Sequence[Any], name: Callable[[int], str]) -> list[_Claim]:
    """All that says on which devices a program runs, what prevails first."""
    def argument(i: int) -> str:
        return f"argument {name(i)} of {fun_name} with shape {closed.in_avals[i].str_short(short_dtypes=False)} and"

    return [
        *([] if device is None else [_Claim(lambda: "the device given to jit", runtime.on_device(device))]),
        *(_Claim(partial(argument, i), s) for i, s in enumerate(in_shardings) if s is not None),
        *([] if mesh is None else [_Claim(lambda: "jit's context mesh", runtime.NamedSharding(mesh, PartitionSpec()))]),
        *(_Claim(lambda: "explicit output sharding", s) for s in out_given if s is not None),
        *(_Claim(partial("{} inside jit".format, eqn.primitive), s, partial(_location, eqn))
          for s, eqn in _shardings_inside(closed) if s._is_concrete)]


def _check_one_assignment(title: str, claims: Sequence[_Claim]) -> None:
    """Raises ValueError if what decides on which devices a program runs names different devices, or the same in another order."""
    for claim in claims[1:]:
        if not runtime.have_same_devices(claim.sharding, claims[0].sharding):
            raise _incompatible(title, claims[0], claim)


def _place_without_devices(title: str, closed: ClosedJaxpr, committed: Sequence[Any], in_given: Sequence[Any], out_given: Sequence[Any],
                           name: Callable[[int], str]) -> Partitioning | None:
    """The partitioning of a program all of whose shardings are over meshes without devices; None if any has devices, or there are none."""
    inside = [s for s, _ in _shardings_inside(closed)]
    typed_in, typed_out = ([None if (split := aval._split) is None else runtime.NamedSharding(split.mesh, split.spec) for aval in avals]
                           for avals in (closed.in_avals, closed.out_avals))
    named = [s for s in (*committed, *in_given, *out_given, *inside, *typed_in, *typed_out) if s is not None]
    if not named or any(s._is_concrete for s in named):
        return None
    by_size = {s.mesh.size: s.mesh for s in named}
    if len(by_size) > 1:
        first, second, *_ = by_size.values()
        raise ValueError(f"{title}: its shardings are over meshes of different sizes: {first} and {second}. A program is lowered for one "
                         "number of devices: use meshes of one size.")
    for i, (found, wanted) in enumerate(zip(committed, in_given)):
        if found is not None and wanted is not None and found != wanted:
            raise ValueError(f"{title}: in_shardings says {wanted} for {name(i)}, {closed.in_avals[i].str_short()}, and its type says "
                             f"{found}. Leave one out.")
    in_shardings = [given or found or typed for given, found, typed in zip(in_given, committed, typed_in, strict=True)]
    out_shardings = [given or (None if typed is None or typed.mesh.auto_axes else typed)
                     for given, typed in zip(out_given, typed_out, strict=True)]
    _check_fit(title, "pjit arguments", closed.in_avals, in_shardings, name)
    _check_fit(title, "pjit outputs", closed.out_avals, out_shardings, "result {}".format)
    meshes = tuple(dict.fromkeys(runtime.NamedSharding(s.mesh, PartitionSpec()) for s in inside))
    return Partitioning((), tuple(in_shardings), tuple(out_shardings), meshes, abstract_size=next(iter(by_size)))


_QUESTION = ("shardings inside",)


def _shardings_inside(closed: ClosedJaxpr) -> list[Any]:
    """The shardings that a program names, with their equations; found once per program."""
    found = closed.derived.get(_QUESTION)
    return closed.remember(_QUESTION, [(_sharding_on(where), eqn) for where, eqn in shardings_in(closed)]) if found is None else found


def _sharding_on(where: Any) -> runtime.Sharding:
    """A sharding as it is; for a mesh a sharding over it, which stands for the mesh's devices."""
    return where if isinstance(where, runtime.Sharding) else runtime.NamedSharding(where, PartitionSpec())


def names_shardings(closed: ClosedJaxpr) -> bool:
    """Whether a program itself names devices, shardings or layouts."""
    return is_explicit(closed) or bool(_shardings_inside(closed)) or constrains_layouts(closed)


def _meshes_with_devices(known: Sequence[runtime.Sharding | None], mesh: runtime.Mesh | None) -> list[runtime.Mesh]:
    return [*(s.mesh for s in known if isinstance(s, runtime.NamedSharding) and s._is_concrete), *([] if mesh is None else [mesh])]


def _with_devices(title: str, sharding: Any, meshes: Sequence[runtime.Mesh]) -> Any:
    """A sharding over a mesh without devices as one over the same axes of devices that are known; others as they are."""
    if sharding is None or sharding._is_concrete:
        return sharding
    for mesh in meshes:
        if mesh.size == sharding.mesh.size:
            own = mesh if mesh.abstract_mesh == sharding.mesh else runtime.on_devices(sharding.mesh, mesh)
            return runtime.NamedSharding(own, sharding.spec, memory_kind=sharding.memory_kind)
    if meshes:
        raise ValueError(f"{title}: AbstractMesh size: {sharding.mesh.size} does not match the device assignment size: {meshes[0].size}. "
                         f"Got {sharding}, which is over a mesh without devices, beside {meshes[0]}. Use meshes of one size.")
    raise ValueError(f"{title}: {sharding} is over a mesh without devices, and no mesh of {sharding.mesh.size} devices is known. Set one "
                     f"with set_mesh(mesh), or give a sharding over devices. {LOWER_WITHOUT_DEVICES}")


# What JAX says, too.
LOWER_WITHOUT_DEVICES = ("Passing lowering_platforms via jax.export or jit(f).trace(*args).lower(lowering_platforms=...) is required when "
                         "only AbstractMesh exists in a jitted computation; devices are then given to compile(device_assignment=...).")


def _typed_shardings(title: str, avals: Sequence[ShapedArray], known: Sequence[runtime.Sharding | None],
                     mesh: runtime.Mesh | None) -> list[runtime.NamedSharding | None]:
    """The shardings in the types (over explicit mesh axes), on the devices of the known shardings or of the mesh that is set."""
    meshes = _meshes_with_devices(known, mesh)
    found: list[runtime.NamedSharding | None] = []
    for aval in avals:
        split = aval._split
        if split is None:
            found.append(None)
            continue
        own = next((m for m in meshes if m.abstract_mesh == split.mesh), None)
        if own is None:
            own = next((runtime.on_devices(split.mesh, m) for m in meshes if m.size == split.mesh.size), None)
        if own is None and split.mesh.size == 1 and not meshes:  # one device is as good as another
            own = runtime.on_devices(split.mesh, runtime.Mesh(np.array([runtime.placement_device()], object), ("_",)))
        if own is None:
            count = max((m.size for m in meshes), default=1)
            raise ValueError(f"{title}: Length of device assignment, {count}, is not equal to the size of the mesh, {split.mesh.size}: "
                             f"{aval.str_short()} is split over {split.mesh}, which has no devices, and no argument is on such a "
                             "mesh. Set a mesh of devices with set_mesh(mesh), or pass arrays that are on one. "
                             f"{LOWER_WITHOUT_DEVICES}")
        found.append(runtime.NamedSharding(own, split.spec, memory_kind=HOST_KIND if aval.memory_space is MemorySpace.Host else None))
    return found


def _check_agreement(title: str, avals: Sequence[ShapedArray], committed: Sequence[Any], given: Sequence[Any],
                     name: Callable[[int], str]) -> None:
    """Raises ValueError if an argument is committed to another sharding than the one that the caller of jit asked for."""
    for i, (found, wanted) in enumerate(zip(committed, given)):
        if found is None or wanted is None or not runtime.have_same_devices(found, wanted):
            continue
        if not found.is_equivalent_to(wanted, physical_aval(avals[i]).ndim):
            raise ValueError(
                f"{title}: Sharding passed to jit does not match the sharding on the respective arg {name(i)}, of arg shape "
                f"{avals[i].str_short()}.\n  in_shardings: {wanted}\n  the argument: {found}\n"
                "Move it with device_put, or leave its entry of in_shardings out (None).")


def _check_fit(title: str, what: str, avals: Sequence[ShapedArray], given: Sequence[Any], name: Callable[[int], str]) -> None:
    """Raises ValueError if a sharding does not divide an axis of its value, or has more entries than that has axes."""
    for i, (aval, sharding) in enumerate(zip(avals, given)):
        if sharding is not None and (reason := runtime.misfit(sharding, aval.shape, f"{what} with pytree key path {name(i)}")):
            raise ValueError(f"{title}: {name(i)}, {aval.str_short()}, {reason}")


def _check_abstract_meshes(title: str, meshes: Sequence[Any], claims: Sequence[_Claim]) -> None:
    """Raises ValueError unless a mesh without devices inside of the program has the axes of the arguments' mesh."""
    for mesh in meshes:
        found = [claim for claim in claims if isinstance(claim.sharding, runtime.NamedSharding)]
        if not found:
            raise ValueError(f"{title}: {mesh} has no devices, and no argument has. Please pass `jax.Array`s with a `NamedSharding` as "
                             "input to `shard_map` when passing `AbstractMesh` to the mesh argument, or set a mesh of devices with "
                             "set_mesh(mesh).")
        for claim in found:
            if claim.sharding.mesh.shape_tuple != mesh.shape_tuple:
                raise ValueError(f"{title}: Mesh shape of the input {dict(claim.sharding.mesh.shape)} does not match the mesh shape passed "
                                 f"to shard_map {dict(mesh.shape)}: {claim.describe()} on {claim.sharding}. Pass arrays on a mesh of the "
                                 "same axes.")


def _check_memory(title: str, shardings: Sequence[runtime.Sharding]) -> None:
    """Raises for values inside of the program in a memory that types do not know; arguments and results may be in any memory."""
    for sharding in shardings:
        if sharding._is_concrete and (kind := _other_memory(sharding)) not in (None, HOST_KIND):
            raise NotImplementedError(f"{title}: the memory kind {kind!r} is not supported inside of programs; got {sharding}. Use "
                                      f"{HOST_KIND!r} or the devices' default memory there, and out_shardings for results.")


def _check_memories(title: str, avals: Sequence[ShapedArray], leaves: Sequence[Any], given: Sequence[Any],
                    name: Callable[[int], str]) -> None:
    """Raises ValueError if an argument is in another memory than the caller of jit says."""
    for i, (x, wanted) in enumerate(zip(leaves, given)):
        found = None if wanted is None else getattr(x, "sharding", None)
        if isinstance(found, runtime.Sharding) and found.memory_kind != wanted.memory_kind:
            raise ValueError(
                f"{title}: Memory kinds passed to jax.jit does not match memory kind on the respective arg. Got jit memory kind: "
                f"{wanted.memory_kind}, arg memory kind: {found.memory_kind} for arg type: {avals[i].str_short(short_dtypes=False)}, "
                f"argument {name(i)}. Move it with device_put, or leave its entry of in_shardings out (None).")


def _other_memory(sharding: runtime.Sharding | None) -> str | None:
    """The kind of memory, if it is not the devices' default memory."""
    if sharding is None or sharding.memory_kind is None:
        return None
    if sharding._is_concrete and sharding.memory_kind == runtime.default_memory_kind(runtime.devices_of(sharding)[0]):
        return None
    return sharding.memory_kind


def are_all_in_default_memory(shardings: Sequence[runtime.Sharding | None]) -> bool:
    """Whether all values with these shardings are in the devices' default memory, split in ways that are all said."""
    return all(s is None or _other_memory(s) is None and UNCONSTRAINED not in tuple(getattr(s, "spec", ())) for s in shardings)


def _location(eqn: Any) -> str:
    where = source.summarize(eqn.source_info)
    return f" at {where}" if where else ""


def _incompatible(title: str, *claims: _Claim) -> ValueError:
    first, second = (f"{claim.describe()} with device ids {_device_ids(claim.sharding)} on platform "
                     f"{runtime.devices_of(claim.sharding)[0].platform.upper()}{claim.locate()}" for claim in claims)
    return ValueError(f"Received incompatible devices for jitted computation. Got {first} and {second}.\n"
                      f"{title} runs on one list of devices: move what is elsewhere with device_put, to the same devices in the same "
                      "order.")


def _device_ids(sharding: runtime.Sharding) -> list[int]:
    return [device.id for device in runtime.devices_of(sharding)]


# The placement in the form that lowering and compiling take.


def memories(shardings: Sequence[runtime.Sharding | None], avals: Sequence[ShapedArray]) -> list[str | None]:
    """The kind of memory of each value, if it is not the devices' default: by its sharding, or else by its type."""
    return [_other_memory(s) if s is not None else HOST_KIND if aval.memory_space is MemorySpace.Host else None
            for s, aval in zip(shardings, avals)]


def layout_modes(layouts: Sequence[Any]) -> list[str | None] | None:
    """The layouts in the form that lowering takes; None if there are none."""
    if all(layout is None for layout in layouts):
        return None
    return [None if layout is None else runtime.layout_text(layout) for layout in layouts]


def writable_shardings(shardings: Sequence[runtime.Sharding | None], avals: Sequence[ShapedArray]) -> list[Any]:
    """The shardings in the form that lowering takes: each with a mesh and a spec, or None for one device or no sharding.

    Raises:
      NotImplementedError: if one is an XLA sharding that no mesh and spec express.
    """
    return [None if s is None else runtime.as_named(s, physical_aval(aval).ndim) for s, aval in zip(shardings, avals)]
