"""Sorting: the results are split as the operands are."""

from __future__ import annotations

from laminax_ir.explicit_axes import sharding_rules
from laminax_ir.ops import sorting as op
from laminax_ir.sharding_rules.agreement import elementwise_rule, of_parts

elementwise_rule(op.sort_p)


@sharding_rules(op.top_k_p)
def _top_k(outs, x, **_params):
    return [of_parts("top_k", x, out.shape, "top_k") for out in outs]


@sharding_rules(op.approx_top_k_p)
def _approx_top_k(outs, x, **_params):
    return [of_parts("approx_top_k", x, out.shape, "approx_top_k") for out in outs]
