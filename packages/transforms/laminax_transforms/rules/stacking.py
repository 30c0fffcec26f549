"""Derivatives and batching of stack and unstack: both are linear, and each is the other's transpose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

from laminax_ir.ops import stacking as op
from laminax_transforms.base.registry import batching_rule, define_linear, is_linear, jvp_rule, transpose_rule
from laminax_transforms.base.zeros import instantiate_cotangent
from laminax_transforms.rules.shape import align_batch_axes

if TYPE_CHECKING:
    from laminax_ir.types.avals import ShapedArray

define_linear(op.stack_p)


@jvp_rule(op.unstack_p)
def _unstack_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, axis: int) -> tuple[Any, Any]:
    return op.unstack_p.bind(*primals, axis=axis), op.unstack_p.bind(*tangents, axis=axis)


@transpose_rule(op.stack_p)
def _stack_transpose(ct: Any, *operands: Any, axis: int) -> list[Any]:
    return [piece if is_linear(x) else None for x, piece in zip(operands, op.unstack_p.bind(ct, axis=axis))]


@transpose_rule(op.unstack_p)
def _unstack_transpose(cts: Sequence[Any], x: ShapedArray, *, axis: int) -> list[Any]:
    piece = x.update(shape=(*x.shape[:axis], *x.shape[axis + 1:]))
    return [op.stack_p.bind(*[instantiate_cotangent(ct, piece) for ct in cts], axis=axis)]


@batching_rule(op.stack_p)
def _stack_batch(operands: Sequence[Any], batch_axes: Sequence[int | None], *, axis: int) -> tuple[Any, Any]:
    operands, batch_axis = align_batch_axes(operands, batch_axes)
    # The new axis goes in front of the operands' own axis of that number; the batch axis is not counted among those.
    own_axis = axis + (axis > batch_axis)
    return op.stack_p.bind(*operands, axis=own_axis), batch_axis + (own_axis <= batch_axis)


@batching_rule(op.unstack_p)
def _unstack_batch(operands: Sequence[Any], batch_axes: Sequence[int], *, axis: int) -> tuple[Any, Any]:
    (x,), (batch_axis,) = operands, batch_axes
    taken = axis + (axis >= batch_axis)
    pieces = op.unstack_p.bind(x, axis=taken)
    return pieces, [batch_axis - (taken < batch_axis)] * len(pieces)
