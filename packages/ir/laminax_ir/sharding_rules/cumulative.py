"""Cumulative reductions keep the operand's shape and how it is split."""

from __future__ import annotations

from laminax_ir.ops import cumulative
from laminax_ir.primitive import Primitive
from laminax_ir.sharding_rules.agreement import elementwise_rule

elementwise_rule(*{p for p in vars(cumulative).values() if isinstance(p, Primitive)})
