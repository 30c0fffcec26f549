"""How many operations on numbers an equation does, and how often the programs run that it holds.

A product of (n, k) and (k, m) matrices is 2 n k m operations, a convolution two for each element of the result and each weight of one of
its channels, an elementwise operation one for each element, a reduction one for each element that it reads. A loop of known length counts
so often, one of unknown length once. What runs on each device counts for all of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from laminax_ir.ops.control_primitives import scan_p
from laminax_ir.ops.linear_solve import custom_linear_solve_p
from laminax_ir.ops.reduction import argmax_p, argmin_p, reduce_p
from laminax_ir.programs.jaxpr import Jaxpr, JaxprEqn, jaxprs_among, subjaxprs
from laminax_ir.programs.primitive import Trait
from laminax_ir.types import dtypes
from laminax_lowering.planning.operation_costs import HEAVY, REDUCTIONS, heavy_work

_READS_EACH_ELEMENT_ONCE = REDUCTIONS | {argmax_p, argmin_p, reduce_p}


@dataclass
class Count:
    """Counts of a program.

    operations: the operations of the program, equations.
    flops: the operations on floating-point numbers that they do.
    heavy: the flops of products and convolutions among these.
    """

    operations: float = 0
    flops: float = 0
    heavy: float = 0

    def add(self, other: Count, times: float = 1) -> None:
        """Adds another count, multiplied by `times`."""
        self.operations += times * other.operations
        self.flops += times * other.flops
        self.heavy += times * other.heavy


def counted_programs(eqn: JaxprEqn) -> list[Jaxpr]:
    """The programs that an equation runs: all that it holds, but for a linear solve the solver alone."""
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
    if eqn.primitive in _READS_EACH_ELEMENT_ONCE:
        return Count(1, float(math.prod(operand.shape)) if _is_float(operand) else 0)
    if Trait.ELEMENTWISE in eqn.primitive.traits:
        return Count(1, float(math.prod(out.shape)) if _is_float(out) or _is_float(operand) else 0)
    return Count(1)


def _is_float(aval: object) -> bool:
    dtype = getattr(aval, "dtype", None)
    return dtype is not None and not dtypes.is_extended(dtype) and dtypes.issubdtype(dtype, dtypes.inexact)
