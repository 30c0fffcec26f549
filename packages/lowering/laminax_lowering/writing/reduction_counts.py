"""Which reductions a module has: whether the CPU's compiler had better do them itself.

The compiler of jaxlib 0.12 calls a library for reductions (its option `xla_cpu_experimental_ynn_fusion_type`). That is two to four times
as fast as its own loop for long ones and slower for short ones, and a loop with such a call in its body is not compiled as one kernel.
So programs whose reductions are short, and in loops for the most part, are compiled without.

Processor time of steps and compilation in milliseconds, one core, jaxlib 0.12, with the library -> without:

                                             step             compile
  forces between 64 bodies, 200 steps        7.0 -> 1.6       87 -> 47
  their gradient                             42 -> 5.0        330 -> 200
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Sequence

from laminax_ir.types.avals import ShapedArray

FEWEST = 1 << 14  # elements, from which on the library may be better than a loop
FEWEST_TERMS, FEWEST_LANES = 32, 16  # of a sum; sums side by side


@dataclass
class ReductionCounts:
    """How many reductions a module has that are long, and of the others how many in loops and elsewhere."""
    long: int = 0
    in_loops: int = 0
    elsewhere: int = 0

    def count(self, aval: ShapedArray, axes: Sequence[int], is_in_loop: bool) -> None:
        """Enters the reduction of an array along some axes."""
        if _is_long(aval, axes):
            self.long += 1
        elif is_in_loop:
            self.in_loops += 1
        else:
            self.elsewhere += 1

    @property
    def are_short(self) -> bool:
        """Whether all are short, and most are in loops."""
        return not self.long and self.in_loops > self.elsewhere


def _is_long(aval: ShapedArray, axes: Sequence[int]) -> bool:
    if not all(type(n) is int for n in aval.shape):
        return True  # it may be
    terms, lanes = math.prod([aval.shape[i] for i in axes]), math.prod(aval.shape[max(axes, default=0) + 1:])
    return aval.size >= FEWEST and terms >= FEWEST_TERMS and not 1 < lanes < FEWEST_LANES
