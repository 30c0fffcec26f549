"""What primitives that call programs tell the checker (`check.py`): which operands become which parameters of these programs."""

from __future__ import annotations

from typing import Callable, Iterable, Sequence

from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.programs.primitive import Primitive, RuleTable
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.hi_types import HiType

check_rules = RuleTable("type-checking", "laminax_ir.ops")


def check_rule(*primitives: Primitive) -> Callable[[Callable], Callable]:
    """Decorator: `rule(in_avals, out_avals, **params)` yields what is wrong with an equation, one sentence each."""
    return check_rules(*primitives)


def call_faults(what: str, closed: ClosedJaxpr, in_avals: Sequence[ShapedArray]) -> Iterable[str]:
    """Where operands do not fit the parameters of a called jaxpr; weak types do not matter."""
    parameters = closed.in_avals
    if len(parameters) != len(in_avals):
        yield f"{what} takes {len(parameters)} operands, the equation has {len(in_avals)}"
    for i, (want, have) in enumerate(zip(parameters, in_avals)):
        if want is have:
            continue
        if isinstance(want, HiType) or isinstance(have, HiType) or (want.shape, want.dtype) != (have.shape, have.dtype):
            yield f"operand {i} has the type {have.str_short()}, the parameter of {what} {want.str_short()}"
