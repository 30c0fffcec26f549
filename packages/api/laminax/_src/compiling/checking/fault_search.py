"""The search for the operation that made a NaN or an infinity: a program is run again, operation by operation, through calls and loops."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any, Callable, Iterator, Sequence

from laminax_ir.ops.control_primitives import cond_p, scan_p, while_p
from laminax_ir.options import config
from laminax_ir.programs.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, called_program
from laminax_ir.programs.primitive import Primitive
from laminax_ir.tracing import source
from laminax_ir.tracing.trace import state

from laminax._src.compiling.checking.result_faults import fault, message
from laminax._src.compiling.executables import Program, where_to_run
from laminax._src.compiling.regions import compile_program

if TYPE_CHECKING:
    from laminax_ir.programs.jaxpr import Var
    from laminax_ir.types.annotations import Array


def run_checked(jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Any], name: str) -> list[Any]:
    """Runs a program operation by operation, through its calls, and raises at the first faulty result."""
    env: dict[Any, Any] = {**dict(zip(jaxpr.constvars, consts)), **dict(zip(jaxpr.invars, args))}

    def value(atom: Literal | Var) -> Any:
        return atom.val if type(atom) is Literal else env[atom]

    for eqn in jaxpr.eqns:
        env.update(zip(eqn.outvars, _run_equation(eqn, [value(v) for v in eqn.invars], name)))
    return [value(v) for v in jaxpr.outvars]


def _run_equation(eqn: JaxprEqn, operands: list[Any], name: str) -> list[Any]:
    if (closed := called_program(eqn)) is not None:
        return run_checked(closed.jaxpr, closed.consts, operands,
                            f"{eqn.primitive.name}({eqn.params['name']}), inside {name}" if "name" in eqn.params else name)
    with config.debug_nans(False), config.debug_infs(False):
        result = state.trace.process(eqn.primitive, operands, eqn.params)
    outs = result if eqn.primitive.multiple_results else [result]
    found = fault(outs)
    if found is not None:
        if eqn.primitive in _BODIES_RUN:
            _look_inside(eqn, operands, name)
        raise FloatingPointError(message(found, eqn.primitive.name, source.summarize(eqn.source_info), name))
    return outs


def _look_inside(eqn: JaxprEqn, operands: list[Any], name: str) -> None:
    """Raises at the faulty operation inside a loop or branch.

    Each run of the body is one compiled call, so that a fault late in a long loop is found; the first run with a faulty
    result is then run operation by operation.
    """
    place = source.summarize(eqn.source_info)
    for what, closed, args, outs in _BODIES_RUN[eqn.primitive](operands, **eqn.params):
        if fault(outs) is not None:
            run_checked(closed.jaxpr, closed.consts, args, f"{what}{f' at {place}' if place else ''}, inside {name}")


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


_BODIES_RUN: dict[Primitive, Callable[..., _BodyRuns]] = {cond_p: _cond_runs, while_p: _while_runs, scan_p: _scan_runs}
