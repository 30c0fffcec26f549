"""Placement, evaluated: there is one place."""

from __future__ import annotations

from laminax_ir.ops import sharding as op
from laminax_ir.reference.evaluate import reference_rule


@reference_rule(op.sharding_constraint_p, op.device_put_p)
def _placed(x, *, sharding, source=None):
    return x


@reference_rule(op.layout_constraint_p)
def _laid_out(x, *, layout):
    return x


@reference_rule(op.reshard_p)
def _resharded(x, *, dst):
    return x
