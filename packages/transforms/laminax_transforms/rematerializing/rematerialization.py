"""Rematerialization: splits a program into a part that is computed once and a part that is computed again for its derivative.

The linearized program's residuals are the values that its linear part needs. A plain call keeps all residuals. Here only the
inputs and the values that a policy accepts are kept; the equations that compute the residuals from them go into the derivative's
program, in front of its linear part. Source: Griewank and Walther, "Evaluating Derivatives", chapter 12.
"""

from __future__ import annotations

import enum
from functools import partial
from typing import Any, Callable, Iterable, NamedTuple, Sequence

import numpy as np

from laminax_ir.ops.calls import custom_vjp_call_p
from laminax_ir.ops.sharding import device_put_p
from laminax_ir.options.records import Record
from laminax_ir.programs.dce import dce_closed_jaxpr
from laminax_ir.programs.effects import check_allowed, own_effects, remat_allowed_effects
from laminax_ir.programs.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, no_effects, subjaxprs
from laminax_ir.tracing.name_stacks import NameStack
from laminax_ir.types.avals import aval_in
from laminax_ir.types.memory_spaces import HOST_KIND, space_of_kind
from laminax_transforms.base.derived_programs import cached_by_jaxpr
from laminax_transforms.programs.inlining import inline_calls
from laminax_transforms.programs.jaxpr_transforms import linearize_jaxpr
from laminax_transforms.rematerializing.rematerialized_control_flow import Choice, split_control_flow

Policy = Callable[..., Any]


class Decision(enum.Enum):
    """A policy's answer instead of a bool."""
    RECOMPUTE = False
    SAVE = True


class Offloadable(NamedTuple):
    """A policy's answer that a value is saved in other memory: moved from the kind `src` to the kind `dst`, and back where it is needed."""
    src: Any
    dst: Any


class Rematerialized(Record):
    """A program split for differentiation.

    primal: `(*inputs) -> (*results, *saved values)`.
    tangent: `(*inputs in used_inputs, *saved values, *nonzero tangents) -> (*nonzero tangents of results)`,
      linear in the tangents.
    num_saved: how many values are saved besides the inputs.
    """
    primal: ClosedJaxpr
    tangent: ClosedJaxpr
    used_inputs: tuple[int, ...]
    num_saved: int
    out_nonzero: tuple[bool, ...]


@cached_by_jaxpr
def rematerialize(closed: ClosedJaxpr, nonzero: tuple[bool, ...], policy: Policy | None) -> Rematerialized:
    """Splits a program for differentiation with respect to the marked inputs.

    Args:
      closed: the program.
      nonzero: which inputs have tangents.
      policy: which equations' results may be saved; None: none.
    """
    if closed.effects:
        check_allowed(own_effects.filter_not_in(closed.effects), remat_allowed_effects, "a checkpointed function that is differentiated",
                      "remat_allowed_effects")
    split = linearize_jaxpr(closed, nonzero)
    full = split.primal if policy is None else inline_calls(split.primal)
    jaxpr, linear = full.jaxpr, split.linear.jaxpr
    residuals = [jaxpr.invars[i] if where == "in" else jaxpr.outvars[i] for where, i in split.residual_sources]
    choice = _choose(policy, jaxpr.eqns, residuals)
    saved = choice.saved
    primal = closed
    # In `jaxpr` the forward rules of such functions have run: forward mode may be applied to their operations.
    if saved or _calls_reverse_rules(closed.jaxpr, set()):
        results = jaxpr.outvars[:len(closed.out_avals)]
        primal = ClosedJaxpr(jaxpr.replace(outvars=[*results, *saved], eqns=_needed(choice.first, [*results, *saved])), full.consts)
        primal, _ = dce_closed_jaxpr(primal, [True] * len(primal.out_avals), True)
    atoms = dict(zip(linear.invars, residuals))
    eqns = [*choice.again, *_with_inputs(linear, atoms)]
    results = [atom if type(atom) is Literal else atoms.get(atom, atom) for atom in linear.outvars]
    kept = [*saved, *linear.invars[len(residuals):]]
    tangent, used = dce_closed_jaxpr(ClosedJaxpr(
        Jaxpr([*jaxpr.constvars, *linear.constvars], [*jaxpr.invars, *kept], results, eqns, debug_info=closed.jaxpr.debug_info),
        [*full.consts, *split.linear.consts]), [True] * len(results), [False] * len(jaxpr.invars) + [True] * len(kept))
    used_inputs = tuple(i for i in range(len(jaxpr.invars)) if used[i])
    return Rematerialized(primal, tangent, used_inputs, len(saved), split.out_nonzero)


def _may_run_again(eqn: JaxprEqn) -> bool:
    return not eqn.effects or not remat_allowed_effects.filter_not_in(eqn.effects)  # a second run prints again, for one


