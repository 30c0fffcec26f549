"""Derivatives, transposes and batching of cond, while and scan: the jaxprs they hold are transformed, once per question.

scan, linearized, is a scan of the primal part, which stacks the residuals of each step, and a linear scan over them.
Residuals that are the same in every step are computed before the loop and not stacked; those that are slices of xs or
of a stacked result are not stored again. Its transpose is a scan in the other direction, which sums the cotangents of
the constants in its carry. while has no transpose: how many residuals it needs is not known before it runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Sequence

from laminax_ir import dtypes
from laminax_ir.avals import ShapedArray, get_aval
from laminax_ir.effects import debug_effect
from laminax_ir.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, eval_jaxpr
from laminax_ir.manual_axes import checked_axes
from laminax_ir.ops import elementwise as op
from laminax_ir.ops.calls import close_over_constants
from laminax_ir.ops.control_flow import bind_scan, common_constants, cond_p, platform_index_p, scan_p, while_p
from laminax_ir.ops.reduction import reduce_or
from laminax_ir.ops.shape import broadcast_in_dim
from laminax_ir.staging import stage
from laminax_transforms.batching import move_batch_axis
from laminax_transforms.branch_places import shared_places, with_places
from laminax_transforms.dependence import (
    Flags,
    batched_results,
    cotangent_parameters,
    linear_parts,
    scan_fixpoint,
    tangent_results,
    union,
)
from laminax_transforms.jaxpr_transforms import (
    LinearizedJaxpr,
    batch_jaxpr,
    cached_by_jaxpr,
    jvp_jaxpr,
    linearize_jaxpr,
    transpose_jaxpr,
)
from laminax_transforms.registry import axis_batching_rule, define_zero_derivative, is_linear, jvp_rules, linearize_rule, transpose_rule
from laminax_transforms.split_scans import SplitStep, run_split_scan, split_step
from laminax_transforms.zeros import ZERO, instantiate, zeros_of

define_zero_derivative(platform_index_p)


def _nonzero(tangents: Sequence[Any]) -> Flags:
    return tuple(t is not ZERO for t in tangents)


def _present(values: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
    return [x for x, has in zip(values, flags) if has]


def _absent(values: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
    return [x for x, has in zip(values, flags) if not has]


def _spread(values: Sequence[Any], flags: Sequence[bool], other: Any = ZERO) -> list[Any]:
    """The values at the marked places, `other` elsewhere."""
    values = iter(values)
    return [next(values) if has else other for has in flags]


def _split(values: Sequence[Any], *sizes: int) -> list[list[Any]]:
    """The values in consecutive groups of the given sizes, and the rest."""
    groups, start = [], 0
    for size in sizes:
        groups.append(list(values[start:start + size]))
        start += size
    return [*groups, list(values[start:])]


def _full_tangents(tangents: Sequence[Any], primals: Sequence[Any], flags: Flags) -> list[Any]:
    """The tangents at the marked places, as arrays."""
    return [instantiate(t, get_aval(x)) if t is ZERO else t for t, x, has in zip(tangents, primals, flags) if has]


def _closed(invars, outvars, eqns, name) -> ClosedJaxpr:
    return ClosedJaxpr(Jaxpr([], invars, outvars, eqns, debug_info=name))


# scan: forward mode


@dataclass(frozen=True)
class _DerivedBody:
    """A loop body with tangents: its jaxpr, the constants it brings, and which of its results have tangents."""
    jaxpr: ClosedJaxpr
    consts: list[Any]
    in_flags: Flags
    out_flags: Flags


@cached_by_jaxpr
def _jvp_body(closed: ClosedJaxpr, nonzero: Flags, num_consts: int, num_carry: int) -> _DerivedBody:
    """`(*new consts, *consts, *their tangents, *carry, *its tangents, *xs, *their tangents)` to results in like order."""
    flags, outs = scan_fixpoint(closed, nonzero, num_consts, num_carry, tangent_results)
    derived = jvp_jaxpr(closed, flags, outs[:num_carry] + (False,) * (len(outs) - num_carry))
    outs = derived.out_nonzero
    program, new_consts = close_over_constants(derived.jaxpr)
    jaxpr, count = program.jaxpr, len(closed.in_avals)
    fresh, primals, tangents = _split(jaxpr.invars, len(new_consts), count)
    primals = _split(primals, num_consts, num_carry)
    found = iter(tangents)
    tangents = [[next(found) for _ in range(sum(group))] for group in _split(flags, num_consts, num_carry)]
    results, out_tangents = _split(jaxpr.outvars, len(outs))
    carried = sum(outs[:num_carry])
    outvars = [*results[:num_carry], *out_tangents[:carried], *results[num_carry:], *out_tangents[carried:]]
    invars = [*fresh, *[v for pair in zip(primals, tangents) for group in pair for v in group]]
    return _DerivedBody(ClosedJaxpr(jaxpr.replace(invars=invars, outvars=outvars)), new_consts, flags, outs)


def _how(params: dict[str, Any]) -> dict[str, Any]:
    """What a scan derived from another takes over from it."""
    return {"length": params["length"], "reverse": params["reverse"], "unroll": params["unroll"],
            "split_transpose": params["_split_transpose"]}


def _scan_jvp(primals, tangents, params):
    num_consts, num_carry = params["num_consts"], params["num_carry"]
    body = _jvp_body(params["jaxpr"], _nonzero(tangents), num_consts, num_carry)
    values = _split(primals, num_consts, num_carry)
    flags = _split(body.in_flags, num_consts, num_carry)
    dots = [_full_tangents(t, x, has) for t, x, has in zip(_split(tangents, num_consts, num_carry), values, flags)]
    out = bind_scan(body.jaxpr, [*body.consts, *values[0], *dots[0]], [*values[1], *dots[1]], [*values[2], *dots[2]],
                    **_how(params))
    carry_flags, y_flags = body.out_flags[:num_carry], body.out_flags[num_carry:]
    carry, carry_dot, ys, ys_dot = _split(out, num_carry, sum(carry_flags), len(y_flags))
    return [*carry, *ys], [*_spread(carry_dot, carry_flags), *_spread(ys_dot, y_flags)]


jvp_rules.add(scan_p, _scan_jvp)


# scan: linearization


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
    fresh, consts, carry, xs = _split(jaxpr.invars, len(new_consts), num_consts, num_carry)
    carry_out, ys, saved = _split(jaxpr.outvars, num_carry, len(closed.out_avals) - num_carry)
    invariant = _invariant_variables(jaxpr, [*fresh, *consts])

    residuals = [(jaxpr.invars[len(fresh) + i] if where == "in" else jaxpr.outvars[i]) for where, i in split.residual_sources]
    hoisted, kept, moved, loop_eqns = _hoist(jaxpr, [v for v in residuals if v in invariant], {*fresh, *consts},
                                             [*carry_out, *ys, *[v for v in saved if v not in invariant]])
    sources, stacked = _residual_sources(residuals, ys, {"fresh": fresh, "const": consts, "hoisted": hoisted, "xs": xs})
    sources = [("value", new_consts[i]) if where == "fresh" else (where, i) for where, i in sources]
    primal = _closed([*fresh, *consts, *hoisted[:kept], *carry, *xs], [*carry_out, *stacked], loop_eqns, jaxpr.debug_info)
    hoisting = _closed([*fresh, *consts], hoisted, moved, jaxpr.debug_info)

    linear, linear_consts = close_over_constants(split.linear)
    linear_fresh, residual_vars, dots = _split(linear.jaxpr.invars, len(linear_consts), len(residuals))
    is_slice = [where in ("xs", "ys") for where, _ in sources]
    dot_consts, dot_carry, dot_xs = _split(dots, sum(flags[:num_consts]), sum(flags[num_consts:num_consts + num_carry]))
    linear = ClosedJaxpr(linear.jaxpr.replace(invars=[
        *linear_fresh, *_absent(residual_vars, is_slice), *dot_consts, *dot_carry, *_present(residual_vars, is_slice),
        *dot_xs]))
    invariants = (*[("value", c) for c in linear_consts], *_absent(sources, is_slice))
    return _LinearizedScan(hoisting, kept, primal, new_consts, linear, invariants, tuple(_present(sources, is_slice)),
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
    """Where the linear scan finds each residual, and the stacked results with those residuals added that are nowhere yet."""
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


def _scan_linearize(primals, tangents, params):
    num_consts, num_carry = params["num_consts"], params["num_carry"]
    split = _linearize_scan(params["jaxpr"], _nonzero(tangents), num_consts, num_carry)
    consts, carry, xs = _split(primals, num_consts, num_carry)
    how = _how(params)
    hoisted = eval_jaxpr(split.hoisted.jaxpr, (), *split.primal_consts, *consts)
    out = bind_scan(split.primal, [*split.primal_consts, *consts, *hoisted[:split.num_kept]], carry, xs, **how)
    final, ys = out[:num_carry], out[num_carry:]
    results = out[:len(params["jaxpr"].out_avals)]
    if not any(split.out_flags):
        return results, [ZERO] * len(results)
    found = {"const": consts, "hoisted": hoisted, "xs": xs, "ys": ys}
    invariants, slices = [[i if where == "value" else found[where][i] for where, i in sources]
                          for sources in (split.invariant_sources, split.slice_sources)]
    flags = _split(split.in_flags, num_consts, num_carry)
    dots = [_full_tangents(t, x, has)
            for t, x, has in zip(_split(tangents, num_consts, num_carry), (consts, carry, xs), flags)]
    operands = [*invariants, *dots[0]], dots[1], [*slices, *dots[2]]
    linear = [False] * len(invariants) + [True] * (len(dots[0]) + len(dots[1])) + [False] * len(slices) + [True] * len(dots[2])
    out_dots = bind_scan(split.linear, *operands, **how, linear=linear)
    return [*final, *results[num_carry:]], _spread(out_dots, split.out_flags)


linearize_rule.add(scan_p, _scan_linearize)


# scan: transposition


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
    lin_consts, lin_carry, lin_xs = (sum(group) for group in _split(linear, num_consts, num_carry))
    fixed_consts = num_consts - lin_consts
    fixed_xs = len(jaxpr.invars) - fixed_consts - lin_consts - lin_carry - lin_xs
    marks = (*[False] * fixed_consts, *[True] * (lin_consts + lin_carry), *[False] * fixed_xs, *[True] * lin_xs)
    # The results: the linear carry, then ys. Those of the carry have cotangents if they do after any step.
    carry_ct = tuple(_present(ct_nonzero[:num_carry], linear[num_consts:end]))
    while True:
        reached = _present(cotangent_parameters(jaxpr, marks, (*carry_ct, *ct_nonzero[num_carry:])), marks)
        joined = union(carry_ct, reached[lin_consts:lin_consts + lin_carry])
        if joined == carry_ct:
            break
        carry_ct = joined
    wanted = (*[False] * lin_consts, *carry_ct, *[False] * lin_xs)
    adjoint = transpose_jaxpr(step, marks, (*carry_ct, *ct_nonzero[num_carry:]), wanted, True)
    const_flags, carry_flags, xs_flags = _split(adjoint.out_nonzero, lin_consts, lin_carry)
    program, new_consts = close_over_constants(adjoint.jaxpr)
    fresh, fixed, slices, carry_cts, y_cts = _split(program.jaxpr.invars, len(new_consts), fixed_consts, fixed_xs, sum(carry_ct))
    flags = tuple(const_flags), tuple(carry_flags), tuple(xs_flags)
    if in_two:
        step = program.jaxpr.replace(invars=[*fresh, *fixed, *carry_cts, *slices, *y_cts])
        split = split_step(step, len(fresh) + len(fixed), len(carry_cts), sum(const_flags))
        return _TransposedScan(known, split, new_consts, linear, *flags)
    terms, results = _split(program.jaxpr.outvars, sum(const_flags))
    sums = [Var(v.aval) for v in terms]
    totals = [Var(v.aval) for v in terms]
    additions = [JaxprEqn([s, t], [total], op.add_p, {}) for s, t, total in zip(sums, terms, totals)]
    backward = _closed([*fresh, *fixed, *sums, *carry_cts, *slices, *y_cts], [*totals, *results],
                       [*program.jaxpr.eqns, *additions], closed.jaxpr.debug_info)
    return _TransposedScan(known, backward, new_consts, linear, *flags)


def _split_known(jaxpr: Jaxpr, linear: Flags, num_consts: int, num_carry: int) -> tuple[ClosedJaxpr | None, ClosedJaxpr]:
    """The part of a step that is known without the linear parameters, if it has a carry, and the rest."""
    consts, carry, xs = _split(jaxpr.invars, num_consts, num_carry)
    const_linear, carry_linear, xs_linear = _split(linear, num_consts, num_carry)
    carry_out, ys = _split(jaxpr.outvars, num_carry)
    fixed_consts, fixed_carry, fixed_xs = (_absent(*pair) for pair in (
        (consts, const_linear), (carry, carry_linear), (xs, xs_linear)))
    residuals: list[Var] = []
    eqns = jaxpr.eqns
    known = None
    if fixed_carry:
        parts = linear_parts(jaxpr, linear)
        reads_parts = [not parts.isdisjoint([v for v in e.invars if type(v) is not Literal]) for e in eqns]
        first, eqns = _absent(eqns, reads_parts), _present(eqns, reads_parts)
        read = dict.fromkeys(v for e in eqns for v in e.invars if type(v) is not Literal)
        read.update(dict.fromkeys(v for v in [*_present(carry_out, carry_linear), *ys] if type(v) is not Literal))
        given = {*fixed_consts, *fixed_xs}
        made = {v for e in first for v in e.outvars} | set(fixed_carry)
        residuals = [v for v in read if v in made and v not in given]
        known = _closed([*fixed_consts, *fixed_carry, *fixed_xs], [*_absent(carry_out, carry_linear), *residuals], first,
                        jaxpr.debug_info)
    invars = [*fixed_consts, *_present(consts, const_linear), *_present(carry, carry_linear), *fixed_xs, *residuals,
              *_present(xs, xs_linear)]
    return known, _closed(invars, [*_present(carry_out, carry_linear), *ys], eqns, jaxpr.debug_info)


@transpose_rule(scan_p)
def _scan_transpose(cts, *operands, jaxpr, num_consts, num_carry, length, reverse, unroll, _split_transpose,
                    **_params):
    given = tuple(is_linear(x) for x in operands)
    adjoint = _transpose_scan(jaxpr, given, num_consts, num_carry, _nonzero(cts), _split_transpose)
    how = {"length": length, "reverse": not reverse, "unroll": unroll}
    consts, carry, xs = _split(operands, num_consts, num_carry)
    const_linear, carry_linear, xs_linear = _split(adjoint.linear, num_consts, num_carry)
    fixed_consts, fixed_xs = _absent(consts, const_linear), _absent(xs, xs_linear)
    if adjoint.known is not None:
        fixed_carry = _absent(carry, carry_linear)
        out = bind_scan(adjoint.known, fixed_consts, fixed_carry, fixed_xs, length=length, reverse=reverse, unroll=unroll)
        fixed_xs = [*fixed_xs, *out[len(fixed_carry):]]
    summed = _present(_present(consts, const_linear), adjoint.const_flags)
    sums = [] if _split_transpose else [zeros_of(_aval(x).to_tangent_aval()) for x in summed]
    linear_carry, carry_cts = _present(carry, carry_linear), _present(cts[:num_carry], carry_linear)
    initial = [zeros_of(_aval(x).to_tangent_aval()) if ct is ZERO else ct
               for x, ct, has in zip(linear_carry, carry_cts, adjoint.carry_flags) if has]
    y_cts = [ct for ct in cts[num_carry:] if ct is not ZERO]
    consts, xs = [*adjoint.consts, *fixed_consts], [*fixed_xs, *y_cts]
    if _split_transpose:
        const_cts, carry_cts, xs_cts = run_split_scan(adjoint.backward, consts, initial, xs, **how)
    else:
        out = bind_scan(adjoint.backward, consts, [*sums, *initial], xs, **how)
        const_cts, carry_cts, xs_cts = _split(out, len(sums), len(initial))
    flags = (*adjoint.const_flags, *adjoint.carry_flags, *adjoint.xs_flags)
    in_cts = iter(_spread([*const_cts, *carry_cts, *xs_cts], flags))
    in_cts = [next(in_cts) if lin else None for lin in adjoint.linear]
    return [ct if was_given else None for ct, was_given in zip(in_cts, given)]


def _aval(x: Any) -> ShapedArray:
    return x if type(x) is ShapedArray else get_aval(x)


# scan: batching


@dataclass(frozen=True)
class _BatchedBody:
    """A loop body over a batch, with the marks of its parameters and results; mapped values have the batch axis first."""
    jaxpr: ClosedJaxpr
    consts: list[Any]
    in_flags: Flags
    out_flags: Flags


def _axes(flags: Sequence[bool]) -> tuple[int | None, ...]:
    return tuple(0 if has else None for has in flags)


@cached_by_jaxpr
def _batch_body(closed: ClosedJaxpr, axis, mapped: Flags, num_consts: int, num_carry: int) -> _BatchedBody:
    flags, outs = scan_fixpoint(closed, mapped, num_consts, num_carry,
                                lambda body, marks: batched_results(body, marks, axis.name is not None))
    batched = batch_jaxpr(closed, axis, _axes(flags), _axes(outs))
    return _BatchedBody(*close_over_constants(batched.jaxpr), flags, outs)


@axis_batching_rule(scan_p, uses_axis_name=True)
def _scan_batch(axis, operands, batch_axes, *, jaxpr, num_consts, num_carry, **params):
    mapped = tuple(b is not None for b in batch_axes)
    body = _batch_body(jaxpr, axis, mapped, num_consts, num_carry)
    fixed = num_consts + num_carry
    places = [(0 if i < fixed else 1) if has else None for i, has in enumerate(body.in_flags)]
    operands = [move_batch_axis(x, b, place, axis.size) for x, b, place in zip(operands, batch_axes, places)]
    consts, carry, xs = _split(operands, num_consts, num_carry)
    out = bind_scan(body.jaxpr, [*body.consts, *consts], carry, xs, **_how(params))
    return out, [(0 if i < num_carry else 1) if has else None for i, has in enumerate(body.out_flags)]


# while


def _while_jvp(primals, tangents, params):
    """Forward mode: the carry and its tangent go round together."""
    body, operands = _while_with_tangents(primals, tangents, params)
    count = len(params["body_jaxpr"].out_avals)
    if not any(body.out_flags):
        return while_p.bind(*primals, **params), [ZERO] * count
    out = _bind_while_with_tangents(body, operands, params)
    return out[:count], _spread(out[count:], body.out_flags)


jvp_rules.add(while_p, _while_jvp)


def _while_linearize(primals, tangents, params):
    """The tangents' loop runs the primal loop again: it cannot store what it needs of a number of steps not yet known."""
    results = while_p.bind(*primals, **params)
    body, operands = _while_with_tangents(primals, tangents, params)
    if not any(body.out_flags):
        return results, [ZERO] * len(results)
    out = _bind_while_with_tangents(body, operands, params)
    return results, _spread(out[len(results):], body.out_flags)


