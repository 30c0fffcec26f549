"""Derivatives, transposes and batching of cond: the branches are transformed, once per question.

The rules of scan and while are in `control_flow_scan` and `control_flow_while`; with this module all three register.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Sequence

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.control_flow import common_constants, cond_p, platform_index_p
from laminax_ir.ops.scalar_operands import scalar_like
from laminax_ir.programs.jaxpr import ClosedJaxpr, Var
from laminax_ir.recording.evaluation import eval_jaxpr
from laminax_ir.tracing.manual_axes import checked_axes
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_ir.types.hi_types import HiType
from laminax_transforms.base.derived_programs import cached_by_jaxpr
from laminax_transforms.base.registry import axis_batching_rule, define_zero_derivative, is_linear, jvp_rule, linearize_rule, transpose_rule
from laminax_transforms.base.zeros import ZERO, has_tangents, spread
from laminax_transforms.batching.batch_axes import Axis, move_batch_axis
from laminax_transforms.differentiation.dependence import Flags, batched_results, cotangent_parameters, tangent_results, union
from laminax_transforms.differentiation.varying import branches_alike, varying_axes
from laminax_transforms.programs.forwarding import forwarded_operands
from laminax_transforms.programs.jaxpr_transforms import LinearizedJaxpr, batch_jaxpr, jvp_jaxpr, linearize_jaxpr, transpose_jaxpr
from laminax_transforms.rematerializing.branch_places import shared_places, with_places
from laminax_transforms.rules import control_flow_scan  # noqa: F401  (it registers its rules)
from laminax_transforms.rules.control_flow_values import absent, front_axes, nonzero_flags, present
from laminax_transforms.rules.control_flow_while import beside, has_io, select_examples

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

define_zero_derivative(platform_index_p)


@cached_by_jaxpr
def _jvp_branches(first: ClosedJaxpr, others: tuple[ClosedJaxpr, ...], nonzero: Flags) -> tuple[Any, Any, Any]:
    """The branches with tangents, the constants they bring, and which results have tangents."""
    branches = (first, *others)
    wanted = union(*[tangent_results(branch, nonzero) for branch in branches])
    derived = [jvp_jaxpr(branch, nonzero, wanted) for branch in branches]
    consts, jaxprs = common_constants([d.jaxpr for d in derived])
    return jaxprs, consts, wanted


@jvp_rule(cond_p, symbolic_zeros=True)
def _cond_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    branches = params["branches"]
    nonzero = nonzero_flags(tangents[1:])
    index, *operands = primals
    jaxprs, consts, flags = _jvp_branches(branches[0], branches[1:], nonzero)
    out = cond_p.bind(index, *consts, *operands, *present(tangents[1:], nonzero), **{**params, "branches": jaxprs})
    count = len(flags)
    return out[:count], spread(out[count:], flags)


@dataclass(frozen=True)
class _LinearizedCond:
    """Branches split into primal and linear parts, with common residuals.

    primal: `(*new consts, *operands) -> (*results, *saved)`; branches share the places of residuals of the same type.
    linear: `(*new consts, *residuals, *tangents) -> tangents`.
    sources: where each residual comes from: ("in", i) an operand or ("out", i) an output of the primal cond.
    """
    primal: tuple[ClosedJaxpr, ...]
    primal_consts: list[Any]
    linear: tuple[ClosedJaxpr, ...]
    linear_consts: list[Any]
    sources: tuple[tuple[str, int], ...]
    out_flags: Flags


@cached_by_jaxpr
def _linearize_branches(first: ClosedJaxpr, others: tuple[ClosedJaxpr, ...], nonzero: Flags) -> _LinearizedCond:
    branches = (first, *others)
    wanted = union(*[tangent_results(branch, nonzero) for branch in branches])
    splits = [linearize_jaxpr(branch, nonzero, wanted) for branch in branches]
    count = len(wanted)
    places, saved_avals = shared_places([[v.aval for v in split.primal.jaxpr.outvars[count:]] for split in splits])
    primal_consts, primal = common_constants([with_places(s.primal, count, where, saved_avals)
                                              for s, where in zip(splits, places)])
    sources: dict[tuple[str, int], ShapedArray] = {}
    for split, where in zip(splits, places):
        for source, v in zip(split.residual_sources, split.linear.jaxpr.invars):
            sources.setdefault(_shared_source(source, count, where), v.aval)
    linear_consts, linear = common_constants([_with_residuals(s, sources, count, where) for s, where in zip(splits, places)])
    return _LinearizedCond(primal, primal_consts, linear, linear_consts, tuple(sources), wanted)


def _shared_source(source: tuple[str, int], count: int, places: Sequence[int]) -> tuple[str, int]:
    where, i = source
    return (where, count + places[i - count]) if where == "out" and i >= count else source


def _with_residuals(split: LinearizedJaxpr, sources: dict, count: int, places: Sequence[int]) -> ClosedJaxpr:
    """The branch's linear part, taking the residuals of all branches."""
    jaxpr = split.linear.jaxpr
    own = {_shared_source(source, count, places): v for source, v in zip(split.residual_sources, jaxpr.invars)}
    residuals = [own[source] if source in own else Var(aval) for source, aval in sources.items()]
    return ClosedJaxpr(jaxpr.replace(invars=[*residuals, *jaxpr.invars[len(split.residual_sources):]]), split.linear.consts)