def _choose(policy: Policy | None, eqns: Sequence[JaxprEqn], residuals: Iterable[Any]) -> Choice:
    """Which values of a program to save, and which equations to run again, to have the residuals."""
    needed = {v for v in residuals if type(v) is not Literal}
    first: list[JaxprEqn] = []
    saved: list[Var] = []
    again: list[JaxprEqn] = []
    for eqn in reversed(eqns):
        wanted = [v in needed for v in eqn.outvars]
        repeated: JaxprEqn | None = None
        if any(wanted) or eqn.effects and not eqn.outvars and _may_run_again(eqn):
            accepted = policy is not None and _decision(policy, eqn)
            if isinstance(accepted, Offloadable):
                for v in reversed([v for v, is_wanted in zip(eqn.outvars, wanted) if is_wanted]):
                    there, back = _offloaded(v, accepted, eqn)
                    first.append(there)
                    again.append(back)
                    saved.extend(there.outvars)
            elif accepted:
                saved.extend([v for v, is_wanted in zip(eqn.outvars, wanted) if is_wanted][::-1])
            elif policy is not None and (split := split_control_flow(eqn, wanted, partial(_choose, policy))) is not None:
                eqn, repeated = split.first, split.again
                saved.extend(split.saved[::-1])
            elif not _may_run_again(eqn):
                raise NotImplementedError(
                    f"checkpoint: Effects not supported here: {eqn.primitive} has effects ({', '.join(map(str, eqn.effects))}) and its "
                    "result is needed for the derivative, so it would have to run twice. Move it out of the checkpointed function, or "
                    "use a policy that saves its result.")
            else:
                repeated = eqn
        first.append(eqn)
        if repeated is not None:
            again.append(_named(repeated))
            needed.update([v for v in repeated.invars if type(v) is not Literal])
    return Choice(first[::-1], saved[::-1], again[::-1])


def _named(eqn: JaxprEqn) -> JaxprEqn:
    """The equation in a scope that says, in profiles and the compiler's text, that it computes again what was computed before."""
    info = eqn.source_info
    return eqn.replace(source_info=info._replace(name_stack=NameStack(("rematted_computation", *info.name_stack))))


def _decision(policy: Policy, eqn: JaxprEqn) -> bool | Offloadable:
    """The policy's answer for the results of an equation: whether to save them, or in which memory."""
    decision = policy(eqn.primitive, *[v.aval for v in eqn.invars], **eqn.params)
    if isinstance(decision, Offloadable):
        return decision
    if isinstance(decision, Decision):
        return decision.value
    if not isinstance(decision, (bool, np.bool_)):
        raise TypeError(f"checkpoint: the policy must return a bool, Saveable, Recompute or an Offloadable, got {decision!r} for the "
                        f"result of {eqn.primitive}.")
    return bool(decision)


def _offloaded(v: Var, where: Offloadable, eqn: JaxprEqn) -> tuple[JaxprEqn, JaxprEqn]:
    """The equations that move a result of `eqn` to where it is saved, and back."""
    own = v.aval.memory_space
    for name, kind in where._asdict().items():
        if kind not in _MEMORY_KINDS:
            raise ValueError(f"checkpoint: the policy wants the result of {eqn.primitive} moved from {where.src!r} to {where.dst!r}. "
                             f"Offloadable takes the kinds of memory {' and '.join(map(repr, _MEMORY_KINDS))}; correct {name}.")
    if own is not space_of_kind(where.src):
        raise ValueError(f"checkpoint: the policy wants the result of {eqn.primitive} moved from {where.src!r} to {where.dst!r}, and it is "
                         f"{v.aval.str_short()}, which is not in {where.src!r}. Correct src.")
    space = space_of_kind(where.dst)
    moved = Var(aval_in(v.aval, space))
    return (JaxprEqn([v], [moved], device_put_p, {"sharding": space, "source": None}, no_effects, eqn.source_info),
            JaxprEqn([moved], [v], device_put_p, {"sharding": own, "source": None}, no_effects, eqn.source_info))


_MEMORY_KINDS = ("device", HOST_KIND)


def _calls_reverse_rules(jaxpr: Jaxpr, seen: set[Jaxpr]) -> bool:
    """Whether the program, or a program in it that is not in `seen`, calls a function with a reverse rule of its own.

    Functions that ask to be run themselves (`optimize_remat`) do not count.
    """
    if jaxpr in seen:
        return False
    seen.add(jaxpr)
    return any(not getattr(eqn.params["fwd"], "optimize_remat", False) if eqn.primitive is custom_vjp_call_p
               else any(_calls_reverse_rules(inner, seen) for inner in subjaxprs(eqn)) for eqn in jaxpr.eqns)


def _needed(eqns: Sequence[JaxprEqn], results: Iterable[Any]) -> list[JaxprEqn]:
    """The equations that results depend on, and those with effects."""
    live = {v for v in results if type(v) is not Literal}
    kept = []
    for eqn in reversed(eqns):
        if eqn.effects or not live.isdisjoint(eqn.outvars):
            kept.append(eqn)
            live.update([v for v in eqn.invars if type(v) is not Literal])
    return kept[::-1]


def _with_inputs(jaxpr: Jaxpr, atoms: dict[Var, Any]) -> list[JaxprEqn]:
    """The equations of the program with the variables in `atoms` replaced by their atoms."""
    return [eqn.replace(invars=[v if type(v) is Literal else atoms.get(v, v) for v in eqn.invars]) for eqn in jaxpr.eqns]
