"""Values that a policy saves inside of the loops, branches and programs per device of a checkpointed program.

A scan or cond that makes residuals runs once in the program, and a second time for the derivative. A value of its body that the policy
accepts is a further result of the first run (for a scan, stacked over the steps) and an operand of the second run, which computes the
other values. So it is with a program per device, of which each device saves a value of its own. A while loop is run again as a whole, since
the number of its steps is not known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Iterable, NamedTuple, Sequence

from laminax_ir.ops.control_flow import cond_p, scan_p
from laminax_ir.ops.control_primitives import with_leading_axis
from laminax_ir.ops.shard_map import global_aval, shard_map_p
from laminax_ir.programs.dce import dce_rules
from laminax_ir.programs.jaxpr import ClosedJaxpr, JaxprEqn, Literal, Var, joined_effects
from laminax_transforms.programs.inlining import inline_calls
from laminax_transforms.programs.per_device import axes_of, residual_spec, unchecked_here, with_axis_on_results, without_axis_on_operands
from laminax_transforms.rematerializing.branch_places import shared_places, with_places

if TYPE_CHECKING:
    from laminax_ir.programs.primitive import Primitive


class Choice(NamedTuple):
    """The values to save of a program, and the equations to run again, so that some values are there later.

    first: the program's equations; loops, branches and programs per device may have further results.
    saved: the values to keep, results of these equations.
    again: the equations that compute the other needed values from the saved ones and the program's inputs.
    """
    first: list[JaxprEqn]
    saved: list[Var]
    again: list[JaxprEqn]


class Split(NamedTuple):
    """One loop, one set of branches or one program per device: as in `Choice`."""
    first: JaxprEqn
    saved: list[Var]
    again: JaxprEqn | None


Choose = Callable[[Sequence[JaxprEqn], Iterable[Any]], Choice]


def split_control_flow(eqn: JaxprEqn, wanted: Sequence[bool], choose: Choose) -> Split | None:
    """Saves the values that `choose` chooses inside of a scan, cond or program per device.

    Args:
      eqn: the equation.
      wanted: which of its results are needed later.
      choose: decides on the equations of a body, given those of its values that are needed.

    Returns:
      None if there is nothing to save.
    """
    split = _splits.get(eqn.primitive)
    return split(eqn, wanted, choose) if split is not None else None


def _split_scan(eqn: JaxprEqn, wanted: Sequence[bool], choose: Choose) -> Split | None:
    params = eqn.params
    consts, count = params["num_consts"], params["num_carry"]
    closed = inline_calls(params["jaxpr"])
    body = closed.jaxpr
    used_inputs, _ = dce_rules[scan_p](list(wanted), eqn)
    carried = used_inputs[consts:consts + count]  # other carried values may be needed on the way
    choice = choose(body.eqns, [v for v, kept in zip(body.outvars, [*carried, *wanted[count:]]) if kept])
    if not choice.saved:
        return None
    stacked: dict[Var, Var] = {}
    for v, y, is_wanted in zip(body.outvars[count:], eqn.outvars[count:], wanted[count:]):
        if is_wanted and v in choice.saved:
            stacked.setdefault(v, y)  # a stacked result already
    own = set(stacked.values())
    for v in choice.saved:
        stacked.setdefault(v, Var(with_leading_axis(v.aval, params["length"])))
    rest = [i for i in range(count, len(wanted)) if wanted[i] and eqn.outvars[i] not in own]
    results = [v if kept else c for v, c, kept in zip(body.outvars, body.invars[consts:], carried)]
    program = body.replace(invars=[*body.invars, *choice.saved], outvars=[*results, *[body.outvars[i] for i in rest]], eqns=choice.again)
    again, used = _thinned(scan_p, [*wanted[:count], *[True] * len(rest)], eqn.replace(
        invars=[*eqn.invars, *[stacked[v] for v in choice.saved]], outvars=[*eqn.outvars[:count], *[eqn.outvars[i] for i in rest]],
        params={**params, "jaxpr": ClosedJaxpr(program, closed.consts), "linear": (*params["linear"], *[False] * len(choice.saved))},
        effects=joined_effects(choice.again)))
    # Only now it is known which carried values the second run needs, and which saved ones.
    saved = [v for v, is_used in zip(choice.saved, used[len(eqn.invars):]) if is_used or stacked[v] in own]
    added = [v for v in saved if stacked[v] not in own]
    first = eqn
    if added:
        program = ClosedJaxpr(body.replace(outvars=[*body.outvars, *added], eqns=choice.first), closed.consts)
        first = eqn.replace(outvars=[*eqn.outvars, *[stacked[v] for v in added]], params={**params, "jaxpr": program})
    return Split(first, [stacked[v] for v in saved], again)


def _split_cond(eqn: JaxprEqn, wanted: Sequence[bool], choose: Choose) -> Split | None:
    branches = [inline_calls(branch) for branch in eqn.params["branches"]]
    needed = [[v for v, is_wanted in zip(branch.jaxpr.outvars, wanted) if is_wanted] for branch in branches]
    accepted = [set(choose(branch.eqns, values).saved) for branch, values in zip(branches, needed)]
    # A result that one branch saves is saved for all branches: it takes no more memory.
    whole = [is_wanted and any(type(v) is not Literal and v in saved for v, saved in zip(column, accepted))
             for is_wanted, column in zip(wanted, zip(*[branch.jaxpr.outvars for branch in branches]))]
    rest = [i for i, is_wanted in enumerate(wanted) if is_wanted and not whole[i]]
    choices = [choose(branch.eqns, [branch.jaxpr.outvars[i] for i in rest]) for branch in branches]
    known = [{v: i for i, v in enumerate(branch.jaxpr.outvars) if whole[i] and v in choice.saved}  # saved as results already
             for branch, choice in zip(branches, choices)]
    added = [[v for v in choice.saved if v not in results] for choice, results in zip(choices, known)]
    if not any(whole) and not any(added):
        return None
    places, avals = shared_places([[v.aval for v in values] for values in added])
    saved = [Var(aval) for aval in avals]
    first = eqn
    if saved:
        programs = [ClosedJaxpr(branch.jaxpr.replace(outvars=[*branch.jaxpr.outvars, *values], eqns=choice.first), branch.consts)
                    for branch, values, choice in zip(branches, added, choices)]
        programs = [with_places(program, len(wanted), where, avals) for program, where in zip(programs, places)]
        first = eqn.replace(outvars=[*eqn.outvars, *saved], params={**eqn.params, "branches": tuple(programs)})
    results = [v for v, is_whole in zip(eqn.outvars, whole) if is_whole]
    again = [_again(branch, choice, rest, dict(zip(where, values)), avals, {i: v for v, i in own.items()}, whole)
             for branch, choice, where, values, own in zip(branches, choices, places, added, known)]
    repeated, _ = _thinned(cond_p, [True] * len(rest), eqn.replace(
        invars=[*eqn.invars, *saved, *results], outvars=[eqn.outvars[i] for i in rest],
        params={**eqn.params, "branches": tuple(again)}, effects=frozenset().union(*[program.effects for program in again])))
    return Split(first, [*saved, *results], repeated)


def _split_shard_map(eqn: JaxprEqn, wanted: Sequence[bool], choose: Choose) -> Split | None:
    params, count = eqn.params, len(eqn.outvars)
    with axes_of(params):
        closed = inline_calls(params["jaxpr"])
        body = closed.jaxpr
        results = [v for v, is_wanted in zip(body.outvars, wanted) if is_wanted]
        choice = choose(body.eqns, results)
        if not choice.saved:
            return None
        first = with_axis_on_results(
            ClosedJaxpr(body.replace(outvars=[*body.outvars, *choice.saved], eqns=choice.first), closed.consts), count)
        again = without_axis_on_operands(
            ClosedJaxpr(body.replace(invars=[*body.invars, *choice.saved], outvars=results, eqns=choice.again), closed.consts),
            (*[False] * len(body.invars), *[True] * len(choice.saved)))
    unchecked = unchecked_here(params)
    specs = [residual_spec(v.aval, params["manual_axes"], unchecked) for v in choice.saved]
    saved = [Var(global_aval(aval, spec, params["mesh"], params["manual_axes"])) for aval, spec in zip(first.out_avals[count:], specs)]
    repeated, used = _thinned(shard_map_p, [True] * len(results), eqn.replace(
        invars=[*eqn.invars, *saved], outvars=[v for v, is_wanted in zip(eqn.outvars, wanted) if is_wanted],
        params={**params, "jaxpr": again, "in_specs": (*params["in_specs"], *specs),
                "out_specs": tuple(spec for spec, is_wanted in zip(params["out_specs"], wanted) if is_wanted)},
        effects=again.effects))
    params = {**params, "jaxpr": first, "out_specs": (*params["out_specs"], *specs)}
    kept = [v for v, is_used in zip(saved, used[len(eqn.invars):]) if is_used]
    return Split(eqn.replace(outvars=[*eqn.outvars, *saved], params=params), kept, repeated)


def _again(branch: ClosedJaxpr, choice: Choice, rest: Sequence[int], at_places: dict[int, Var], avals: Sequence[Any],
           own: dict[int, Var], whole: Sequence[bool]) -> ClosedJaxpr:
    """The second run of a branch: `(*operands, *values at places, *results saved whole) -> (*the other wanted results)`."""
    jaxpr = branch.jaxpr
    given = [at_places.get(i) or Var(aval) for i, aval in enumerate(avals)]
    results = [own.get(i) or Var(v.aval) for i, v in enumerate(jaxpr.outvars) if whole[i]]
    return ClosedJaxpr(jaxpr.replace(invars=[*jaxpr.invars, *given, *results], outvars=[jaxpr.outvars[i] for i in rest],
                                     eqns=choice.again), branch.consts)


def _thinned(primitive: Primitive, used: list[bool], eqn: JaxprEqn) -> tuple[JaxprEqn | None, list[bool]]:
    """The equation without the operations that its used results do not need; and which operands are left."""
    if not any(used):
        return None, [False] * len(eqn.invars)
    used_inputs, thinned = dce_rules[primitive](used, eqn)
    return thinned, used_inputs


_splits = {scan_p: _split_scan, cond_p: _split_cond, shard_map_p: _split_shard_map}
