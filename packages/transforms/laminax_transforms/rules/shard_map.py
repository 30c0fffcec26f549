"""Programs per device: the program is transformed, and its residuals and results are split over the devices.

A value that a spec does not split along an axis of the program is on all devices along that axis. If it is a result, the devices'
values are taken to be equal, and each device gets an equal share of the cotangent. If it is an operand, each device uses it, and
the cotangents of the devices are summed. Together with sums whose transpose is a sum (see `rules.collectives`) this gives the
derivative of the whole. With `check_vma` the types in the program say which values all devices share, and the transposition of the
program sums their cotangents (see `varying`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from laminax_ir.ops import elementwise
from laminax_ir.ops.collectives import psum_p
from laminax_ir.ops.shard_map import bind_shard_map, shard_map_p, unmentioned_axes
from laminax_ir.programs.jaxpr import ClosedJaxpr, Jaxpr, programs_within
from laminax_ir.programs.primitive import Trait
from laminax_ir.recording.evaluation import eval_jaxpr
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import get_aval
from laminax_ir.types.partition_specs import PartitionSpec
from laminax_ir.types.type_shardings import names_of
from laminax_transforms.base.derived_programs import cached_by_jaxpr
from laminax_transforms.base.registry import axis_batching_rule, is_linear, jvp_rule, linearize_rule, transpose_rule
from laminax_transforms.base.zeros import ZERO, spread
from laminax_transforms.batching.batch_axes import Axis
from laminax_transforms.programs.jaxpr_transforms import batch_jaxpr, jvp_jaxpr, linearize_jaxpr, transpose_jaxpr
from laminax_transforms.programs.per_device import (
    axes_of,
    residual_spec,
    unchecked_here,
    with_axis_on_results,
    without_axis_on_operands,
)

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


def _call_like(params: dict[str, Any], closed: ClosedJaxpr, operands: Sequence[Any], in_specs: Sequence[PartitionSpec],
               out_specs: Sequence[PartitionSpec]) -> list[Array]:
    return bind_shard_map(closed, *operands, mesh=params["mesh"], in_specs=in_specs, out_specs=out_specs,
                          manual_axes=params["manual_axes"], check_vma=params["check_vma"], unchecked_axes=params.get("unchecked_axes", ()))


@jvp_rule(shard_map_p, symbolic_zeros=True)
def _shard_map_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    nonzero = tuple(t is not ZERO for t in tangents)
    with axes_of(params):
        derived = jvp_jaxpr(params["jaxpr"], nonzero)
    in_specs = [*params["in_specs"], *(s for s, has in zip(params["in_specs"], nonzero) if has)]
    out_specs = [*params["out_specs"], *(s for s, has in zip(params["out_specs"], derived.out_nonzero) if has)]
    out = _call_like(params, derived.jaxpr, [*primals, *(t for t in tangents if t is not ZERO)], in_specs, out_specs)
    count = len(params["out_specs"])
    return out[:count], spread(out[count:], derived.out_nonzero)


@linearize_rule(shard_map_p)
def _shard_map_linearize(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    """A residual is one value per device: it gets a new first axis, split over the mesh axes along which it may vary."""
    nonzero = tuple(t is not ZERO for t in tangents)
    with axes_of(params):
        split = linearize_jaxpr(params["jaxpr"], nonzero)
        count = len(params["out_specs"])
        primal = with_axis_on_results(split.primal, count)
        saved = tuple(where == "out" and i >= count for where, i in split.residual_sources)
        linear = without_axis_on_operands(split.linear, saved)
    unchecked = unchecked_here(params)
    out_specs = [*params["out_specs"], *(residual_spec(aval, params["manual_axes"], unchecked) for aval in split.primal.out_avals[count:])]
    outputs = _call_like(params, primal, primals, params["in_specs"], out_specs)
    if not any(split.out_nonzero):
        return outputs[:count], [ZERO] * count
    residual_specs = [params["in_specs"][i] if where == "in" else out_specs[i] for where, i in split.residual_sources]
    given = [t for t in tangents if t is not ZERO]
    out_tangents = _call_like(params, linear, [*split.residuals(primals, outputs), *given],
                              [*residual_specs, *(s for s, has in zip(params["in_specs"], nonzero) if has)],
                              [s for s, has in zip(params["out_specs"], split.out_nonzero) if has])
    return outputs[:count], spread(out_tangents, split.out_nonzero)


@transpose_rule(shard_map_p)
def _shard_map_transpose(cts: Sequence[Any], *operands: Any, **params: Any) -> list[Any]:
    linear, has_ct = tuple(is_linear(x) for x in operands), tuple(ct is not ZERO for ct in cts)
    linear_specs = [s for s, is_lin in zip(params["in_specs"], linear) if is_lin]
    axes = unchecked_here(params)
    unmentioned = tuple(tuple(name for name in unmentioned_axes(s.to_ct_spec(), axes) if name not in s.unreduced) for s in linear_specs)
    with axes_of(params):
        adjoint = transpose_jaxpr(params["jaxpr"], linear, has_ct, False, params["check_vma"])
        summed = _with_summed_results(adjoint.jaxpr, tuple(u for u, has in zip(unmentioned, adjoint.out_nonzero) if has))
    sizes = params["mesh"].shape
    shares = [math.prod(sizes[name] for name in unmentioned_axes(s, axes) if name not in s.reduced) for s in params["out_specs"]]
    given = [_share(ct, count) for ct, count in zip(cts, shares) if ct is not ZERO]
    in_specs = [*(s for s, is_lin in zip(params["in_specs"], linear) if not is_lin),
                *(s.to_ct_spec() for s, has in zip(params["out_specs"], has_ct) if has)]
    out_specs = [s.to_ct_spec() for s, has in zip(linear_specs, adjoint.out_nonzero) if has]
    out = iter(_call_like(params, summed, [*(x for x in operands if not is_linear(x)), *given], in_specs, out_specs))
    nonzero = iter(adjoint.out_nonzero)
    return [(next(out) if next(nonzero) else ZERO) if is_lin else None for is_lin in linear]


def _share(ct: Any, count: int) -> Any:
    return ct if count == 1 else elementwise.div(ct, np.asarray(count, get_aval(ct).dtype))


@cached_by_jaxpr
def _with_summed_results(closed: ClosedJaxpr, axes: tuple[tuple, ...]) -> ClosedJaxpr:
    """The program whose results are summed over named axes."""
    def fun(*args: ArrayLike) -> list[Any]:
        results = eval_jaxpr(closed.jaxpr, closed.consts, *args)
        return [psum_p.bind(r, axes=names, axis_index_groups=None) if names else r for r, names in zip(results, axes)]

    return closed if not any(axes) else stage(fun, closed.in_avals, closed.jaxpr.debug_info)


@axis_batching_rule(shard_map_p)
def _shard_map_batch(axis: Axis, operands: Sequence[Any], batch_axes: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
    """Every device has the whole batch, but along the mesh axes that `spmd_axis_name` names: the devices there share it among them.

    So do they along explicit mesh axes that split it.
    """
    names = names_of(axis.spmd_name if axis.mesh_axes is None else axis.mesh_axes)
    split = tuple(name for name in names if name in params["manual_axes"])
    if split:
        _check_split(axis, split, params)
        rest = tuple(name for name in names if name not in split)
        axis = axis.replace(size=axis.size // math.prod(params["mesh"].shape[name] for name in split),
                       **{"spmd_name" if axis.mesh_axes is None else "mesh_axes": rest or None})
        params = {**params, "unchecked_axes": (*params.get("unchecked_axes", ()), *split)}
    with axes_of(params):
        batched = batch_jaxpr(params["jaxpr"], axis, tuple(batch_axes))
    in_specs = [_batched_spec(s, b, split) for s, b in zip(params["in_specs"], batch_axes)]
    out_specs = [_batched_spec(s, b, split) for s, b in zip(params["out_specs"], batched.out_axes)]
    return _call_like(params, batched.jaxpr, operands, in_specs, out_specs), list(batched.out_axes)


def _check_split(axis: Any, split: tuple, params: dict[str, Any]) -> None:
    """Checks that devices along these axes can share a batch: no spec uses the axes, and no operation communicates along them."""
    title = f"vmap(spmd_axis_name={axis.spmd_name!r}) of shard_map" if axis.mesh_axes is None else \
        f"vmap of shard_map, over examples that are split over {axis.mesh_axes!r}"
    for what in ("in_specs", "out_specs"):
        if used := [spec for spec in params[what] if set(split) & set(spec.names())]:
            raise ValueError(f"{title}: vmap spmd_axis_name cannot appear in shard_map {what}, and does in {used[0]}. Leave it out there, "
                             "or out of vmap.")
    count = math.prod(params["mesh"].shape[name] for name in split)
    if axis.size % count:
        raise ValueError(f"{title}: the batch has size {axis.size}, which is not divisible by the {count} devices along {split}. Pad the "
                         f"batch to {-(-axis.size // count) * count}.")
    names = {*split, *(() if axis.name is None else (axis.name,))}
    if found := _communicates_along(params["jaxpr"], names):
        raise NotImplementedError(f"{title}: {found} inside, along one of {sorted(map(str, names))}, is not supported, since each device "
                                  "has a part of the batch. Leave spmd_axis_name out.")


def _communicates_along(program: ClosedJaxpr | Jaxpr, names: set) -> str:
    """The first operation of a program that names one of these axes, nested programs included; "" if none does."""
    for eqn in [eqn for jaxpr in programs_within(program) for eqn in jaxpr.eqns if Trait.NAMES_AXES in eqn.primitive.traits]:
        for key in ("axes", "axis_name"):
            if names & {*(given if isinstance(given := eqn.params.get(key, ()), tuple) else (given,))}:
                return eqn.primitive.name
    return ""


def _batched_spec(spec: PartitionSpec, batch_axis: int | None, split: tuple) -> PartitionSpec:
    """The spec of a value with a batch axis added, which is split over the given mesh axes."""
    if batch_axis is None:
        return spec
    entries = [*spec, *[None] * (batch_axis - len(spec))]
    entries.insert(batch_axis, split)
    return spec.update(partitions=entries)
