"""The meaning of stacking, in NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from laminax_ir.ops import stacking as op
from laminax_ir.reference.evaluate import reference_rule

if TYPE_CHECKING:
    from laminax_ir.types.annotations import ArrayLike


@reference_rule(op.stack_p)
def _stack(*operands: np.ndarray, axis: int) -> np.ndarray:
    return np.stack(operands, axis)


@reference_rule(op.unstack_p)
def _unstack(x: np.ndarray, *, axis: int) -> list[ArrayLike]:
    return list(np.moveaxis(x, axis, 0))
