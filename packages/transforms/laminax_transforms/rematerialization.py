"""Rematerialization: a program split into what is computed once and what is computed again for its derivative.

The linearized program's residuals are the values that its linear part needs. A plain call keeps them all. Here only the
inputs are kept, and those values that a policy accepts; the equations between these and the residuals go into the
derivative's program, in front of its linear part. Source: Griewank and Walther, "Evaluating Derivatives", chapter 12.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any, Callable, Iterable, NamedTuple, Sequence

import numpy as np

from laminax_ir.jaxpr import ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, Var
from laminax_ir.ops.calls import checkpoint_p, jit_p
from laminax_transforms.jaxpr_transforms import cached_by_jaxpr, linearize_jaxpr

Policy = Callable[..., Any]


class Decision(enum.Enum):
    """What a policy may return instead of a bool."""
    RECOMPUTE = False
    SAVE = True


class Offloadable(NamedTuple):
    """What a policy returns to have a value moved to another memory and back: from the kind `src` to the kind `dst`."""
    src: Any
    dst: Any


@dataclass(frozen=True)
class Rematerialized:
    """A program split for differentiation.

    primal: `(*inputs) -> (*results, *saved values)`.
    tangent: `(*inputs, those of `used_inputs`, *saved values, *nonzero tangents) -> (*nonzero tangents of results)`,
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
    split = linearize_jaxpr(closed, nonzero)
    full = split.primal if policy is None else inline_calls(split.primal)
    jaxpr, linear = full.jaxpr, split.linear.jaxpr
    residuals = [jaxpr.invars[i] if where == "in" else jaxpr.outvars[i] for where, i in split.residual_sources]
    saved, again = _choose(jaxpr.eqns, residuals, policy)
    primal = closed
    if saved:
        results = jaxpr.outvars[:len(closed.out_avals)]
        primal = ClosedJaxpr(jaxpr.replace(outvars=[*results, *saved], eqns=_needed(jaxpr.eqns, [*results, *saved])), full.consts)
    eqns = [*again, *_with_inputs(linear, dict(zip(linear.invars, residuals)))]
    results = [atom if type(atom) is Literal else dict(zip(linear.invars, residuals)).get(atom, atom) for atom in linear.outvars]
    used = {v for eqn in eqns for v in eqn.invars if type(v) is Var}
    used_inputs = tuple(i for i, v in enumerate(jaxpr.invars) if v in used)
    invars = [*[jaxpr.invars[i] for i in used_inputs], *saved, *linear.invars[len(residuals):]]
    tangent = ClosedJaxpr(Jaxpr([*jaxpr.constvars, *linear.constvars], invars, results, eqns, debug_info=closed.jaxpr.debug_info),
                          [*full.consts, *split.linear.consts])
    return Rematerialized(primal, tangent, used_inputs, len(saved), split.out_nonzero)


def _choose(eqns: Sequence[JaxprEqn], residuals: Iterable[Any], policy: Policy | None) -> tuple[list[Var], list[JaxprEqn]]:
    """The values to save, and the equations to run again to get the residuals from them and the inputs."""
    needed = {v for v in residuals if type(v) is not Literal}
    saved: list[Var] = []
    again: list[JaxprEqn] = []
    for eqn in reversed(eqns):
        wanted = [v for v in eqn.outvars if v in needed]
        if not wanted:
            continue
        if policy is not None and _accepts(policy, eqn):
            saved.extend(reversed(wanted))
        else:
            if eqn.effects:
                raise NotImplementedError(f"checkpoint: {eqn.primitive} has effects ({', '.join(map(str, eqn.effects))}) and its "
                                          "result is needed for the derivative, so it would have to run twice. Move it out of "
                                          "the checkpointed function, or use a policy that saves its result.")
            again.append(eqn)
            needed.update([v for v in eqn.invars if type(v) is not Literal])
    return saved[::-1], again[::-1]


def _accepts(policy: Policy, eqn: JaxprEqn) -> bool:
    decision = policy(eqn.primitive, *[v.aval for v in eqn.invars], **eqn.params)
    if isinstance(decision, Offloadable):
        raise NotImplementedError(f"checkpoint: the policy wants the result of {eqn.primitive} moved from {decision.src} to {decision.dst}; "
                                  "moving saved values to another memory is not supported. Return True to save it, or False to "
                                  "compute it again.")
    if isinstance(decision, Decision):
        return decision.value
    if not isinstance(decision, (bool, np.bool_)):
        raise TypeError(f"checkpoint: the policy must return a bool, Saveable, Recompute or an Offloadable, got {decision!r} for the result "
                        f"of {eqn.primitive}.")
    return bool(decision)


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
    """The equations with other atoms in the place of some variables."""
    return [eqn.replace(invars=[v if type(v) is Literal else atoms.get(v, v) for v in eqn.invars]) for eqn in jaxpr.eqns]


@cached_by_jaxpr
def inline_calls(closed: ClosedJaxpr, primitives: tuple = (jit_p,)) -> ClosedJaxpr:
    """The same program with the called programs written in place; what the parameter `primitives` names counts as a call."""
    if not any(eqn.primitive in primitives for eqn in closed.eqns):
        return closed
    eqns: list[JaxprEqn] = []
    atoms: dict[Var, Any] = {}
    _inline_into(eqns, closed.jaxpr, atoms, primitives)
    outvars = [_read(atoms, v) for v in closed.jaxpr.outvars]
    return ClosedJaxpr(closed.jaxpr.replace(outvars=outvars, eqns=eqns), closed.consts)


def _inline_into(eqns: list[JaxprEqn], jaxpr: Jaxpr, atoms: dict[Var, Any], primitives: tuple) -> None:
    for eqn in jaxpr.eqns:
        invars = [_read(atoms, v) for v in eqn.invars]
        if eqn.primitive not in primitives:
            outvars = [DropVar(v.aval) if type(v) is DropVar else Var(v.aval) for v in eqn.outvars]
            eqns.append(eqn.replace(invars=invars, outvars=outvars))
            atoms.update(zip(eqn.outvars, outvars))
            continue
        called = eqn.params["jaxpr"].jaxpr  # called jaxprs have no constants
        inner: dict[Var, Any] = dict(zip(called.invars, invars))
        _inline_into(eqns, called, inner, primitives)
        atoms.update(zip(eqn.outvars, [_read(inner, v) for v in called.outvars]))


def _read(atoms: dict[Var, Any], atom: Any) -> Any:
    return atom if type(atom) is Literal else atoms.get(atom, atom)


ALL_CALLS = (jit_p, checkpoint_p)
