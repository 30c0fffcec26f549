"""Programs with the logs of backward rules as further results.

A program is rewritten, with the programs that it calls and those of its loops. A loop stacks the logs of its steps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from laminax_ir.ops.backward_logs import backward_log_p
from laminax_ir.ops.calls import checkpoint_p, jit_p
from laminax_ir.ops.control_primitives import scan_p, with_leading_axis
from laminax_ir.programs.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Var, subjaxprs
from laminax_transforms.base.derived_programs import cached_by_jaxpr


class Log(NamedTuple):
    """What one operation logs: the structure of a dictionary, and the name of the function with the backward rule."""
    tree: Any
    name: str


class LoggingProgram(NamedTuple):
    """A program whose logs are further results.

    Args:
      closed: the program.
      logs: what is logged, in the order of the further results.
    """
    closed: ClosedJaxpr
    logs: tuple[Log, ...]


@cached_by_jaxpr
def logging_program(closed: ClosedJaxpr) -> LoggingProgram:
    """The program with its logs as further results.

    Raises:
      NotImplementedError: for logs inside of branches and other operations that are not calls or scans.
    """
    jaxpr, further, eqns = closed.jaxpr, list[Any](), list[JaxprEqn]()
    logs = list[Log]()
    for eqn in jaxpr.eqns:
        if eqn.primitive is backward_log_p:
            logs.append(Log(eqn.params["tree"], eqn.params["name"]))
            further.extend(eqn.invars)
        elif any(map(_has_logs, subjaxprs(eqn))):
            rewritten, inner = _with_inner_logs(eqn)
            logs.extend(inner)
            further.extend(rewritten.outvars[len(eqn.outvars):])
            eqns.append(rewritten)
        else:
            eqns.append(eqn)
    return LoggingProgram(closed.replace(jaxpr=jaxpr.replace(eqns=eqns, outvars=[*jaxpr.outvars, *further])), tuple(logs))


def _has_logs(jaxpr: Jaxpr) -> bool:
    return any(eqn.primitive is backward_log_p or any(map(_has_logs, subjaxprs(eqn))) for eqn in jaxpr.eqns)


def _with_inner_logs(eqn: JaxprEqn) -> tuple[JaxprEqn, tuple[Log, ...]]:
    """The equation with the logs of its program as further results."""
    if eqn.primitive not in (jit_p, checkpoint_p, scan_p):
        raise NotImplementedError(f"with_logs: a backward rule logs inside of {eqn.primitive}, which is not supported. Log outside of it.")
    inner = logging_program(eqn.params["jaxpr"])
    avals = inner.closed.out_avals[len(eqn.outvars):]
    if eqn.primitive is scan_p:
        avals = [with_leading_axis(aval, eqn.params["length"]) for aval in avals]
    return eqn.replace(params={**eqn.params, "jaxpr": inner.closed}, outvars=[*eqn.outvars, *map(Var, avals)]), inner.logs
