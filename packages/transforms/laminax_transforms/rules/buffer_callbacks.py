"""Batching of callbacks on buffers. They have no derivatives: a Python function cannot be differentiated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

from laminax_ir.ops.buffer_callbacks import buffer_callback_p
from laminax_transforms.base.registry import axis_batching_rule, jvp_rule, transpose_rule
from laminax_transforms.batching.batch_axes import Axis, add_batch_axis
from laminax_transforms.rules.callbacks import batch_by_method

if TYPE_CHECKING:
    from laminax_ir.ops.buffer_callbacks import FlatBufferCallback
    from laminax_ir.types.annotations import ArrayLike
    from laminax_ir.types.avals import ShapedArray


@jvp_rule(buffer_callback_p, symbolic_zeros=True)
def _buffer_callback_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    raise ValueError("Buffer callbacks do not support JVP. Please use `laminax.custom_jvp` to use callbacks while taking gradients. "
                     f"The callback is {params['callback']!r}.")


@transpose_rule(buffer_callback_p)
def _buffer_callback_transpose(cts: Sequence[Any], *operands: Any, callback: Any, **_params: Any) -> Sequence[Any]:
    raise ValueError("Buffer callbacks do not support transpose. Please use `laminax.custom_vjp` to use callbacks while taking gradients. "
                     f"The callback is {callback!r}.")


@axis_batching_rule(buffer_callback_p)
def _buffer_callback_batch(axis: Axis, operands: Sequence[Any], batch_axes: Sequence[int | None], *, callback: FlatBufferCallback,
                           result_avals: tuple[ShapedArray, ...], vmap_method: str | None, **params: Any) -> tuple[Any, Any]:
    def call(*xs: ArrayLike, is_batched: bool) -> Any:
        avals = tuple(add_batch_axis(aval, axis.size, 0) for aval in result_avals) if is_batched else result_avals
        return buffer_callback_p.bind(*xs, callback=callback, result_avals=avals, vmap_method=vmap_method, **params)

    return batch_by_method(axis, operands, batch_axes, vmap_method, call, "buffer_callback", f"The callback is {callback!r}.")
