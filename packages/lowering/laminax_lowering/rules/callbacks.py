"""Callbacks: custom calls that XLA answers by calling Python.

jaxlib's handler finds the function by its index in the list that is given to the compiler beside the text, and hands it NumPy
arrays. An ordered callback takes a token and returns one; see `context.current_token`.
"""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np

from laminax_ir.avals import ShapedArray
from laminax_ir.effects import has_ordered
from laminax_ir.ops import callbacks as op
from laminax_lowering.context import Value, current_token
from laminax_lowering.registry import lowering_rule

_TARGETS = {"cpu": "xla_ffi_python_cpu_callback", "cuda": "xla_ffi_python_gpu_callback",
            "rocm": "xla_ffi_python_gpu_callback"}


def _emit_callback(ctx, function: Callable[..., Sequence[np.ndarray]], operands: Sequence[Value], results: Sequence[ShapedArray],
                   has_side_effect: bool) -> list[Value]:
    target = _TARGETS.get(ctx.platform)
    if target is None:
        raise NotImplementedError(f"callbacks are not supported on the platform {ctx.platform}; they are on "
                                  f"{', '.join(_TARGETS)}")
    ctx.module.host_callbacks.append(function)
    out = ctx.emit("stablehlo.custom_call", operands, results=results, attributes={
        "api_version": "4 : i32", "backend_config": f"{{index = {len(ctx.module.host_callbacks) - 1} : ui64}}",
        "call_target_name": f'"{target}"', "has_side_effect": "true" if has_side_effect else "false",
        "operand_layouts": _row_major(operands), "result_layouts": _row_major(results)})
    return [out] if isinstance(out, Value) else out


def _row_major(values: Sequence[Any]) -> str:
    """Layouts in which the last axis varies fastest, as NumPy expects."""
    ranks = [len(v.shape) for v in values]
    layouts = [f"dense<{list(range(n))[::-1]}> : tensor<{n}xindex>" if n else "dense<> : tensor<0xindex>" for n in ranks]
    return f"[{', '.join(layouts)}]"


def _emit_ordered(ctx, function, operands, results) -> list[Value]:
    def threaded(token, *args):
        return token, *function(*args)

    before = current_token(ctx)
    ctx.token, *out = _emit_callback(ctx, threaded, [before, *operands], [before.aval, *results], True)
    return out


@lowering_rule(op.pure_callback_p)
def _pure_callback(ctx, *operands, callback, result_avals, **_params):
    def function(*args):
        return tuple(op.run_callback(callback, result_avals, args))
    return _emit_callback(ctx, function, operands, result_avals, False)


@lowering_rule(op.io_callback_p)
def _io_callback(ctx, *operands, callback, result_avals, ordered, **_params):
    def function(*args):
        return tuple(op.run_callback(callback, result_avals, args))
    if ordered:
        return _emit_ordered(ctx, function, operands, result_avals)
    return _emit_callback(ctx, function, operands, result_avals, True)


@lowering_rule(op.debug_callback_p)
def _debug_callback(ctx, *operands, callback, effect, **_params):
    def function(*args):
        callback(*args)
        return ()
    if has_ordered([effect]):
        return _emit_ordered(ctx, function, operands, [])
    return _emit_callback(ctx, function, operands, [], True)
