"""Open sums: each operation is linear, and is the transpose of another one. A batch is carried along."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from laminax_ir.ops import open_sums as op
from laminax_transforms.base.registry import batching_rule, define_linear, transpose_rule
from laminax_transforms.batching.batch_axes import move_axis

for _primitive in (op.unreduced_psum_p, op.unreduced_reduce_scatter_p, op.all_gather_reduced_p, op.preduced_p, op.vary_unreduced_cast_p,
                   op.reduced_vary_cast_p):
    define_linear(_primitive)


@transpose_rule(op.unreduced_psum_p)
def _unreduced_psum_transpose(ct: Any, x: Any, *, axes: tuple) -> list[Any]:
    return [op.cast_to(ct, axes, op.REDUCED)]


@transpose_rule(op.preduced_p)  # the cotangent of an operand that all devices have is one sum
def _preduced_transpose(ct: Any, x: Any, *, axes: tuple) -> list[Any]:
    return [op.cast_to(ct, axes, op.INVARYING)]


@transpose_rule(op.reduced_vary_cast_p)
def _reduced_vary_cast_transpose(ct: Any, x: Any, *, axes: tuple) -> list[Any]:
    return [op.cast_to(ct, axes, op.UNREDUCED)]


@transpose_rule(op.vary_unreduced_cast_p)
def _vary_unreduced_cast_transpose(ct: Any, x: Any, *, axes: tuple) -> list[Any]:
    return [op.cast_to(ct, axes, op.VARYING)]


@transpose_rule(op.all_gather_reduced_p)
def _all_gather_reduced_transpose(ct: Any, x: Any, *, all_gather_dimension: int, axis_name: tuple, axis_size: int,
                                  tiled: bool) -> list[Any]:
    return [op.unreduced_psum_scatter(op.cast_to(ct, axis_name, op.UNREDUCED), axis_name, all_gather_dimension, axis_size, tiled)]


@transpose_rule(op.unreduced_reduce_scatter_p)
def _unreduced_reduce_scatter_transpose(ct: Any, x: Any, *, scatter_dimension: int, axis_name: tuple, axis_size: int,
                                        tiled: bool) -> list[Any]:
    return [op.all_gather_reduced(op.cast_to(ct, axis_name, op.VARYING), axis_name, scatter_dimension, axis_size, tiled)]


@batching_rule(op.unreduced_psum_p)
def _unreduced_psum_batch(operands: Sequence[Any], batch_axes: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
    return op.unreduced_psum_p.bind(*operands, **params), batch_axes[0]


@batching_rule(op.preduced_p)
def _preduced_batch(operands: Sequence[Any], batch_axes: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
    return op.preduced(operands[0], params["axes"]), batch_axes[0]


@batching_rule(op.vary_unreduced_cast_p)
def _vary_unreduced_cast_batch(operands: Sequence[Any], batch_axes: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
    return op.vary_unreduced_cast(operands[0], params["axes"]), batch_axes[0]


@batching_rule(op.reduced_vary_cast_p)
def _reduced_vary_cast_batch(operands: Sequence[Any], batch_axes: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
    return op.reduced_vary_cast_p.bind(*operands, **params), batch_axes[0]


@batching_rule(op.unreduced_reduce_scatter_p)
def _unreduced_reduce_scatter_batch(operands: Sequence[Any], batch_axes: Sequence[int | None], *, scatter_dimension: int,
                                    axis_name: tuple, axis_size: int, tiled: bool) -> tuple[Any, Any]:
    x, batch_axis = _batch_first(operands, batch_axes)
    return op.unreduced_psum_scatter(x, axis_name, scatter_dimension + (batch_axis is not None), axis_size, tiled), batch_axis


@batching_rule(op.all_gather_reduced_p)
def _all_gather_reduced_batch(operands: Sequence[Any], batch_axes: Sequence[int | None], *, all_gather_dimension: int,
                              axis_name: tuple, axis_size: int, tiled: bool) -> tuple[Any, Any]:
    x, batch_axis = _batch_first(operands, batch_axes)
    return op.all_gather_reduced(x, axis_name, all_gather_dimension + (batch_axis is not None), axis_size, tiled), batch_axis


def _batch_first(operands: Sequence[Any], batch_axes: Sequence[int | None]) -> tuple[Any, int | None]:
    (x,), (batch_axis,) = operands, batch_axes
    return (x, None) if batch_axis is None else (move_axis(x, batch_axis, 0), 0)
