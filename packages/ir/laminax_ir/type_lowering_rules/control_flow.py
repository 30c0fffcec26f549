"""Loops and branches with values of users' types: each is the arrays that it consists of, in its place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from laminax_ir.ops.control_primitives import cond_p, scan_p, while_p, with_leading_axis
from laminax_ir.recording.type_lowering import all_lo_avals, lowered, type_lowering_rules
from laminax_ir.types.hi_types import lowered_values, raised_values


@type_lowering_rules(cond_p)
def _cond(operands: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    branches = params["branches"]
    outs = cond_p.bind(*lowered_values(operands), **{**params, "branches": tuple(map(lowered, branches))})
    return raised_values(branches[0].out_avals, outs)


@type_lowering_rules(scan_p)
def _scan(operands: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """The arrays of what is scanned, and of what is stacked, have the leading axis."""
    program, consts, carry = params["jaxpr"], params["num_consts"], params["num_carry"]
    values = lowered_values(operands)
    outs = scan_p.bind(*values, **{
        **params, "jaxpr": lowered(program), "num_consts": len(lowered_values(operands[:consts])),
        "num_carry": len(lowered_values(operands[consts:consts + carry])), "linear": (False,) * len(values)})
    stacked = [with_leading_axis(aval, params["length"]) for aval in program.out_avals[carry:]]
    return raised_values([*program.out_avals[:carry], *stacked], outs)


@type_lowering_rules(while_p)
def _while(operands: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    cond_count, body_count = params["cond_nconsts"], params["body_nconsts"]
    condition, body = params["cond_jaxpr"], params["body_jaxpr"]
    outs = while_p.bind(
        *lowered_values(operands), cond_jaxpr=lowered(condition), body_jaxpr=lowered(body),
        cond_nconsts=len(all_lo_avals(condition.in_avals[:cond_count])), body_nconsts=len(all_lo_avals(body.in_avals[:body_count])))
    return raised_values(body.out_avals, outs)