linearize_rule.add(while_p, _while_linearize)


def _while_with_tangents(primals, tangents, params) -> tuple[_DerivedBody, list[list[Any]]]:
    """The body with tangents, and its operands: the condition's constants, the body's, the carry."""
    skipped, num_consts = params["cond_nconsts"], params["body_nconsts"]
    cond_consts, consts, carry = _split(primals, skipped, num_consts)
    body = _jvp_body(params["body_jaxpr"], _nonzero(tangents[skipped:]), num_consts, len(carry))
    _, const_dots, carry_dots = _split(tangents, skipped, num_consts)
    const_dots = _full_tangents(const_dots, consts, body.in_flags[:num_consts])
    carry_dots = _full_tangents(carry_dots, carry, body.in_flags[num_consts:])
    return body, [cond_consts, [*body.consts, *consts, *const_dots], [*carry, *carry_dots]]


def _bind_while_with_tangents(body: _DerivedBody, operands, params) -> list[Any]:
    condition = _with_more_parameters(params["cond_jaxpr"], body.out_flags, params["cond_nconsts"])
    cond_consts, consts, carry = operands
    return while_p.bind(*cond_consts, *consts, *carry, cond_jaxpr=condition, body_jaxpr=body.jaxpr,
                        cond_nconsts=len(cond_consts), body_nconsts=len(consts))


