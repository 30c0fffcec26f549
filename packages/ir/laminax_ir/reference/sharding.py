"""Placement, evaluated: there is one place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from laminax_ir.ops import sharding as op
from laminax_ir.reference.evaluate import reference_rule

if TYPE_CHECKING:
    import numpy as np

    from laminax_ir.types.array_layouts import Layout
    from laminax_ir.types.memory_spaces import MemorySpace


@reference_rule(op.sharding_constraint_p, op.device_put_p)
def _placed(x: np.ndarray, *, sharding: MemorySpace | None, source: Any = None) -> np.ndarray:
    return x


@reference_rule(op.layout_constraint_p)
def _laid_out(x: np.ndarray, *, layout: Layout) -> np.ndarray:
    return x


@reference_rule(op.reshard_p)
def _resharded(x: np.ndarray, *, dst: Any) -> np.ndarray:
    return x
