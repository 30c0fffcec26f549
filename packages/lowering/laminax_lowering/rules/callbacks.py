"""Callbacks: custom calls for which XLA calls Python; on TPUs, which have none of this kind, transfers to the host and back.

jaxlib's handler finds the function by its index in the list that is given to the compiler beside the text, and lends it NumPy arrays for
the call. In a program that the compiler splits over several devices, one device makes the call, with whole values. An ordered
callback takes a token and returns one; see `writing.tokens`. In a program per device each device's own calls are in their order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Sequence

import numpy as np

from laminax_ir.ops import callbacks as op
from laminax_ir.ops import elementwise
from laminax_ir.ops.collectives import axis_index
from laminax_ir.ops.control_flow import cond
from laminax_ir.ops.shard_map import bind_shard_map
from laminax_ir.programs.calling_conventions import inspection_key
from laminax_ir.programs.effects import has_ordered
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.recording.staging import stage
from laminax_ir.tracing.manual_axes import running_along
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.partition_specs import PartitionSpec
from laminax_lowering.rules.shard_map import left_to_compiler
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.custom_calls import emit_ffi_call
from laminax_lowering.writing.host_transfers import emit_host_transfer
from laminax_lowering.writing.registry import lowering_rule
from laminax_lowering.writing.ssa_values import Value
from laminax_lowering.writing.tokens import current_token
from laminax_lowering.writing.types import string_text

if TYPE_CHECKING:
    from laminax_ir.ops.callbacks import FlatCallback
    from laminax_ir.programs.effects import DebugEffect, OrderedDebugEffect
    from laminax_ir.types.annotations import ArrayLike
    from laminax_lowering.writing.module_context import ModuleContext

_TARGETS = {"cpu": "xla_ffi_python_cpu_callback", "cuda": "xla_ffi_python_gpu_callback",
            "rocm": "xla_ffi_python_gpu_callback"}
_PLATFORMS = (*_TARGETS, "tpu")

_PARTITIONED_TARGETS = {platform: target.replace("xla_ffi_", "xla_ffi_partitioned_") for platform, target in _TARGETS.items()}


def emit_callback(ctx: FunctionWriter, function: Callable[..., Sequence[np.ndarray]], operands: Sequence[Value],
                  results: Sequence[ShapedArray], has_side_effect: bool, on_each_device: bool = False, sharding: Any = None
                  ) -> list[Value]:
    """Writes a call of a Python function of NumPy arrays, which returns a sequence of them.

    With `on_each_device`, each device calls with its own parts of the operands; then there are no results. `sharding` says which device
    calls in a program that the compiler splits; it is the first one by default.
    """
    module = ctx.module
    if on_each_device:
        if ctx.platform == "tpu":
            raise NotImplementedError("debug_callback with partitioned=True is not supported on tpu: of a program that the compiler splits "
                                      "over several TPUs only the first one calls. Leave partitioned out.")
        module.host_callbacks.append(function)
        return emit_ffi_call(ctx, _PARTITIONED_TARGETS[ctx.platform], operands, results, has_side_effect=has_side_effect,
                             config={"index": f"{len(module.host_callbacks) - 1} : ui64"})
    if has_side_effect and left_to_compiler(module):
        raise NotImplementedError("io_callback is not supported in a shard_map that runs along some axes of its mesh only: each device "
                                  "would call. Let it run along all axes, or use pure_callback or debug.callback.")
    device_number = _calling_device(module, sharding)
    if ctx.platform == "tpu":
        return emit_host_transfer(ctx, function, operands, results, device_number)
    module.host_callbacks.append(function)
    config = {"index": f"{len(module.host_callbacks) - 1} : ui64"}
    return emit_ffi_call(ctx, _TARGETS[ctx.platform], operands, results, config=config, has_side_effect=has_side_effect,
                         device_number=device_number)


def _calling_device(module: ModuleContext, sharding: Any) -> int | None:
    """The number of the device that calls; None where the module runs on one device, or as a program per device, which all call.

    Raises:
      NotImplementedError: for a sharding in a program per device.
      ValueError: if its device is not among those of the program.
    """
    if module.num_partitions == 1:
        return None
    if module.manual_mesh is not None:
        if sharding is not None:
            raise NotImplementedError(f"callbacks do not support specifying sharding inside of shard_map or pmap, where each device calls; "
                                      f"got {sharding}. Leave it out.")
        return None
    if sharding is None:
        return 0
    (device,) = sharding.device_set
    if device not in module.devices:
        raise ValueError(f"callback: the sharding specifies a device, {device}, that is not in the device assignment "
                         f"{module.devices}. Give one of these devices.")
    return module.devices.index(device)


def _emit_ordered(ctx: FunctionWriter, function: Callable, operands: Sequence[Value], results: Sequence[ShapedArray],
                  sharding: Any = None) -> list[Value]:
    def threaded(token: ArrayLike, *args: Any) -> tuple[Any, ...]:
        return token, *function(*args)

    before = current_token(ctx)
    ctx.tokens[None], *out = emit_callback(ctx, threaded, [before, *operands], [before.aval, *results], True, sharding=sharding)
    return out


@lowering_rule(op.pure_callback_p, platforms=_PLATFORMS)
def _pure_callback(ctx: FunctionWriter, *operands: Value, callback: FlatCallback, result_avals: tuple[ShapedArray, ...],
                   sharding: Any, **_params: Any) -> list[Value]:
    def function(*args: ArrayLike) -> tuple[Any, ...]:
        return tuple(op.run_callback(callback, result_avals, args))
    return emit_callback(ctx, function, operands, result_avals, False, sharding=sharding)


@lowering_rule(op.io_callback_p, platforms=_PLATFORMS)
def _io_callback(ctx: FunctionWriter, *operands: Value, callback: FlatCallback, result_avals: tuple[ShapedArray, ...], ordered: bool,
                 sharding: Any, **_params: Any) -> list[Value]:
    def function(*args: Any) -> tuple[Any, ...]:
        return tuple(op.run_callback(callback, result_avals, args))
    if ordered:
        return _emit_ordered(ctx, function, operands, result_avals, sharding)
    return emit_callback(ctx, function, operands, result_avals, True, sharding=sharding)


@lowering_rule(op.debug_callback_p, platforms=_PLATFORMS)
def _debug_callback(ctx: FunctionWriter, *operands: Value, callback: FlatCallback, effect: DebugEffect | OrderedDebugEffect,
                    partitioned: bool) -> list[Value]:
    if (rest := left_to_compiler(ctx.module)) and not partitioned:
        return ctx.run(_from_one_device(ctx.module.manual_mesh, rest, [x.aval for x in operands],
                                        {"callback": callback, "effect": effect, "partitioned": False}),
                       operands)

    def function(*args: Any) -> tuple[()]:
        callback(*args)
        return ()
    if has_ordered([effect]):
        return _emit_ordered(ctx, function, operands, [])
    return emit_callback(ctx, function, operands, [], True, on_each_device=partitioned)


@lowering_rule(op.inspect_sharding_p)
def _inspect_sharding(ctx: FunctionWriter, x: Value, *, callback: Callable[[Any], Any]) -> list[Value]:
    """XLA calls back while it splits the program; a program for one device has the answer before it is compiled."""
    module = ctx.module
    module.inspections.append((callback, x.aval.ndim))
    if module.num_partitions > 1:
        ctx.custom_call("InspectSharding", [x], results=[x.aval], attributes={
            "api_version": "1 : i32", "backend_config": string_text(inspection_key(len(module.inspections) - 1)),
            "has_side_effect": "true"})
    return []


def _from_one_device(mesh: Any, axes: tuple, avals: Sequence[ShapedArray], params: dict[str, Any]) -> ClosedJaxpr:
    """The call where the compiler splits values over some mesh axes: the first device along these makes it, with whole values."""
    def call(*args: Any) -> tuple[()]:
        op.debug_callback_p.bind(*args, **params)
        return ()

    def per_device(*args: Any) -> list[Any]:
        cond(elementwise.eq(axis_index(axes), np.int32(0)), call, lambda *args: (), *args)
        return []

    avals = [aval.update(named_shape={}) for aval in avals]
    with running_along([(name, mesh.shape[name]) for name in axes], is_checked=False):
        closed = stage(per_device, avals)
    return stage(
        lambda *args: bind_shard_map(closed, *args, mesh=mesh, in_specs=[PartitionSpec()] * len(args), out_specs=[], manual_axes=axes),
        avals)
