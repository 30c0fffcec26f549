"""Loops and branches with references: a loop carries the arrays that it writes to, a branch returns them."""

from __future__ import annotations

from functools import partial
from typing import Any, Sequence

from laminax_ir.ops.control_primitives import cond_p, scan_p, while_p
from laminax_ir.programs.jaxpr import Var
from laminax_ir.recording.discharge import PureProgram, discharge_rules, discharged, eval_with_refs, inner_aval, variant
from laminax_ir.recording.staging_trace import record_program
from laminax_ir.recording.stashes import keeping_stashes
from laminax_ir.refs.refs import values_in, write_back


def _parameters(program: PureProgram) -> list[Var]:
    return program.closed.jaxpr.invars


@discharge_rules(cond_p)
@keeping_stashes
def _cond(operands: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    index, *operands = operands
    programs = [discharged(branch) for branch in params["branches"]]
    written = tuple(any(column) for column in zip(*[program.written for program in programs]))

    def results(program: PureProgram) -> list[Any]:
        return [*program.results, *[v for v, is_written in zip(program.last_values(), written) if is_written]]

    branches = tuple([variant(p.closed, written, partial(_parameters, p), partial(results, p)) for p in programs])
    outs = cond_p.bind(index, *values_in(operands), **{**params, "branches": branches})
    count = len(programs[0].results)
    write_back(operands, written, outs[count:])
    return outs[:count]


def _parted(values: Sequence[Any], flags: Sequence[bool]) -> tuple[list[Any], list[Any]]:
    """The values whose flag is False, and the values whose flag is True."""
    return [x for x, flag in zip(values, flags) if not flag], [x for x, flag in zip(values, flags) if flag]


@discharge_rules(scan_p)
@keeping_stashes
def _scan(operands: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """References that are written to become carried values; scanned ones are sliced, and the slices that are written are stacked."""
    program = discharged(params["jaxpr"])
    consts, carry = params["num_consts"], params["num_carry"]
    written = program.written[:consts]

    def invars() -> list[Var]:
        fixed, changed = _parted(program.closed.jaxpr.invars[:consts], written)
        return [*fixed, *changed, *program.closed.jaxpr.invars[consts:]]

    def outvars() -> list[Any]:
        last = program.last_values()
        return [*_parted(last[:consts], written)[1], *program.results, *_parted(last[consts:], program.written[consts:])[1]]

    values = values_in(operands)
    fixed, changed = _parted(values[:consts], written)
    arguments = [*fixed, *changed, *values[consts:]]
    outs = scan_p.bind(*arguments, **{
        **params, "jaxpr": variant(program.closed, consts, invars, outvars), "num_consts": len(fixed), "num_carry": len(changed) + carry,
        "linear": (False,) * len(arguments)})
    write_back(operands[:consts], written, outs)
    count = len(changed) + len(program.results)
    write_back(operands[consts:], program.written[consts:], outs[count:])
    return outs[len(changed):count]


@discharge_rules(while_p)
def _while(operands: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """References that the body writes to become carried values, which the condition may read.

    The writes of a condition are made at the beginning of the step that it admits; for a step that it does not admit none are made.
    """
    condition = discharged(params["cond_jaxpr"])
    if any(condition.written):
        operands, params = _with_condition_in_body(operands, params)
    body = discharged(params["body_jaxpr"])
    cond_count, body_count = params["cond_nconsts"], params["body_nconsts"]
    cond_consts, body_consts = operands[:cond_count], operands[cond_count:cond_count + body_count]
    carry = operands[cond_count + body_count:]
    written = body.written[:body_count]
    changed = _parted(body_consts, written)[1]
    is_changed = tuple(any(x is ref for ref in changed) for x in cond_consts)
    places = tuple(next((i for i, x in enumerate(cond_consts) if x is ref), None) for ref in changed)

    def cond_invars() -> list[Var]:
        own = condition.closed.jaxpr.invars
        read_refs = [Var(inner_aval(ref.aval)) if i is None else own[i] for i, ref in zip(places, changed)]
        return [*_parted(own[:cond_count], is_changed)[0], *read_refs, *own[cond_count:]]

    def body_invars() -> list[Var]:
        own = body.closed.jaxpr.invars
        return [*[v for part in _parted(own[:body_count], written) for v in part], *own[body_count:]]

    def body_outvars() -> list[Any]:
        return [*_parted(body.last_values()[:body_count], written)[1], *body.results]

    cond_values, body_values = _parted(values_in(cond_consts), is_changed)[0], _parted(values_in(body_consts), written)
    key = is_changed, places, tuple(ref.aval for ref in changed)
    outs = while_p.bind(
        *cond_values, *[x for part in body_values for x in part], *carry, cond_nconsts=len(cond_values), body_nconsts=len(body_values[0]),
        cond_jaxpr=variant(condition.closed, key, cond_invars, lambda: condition.results),
        body_jaxpr=variant(body.closed, body_count, body_invars, body_outvars))
    write_back(body_consts, written, outs)
    return outs[len(changed):]


def _with_condition_in_body(operands: Sequence[Any], params: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The same loop, whose body begins with the operations of the condition."""
    cond_count, body_count = params["cond_nconsts"], params["body_nconsts"]
    consts, carry = operands[:cond_count + body_count], operands[cond_count + body_count:]
    unique = list({id(x): x for x in consts}.values())
    places = tuple(next(i for i, x in enumerate(unique) if x is const) for const in consts)
    condition, body = params["cond_jaxpr"], params["body_jaxpr"]
    question = ("condition in body", condition, places)
    both = body.derived.get(question)
    if both is None:
        def fun(*args: Any) -> list[Any]:
            given, state = [args[i] for i in places], args[len(unique):]
            eval_with_refs(condition.jaxpr, condition.consts, *given[:cond_count], *state)
            return eval_with_refs(body.jaxpr, body.consts, *given[cond_count:], *state)

        avals = [(condition.in_avals[:cond_count] + body.in_avals[:body_count])[places.index(i)] for i in range(len(unique))]
        both = body.remember(question, record_program(fun, [*avals, *body.in_avals[body_count:]], body.jaxpr.debug_info))
    return [*operands[:cond_count], *unique, *carry], {**params, "body_jaxpr": both, "body_nconsts": len(unique)}

