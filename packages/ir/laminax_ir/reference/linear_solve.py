"""A linear solve given by functions, evaluated by running the program that solves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from laminax_ir.ops.linear_solve import custom_linear_solve_p, split_operands
from laminax_ir.reference.evaluate import evaluate, reference_rule

if TYPE_CHECKING:
    import numpy as np

    from laminax_ir.ops.linear_solve import SolveParts


@reference_rule(custom_linear_solve_p)
def _linear_solve(*operands: np.ndarray, const_lengths: SolveParts, jaxprs: SolveParts) -> list[np.ndarray]:
    consts, b = split_operands(operands, const_lengths)
    return evaluate(jaxprs.solve, *consts.solve, *b)
