"""NaN and infinity traps: what `debug_nans` and `debug_infs` do.

While one of them is on, every result passes through here on its way out of a compiled program, be it one operation or
a jitted function. For a jitted function the program is then run again operation by operation, to name the one at fault.
"""

from __future__ import annotations

from typing import Any, Sequence

import laminax_runtime as runtime
import numpy as np
from laminax_ir import config, dtypes, source
from laminax_ir.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal
from laminax_ir.ops import calls
from laminax_ir.trace import state


def is_checking() -> bool:
    """Whether results are to be checked."""
    return config.debug_nans.value or config.debug_infs.value


def check_results(outs: Sequence[Any], name: str, closed: ClosedJaxpr | None = None, args: Sequence[Any] = ()) -> None:
    """Raises if a result holds a NaN, or an infinity, while that is trapped.

    Args:
      outs: the results.
      name: what computed them: an operation's name, or `jit(f)`.
      closed: the program, to be run again; None for a single operation.
      args: its arguments.

    Raises:
      FloatingPointError: naming the operation and its line in the user's program.
    """
    found = _fault(outs)
    if found is None:
        return
    if closed is None:
        raise FloatingPointError(_message(found, name))
    if any(isinstance(x, runtime.ArrayImpl) and x.is_deleted() for x in args):
        raise FloatingPointError(f"{_message(found, name)} The operation cannot be found, since arguments were donated; "
                                 "leave donate_argnums out to have it named.")
    _run_checked(closed.jaxpr, closed.consts, args, name)
    raise FloatingPointError(f"{_message(found, name)} Run operation by operation, the program does not produce it.")


def _fault(outs: Sequence[Any]) -> str | None:
    for out in outs:
        dtype = getattr(out, "dtype", None)
        if dtype is None or dtypes.is_extended(dtype) or not dtypes.issubdtype(dtype, dtypes.inexact):
            continue
        value = np.asarray(out)
        if config.debug_nans.value and np.isnan(value).any():
            return "nan"
        if config.debug_infs.value and np.isinf(value).any():
            return "inf"
    return None


def _message(found: str, name: str, where: str = "", outer: str = "") -> str:
    place = f" at {where}" if where else ""
    inside = f", inside {outer}" if outer else ""
    return f"invalid value ({found}) encountered in {name}{place}{inside}."


_CALLS = {calls.jit_p: "jaxpr", calls.custom_jvp_call_p: "call_jaxpr", calls.custom_vjp_call_p: "call_jaxpr"}


def _run_checked(jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Any], name: str) -> list[Any]:
    """Runs a program operation by operation, through its calls, and raises at the first faulty result."""
    env: dict[Any, Any] = {**dict(zip(jaxpr.constvars, consts)), **dict(zip(jaxpr.invars, args))}

    def value(atom):
        return atom.val if type(atom) is Literal else env[atom]

    for eqn in jaxpr.eqns:
        env.update(zip(eqn.outvars, _run_equation(eqn, [value(v) for v in eqn.invars], name)))
    return [value(v) for v in jaxpr.outvars]


def _run_equation(eqn: JaxprEqn, operands: list[Any], name: str) -> list[Any]:
    if eqn.primitive in _CALLS:
        closed = eqn.params[_CALLS[eqn.primitive]]
        return _run_checked(closed.jaxpr, closed.consts, operands, f"jit({eqn.params['name']})")
    with config.debug_nans(False), config.debug_infs(False):
        result = state.trace.process(eqn.primitive, operands, eqn.params)
    outs = result if eqn.primitive.multiple_results else [result]
    found = _fault(outs)
    if found is not None:
        raise FloatingPointError(_message(found, eqn.primitive.name, source.summarize(eqn.source_info), name))
    return outs
