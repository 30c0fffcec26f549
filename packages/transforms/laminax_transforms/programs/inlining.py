"""Programs without calls: the called programs written in the caller's place."""

from __future__ import annotations

from typing import Any

from laminax_ir.ops.calls import checkpoint_p, jit_p
from laminax_ir.programs.jaxpr import ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, Var
from laminax_transforms.base.derived_programs import cached_by_jaxpr

ALL_CALLS = (jit_p, checkpoint_p)


@cached_by_jaxpr
def inline_calls(closed: ClosedJaxpr, primitives: tuple = (jit_p,)) -> ClosedJaxpr:
    """The same program with the called programs written in place; `primitives` are the primitives that count as calls."""
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