@cached_by_jaxpr
def _with_more_parameters(condition: ClosedJaxpr, flags: Flags, cond_nconsts: int) -> ClosedJaxpr:
    """The condition on a carry with tangents, which it does not read."""
    jaxpr = condition.jaxpr
    carry = jaxpr.invars[cond_nconsts:]
    tangents = [Var(v.aval.to_tangent_aval()) for v in _present(carry, flags)]
    return ClosedJaxpr(jaxpr.replace(invars=[*jaxpr.invars, *tangents]))


@transpose_rule(while_p)
def _while_transpose(cts, *operands, **params):
    raise ValueError(
        "Reverse-mode differentiation does not work for lax.while_loop or lax.fori_loop with dynamic start/stop values. "
        "Try using lax.scan, or using fori_loop with static start/stop. Forward mode (jvp, jacfwd) works for both.")


@axis_batching_rule(while_p, uses_axis_name=True)
def _while_batch(axis, operands, batch_axes, *, cond_jaxpr, body_jaxpr, cond_nconsts, body_nconsts):
    mapped = tuple(b is not None for b in batch_axes)
    loop = _batch_while(cond_jaxpr, body_jaxpr, axis, mapped, cond_nconsts, body_nconsts)
    operands = [move_batch_axis(x, b, place, axis.size) for x, b, place in zip(operands, batch_axes, _axes(loop.in_flags))]
    cond_consts, consts, carry = _split(operands, cond_nconsts, body_nconsts)
    consts = [*loop.body_consts, *consts]
    cond_consts = [*loop.cond_consts, *cond_consts]
    axes = list(_axes(loop.in_flags[cond_nconsts + body_nconsts:]))
    if not loop.is_masked:
        out = while_p.bind(*cond_consts, *consts, *carry, cond_jaxpr=loop.condition, body_jaxpr=loop.body,
                           cond_nconsts=len(cond_consts), body_nconsts=len(consts))
        return out, axes
    (pred,) = eval_jaxpr(loop.condition.jaxpr, (), *cond_consts, *carry)
    body_operands = [*cond_consts, *consts]
    _, *out = while_p.bind(*body_operands, pred, *carry, cond_jaxpr=loop.any_left, body_jaxpr=loop.body, cond_nconsts=0,
                           body_nconsts=len(body_operands))
    return out, axes


