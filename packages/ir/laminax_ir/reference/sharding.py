"""Placement, evaluated: there is one place."""

from __future__ import annotations

from typing import Any

from laminax_ir.ops import sharding as op
from laminax_ir.reference.evaluate import reference_rule


@reference_rule(op.sharding_constraint_p, op.device_put_p)
def _placed(x: Any, *, sharding: Any, source: Any = None) -> Any:
    return x


@reference_rule(op.layout_constraint_p)
def _laid_out(x: Any, *, layout: Any) -> Any:
    return x


@reference_rule(op.reshard_p)
def _resharded(x: Any, *, dst: Any) -> Any:
    return x
