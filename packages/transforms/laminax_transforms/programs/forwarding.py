"""Which results of a program are its operands, handed through."""

from __future__ import annotations

from laminax_ir.ops.calls import jit_p
from laminax_ir.ops.control_flow import scan_p
from laminax_ir.programs.jaxpr import ClosedJaxpr, JaxprEqn, Var
from laminax_transforms.base.derived_programs import cached_by_jaxpr


@cached_by_jaxpr
def forwarded_operands(closed: ClosedJaxpr) -> tuple[int | None, ...]:
    """For each result the number of the operand that it is in every case, or None where it is computed."""
    places = {var: i for i, var in enumerate(closed.jaxpr.invars)}
    for eqn in closed.jaxpr.eqns:
        for var, operand in zip(eqn.outvars, _forwarded_by(eqn)):
            source = None if operand is None else eqn.invars[operand]
            if isinstance(source, Var) and source in places:
                places[var] = places[source]
    return tuple([places.get(v) if isinstance(v, Var) else None for v in closed.jaxpr.outvars])


def _forwarded_by(eqn: JaxprEqn) -> tuple[int | None, ...]:
    if eqn.primitive is jit_p:
        return forwarded_operands(eqn.params["jaxpr"])
    if eqn.primitive is scan_p:  # a carry that every step hands on as it got it
        first, count = eqn.params["num_consts"], eqn.params["num_carry"]
        results = forwarded_operands(eqn.params["jaxpr"])[:count]
        return tuple([first + i if result == first + i else None for i, result in enumerate(results)])
    return ()
