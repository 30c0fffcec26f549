"""Polynomials are elementwise."""

from __future__ import annotations

from laminax_ir.ops.polynomial import polynomial_p
from laminax_ir.sharding_rules.agreement import elementwise_rule
from laminax_ir.sharding_rules.sums import elementwise_sums

elementwise_rule(polynomial_p)
elementwise_sums(polynomial_p)
