"""Which calls are written in place, which become functions, and which stay calls in the compiled program.

XLA inlines every call before it optimises, and some of its passes grow faster than the program, so N equal blocks cost
more than N times one. A call marked `inlineable = "false"` stays a call through XLA's pipeline, which makes compile time
linear in the number of calls, at the price of fusion across the block's border.

The policy, in one place (`plan_calls`):
  - a program called from one place is written there, in place;
  - a program called from several places, or several equal ones, become one private function;
  - of those, a block is outlined if it is called repeatedly from the top level of the module and is large enough that
    fusion across its border does not matter. One level only: XLA clones outlined callees per call site, so nested
    outlining would explode;
  - on the CPU, what a checkpointed call recomputes for its derivative stays a call (`keeps_recomputation`).
"""

from __future__ import annotations

from dataclasses import dataclass

from laminax_ir.ops.calls import jit_p
from laminax_ir.programs.jaxpr import ClosedJaxpr, Jaxpr, subjaxprs
from laminax_lowering.planning.equal_programs import ProgramTable

OUTLINE_MIN_CALLS = 3
OUTLINE_MIN_EQUATIONS = 32
RECOMPUTATION_MIN_EQUATIONS = 8

KEEP_CALL = ' {mhlo.frontend_attributes = {inlineable = "false"}}'


@dataclass(frozen=True)
class CallPlan:
    """The decisions for one module, by called program; equal programs stand under their representative in `programs`."""
    in_place: frozenset[ClosedJaxpr]
    outlined: frozenset[ClosedJaxpr]
    programs: ProgramTable


def plan_calls(jaxpr: Jaxpr) -> CallPlan:
    """Decides about every jit call reachable from a program."""
    programs = ProgramTable()
    sites: dict[ClosedJaxpr, int] = {}
    _count_sites(jaxpr, programs, sites, set())
    in_place = frozenset(closed for closed, count in sites.items() if count == 1)
    repeated: dict[ClosedJaxpr, int] = {}
    if len(in_place) < len(sites):
        _count_top_level(jaxpr, programs, in_place, repeated)
    sizes: dict[int, int] = {}
    outlined = frozenset(closed for closed, count in repeated.items()
                         if count >= OUTLINE_MIN_CALLS and program_size(closed.jaxpr, sizes) >= OUTLINE_MIN_EQUATIONS)
    return CallPlan(in_place, outlined, programs)


def _count_sites(jaxpr: Jaxpr, programs: ProgramTable, sites: dict[ClosedJaxpr, int], seen: set[int]) -> None:
    """Counts the places that call each program; every distinct program's body counts once."""
    if id(jaxpr) in seen:
        return
    seen.add(id(jaxpr))
    for eqn in [eqn for eqn in jaxpr.eqns if eqn.primitive.multiple_results]:  # as every operation that holds programs has
        if eqn.primitive is jit_p:
            closed = programs.representative(eqn.params["jaxpr"])
            sites[closed] = sites.get(closed, 0) + 1
            _count_sites(closed.jaxpr, programs, sites, seen)
        else:
            for inner in subjaxprs(eqn):
                _count_sites(inner, programs, sites, seen)


def _count_top_level(jaxpr: Jaxpr, programs: ProgramTable, in_place: frozenset[ClosedJaxpr],
                     repeated: dict[ClosedJaxpr, int]) -> None:
    """Counts calls from the top level, which includes what is written in place there."""
    for eqn in jaxpr.eqns:
        if eqn.primitive is jit_p:
            closed = programs.representative(eqn.params["jaxpr"])
            if closed in in_place:
                _count_top_level(closed.jaxpr, programs, in_place, repeated)
            else:
                repeated[closed] = repeated.get(closed, 0) + 1


def keeps_recomputation(platforms: tuple[str, ...], jaxpr: Jaxpr) -> bool:
    """Whether the derivative part of a checkpointed call stays a call, when it is at the top level.

    The CPU compiler drops optimization barriers before it schedules, starts recomputations early, and so needs more memory than
    without any: 41.7 MB against 33.8 for 16 blocks of four products with tanh, f32[512,256]. The values of a call that stays live
    only while it runs: 10.2 MB there, in the same time.
    """
    return platforms == ("cpu",) and len(jaxpr.eqns) >= RECOMPUTATION_MIN_EQUATIONS


def program_size(jaxpr: Jaxpr, sizes: dict[int, int]) -> int:
    """The number of equations of a program with those of the programs it calls."""
    found = sizes.get(id(jaxpr))
    if found is None:
        found = sizes[id(jaxpr)] = len(jaxpr.eqns) + sum(
            program_size(inner, sizes) for eqn in jaxpr.eqns if eqn.primitive.multiple_results for inner in subjaxprs(eqn))
    return found
