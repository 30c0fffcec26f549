"""Batching of calls of native functions. They have no derivatives: machine code cannot be differentiated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

from laminax_ir.ops.ffi import ffi_call_p
from laminax_ir.types.avals import get_aval
from laminax_transforms.base.registry import axis_batching_rule, jvp_rule, transpose_rule
from laminax_transforms.batching.batch_axes import Axis, add_batch_axis
from laminax_transforms.rules.callbacks import batch_by_method

if TYPE_CHECKING:
    from laminax_ir.types.annotations import ArrayLike
    from laminax_ir.types.avals import ShapedArray


@jvp_rule(ffi_call_p, symbolic_zeros=True)
def _ffi_call_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    raise ValueError(f"The FFI call to `{params['target_name']}` cannot be differentiated. You can use `laminax.custom_jvp` or "
                     "`laminax.custom_vjp` to add support.")


@transpose_rule(ffi_call_p)
def _ffi_call_transpose(cts: Sequence[Any], *operands: Any, target_name: str, **_params: Any) -> Sequence[Any]:
    raise ValueError(f"The FFI call to `{target_name}` cannot be transposed. You can use `laminax.custom_vjp` to add support.")


@axis_batching_rule(ffi_call_p)
def _ffi_call_batch(axis: Axis, operands: Sequence[Any], batch_axes: Sequence[int | None], *, result_avals: tuple[ShapedArray, ...],
                    input_layouts: tuple[tuple[int, ...], ...], output_layouts: tuple[tuple[int, ...], ...], vmap_method: str | None,
                    **params: Any) -> tuple[Any, Any]:
    def call(*xs: ArrayLike, is_batched: bool) -> Any:
        layouts = {"result_avals": result_avals, "input_layouts": input_layouts, "output_layouts": output_layouts}
        if is_batched:  # the batch axis is the slowest in memory
            layouts = {"result_avals": tuple(add_batch_axis(aval, axis.size, 0) for aval in result_avals),
                       "input_layouts": tuple(_with_batch(axes) if get_aval(x).ndim > len(axes) else axes
                                              for x, axes in zip(xs, input_layouts)),
                       "output_layouts": tuple(map(_with_batch, output_layouts))}
        return ffi_call_p.bind(*xs, vmap_method=vmap_method, **layouts, **params)

    return batch_by_method(axis, operands, batch_axes, vmap_method, call, "ffi_call", f"The target is {params['target_name']}.")


def _with_batch(axes: tuple[int, ...]) -> tuple[int, ...]:
    return 0, *(axis + 1 for axis in axes)