@dataclass(frozen=True)
class _BatchedWhile:
    """A while loop over a batch; with a mapped condition (`is_masked`), examples that are done keep their carry.

    Such a loop carries the condition's value of each example in front of the carry: `any_left` is its condition, and
    the body takes the constants of both.
    """
    condition: ClosedJaxpr
    cond_consts: list[Any]
    body: ClosedJaxpr
    body_consts: list[Any]
    in_flags: Flags
    is_masked: bool
    any_left: ClosedJaxpr | None = None


@cached_by_jaxpr
def _batch_while(cond_jaxpr: ClosedJaxpr, body_jaxpr: ClosedJaxpr, axis, mapped: Flags, cond_nconsts: int,
                 body_nconsts: int) -> _BatchedWhile:
    has_name = axis.name is not None
    count = len(body_jaxpr.out_avals)
    cond_flags, body_flags = mapped[:cond_nconsts], mapped[cond_nconsts:]

    def step(body, marks):
        return batched_results(body, marks, has_name)

    flags, carry_flags = scan_fixpoint(body_jaxpr, body_flags, body_nconsts, count, step)
    (is_masked,) = batched_results(cond_jaxpr, (*cond_flags, *carry_flags), has_name)
    if is_masked:  # whatever the body changes differs between examples
        changes = [a is not b for a, b in zip(body_jaxpr.jaxpr.invars[body_nconsts:], body_jaxpr.jaxpr.outvars)]
        flags, carry_flags = scan_fixpoint(body_jaxpr, (*flags[:body_nconsts], *union(carry_flags, changes)), body_nconsts,
                                           count, step)
    condition = batch_jaxpr(cond_jaxpr, axis, _axes((*cond_flags, *carry_flags)), _axes((is_masked,)))
    condition, cond_consts = close_over_constants(condition.jaxpr)
    body, body_consts = close_over_constants(batch_jaxpr(body_jaxpr, axis, _axes(flags), _axes(carry_flags)).jaxpr)
    loop = _BatchedWhile(condition, cond_consts, body, body_consts, (*cond_flags, *flags), is_masked)
    if not is_masked:
        return loop
    if _has_io(cond_jaxpr, body_jaxpr):
        raise NotImplementedError("vmap of while_loop: the condition is batched and the loop has IO effects, which would run "
                                  "for examples that are done. Move the effects out of the loop.")
    return _masked(loop, len(cond_consts) + cond_nconsts, len(body_consts) + body_nconsts, carry_flags)


