"""Special functions are elementwise."""

from __future__ import annotations

from laminax_ir.ops import special
from laminax_ir.programs.primitive import Primitive
from laminax_ir.sharding_rules.agreement import elementwise_rule
from laminax_ir.sharding_rules.sums import elementwise_sums

_PRIMITIVES = {p for p in vars(special).values() if isinstance(p, Primitive) and p.family == "special"}
elementwise_rule(*_PRIMITIVES)
elementwise_sums(*_PRIMITIVES)
