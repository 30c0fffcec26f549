"""Derivatives and batching of checks: the primal is checked; a batch is checked as one."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from laminax_ir.ops.checks import check_p
from laminax_ir.ops.reduction import argmin, reduce_and
from laminax_ir.ops.slicing import dynamic_index_in_dim
from laminax_transforms.base.registry import batching_rule, jvp_rule


@jvp_rule(check_p, symbolic_zeros=True)
def _check_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[list[Any], list[Any]]:
    return check_p.bind(*primals, **params), []


@batching_rule(check_p)
def _check_batch(operands: Sequence[Any], batch_axes: Sequence[int | None], **params: Any) -> tuple[list[Any], list[int | None]]:
    """One check of the whole batch, which shows the values of the first failing example."""
    pred, *payload = operands
    axis, *payload_axes = batch_axes
    first = np.int32(0) if axis is None else argmin(pred, 0, np.int32)
    shown = [x if a is None else dynamic_index_in_dim(x, first, a, keepdims=False) for x, a in zip(payload, payload_axes)]
    return check_p.bind(pred if axis is None else reduce_and(pred, (0,)), *shown, **params), []