def _has_io(*jaxprs: ClosedJaxpr) -> bool:
    """Whether they have effects other than debugging's, which may happen once too often."""
    return any(effect != debug_effect for jaxpr in jaxprs for effect in jaxpr.effects)


def _masked(loop: _BatchedWhile, num_cond: int, num_body: int, carry_flags: Flags) -> _BatchedWhile:
    condition, body = loop.condition.jaxpr, loop.body.jaxpr

    def step(*args):
        cond_consts, consts, (pred, *carry) = _split(args, num_cond, num_body)
        new = eval_jaxpr(body, (), *consts, *carry)
        new = [select_examples(pred, x, old) if has else x for x, old, has in zip(new, carry, carry_flags)]
        return [*eval_jaxpr(condition, (), *cond_consts, *new), *new]

    (pred_aval,) = loop.condition.out_avals
    avals = [*condition.in_avals[:num_cond], *body.in_avals[:num_body], pred_aval, *body.in_avals[num_body:]]
    masked, step_consts = close_over_constants(stage(step, avals, body.debug_info))
    any_left = stage(lambda pred, *_: [reduce_or(pred, (0,))], avals[num_cond + num_body:], "any_left")
    if step_consts:
        raise AssertionError("the masked body of a loop brought constants of its own")
    return _BatchedWhile(loop.condition, loop.cond_consts, masked, loop.body_consts, loop.in_flags, True, any_left)


