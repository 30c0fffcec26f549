"""What a program asks for, by the user's line: operations, and floating-point operations.

The numbers are those of the program as it was written: a product of (n, k) and (k, m) matrices is 2 n k m operations, a convolution two for
each element of the result and each weight of one of its channels, an elementwise operation one for each element, a reduction one for each
element that it reads. A loop of known length counts so often, one of unknown length once, and of a branch's programs the most expensive.
What runs on each device counts for all of them.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from laminax_ir.ops import reduction
from laminax_ir.ops.control_primitives import cond_p, scan_p
from laminax_ir.ops.linear_solve import custom_linear_solve_p
from laminax_ir.programs.jaxpr import Jaxpr, JaxprEqn, jaxprs_among, subjaxprs
from laminax_ir.programs.primitive import Primitive, Trait
from laminax_ir.types import dtypes
from laminax_lowering.planning.operation_costs import HEAVY, heavy_work

from laminax._src.inspecting.places import Place, place_of

_REDUCTIONS: frozenset[Primitive] = frozenset(value for name, value in vars(reduction).items()
                                              if name.startswith(("reduce_", "arg")) and isinstance(value, Primitive))


@dataclass
class Count:
    """How many operations there are, and how many operations on numbers they do; `heavy` those of products and convolutions."""

    operations: float = 0
    flops: float = 0
    heavy: float = 0

    def add(self, other: Count, times: float = 1) -> None:
        """Adds another count, so many times."""
        self.operations += times * other.operations
        self.flops += times * other.flops
        self.heavy += times * other.heavy


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


def counted_programs(eqn: JaxprEqn) -> list[Jaxpr]:
    """The programs that run when an equation does: of a linear solve only the solver, not those of its derivatives."""
    if eqn.primitive is custom_linear_solve_p:
        return jaxprs_among((eqn.params["jaxprs"].solve,))
    return subjaxprs(eqn)


def repetitions(eqn: JaxprEqn) -> int:
    """How often the programs that an equation holds run."""
    if eqn.primitive is scan_p:
        return eqn.params["length"]
    if Trait.RUNS_PER_DEVICE in eqn.primitive.traits:
        sizes = eqn.params["mesh"].shape
        return math.prod([sizes[axis] for axis in eqn.params["manual_axes"]])
    return 1


def count_of(eqn: JaxprEqn) -> Count:
    """The count of one equation without programs in it; operations on whole numbers and truth values are no flops."""
    if not eqn.outvars:
        return Count(1)
    out = eqn.outvars[0].aval
    if eqn.primitive in HEAVY:
        work = float(heavy_work(eqn))
        factor = 4 if dtypes.issubdtype(out.dtype, np.complexfloating) else 1
        return Count(1, factor * work, factor * work)
    operand = eqn.invars[0].aval if eqn.invars else out
    if eqn.primitive in _REDUCTIONS:
        return Count(1, float(math.prod(operand.shape)) if _is_float(operand) else 0)
    if Trait.ELEMENTWISE in eqn.primitive.traits:
        return Count(1, float(math.prod(out.shape)) if _is_float(out) or _is_float(operand) else 0)
    return Count(1)


def _is_float(aval: object) -> bool:
    dtype = getattr(aval, "dtype", None)
    return dtype is not None and not dtypes.is_extended(dtype) and dtypes.issubdtype(dtype, dtypes.inexact)
