"""Batching of reflections and rotations: all take leading batch axes."""

from __future__ import annotations

from laminax_ir.ops import orthogonal as op
from laminax_transforms.base.registry import axis_batching_rule
from laminax_transforms.rules.linalg import batch_in_front

for _primitive in (op.ormqr_p, op.tridiagonal_p, op.cholesky_update_p):
    axis_batching_rule(_primitive)(batch_in_front(_primitive))
