"""Callbacks on buffers: custom calls for which jaxlib calls Python with the buffers that XLA gives it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from laminax_ir.ops.buffer_callbacks import buffer_callback_p
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.custom_calls import emit_ffi_call
from laminax_lowering.writing.registry import lowering_rule, not_supported
from laminax_lowering.writing.ssa_values import Value

if TYPE_CHECKING:
    from laminax_ir.ops.buffer_callbacks import FlatBufferCallback
    from laminax_ir.types.avals import ShapedArray

_TARGETS = {"cpu": "xla_buffer_python_cpu_callback", "cuda": "xla_buffer_python_gpu_callback", "rocm": "xla_buffer_python_gpu_callback"}

not_supported(buffer_callback_p, ("tpu",), f"callbacks on buffers are supported on {', '.join(_TARGETS)}; on TPUs use pure_callback or "
              "io_callback, to which copies are sent")


@lowering_rule(buffer_callback_p, platforms=tuple(_TARGETS))
def _buffer_callback(ctx: FunctionWriter, *operands: Value, callback: FlatBufferCallback, result_avals: tuple[ShapedArray, ...],
                     has_side_effect: bool, input_output_aliases: Any, command_buffer_compatible: bool, **_params: Any) -> list[Value]:
    module = ctx.module
    module.host_callbacks.append(callback)
    suffix = "_cmd_buffer" if command_buffer_compatible and ctx.platform != "cpu" else ""
    return emit_ffi_call(ctx, _TARGETS[ctx.platform] + suffix, operands, result_avals, has_side_effect=has_side_effect,
                         config={"index": f"{len(module.host_callbacks) - 1} : ui64"}, aliases=dict(input_output_aliases),
                         device_number=0 if module.num_partitions > 1 and module.manual_mesh is None else None)
