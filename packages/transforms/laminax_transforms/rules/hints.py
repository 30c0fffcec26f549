"""Derivatives and batching of hints: a hint applies to the primal, and to the whole batch."""

from __future__ import annotations

from typing import Any, Sequence

from laminax_ir.ops import hints as op
from laminax_transforms.base.registry import batching_rule, define_linear, jvp_rule, transpose_rule

define_linear(op.stage_p)
define_linear(op.todense_p)
define_linear(op.xla_metadata_value_p)


@transpose_rule(op.stage_p, op.todense_p, op.xla_metadata_value_p)
def _same_transpose(ct: Any, x: Any, **_params: Any) -> list[Any]:
    return [ct]


@batching_rule(op.stage_p)
def _stage_batch(operands: Sequence[Any], batch_axes: Sequence[int | None]) -> tuple[Any, Any]:
    return op.stage_p.bind(*operands), batch_axes[0]


@batching_rule(op.todense_p)
def _todense_batch(operands: Sequence[Any], batch_axes: Sequence[int | None]) -> tuple[Any, Any]:
    return op.todense_p.bind(*operands), batch_axes[0]


@batching_rule(op.xla_metadata_value_p)
def _xla_metadata_value_batch(operands: Sequence[Any], batch_axes: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
    return op.xla_metadata_value_p.bind(*operands, **params), batch_axes[0]


@jvp_rule(op.dce_sink_p, symbolic_zeros=True)
def _dce_sink_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    return op.dce_sink_p.bind(*primals, **params), []


@batching_rule(op.dce_sink_p)
def _dce_sink_batch(operands: Sequence[Any], batch_axes: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
    return op.dce_sink_p.bind(*operands, **params), []
