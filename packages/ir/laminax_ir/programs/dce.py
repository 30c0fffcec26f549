"""Dead-code elimination on jaxprs.

Walks the equations backwards and keeps those that a wanted result depends on, and those that have effects. An
equation that calls a jaxpr can be thinned out instead of kept whole; a primitive says how with `dce_rule`.
"""

from __future__ import annotations

from typing import Any, Callable, Sequence

from laminax_ir.programs.jaxpr import ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, Var
from laminax_ir.programs.primitive import Primitive, RuleTable

dce_rules = RuleTable("dead-code elimination", "laminax_ir.ops")


def dce_rule(*primitives: Primitive) -> Callable[[Callable], Callable]:
    """Decorator: `rule(used_outputs, eqn) -> (used_inputs, eqn)`, or `(used_inputs, None)` to drop the equation.

    Asked only when a result is used or the equation has effects. The new equation has the used inputs and the used
    outputs only.
    """
    return dce_rules(*primitives)


def dce_jaxpr(jaxpr: Jaxpr, used_outputs: Sequence[bool], instantiate: bool | Sequence[bool] = False) \
        -> tuple[Jaxpr, list[bool]]:
    """The part of a program that some of its results need.

    Args:
      jaxpr: the program.
      used_outputs: for each result, whether it is wanted.
      instantiate: whether to keep parameters that are not needed; for all, or for each.

    Returns:
      The program of the needed parameters and the wanted results, and for each old parameter whether it is kept.
      Constvars stay, needed or not.

    Raises:
      ValueError: if the number of flags is not the number of results or parameters.

    Example:
      >>> dce_jaxpr(jaxpr, [True, False])
    """
    _check_count("used_outputs", used_outputs, "results", jaxpr.outvars)
    keep = (instantiate,) * len(jaxpr.invars) if isinstance(instantiate, bool) else tuple(instantiate)
    _check_count("instantiate", keep, "parameters", jaxpr.invars)
    outvars = [atom for atom, used in zip(jaxpr.outvars, used_outputs) if used]
    live = {atom for atom in outvars if type(atom) is not Literal}
    eqns: list[JaxprEqn] = []
    for eqn in reversed(jaxpr.eqns):
        used = [v in live for v in eqn.outvars]
        if not any(used) and not eqn.effects:
            continue
        thinned = _thin(eqn, used)
        if thinned is not None:
            eqns.append(thinned)
            live.update(atom for atom in thinned.invars if type(atom) is not Literal)
    used_inputs = [v in live or kept for v, kept in zip(jaxpr.invars, keep)]
    invars = [v for v, used in zip(jaxpr.invars, used_inputs) if used]
    return Jaxpr(jaxpr.constvars, invars, outvars, eqns[::-1], debug_info=jaxpr.debug_info), used_inputs


def _check_count(what: str, flags: Sequence, of: str, counted: Sequence) -> None:
    if len(flags) != len(counted):
        raise ValueError(f"dce_jaxpr: {what} has {len(flags)} entries, the jaxpr has {len(counted)} {of}")


def _thin(eqn: JaxprEqn, used: list[bool]) -> JaxprEqn | None:
    rule = dce_rules.find(eqn.primitive)
    if rule is not None:
        return rule(used, eqn)[1]
    if all(used):
        return eqn
    return eqn.replace(outvars=[v if is_used else _dropped(v) for v, is_used in zip(eqn.outvars, used)])


def _dropped(var: Var) -> DropVar:
    return var if type(var) is DropVar else DropVar(var.aval)


def dce_closed_jaxpr(closed: ClosedJaxpr, used_outputs: Sequence[bool], instantiate: bool | Sequence[bool] = False) \
        -> tuple[ClosedJaxpr, list[bool]]:
    """`dce_jaxpr` for a program with its constants: those that are not needed are dropped too.

    The answer is remembered for as long as `closed` lives, and is `closed` itself when all of it is needed.
    """
    key = (tuple(used_outputs), instantiate if isinstance(instantiate, bool) else tuple(instantiate))
    question = ("dead code", *key)
    program, used_inputs = closed.derived.get(question) or closed.remember(question, _dce_closed(closed, *key))
    return closed if program is None else program, list(used_inputs)


def _dce_closed(closed: ClosedJaxpr, used_outputs: Sequence[bool],
                instantiate: bool | Sequence[bool]) -> tuple[ClosedJaxpr | None, list[bool]]:
    """The program and its used parameters; None instead of `closed` itself, which would make a cycle with its own answer."""
    jaxpr, used_inputs = dce_jaxpr(closed.jaxpr, used_outputs, instantiate)
    live: set[Any] = {atom for eqn in jaxpr.eqns for atom in eqn.invars if type(atom) is not Literal}
    live.update(atom for atom in jaxpr.outvars if type(atom) is not Literal)
    needed = [(v, c) for v, c in zip(jaxpr.constvars, closed.consts) if v in live]
    if all(used_outputs) and all(used_inputs) and jaxpr.eqns == closed.eqns and len(needed) == len(closed.consts):
        return None, used_inputs
    return ClosedJaxpr(jaxpr.replace(constvars=[v for v, _ in needed]), [c for _, c in needed]), used_inputs
