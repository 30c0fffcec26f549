"""Derivatives and batching of hints: they hold of the primal and of the whole batch."""

from __future__ import annotations

from laminax_ir.ops import hints as op
from laminax_transforms.base.registry import batching_rule, define_linear, jvp_rule, transpose_rule

define_linear(op.stage_p)
define_linear(op.todense_p)
define_linear(op.xla_metadata_value_p)


@transpose_rule(op.stage_p, op.todense_p, op.xla_metadata_value_p)
def _same_transpose(ct, x, **_params):
    return [ct]


@batching_rule(op.stage_p)
def _stage_batch(operands, batch_axes):
    return op.stage_p.bind(*operands), batch_axes[0]


@batching_rule(op.todense_p)
def _todense_batch(operands, batch_axes):
    return op.todense_p.bind(*operands), batch_axes[0]


@batching_rule(op.xla_metadata_value_p)
def _xla_metadata_value_batch(operands, batch_axes, **params):
    return op.xla_metadata_value_p.bind(*operands, **params), batch_axes[0]


@jvp_rule(op.dce_sink_p, symbolic_zeros=True)
def _dce_sink_jvp(primals, tangents, **params):
    return op.dce_sink_p.bind(*primals, **params), []


@batching_rule(op.dce_sink_p)
def _dce_sink_batch(operands, batch_axes, **params):
    return op.dce_sink_p.bind(*operands, **params), []
