"""Derivatives, transposes and batching of scan: the body is transformed, once per question.

A linearized scan is a scan of the primal part, which stacks the residuals of each step, and a linear scan over them.
Residuals that are the same in every step are computed before the loop and not stacked; residuals that are slices of xs or
of a stacked result are not stored a second time. The transpose of the linear scan is a scan in the other direction, which
sums the cotangents of the constants in its carry.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Sequence

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.calls import close_over_constants
from laminax_ir.ops.control_flow import bind_scan, scan_p
from laminax_ir.programs.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from laminax_ir.recording.evaluation import eval_jaxpr
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_transforms.base.derived_programs import cached_by_jaxpr
from laminax_transforms.base.registry import axis_batching_rule, is_linear, jvp_rule, linearize_rule, transpose_rule
from laminax_transforms.base.zeros import ZERO, added, has_own_sum, spread, zeros_of
from laminax_transforms.batching.batch_axes import Axis, move_batch_axis
from laminax_transforms.differentiation.dependence import (
    Flags,
    batched_results,
    cotangent_parameters,
    linear_parts,
    scan_fixpoint,
    tangent_results,
    union,
)
from laminax_transforms.programs.jaxpr_transforms import batch_jaxpr, jvp_jaxpr, linearize_jaxpr, transpose_jaxpr
from laminax_transforms.rematerializing.split_scans import SplitStep, run_split_scan, split_step
from laminax_transforms.rules.control_flow_values import absent, front_axes, full_tangents, in_groups, nonzero_flags, present


def _closed(invars: Sequence[Var], outvars: Sequence[Var], eqns: Sequence[JaxprEqn], name: Any) -> ClosedJaxpr:
    return ClosedJaxpr(Jaxpr([], invars, outvars, eqns, debug_info=name))


# forward mode


@dataclass(frozen=True)
class DerivedBody:
    """A loop body with tangents: its jaxpr, the constants it brings, and which of its results have tangents."""
    jaxpr: ClosedJaxpr
    consts: list[Any]
    in_flags: Flags
    out_flags: Flags


@cached_by_jaxpr
def jvp_body(closed: ClosedJaxpr, nonzero: Flags, num_consts: int, num_carry: int) -> DerivedBody:
    """`(*new consts, *consts, *their tangents, *carry, *its tangents, *xs, *their tangents)` to results in like order."""
    flags, outs = scan_fixpoint(closed, nonzero, num_consts, num_carry, tangent_results)
    derived = jvp_jaxpr(closed, flags, outs[:num_carry] + (False,) * (len(outs) - num_carry))
    outs = derived.out_nonzero
    program, new_consts = close_over_constants(derived.jaxpr)
    jaxpr, count = program.jaxpr, len(closed.in_avals)
    fresh, primals, tangents = in_groups(jaxpr.invars, len(new_consts), count)
    primals = in_groups(primals, num_consts, num_carry)
    found = iter(tangents)
    tangents = [[next(found) for _ in range(sum(group))] for group in in_groups(flags, num_consts, num_carry)]
    results, out_tangents = in_groups(jaxpr.outvars, len(outs))
    carried = sum(outs[:num_carry])
    outvars = [*results[:num_carry], *out_tangents[:carried], *results[num_carry:], *out_tangents[carried:]]
    invars = [*fresh, *[v for pair in zip(primals, tangents) for group in pair for v in group]]
    return DerivedBody(ClosedJaxpr(jaxpr.replace(invars=invars, outvars=outvars)), new_consts, flags, outs)


def kept_parameters(params: dict[str, Any]) -> dict[str, Any]:
    """The parameters that a scan takes over from the scan it is derived from."""
    return {"length": params["length"], "reverse": params["reverse"], "unroll": params["unroll"],
            "split_transpose": params["_split_transpose"]}


@jvp_rule(scan_p, symbolic_zeros=True)
def _scan_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    num_consts, num_carry = params["num_consts"], params["num_carry"]
    body = jvp_body(params["jaxpr"], nonzero_flags(tangents), num_consts, num_carry)
    values = in_groups(primals, num_consts, num_carry)
    flags = in_groups(body.in_flags, num_consts, num_carry)
    dots = [full_tangents(t, x, has) for t, x, has in zip(in_groups(tangents, num_consts, num_carry), values, flags)]
    out = bind_scan(body.jaxpr, [*body.consts, *values[0], *dots[0]], [*values[1], *dots[1]], [*values[2], *dots[2]],
                    **kept_parameters(params))
    carry_flags, y_flags = body.out_flags[:num_carry], body.out_flags[num_carry:]
    carry, carry_dot, ys, ys_dot = in_groups(out, num_carry, sum(carry_flags), len(y_flags))
    return [*carry, *ys], [*spread(carry_dot, carry_flags), *spread(ys_dot, y_flags)]


# linearization


@dataclass(frozen=True)
class _LinearizedScan:
    """A scan's body split into what is the same in all steps, the primal step and the linear step.

    hoisted: `(*consts) -> (*hoisted values)`, to run once before the loop.
    primal: `(*new consts, *consts, *hoisted values (the first `num_kept`), *carry, *xs) -> (*carry, *ys, *saved)`.
    linear: `(*invariant residuals, *tangents of consts, *of carry, *residual slices, *tangents of xs) -> tangents`.
    invariant_sources, slice_sources: where the residuals come from: ("const", i), ("hoisted", i), ("xs", i) or
      ("ys", i), a stacked result of the primal scan; ("value", constant).
    """
    hoisted: ClosedJaxpr
    num_kept: int
    primal: ClosedJaxpr
    primal_consts: list[Any]
    linear: ClosedJaxpr
    invariant_sources: tuple
    slice_sources: tuple
    in_flags: Flags
    out_flags: Flags


@cached_by_jaxpr
def _linearize_scan(closed: ClosedJaxpr, nonzero: Flags, num_consts: int, num_carry: int) -> _LinearizedScan:
    flags, outs = scan_fixpoint(closed, nonzero, num_consts, num_carry, tangent_results)
    split = linearize_jaxpr(closed, flags, outs[:num_carry] + (False,) * (len(outs) - num_carry))
    program, new_consts = close_over_constants(split.primal)
    jaxpr = program.jaxpr
    fresh, consts, carry, xs = in_groups(jaxpr.invars, len(new_consts), num_consts, num_carry)
    carry_out, ys, saved = in_groups(jaxpr.outvars, num_carry, len(closed.out_avals) - num_carry)
    invariant = _invariant_variables(jaxpr, [*fresh, *consts])

    residuals = [(jaxpr.invars[len(fresh) + i] if where == "in" else jaxpr.outvars[i]) for where, i in split.residual_sources]
    hoisted, kept, moved, loop_eqns = _hoist(jaxpr, [v for v in residuals if v in invariant], {*fresh, *consts},
                                             [*carry_out, *ys, *[v for v in saved if v not in invariant]])
    sources, stacked = _residual_sources(residuals, ys, {"fresh": fresh, "const": consts, "hoisted": hoisted, "xs": xs})
    sources = [("value", new_consts[i]) if where == "fresh" else (where, i) for where, i in sources]
    primal = _closed([*fresh, *consts, *hoisted[:kept], *carry, *xs], [*carry_out, *stacked], loop_eqns, jaxpr.debug_info)
    hoisting = _closed([*fresh, *consts], hoisted, moved, jaxpr.debug_info)

    linear, linear_consts = close_over_constants(split.linear)
    linear_fresh, residual_vars, dots = in_groups(linear.jaxpr.invars, len(linear_consts), len(residuals))
    is_slice = [where in ("xs", "ys") for where, _ in sources]
    dot_consts, dot_carry, dot_xs = in_groups(dots, sum(flags[:num_consts]), sum(flags[num_consts:num_consts + num_carry]))
    linear = ClosedJaxpr(linear.jaxpr.replace(invars=[
        *linear_fresh, *absent(residual_vars, is_slice), *dot_consts, *dot_carry, *present(residual_vars, is_slice),
        *dot_xs]))
    invariants = (*[("value", c) for c in linear_consts], *absent(sources, is_slice))
    return _LinearizedScan(hoisting, kept, primal, new_consts, linear, invariants, tuple(present(sources, is_slice)),
                           flags, split.out_nonzero)


def _invariant_variables(jaxpr: Jaxpr, consts: Sequence[Var]) -> set[Var]:
    """The variables that are the same in every step."""
    found = set(consts)
    for eqn in jaxpr.eqns:
        if not eqn.effects and all(type(v) is Literal or v in found for v in eqn.invars):
            found.update(eqn.outvars)
    return found


def _hoist(jaxpr: Jaxpr, wanted: Sequence[Var], given: set[Var], results: Sequence[Any]) \
        -> tuple[list[Var], int, list[JaxprEqn], list[JaxprEqn]]:
    """Moves the equations that invariant residuals need in front of the loop.

    Returns:
      The variables they define that the loop or the linear part reads, those for the loop first; how many the loop
      reads; the equations moved, and those that stay.
    """
    needed = {v for v in wanted if v not in given}
    moved, staying = [], []
    for eqn in reversed(jaxpr.eqns):
        if needed.isdisjoint(eqn.outvars):
            staying.append(eqn)
        else:
            moved.append(eqn)
            needed.update([v for v in eqn.invars if type(v) is not Literal])
    moved.reverse()
    staying.reverse()
    read = {v for eqn in staying for v in eqn.invars if type(v) is not Literal}
    read.update([v for v in results if type(v) is not Literal])
    kept = [v for eqn in moved for v in eqn.outvars if v in read]
    others = [v for v in dict.fromkeys(wanted) if v not in given and v not in read]
    return [*kept, *others], len(kept), moved, staying


def _residual_sources(residuals: Sequence[Var], ys: Sequence[Any], known: dict[str, Sequence[Var]]) \
        -> tuple[list[tuple[str, int]], list[Any]]:
    """The source of each residual of the linear scan; and the stacked results, with the residuals that have no other source added."""
    places = {v: (where, i) for where, group in known.items() for i, v in enumerate(group)}
    stacked = list(ys)
    for i, v in enumerate(ys):
        if type(v) is not Literal:
            places.setdefault(v, ("ys", i))
    for v in residuals:
        if v not in places:
            places[v] = ("ys", len(stacked))
            stacked.append(v)
    return [places[v] for v in residuals], stacked


@linearize_rule(scan_p)
def _scan_linearize(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    num_consts, num_carry = params["num_consts"], params["num_carry"]
    split = _linearize_scan(params["jaxpr"], nonzero_flags(tangents), num_consts, num_carry)
    consts, carry, xs = in_groups(primals, num_consts, num_carry)
    how: dict[str, Any] = kept_parameters(params)
    hoisted = eval_jaxpr(split.hoisted.jaxpr, (), *split.primal_consts, *consts)
    out = bind_scan(split.primal, [*split.primal_consts, *consts, *hoisted[:split.num_kept]], carry, xs, **how)
    final, ys = out[:num_carry], out[num_carry:]
    results = out[:len(params["jaxpr"].out_avals)]
    if not any(split.out_flags):
        return results, [ZERO] * len(results)
    found = {"const": consts, "hoisted": hoisted, "xs": xs, "ys": ys}
    invariants, slices = [[i if where == "value" else found[where][i] for where, i in sources]
                          for sources in (split.invariant_sources, split.slice_sources)]
    flags = in_groups(split.in_flags, num_consts, num_carry)
    dots = [full_tangents(t, x, has)
            for t, x, has in zip(in_groups(tangents, num_consts, num_carry), (consts, carry, xs), flags)]
    operands = [*invariants, *dots[0]], dots[1], [*slices, *dots[2]]
    linear = [False] * len(invariants) + [True] * (len(dots[0]) + len(dots[1])) + [False] * len(slices) + [True] * len(dots[2])
    out_dots = bind_scan(split.linear, *operands, **how, linear=linear)
    return [*final, *results[num_carry:]], spread(out_dots, split.out_flags)


# transposition


@dataclass(frozen=True)
class _TransposedScan:
    """The adjoint of a scan.

    known: the part that does not depend on linear operands, `(*fixed consts, *fixed carry, *fixed xs) -> (*fixed carry,
      *residuals)`, or None if there is no fixed carry; the backward step then computes it itself.
    backward: `(*new consts, *fixed consts, *sums for consts, *cts of carry, *fixed xs, *residuals, *cts of ys)
      -> (*sums, *cts of carry, *cts of xs)`; or that in two parts, without the sums.
    linear: which operands are linear; carry includes what becomes so in the loop.
    const_flags, carry_flags, xs_flags: which linear operands get a cotangent.
    """
    known: ClosedJaxpr | None
    backward: ClosedJaxpr | SplitStep
    consts: list[Any]
    linear: Flags
    const_flags: Flags
    carry_flags: Flags
    xs_flags: Flags


@cached_by_jaxpr
def _transpose_scan(closed: ClosedJaxpr, linear: Flags, num_consts: int, num_carry: int, ct_nonzero: Flags,
                    in_two: bool) -> _TransposedScan:
    end = num_consts + num_carry
    linear, _ = scan_fixpoint(closed, linear, num_consts, num_carry, tangent_results)
    known, step = _split_known(closed.jaxpr, linear, num_consts, num_carry)
    jaxpr = step.jaxpr
    # The step's parameters: fixed consts, linear consts, linear carry, fixed xs, residuals, linear xs.
    lin_consts, lin_carry, lin_xs = (sum(group) for group in in_groups(linear, num_consts, num_carry))
    fixed_consts = num_consts - lin_consts
    fixed_xs = len(jaxpr.invars) - fixed_consts - lin_consts - lin_carry - lin_xs
    marks = (*[False] * fixed_consts, *[True] * (lin_consts + lin_carry), *[False] * fixed_xs, *[True] * lin_xs)
    # The results: the linear carry, then ys. A carried value has a cotangent if it has one after any step.
    carry_ct = tuple(present(ct_nonzero[:num_carry], linear[num_consts:end]))
    while True:
        reached = present(cotangent_parameters(jaxpr, marks, (*carry_ct, *ct_nonzero[num_carry:])), marks)
        joined = union(carry_ct, reached[lin_consts:lin_consts + lin_carry])
        if joined == carry_ct:
            break
        carry_ct = joined
    wanted = (*[False] * lin_consts, *carry_ct, *[False] * lin_xs)
    adjoint = transpose_jaxpr(step, marks, (*carry_ct, *ct_nonzero[num_carry:]), wanted, True)
    const_flags, carry_flags, xs_flags = in_groups(adjoint.out_nonzero, lin_consts, lin_carry)
    program, new_consts = close_over_constants(adjoint.jaxpr)
    fresh, fixed, slices, carry_cts, y_cts = in_groups(program.jaxpr.invars, len(new_consts), fixed_consts, fixed_xs, sum(carry_ct))
    flags = tuple(const_flags), tuple(carry_flags), tuple(xs_flags)
    whole = program.jaxpr.replace(invars=[*fresh, *fixed, *carry_cts, *slices, *y_cts])
    if in_two:
        split = split_step(whole, len(fresh) + len(fixed), len(carry_cts), sum(const_flags))
        return _TransposedScan(known, split, new_consts, linear, *flags)
    terms, results = in_groups(program.jaxpr.outvars, sum(const_flags))
    sums = [Var(v.aval) for v in terms]
    totals = [Var(v.aval) for v in terms]
    additions = [JaxprEqn([s, t], [total], op.add_p, {}) for s, t, total in zip(sums, terms, totals)]
    invars = [*fresh, *fixed, *sums, *carry_cts, *slices, *y_cts]
    if any([has_own_sum(v.aval) for v in terms]):
        backward = _with_own_sums(ClosedJaxpr(whole, program.consts), len(fresh) + len(fixed), sums)
    else:
        backward = _closed(invars, [*totals, *results], [*program.jaxpr.eqns, *additions], closed.jaxpr.debug_info)
    return _TransposedScan(known, backward, new_consts, linear, *flags)


def _with_own_sums(whole: ClosedJaxpr, num_consts: int, sums: Sequence[Var]) -> ClosedJaxpr:
    """The step whose first results are added to parameters for sums, which follow the constants, by the rules of their types."""
    def step(*args: Any) -> list[Any]:
        consts, so_far, others = in_groups(args, num_consts, len(sums))
        out = eval_jaxpr(whole.jaxpr, whole.consts, *consts, *others)
        return [*map(added, so_far, out), *out[len(sums):]]

    avals = whole.in_avals
    return stage(step, [*avals[:num_consts], *[v.aval for v in sums], *avals[num_consts:]], whole.jaxpr.debug_info)


def _split_known(jaxpr: Jaxpr, linear: Flags, num_consts: int, num_carry: int) -> tuple[ClosedJaxpr | None, ClosedJaxpr]:
    """The part of a step that is known without the linear parameters, if it has a carry, and the rest."""
    consts, carry, xs = in_groups(jaxpr.invars, num_consts, num_carry)
    const_linear, carry_linear, xs_linear = in_groups(linear, num_consts, num_carry)
    carry_out, ys = in_groups(jaxpr.outvars, num_carry)
    fixed_consts, fixed_carry, fixed_xs = (absent(*pair) for pair in (
        (consts, const_linear), (carry, carry_linear), (xs, xs_linear)))
    residuals: list[Var] = []
    eqns = jaxpr.eqns
    known = None
    if fixed_carry:
        parts = linear_parts(jaxpr, linear)
        reads_parts = [not parts.isdisjoint([v for v in e.invars if type(v) is not Literal]) for e in eqns]
        first, eqns = absent(eqns, reads_parts), present(eqns, reads_parts)
        read = dict.fromkeys(v for e in eqns for v in e.invars if type(v) is not Literal)
        read.update(dict.fromkeys(v for v in [*present(carry_out, carry_linear), *ys] if type(v) is not Literal))
        given = {*fixed_consts, *fixed_xs}
        made = {v for e in first for v in e.outvars} | set(fixed_carry)
        residuals = [v for v in read if v in made and v not in given]
        known = _closed([*fixed_consts, *fixed_carry, *fixed_xs], [*absent(carry_out, carry_linear), *residuals], first,
                        jaxpr.debug_info)
    invars = [*fixed_consts, *present(consts, const_linear), *present(carry, carry_linear), *fixed_xs, *residuals,
              *present(xs, xs_linear)]
    return known, _closed(invars, [*present(carry_out, carry_linear), *ys], eqns, jaxpr.debug_info)


@transpose_rule(scan_p)
def _scan_transpose(cts: Sequence[Any], *operands: Any, jaxpr: ClosedJaxpr, num_consts: int, num_carry: int, length: int, reverse: bool,
                    unroll: int, _split_transpose: bool, **_params: Any) -> list[Any]:
    given = tuple(is_linear(x) for x in operands)
    adjoint = _transpose_scan(jaxpr, given, num_consts, num_carry, nonzero_flags(cts), _split_transpose)
    how: dict[str, Any] = {"length": length, "reverse": not reverse, "unroll": unroll}
    consts, carry, xs = in_groups(operands, num_consts, num_carry)
    const_linear, carry_linear, xs_linear = in_groups(adjoint.linear, num_consts, num_carry)
    fixed_consts, fixed_xs = absent(consts, const_linear), absent(xs, xs_linear)
    if adjoint.known is not None:
        fixed_carry = absent(carry, carry_linear)
        out = bind_scan(adjoint.known, fixed_consts, fixed_carry, fixed_xs, length=length, reverse=reverse, unroll=unroll)
        fixed_xs = [*fixed_xs, *out[len(fixed_carry):]]
    summed = present(present(consts, const_linear), adjoint.const_flags)
    sums = [] if _split_transpose else [zeros_of(_aval(x).to_ct_aval()) for x in summed]
    linear_carry, carry_cts = present(carry, carry_linear), present(cts[:num_carry], carry_linear)
    initial = [zeros_of(_aval(x).to_ct_aval()) if ct is ZERO else ct
               for x, ct, has in zip(linear_carry, carry_cts, adjoint.carry_flags) if has]
    y_cts = [ct for ct in cts[num_carry:] if ct is not ZERO]
    consts, xs = [*adjoint.consts, *fixed_consts], [*fixed_xs, *y_cts]
    if _split_transpose:
        const_cts, carry_cts, xs_cts = run_split_scan(adjoint.backward, consts, initial, xs, **how)
    else:
        out = bind_scan(adjoint.backward, consts, [*sums, *initial], xs, **how)
        const_cts, carry_cts, xs_cts = in_groups(out, len(sums), len(initial))
    flags = (*adjoint.const_flags, *adjoint.carry_flags, *adjoint.xs_flags)
    found = iter(spread([*const_cts, *carry_cts, *xs_cts], flags))
    in_cts = [next(found) if lin else None for lin in adjoint.linear]
    return [ct if was_given else None for ct, was_given in zip(in_cts, given)]


def _aval(x: ShapedArray) -> ShapedArray:
    return x if is_linear(x) else get_aval(x)


# batching


@dataclass(frozen=True)
class _BatchedBody:
    """A loop body over a batch, with the marks of its parameters and results; mapped values have the batch axis first."""
    jaxpr: ClosedJaxpr
    consts: list[Any]
    in_flags: Flags
    out_flags: Flags


@cached_by_jaxpr
def _batch_body(closed: ClosedJaxpr, axis: Any, mapped: Flags, num_consts: int, num_carry: int) -> _BatchedBody:
    flags, outs = scan_fixpoint(closed, mapped, num_consts, num_carry,
                                lambda body, marks: batched_results(body, marks, axis))
    batched = batch_jaxpr(closed, axis, front_axes(flags), front_axes(outs))
    return _BatchedBody(*close_over_constants(batched.jaxpr), flags, outs)


@axis_batching_rule(scan_p, uses_axis_name=True)
def _scan_batch(axis: Axis, operands: Sequence[Any], batch_axes: Sequence[int | None], *, jaxpr: ClosedJaxpr, num_consts: int,
                num_carry: int, **params: Any) -> tuple[Any, Any]:
    mapped = tuple(b is not None for b in batch_axes)
    body = _batch_body(jaxpr, axis, mapped, num_consts, num_carry)
    fixed = num_consts + num_carry
    places = [(0 if i < fixed else 1) if has else None for i, has in enumerate(body.in_flags)]
    operands = [move_batch_axis(x, b, place, axis.size) for x, b, place in zip(operands, batch_axes, places)]
    consts, carry, xs = in_groups(operands, num_consts, num_carry)
    out = bind_scan(body.jaxpr, [*body.consts, *consts], carry, xs, **kept_parameters(params))
    return out, [(0 if i < num_carry else 1) if has else None for i, has in enumerate(body.out_flags)]
