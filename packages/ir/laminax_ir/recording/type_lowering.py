"""Programs with values of users' types (`types.hi_types`) as programs of arrays.

Such values are single values as long as programs are transformed. Where a program is compiled or evaluated, it is recorded once more, under
a trace in which each of them is its container, which holds arrays of the new program: parameters are made of the arrays that the type
names, operations of users run on the containers, and results are taken apart. Calls, loops and branches get programs of arrays too, by a
rule for each operation that runs programs (`laminax_ir.type_lowering_rules`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from laminax_ir.programs.jaxpr import ClosedJaxpr, programs_within
from laminax_ir.programs.primitive import Primitive, RuleTable
from laminax_ir.recording.evaluation import eval_jaxpr
from laminax_ir.recording.staging_trace import StagingTrace, record_program
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.hi_types import HiType, is_container, lo_avals, lowered_values, raised_values, types_in_use

_HAS_TYPES = ("has values of users' types",)
_LOWERED = ("of arrays",)

# Rules: `rule(operands, params)` does an operation on containers, or one whose programs have such values, by operations on arrays.
type_lowering_rules = RuleTable("lowering to arrays", "laminax_ir.type_lowering_rules")


class LoweringTrace(StagingTrace):
    """Records a program of arrays; values of users' types are containers of its arrays."""

    __slots__ = ()

    def process(self, primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        if needs_lowering(operands, params):
            return bind_lowered(primitive, operands, params)
        return super().process(primitive, operands, params)


def has_hi_types(program: ClosedJaxpr) -> bool:
    """Whether there are values of users' types in a program, or in one that it calls."""
    if not types_in_use():
        return False
    found = program.derived.get(_HAS_TYPES)
    return program.remember(_HAS_TYPES, any(map(_has_own_hi_types, programs_within(program)))) if found is None else found


def _has_own_hi_types(jaxpr: Any) -> bool:
    atoms = (*jaxpr.constvars, *jaxpr.invars, *jaxpr.outvars, *(v for eqn in jaxpr.eqns for v in eqn.outvars))
    return any(isinstance(v.aval, HiType) for v in atoms)


def needs_lowering(operands: Sequence[Any], params: dict[str, Any]) -> bool:
    """Whether an operation has values of users' types: among its operands, in its programs, or as results."""
    if not types_in_use():
        return False
    if any(is_container(x) for x in operands):
        return True
    programs = [item for value in params.values() for item in (value if type(value) is tuple else (value,))
                if isinstance(item, ClosedJaxpr)]
    return any(map(has_hi_types, programs)) or getattr(params.get("operation"), "has_hi_types", False)


def bind_lowered(primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> Any:
    """Does an operation that `needs_lowering` under the current trace; results of users' types are containers.

    Raises:
      NotImplementedError: if the operation takes no such values.
    """
    rule = type_lowering_rules.find(primitive)
    if rule is None:
        types = ", ".join(sorted({type(x).__name__ for x in operands if is_container(x)})) or "values of users' types"
        raise NotImplementedError(f"the operation {primitive} on {types} is not supported: calls, loops, branches and operations that are "
                                  "defined as HiPrim for the type take such values. Make arrays of them with an operation of the type.")
    return rule(operands, params)


def lowered(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The program of arrays: parameters and results of users' types are the arrays of `lo_ty`, in order. Remembered with the program."""
    if not has_hi_types(closed):
        return closed
    found = closed.derived.get(_LOWERED)
    return closed.remember(_LOWERED, _lower(closed)) if found is None else found


def _lower(closed: ClosedJaxpr) -> ClosedJaxpr:
    in_avals = closed.in_avals

    def fun(*arrays: Any) -> list[Any]:
        return lowered_values(eval_jaxpr(closed.jaxpr, closed.consts, *raised_values(in_avals, arrays)))

    return record_program(fun, all_lo_avals(in_avals), closed.jaxpr.debug_info, trace_type=LoweringTrace)


def all_lo_avals(avals: Sequence[Any]) -> list[ShapedArray]:
    """The types of the arrays that values of these types consist of, in order."""
    return [lo for aval in avals for lo in lo_avals(aval)]
