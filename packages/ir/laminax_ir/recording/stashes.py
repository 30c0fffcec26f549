"""References that forward rules hand to backward rules, inside of loops, branches and checkpointed functions.

Such a program is differentiated as a program of arrays. What is in a reference while the backward pass runs is then a value of the
transposed program, in reverse order: it comes in as the cotangent of the last value of the array, and leaves as the cotangent of the
first one. The transformation that records the tangents of the operation gives the array a tangent for that, which stands for nothing else,
and reads and writes the reference where the transposed operation begins and ends.

The array must not have a derivative in any other way, so that all uses of the reference in the program must be of this kind.
"""

from __future__ import annotations

from functools import wraps
from typing import Any, Callable, Sequence

from laminax_ir.programs.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn
from laminax_ir.programs.primitive import Trait
from laminax_ir.refs.refs import Ref
from laminax_ir.tracing.trace import state
from laminax_ir.types.ref_types import AbstractRef

Rule = Callable[[Sequence[Any], dict[str, Any]], list[Any]]


def can_be_stashed(aval: Any) -> bool:
    """Whether this is a type of references to arrays that have cotangents of their own type."""
    return isinstance(aval, AbstractRef) and aval.kind is None and aval.inner_aval.to_tangent_aval() is aval.inner_aval


def keeping_stashes(rule: Rule) -> Rule:
    """Decorator of a discharge rule: a trace that records tangents gets to know which references the programs only stash."""
    @wraps(rule)
    def with_stashes(operands: Sequence[Any], params: dict[str, Any]) -> list[Any]:
        trace = state.trace
        places = _stashed_operands(operands, params) if trace.keeps_stashes else []
        return trace.process_stashes(rule, operands, params, places) if places else rule(operands, params)

    return with_stashes


def _stashed_operands(operands: Sequence[Any], params: dict[str, Any]) -> list[int]:
    """The places of the operands that are references, and that the programs only stash."""
    programs, skipped = _programs(params)
    return [i for i, x in enumerate(operands) if isinstance(x, Ref) and can_be_stashed(x.aval)
            and _is_only_stashed(programs, i - skipped, some=True) and _is_only_stashed(programs, i - skipped, some=False)]


def _programs(params: dict[str, Any]) -> tuple[Sequence[ClosedJaxpr], int]:
    """The programs of an equation, and how many operands stand before their parameters."""
    return (params["branches"], 1) if "branches" in params else ([params["jaxpr"]], 0)


def _is_only_stashed(programs: Sequence[ClosedJaxpr], place: int, some: bool) -> bool:
    """Whether programs use a parameter at all, if `some`; or else whether all of their uses of it are as operands with backward rules."""
    return (any if some else all)(_in_program(p.jaxpr, p.jaxpr.invars[place], some) for p in programs)


def _in_program(jaxpr: Jaxpr, v: Any, some: bool) -> bool:
    uses = [_in_equation(eqn, i, some) for eqn in jaxpr.eqns for i, x in enumerate(eqn.invars) if x is v]
    return any(uses) if some else all(uses) and not any(x is v for x in jaxpr.outvars)


def _in_equation(eqn: JaxprEqn, place: int, some: bool) -> bool:
    if Trait.STASHES in eqn.primitive.traits:
        return True
    if Trait.PASSES_STASHES not in eqn.primitive.traits:
        return False
    programs, skipped = _programs(eqn.params)
    return place >= skipped and _is_only_stashed(programs, place - skipped, some)
