"""What a program asks for, by the user's line: operations, and floating-point operations.

The numbers are those of the program as it was written, counted as `laminax_lowering.costs.equation_counts` says. Of a branch's programs the
most expensive counts.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from laminax_ir.ops.control_primitives import cond_p
from laminax_ir.programs.jaxpr import Jaxpr
from laminax_lowering.costs.equation_counts import Count, count_of, counted_programs, repetitions

from laminax._src.inspecting.places import Place, place_of


@dataclass
class ProgramCosts:
    """The counts of a program, by line and together."""

    by_place: dict[Place | None, Count] = field(default_factory=lambda: defaultdict(Count))
    total: Count = field(default_factory=Count)

    def add(self, other: ProgramCosts, times: float) -> None:
        """Adds the counts of a part that runs so many times."""
        for place, count in other.by_place.items():
            self.by_place[place].add(count, times)
        self.total.add(other.total, times)


def program_costs(jaxpr: Jaxpr, known: dict[Jaxpr, ProgramCosts] | None = None) -> ProgramCosts:
    """The counts of a program; `known` has those of programs in it, which are counted once however often they are called."""
    known = {} if known is None else known
    if (found := known.get(jaxpr)) is not None:
        return found
    costs = ProgramCosts()
    for eqn in jaxpr.eqns:
        inner = [program_costs(program, known) for program in counted_programs(eqn)]
        if inner:
            if eqn.primitive is cond_p:
                inner = [max(inner, key=lambda branch: branch.total.flops)]
            for part in inner:
                costs.add(part, repetitions(eqn))
        else:
            place, count = place_of(eqn), count_of(eqn)
            costs.by_place[place].add(count)
            costs.total.add(count)
    known[jaxpr] = costs
    return costs
