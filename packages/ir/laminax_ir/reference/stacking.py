"""What stacking means, in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from laminax_ir.ops import stacking as op
from laminax_ir.reference.evaluate import reference_rule


@reference_rule(op.stack_p)
def _stack(*operands: Any, axis: Any) -> Any:
    return np.stack(operands, axis)


@reference_rule(op.unstack_p)
def _unstack(x: Any, *, axis: Any) -> Any:
    return list(np.moveaxis(x, axis, 0))
