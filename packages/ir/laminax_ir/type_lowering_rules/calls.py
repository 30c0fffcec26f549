"""Calls with values of users' types become calls of programs of arrays.

Calls with rules of derivatives or batches (`custom_jvp`, `custom_vjp`, `custom_vmap`) are evaluated in place: types are lowered after all
transformations, when these rules are not needed any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from laminax_ir.ops.calls import checkpoint_p, custom_jvp_call_p, custom_vjp_call_p, custom_vmap_call_p, jit_p
from laminax_ir.recording.evaluation import eval_jaxpr
from laminax_ir.recording.type_lowering import lowered, type_lowering_rules
from laminax_ir.types.avals import get_aval
from laminax_ir.types.hi_types import lo_avals, lowered_values, raised_values


@type_lowering_rules(jit_p)
def _jit(operands: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    program = params["jaxpr"]
    outs = jit_p.bind(*lowered_values(operands), **{**params, "jaxpr": lowered(program)})
    return raised_values(program.out_avals, outs)


@type_lowering_rules(checkpoint_p)
def _checkpoint(operands: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    program, prevent_cse = params["jaxpr"], params["prevent_cse"]
    if isinstance(prevent_cse, tuple):
        prevent_cse = tuple([flag for flag, x in zip(prevent_cse, operands) for _ in lo_avals(get_aval(x))])
    outs = checkpoint_p.bind(*lowered_values(operands), **{**params, "jaxpr": lowered(program), "prevent_cse": prevent_cse})
    return raised_values(program.out_avals, outs)


def _called(name: str, operands: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    program = params[name]
    return eval_jaxpr(program.jaxpr, program.consts, *operands)


type_lowering_rules.add(custom_jvp_call_p, partial(_called, "call_jaxpr"))
type_lowering_rules.add(custom_vjp_call_p, partial(_called, "call_jaxpr"))
type_lowering_rules.add(custom_vmap_call_p, partial(_called, "call"))