@linearize_rule(cond_p)
def _cond_linearize(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    branches = params["branches"]
    nonzero = nonzero_flags(tangents[1:])
    index, *operands = primals
    split = _linearize_branches(branches[0], branches[1:], nonzero)
    out = cond_p.bind(index, *split.primal_consts, *operands, **{**params, "branches": split.primal})
    results = out[:len(split.out_flags)]
    if not any(split.out_flags):
        return results, [ZERO] * len(results)
    residuals = [operands[i] if where == "in" else out[i] for where, i in split.sources]
    dots = cond_p.bind(index, *split.linear_consts, *residuals, *present(tangents[1:], nonzero), **{**params, "branches": split.linear})
    return results, spread(dots, split.out_flags)


@cached_by_jaxpr
def _transpose_branches(first: ClosedJaxpr, others: tuple[ClosedJaxpr, ...], linear: Flags, ct_nonzero: Flags,
                        sums_shared: bool) -> tuple[Any, Any, Any]:
    branches = (first, *others)
    wanted = union(*[present(cotangent_parameters(b.jaxpr, linear, ct_nonzero), linear) for b in branches])
    adjoints = [transpose_jaxpr(branch, linear, ct_nonzero, wanted, sums_shared) for branch in branches]
    consts, jaxprs = common_constants([a.jaxpr for a in adjoints])
    return jaxprs, consts, wanted


@transpose_rule(cond_p)
def _cond_transpose(cts: Sequence[Any], index: ArrayLike, *operands: Any, branches: tuple[ClosedJaxpr, ...], **params: Any) -> list[Any]:
    linear = tuple(is_linear(x) for x in operands)
    all_take_the_same = True
    if checked_axes():  # inside of a program per device
        branches, all_take_the_same = branches_alike(branches, index), not varying_axes(index)
    jaxprs, consts, flags = _transpose_branches(branches[0], branches[1:], linear, nonzero_flags(cts), all_take_the_same)
    fixed = absent(operands, linear)
    out = cond_p.bind(index, *consts, *fixed, *[ct for ct in cts if ct is not ZERO], branches=jaxprs, **params)
    in_cts = iter(spread(out, flags))
    return [None, *[next(in_cts) if lin else None for lin in linear]]


@cached_by_jaxpr
def _batch_branches(first: ClosedJaxpr, others: tuple[ClosedJaxpr, ...], axis: Any, mapped: Flags) -> tuple[Any, Any, Any]:
    branches = (first, *others)
    flags = union(*[batched_results(branch, mapped, axis) for branch in branches])
    batched = [batch_jaxpr(branch, axis, front_axes(mapped), front_axes(flags)) for branch in branches]
    consts, jaxprs = common_constants([b.jaxpr for b in batched])
    return jaxprs, consts, flags


@axis_batching_rule(cond_p, uses_axis_name=True)
def _cond_batch(axis: Axis, operands: Sequence[Any], batch_axes: Sequence[int | None], *, branches: tuple[ClosedJaxpr, ...],
                **params: Any) -> tuple[Any, Any]:
    (index, *operands), (index_axis, *batch_axes) = operands, batch_axes
    mapped = tuple(b is not None for b in batch_axes)
    operands = [move_batch_axis(x, b, place, axis.size) for x, b, place in zip(operands, batch_axes, front_axes(mapped))]
    if index_axis is not None:
        return _select_branch(axis, move_batch_axis(index, index_axis, 0, axis.size), operands, mapped, branches)
    jaxprs, consts, flags = _batch_branches(branches[0], branches[1:], axis, mapped)
    return cond_p.bind(index, *consts, *operands, branches=jaxprs, **params), list(front_axes(flags))


def _select_branch(axis: Any, index: ArrayLike, operands: Sequence[Any], mapped: Flags, branches: Sequence[ClosedJaxpr]) -> tuple[Any, Any]:
    """The batching of cond with a mapped index: all branches run, and each example takes the results of its own branch.

    A result that is the same operand in all branches, and not mapped, is that operand for all examples.
    A branch gets the operands of examples that did not choose it through stop_gradient, so that an infinite derivative of the
    branch there does not become NaN in the derivatives of these examples.
    """
    if has_io(*branches):
        raise NotImplementedError("IO effect not supported in vmap-of-cond. vmap of cond: the predicate is batched and a branch has IO "
                                  "effects, which would run for "
                                  "examples that did not choose it. Move the effects out of the branches.")
    count = len(branches[0].out_avals)
    same = [sources[0] if len(set(sources)) == 1 else None for sources in zip(*map(forwarded_operands, branches))]
    shared = [None if source is None or mapped[source] else source for source in same]
    results = []
    for i, branch in enumerate(branches):
        chosen = op.eq(index, scalar_like(i, get_aval(index).dtype))
        guarded = [_guarded(chosen, x) if has else x for x, has in zip(operands, mapped)]
        batched = batch_jaxpr(branch, axis, front_axes(mapped), (0,) * count)
        results.append(eval_jaxpr(batched.jaxpr.jaxpr, batched.jaxpr.consts, *guarded))
    if len(branches) == 2:
        index = op.ne(index, scalar_like(0, get_aval(index).dtype))
    out = [op.select_n(beside(index, cases[0]), *cases) if source is None else operands[source]
           for cases, source in zip(zip(*results), shared)]
    return out, [0 if source is None else None for source in shared]


def _guarded(chosen: ArrayLike, x: ArrayLike) -> Array:
    if isinstance(get_aval(x), HiType) or not has_tangents(get_aval(x)):
        return x
    return select_examples(chosen, x, op.stop_gradient_p.bind(x, is_discarded=True))