def select_examples(pred: Any, on_true: Any, on_false: Any) -> Any:
    """Chooses between two batches, example by example; the batch axis is in front."""
    shape = get_aval(on_true).shape
    if len(shape) > 1:
        pred = broadcast_in_dim(pred, shape, (0,))
    return op.select(pred, on_true, on_false)


# cond


@cached_by_jaxpr
def _jvp_branches(_first: ClosedJaxpr, branches: tuple[ClosedJaxpr, ...], nonzero: Flags):
    """The branches with tangents, the constants they bring, and which results have tangents."""
    wanted = union(*[tangent_results(branch, nonzero) for branch in branches])
    derived = [jvp_jaxpr(branch, nonzero, wanted) for branch in branches]
    consts, jaxprs = common_constants([d.jaxpr for d in derived])
    return jaxprs, consts, wanted


def _cond_jvp(primals, tangents, params):
    branches = params["branches"]
    nonzero = _nonzero(tangents[1:])
    index, *operands = primals
    jaxprs, consts, flags = _jvp_branches(branches[0], branches, nonzero)
    out = cond_p.bind(index, *consts, *operands, *_present(tangents[1:], nonzero), branches=jaxprs)
    count = len(flags)
    return out[:count], _spread(out[count:], flags)


jvp_rules.add(cond_p, _cond_jvp)


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
def _linearize_branches(_first: ClosedJaxpr, branches: tuple[ClosedJaxpr, ...], nonzero: Flags) -> _LinearizedCond:
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


