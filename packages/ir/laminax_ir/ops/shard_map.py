"""Programs per device: one program that every device of a mesh runs on its own part of the operands.

Partition specs say what the parts are. Inside, the mesh axes that the program runs along (`manual_axes`) are named axes, over which
collectives communicate; over the other axes of the mesh the compiler splits what it likes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Hashable, Sequence

from laminax_ir.ops.calls import bind_program, close_over_constants, dce_of_call
from laminax_ir.ops.collectives import vary
from laminax_ir.programs.check_rules import call_faults, check_rule
from laminax_ir.programs.dce import dce_rule
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.programs.primitive import Primitive, Trait, effects_rule, shape_rule
from laminax_ir.recording.evaluation import eval_jaxpr
from laminax_ir.recording.staging import stage
from laminax_ir.tracing.manual_axes import running_along
from laminax_ir.types.abstract_meshes import AxisType
from laminax_ir.types.avals import ShapedArray, split_aval
from laminax_ir.types.partition_specs import PartitionSpec
from laminax_ir.types.ref_types import AbstractRef
from laminax_ir.types.type_shardings import TypeSharding, in_use, names_of

if TYPE_CHECKING:
    from laminax_ir.types.abstract_meshes import AbstractMesh

shard_map_p = Primitive("shard_map", multiple_results=True, family="shard_map", traits=(Trait.RUNS_PER_DEVICE, Trait.TYPES_ITS_RESULTS))


def parts_per_axis(spec: PartitionSpec, ndim: int, mesh: Any) -> list[int]:
    """Into how many parts a spec splits each axis of arrays of `ndim` axes."""
    sizes = dict(mesh.shape)
    entries = [entry if isinstance(entry, tuple) else () if entry is None else (entry,) for entry in spec.partitions]
    return [math.prod(sizes[name] for name in entry) for entry in entries] + [1] * (ndim - len(spec))


def local_aval(aval: ShapedArray, spec: PartitionSpec, mesh: Any, manual_axes: Sequence[Hashable] = (),
               check_vma: bool = False) -> ShapedArray:
    """The type of each device's part; it says of sums that they are open along axes of the program if `check_vma` is set.

    Raises:
      ValueError: if an axis does not divide, or the spec is longer than the shape.
    """
    if isinstance(aval, AbstractRef):
        return AbstractRef(local_aval(aval.inner_aval, spec, mesh, manual_axes, check_vma), aval.kind)
    if len(spec) > aval.ndim:
        raise ValueError(f"{aval.str_short()}, which has rank {aval.ndim}, cannot be split as {spec}, which has length {len(spec)}. "
                         f"Shorten the spec to at most {aval.ndim} entries; for scalars, consider using an in_specs entry of `P()`.")
    shape = []
    for axis, (size, parts) in enumerate(zip(aval.shape, parts_per_axis(spec, aval.ndim, mesh))):
        if size % parts:
            raise ValueError(f"{aval.str_short()} cannot be split as {spec}: axis {axis} has size {size}, and {spec[axis]!r} "
                             f"{parts} devices, by which it is not divisible; mesh {dict(mesh.shape)}.\nPad axis {axis} to "
                             f"{-(-size // parts) * parts}, or split an axis whose size is a multiple of {parts}.")
        shape.append(size // parts)
    if aval._split is not None and aval._plain is not None:
        part = _along_other_axes(aval._split, manual_axes)
        if check_vma and (spec.unreduced or spec.reduced):
            part = part.update(part.spec.update(unreduced=part.spec.unreduced | spec.unreduced, reduced=part.spec.reduced | spec.reduced))
        return split_aval(aval._plain.update(shape=tuple(shape)), part)
    return aval.update(shape=tuple(shape))


def _along_other_axes(split: TypeSharding, manual_axes: Sequence[Hashable]) -> TypeSharding:
    """How parts are split, and which sums are open, over the mesh axes that the program does not run along."""
    names = frozenset(manual_axes)
    entries = [tuple(n for n in names_of(entry) if n not in names) for entry in split.spec]
    return TypeSharding(split.mesh.update_axis_types(dict.fromkeys(manual_axes, AxisType.Manual)),
                        PartitionSpec(*entries, unreduced=split.spec.unreduced - names, reduced=split.spec.reduced - names))


def global_aval(aval: ShapedArray, spec: PartitionSpec, mesh: Any, manual_axes: Sequence[Hashable]) -> ShapedArray:
    """The type of the whole whose parts have this type."""
    counts = parts_per_axis(spec, aval.ndim, mesh)
    named = {name: size for name, size in aval.named_shape.items() if name not in manual_axes}
    shape = tuple(size * parts for size, parts in zip(aval.shape, counts))
    if in_use and mesh.explicit_axes:
        inner = [None] * aval.ndim if aval._split is None else aval._split.spec
        entries = [(*names_of(entry), *names_of(part)) for entry, part in zip((*spec, *[None] * (aval.ndim - len(spec))), inner)]
        unreduced, reduced = _sums_of_whole(aval, spec, manual_axes)
        return split_aval(_plain(aval).update(shape=shape, named_shape=named),
                          TypeSharding(mesh.abstract_mesh, PartitionSpec(*entries, unreduced=unreduced, reduced=reduced)))
    return aval.update(shape=shape, named_shape=named)


def _sums_of_whole(aval: ShapedArray, spec: PartitionSpec, manual_axes: Sequence[Hashable]) -> tuple[frozenset, frozenset]:
    """The `unreduced` and the `reduced` axes of the whole array: the manual ones are in the spec, the others in the type of a part."""
    if aval._split is None:
        return spec.unreduced, spec.reduced
    inner, own = aval._split.spec, frozenset(manual_axes)
    return spec.unreduced | (inner.unreduced - own), spec.reduced | (inner.reduced - own)


def _plain(aval: ShapedArray) -> ShapedArray:
    return aval if aval._plain is None else aval._plain


def unmentioned_axes(spec: PartitionSpec, manual_axes: Sequence[Hashable]) -> tuple:
    """The axes of the program along which a value is not split, nor an open sum: each device there has the same part, or is taken to."""
    mentioned = {*spec.names(), *spec.unreduced}
    return tuple(name for name in manual_axes if name not in mentioned)


@shape_rule(shard_map_p)
def _shard_map_shape(*avals: ShapedArray, jaxpr: ClosedJaxpr, mesh: AbstractMesh, out_specs: tuple[PartitionSpec, ...],
                     manual_axes: tuple[str, ...], **_params: Any) -> list[ShapedArray]:
    return [global_aval(aval, spec, mesh, manual_axes) for aval, spec in zip(jaxpr.out_avals, out_specs)]


@effects_rule(shard_map_p)
def _shard_map_effects(*avals: ShapedArray, jaxpr: ClosedJaxpr, **_params: Any) -> frozenset[Any]:
    return jaxpr.effects


@check_rule(shard_map_p)
def _shard_map_faults(in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *, jaxpr: ClosedJaxpr, mesh: AbstractMesh,
                      in_specs: tuple[PartitionSpec, ...], manual_axes: tuple[str, ...], check_vma: bool,
                      **_params: Any) -> Iterable[Any]:
    parts = [local_aval(aval, spec, mesh, manual_axes, check_vma).update(named_shape={}) for aval, spec in zip(in_avals, in_specs)]
    return call_faults("the program of each device", jaxpr, parts)


dce_rule(shard_map_p)(dce_of_call)  # the specs are thinned out like all parameters that speak of each operand or result


def bind_shard_map(closed: ClosedJaxpr, *operands: Any, mesh: Any, in_specs: Sequence[PartitionSpec],
                   out_specs: Sequence[PartitionSpec], manual_axes: Sequence[Hashable], check_vma: bool = False,
                   unchecked_axes: Sequence[Hashable] = ()) -> list[Any]:
    """Binds a program per device; its constants become operands that every device has whole.

    Args:
      closed: the program of each device.
      *operands: the whole values, one per parameter of the program.
      mesh: the mesh, or an abstract one inside of another such program.
      in_specs, out_specs: how operands and results are split.
      manual_axes: the mesh axes along which the program runs.
      check_vma: whether types in the program say along which of them values vary (see `laminax_ir.tracing.manual_axes`).
      unchecked_axes: those of which types do not say it, though they do of the others: a batch is split along them.

    Returns:
      The results, put together.
    """
    if check_vma:
        closed = _varying_as_specs_say(closed, mesh, tuple(out_specs), tuple(manual_axes), tuple(unchecked_axes))
    program, consts = close_over_constants(closed)
    more = {"unchecked_axes": tuple(unchecked_axes)} if unchecked_axes else {}
    return bind_program(shard_map_p, program.effects, (*consts, *operands), {
        "jaxpr": program, "mesh": mesh, "in_specs": (PartitionSpec(),) * len(consts) + tuple(in_specs), "out_specs": tuple(out_specs),
        "manual_axes": tuple(manual_axes), "check_vma": check_vma, **more})


def _varying_as_specs_say(closed: ClosedJaxpr, mesh: AbstractMesh, out_specs: tuple, manual_axes: tuple,
                          unchecked_axes: tuple) -> ClosedJaxpr:
    """The program with results that vary along the axes over which they are put together.

    A value that is the same on all devices may be put together from them, too: it is then used once per device, and its cotangent is the
    sum.
    """
    missing = tuple(tuple(name for name in spec.names() if name not in unchecked_axes and name not in aval.named_shape)
                    for spec, aval in zip(out_specs, closed.out_avals))
    if not any(missing):
        return closed
    question = ("varying", missing, mesh, manual_axes, unchecked_axes)
    if question not in closed.derived:
        with running_along([(name, mesh.shape[name]) for name in manual_axes], True, mesh, unchecked_axes):
            closed.remember(question, stage(
                lambda *args: [vary(r, names) for r, names in zip(eval_jaxpr(closed.jaxpr, closed.consts, *args), missing)],
                closed.in_avals, closed.jaxpr.debug_info, keeps_refs=True))
    return closed.derived[question]
