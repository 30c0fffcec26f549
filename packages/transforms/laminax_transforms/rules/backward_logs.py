"""Derivatives and batching of logs of backward rules: the primal values are logged, and those of a batch together."""

from __future__ import annotations

from typing import Any, Sequence

from laminax_ir.ops.backward_logs import backward_log_p
from laminax_transforms.base.registry import axis_batching_rule, jvp_rule
from laminax_transforms.batching.batch_axes import Axis, batch_axis_first


@jvp_rule(backward_log_p, symbolic_zeros=True)
def _backward_log_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[list[Any], list[Any]]:
    return backward_log_p.bind(*primals, **params), []


@axis_batching_rule(backward_log_p)
def _backward_log_batch(axis: Axis, operands: Sequence[Any], batch_axes: Sequence[int | None], **params: Any) -> tuple[list, list]:
    return backward_log_p.bind(*[batch_axis_first(x, b, axis.size) for x, b in zip(operands, batch_axes)], **params), []