def _cond_linearize(primals, tangents, params):
    branches = params["branches"]
    nonzero = _nonzero(tangents[1:])
    index, *operands = primals
    split = _linearize_branches(branches[0], branches, nonzero)
    out = cond_p.bind(index, *split.primal_consts, *operands, branches=split.primal)
    results = out[:len(split.out_flags)]
    if not any(split.out_flags):
        return results, [ZERO] * len(results)
    residuals = [operands[i] if where == "in" else out[i] for where, i in split.sources]
    dots = cond_p.bind(index, *split.linear_consts, *residuals, *_present(tangents[1:], nonzero), branches=split.linear)
    return results, _spread(dots, split.out_flags)


linearize_rule.add(cond_p, _cond_linearize)


@cached_by_jaxpr
def _transpose_branches(_first: ClosedJaxpr, branches: tuple[ClosedJaxpr, ...], linear: Flags, ct_nonzero: Flags, sums_shared: bool):
    wanted = union(*[_present(cotangent_parameters(b.jaxpr, linear, ct_nonzero), linear) for b in branches])
    adjoints = [transpose_jaxpr(branch, linear, ct_nonzero, wanted, sums_shared) for branch in branches]
    consts, jaxprs = common_constants([a.jaxpr for a in adjoints])
    return jaxprs, consts, wanted


