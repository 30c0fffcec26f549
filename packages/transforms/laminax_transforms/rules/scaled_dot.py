"""Batching of scaled products: a further batch axis in front. They have no derivative rule, as in JAX."""

from __future__ import annotations

from typing import Any, Sequence

from laminax_ir.ops.scaled_dot import scaled_dot_p
from laminax_transforms.base.registry import axis_batching_rule
from laminax_transforms.batching.batch_axes import Axis, batch_axis_first


@axis_batching_rule(scaled_dot_p)
def _scaled_dot_batch(axis: Axis, operands: Sequence[Any], batch_axes: Sequence[int | None], *,
                      dimension_numbers: tuple[tuple[Any, ...], ...], **params: Any) -> tuple[Any, Any]:
    operands = [batch_axis_first(x, b, axis.size) for x, b in zip(operands, batch_axes)]
    contracting, batch = [tuple([tuple([i + 1 for i in axes]) for axes in pair]) for pair in dimension_numbers]
    numbers = (contracting, tuple([(0, *axes) for axes in batch]))
    return scaled_dot_p.bind(*operands, dimension_numbers=numbers, **params), 0
