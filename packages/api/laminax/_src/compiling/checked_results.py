"""NaN and infinity traps: what `debug_nans` and `debug_infs` do.

While one of them is on, every result passes through here on its way out of a compiled program, be it one operation or
a jitted function. For a jitted function the program is then run again operation by operation, to name the operation at fault.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any, Callable, Iterator, Sequence

import numpy as np

import laminax_runtime as runtime
from laminax_ir.ops import calls
from laminax_ir.ops.control_primitives import cond_p, scan_p, while_p
from laminax_ir.ops.linear_call import linear_call_p
from laminax_ir.options import config
from laminax_ir.programs.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal
from laminax_ir.programs.primitive import Primitive
from laminax_ir.tracing import source
from laminax_ir.tracing.trace import state
from laminax_ir.types import dtypes

from laminax._src.compiling.executables import Program, where_to_run
from laminax._src.compiling.regions import compile_program

if TYPE_CHECKING:
    from laminax_ir.programs.jaxpr import Var
    from laminax_ir.types.annotations import Array


def is_checking() -> bool:
    """Whether results are to be checked."""
    return config.debug_nans.value or config.debug_infs.value


def check_results(outs: Sequence[Any], name: str, closed: ClosedJaxpr | None = None, args: Sequence[Any] = ()) -> None:
    """Raises if a result holds a NaN or an infinity that the settings trap.

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


_CALLS = {calls.jit_p: "jaxpr", calls.checkpoint_p: "jaxpr", calls.custom_jvp_call_p: "call_jaxpr",
          calls.custom_vjp_call_p: "call_jaxpr", calls.custom_vmap_call_p: "call",
          linear_call_p: "call"}


def _run_checked(jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Any], name: str) -> list[Any]:
    """Runs a program operation by operation, through its calls, and raises at the first faulty result."""
    env: dict[Any, Any] = {**dict(zip(jaxpr.constvars, consts)), **dict(zip(jaxpr.invars, args))}

    def value(atom: Literal | Var) -> Any:
        return atom.val if type(atom) is Literal else env[atom]

    for eqn in jaxpr.eqns:
        env.update(zip(eqn.outvars, _run_equation(eqn, [value(v) for v in eqn.invars], name)))
    return [value(v) for v in jaxpr.outvars]


def _run_equation(eqn: JaxprEqn, operands: list[Any], name: str) -> list[Any]:
    if eqn.primitive in _CALLS:
        closed = eqn.params[_CALLS[eqn.primitive]]
        return _run_checked(closed.jaxpr, closed.consts, operands,
                            f"{eqn.primitive.name}({eqn.params['name']}), inside {name}" if "name" in eqn.params else name)
    with config.debug_nans(False), config.debug_infs(False):
        result = state.trace.process(eqn.primitive, operands, eqn.params)
    outs = result if eqn.primitive.multiple_results else [result]
    found = _fault(outs)
    if found is not None:
        if eqn.primitive in _BODIES_RUN:
            _look_inside(eqn, operands, name)
        raise FloatingPointError(_message(found, eqn.primitive.name, source.summarize(eqn.source_info), name))
    return outs


def _look_inside(eqn: JaxprEqn, operands: list[Any], name: str) -> None:
    """Raises at the faulty operation inside a loop or branch.

    Each run of the body is one compiled call, so that a fault late in a long loop is found; the first run with a faulty
    result is then run operation by operation.
    """
    place = source.summarize(eqn.source_info)
    for what, closed, args, outs in _BODIES_RUN[eqn.primitive](operands, **eqn.params):
        if _fault(outs) is not None:
            _run_checked(closed.jaxpr, closed.consts, args, f"{what}{f' at {place}' if place else ''}, inside {name}")


# The runs of a loop's body or of a branch, in turn: its name, the program, the arguments and the results.
_BodyRuns = Iterator[tuple[str, ClosedJaxpr, Sequence[Any], Sequence[Any]]]


def _compiled(closed: ClosedJaxpr) -> Callable[..., Sequence[Any]]:
    """A program as a function that is compiled on its first call, for the devices of the arguments of that call."""
    program: Program | None = None

    def run(*args: Any) -> Sequence[Any]:
        nonlocal program
        with config.debug_nans(False), config.debug_infs(False):
            if program is None:
                program = compile_program(closed, where_to_run("body", closed, args), name="body")
            return program.run(args)

    return run


def _cond_runs(operands: Sequence[Array | float], *, branches: tuple[ClosedJaxpr, ...], **_params: Any) -> _BodyRuns:
    index = min(max(int(operands[0]), 0), len(branches) - 1)
    closed, args = branches[index], operands[1:]
    yield f"branch {index} of cond", closed, args, _compiled(closed)(*args)


def _while_runs(operands: Sequence[Array | float], *, cond_jaxpr: ClosedJaxpr, body_jaxpr: ClosedJaxpr, cond_nconsts: int,
                body_nconsts: int) -> _BodyRuns:
    cond_consts, carry = operands[:cond_nconsts], operands[cond_nconsts + body_nconsts:]
    body_consts = operands[cond_nconsts:cond_nconsts + body_nconsts]
    goes_on, body = _compiled(cond_jaxpr), _compiled(body_jaxpr)
    for i in count():
        if not goes_on(*cond_consts, *carry)[0]:
            return
        args = [*body_consts, *carry]
        carry = body(*args)
        yield f"iteration {i} of while", body_jaxpr, args, carry


def _scan_runs(operands: Sequence[Array], *, jaxpr: ClosedJaxpr, length: Any, reverse: Any, num_consts: int, num_carry: int,
               **_params: Any) -> _BodyRuns:
    consts, carry = operands[:num_consts], operands[num_consts:num_consts + num_carry]
    xs, body = operands[num_consts + num_carry:], _compiled(jaxpr)
    for i in reversed(range(length)) if reverse else range(length):
        with config.debug_nans(False), config.debug_infs(False):
            args = [*consts, *carry, *(x[i] for x in xs)]
        outs = body(*args)
        yield f"iteration {i} of scan", jaxpr, args, outs
        carry = outs[:num_carry]


# Keyed by names, so that the family control_flow need not be loaded.
_BODIES_RUN: dict[Primitive, Callable[..., _BodyRuns]] = {cond_p: _cond_runs, while_p: _while_runs, scan_p: _scan_runs}