@transpose_rule(cond_p)
def _cond_transpose(cts, index, *operands, branches):
    linear = tuple(is_linear(x) for x in operands)
    all_take_the_same = True
    if checked_axes():  # inside of a program per device
        from laminax_transforms.varying import branches_alike, varying_axes
        branches, all_take_the_same = branches_alike(branches, index), not varying_axes(index)
    jaxprs, consts, flags = _transpose_branches(branches[0], branches, linear, _nonzero(cts), all_take_the_same)
    fixed = _absent(operands, linear)
    out = cond_p.bind(index, *consts, *fixed, *[ct for ct in cts if ct is not ZERO], branches=jaxprs)
    in_cts = iter(_spread(out, flags))
    return [None, *[next(in_cts) if lin else None for lin in linear]]


@cached_by_jaxpr
def _batch_branches(_first: ClosedJaxpr, branches: tuple[ClosedJaxpr, ...], axis, mapped: Flags):
    flags = union(*[batched_results(branch, mapped, axis.name is not None) for branch in branches])
    batched = [batch_jaxpr(branch, axis, _axes(mapped), _axes(flags)) for branch in branches]
    consts, jaxprs = common_constants([b.jaxpr for b in batched])
    return jaxprs, consts, flags


@axis_batching_rule(cond_p, uses_axis_name=True)
def _cond_batch(axis, operands, batch_axes, *, branches):
    (index, *operands), (index_axis, *batch_axes) = operands, batch_axes
    mapped = tuple(b is not None for b in batch_axes)
    operands = [move_batch_axis(x, b, place, axis.size) for x, b, place in zip(operands, batch_axes, _axes(mapped))]
    if index_axis is not None:
        return _select_branch(axis, move_batch_axis(index, index_axis, 0, axis.size), operands, mapped, branches)
    jaxprs, consts, flags = _batch_branches(branches[0], branches, axis, mapped)
    return cond_p.bind(index, *consts, *operands, branches=jaxprs), list(_axes(flags))


def _select_branch(axis, index, operands, mapped: Flags, branches):
    """A mapped index: all branches run, and each example takes the results of its own.

    A branch sees the operands of the examples that did not choose it through stop_gradient, so that an infinite
    derivative there does not become NaN in theirs.
    """
    if _has_io(*branches):
        raise NotImplementedError("vmap of cond: the predicate is batched and a branch has IO effects, which would run for "
                                  "examples that did not choose it. Move the effects out of the branches.")
    count = len(branches[0].out_avals)
    results = []
    for i, branch in enumerate(branches):
        chosen = op.eq(index, op.scalar_like(i, get_aval(index).dtype))
        guarded = [_guarded(chosen, x) if has else x for x, has in zip(operands, mapped)]
        batched = batch_jaxpr(branch, axis, _axes(mapped), (0,) * count)
        results.append(eval_jaxpr(batched.jaxpr.jaxpr, batched.jaxpr.consts, *guarded))
    if len(branches) == 2:
        index = op.ne(index, op.scalar_like(0, get_aval(index).dtype))
    return [_select_n_examples(index, cases) for cases in zip(*results)], [0] * count


def _guarded(chosen, x):
    if not dtypes.issubdtype(get_aval(x).dtype, dtypes.inexact):
        return x
    return select_examples(chosen, x, op.stop_gradient_p.bind(x, is_discarded=True))


def _select_n_examples(index, cases: Sequence[Any]):
    shape = get_aval(cases[0]).shape
    if len(shape) > 1:
        index = broadcast_in_dim(index, shape, (0,))
    return op.select_n(index, *cases)
