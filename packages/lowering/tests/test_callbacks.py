"""The StableHLO text of callbacks; that they are called is tested by the api."""

from __future__ import annotations

import numpy as np
import pytest

from laminax_ir.ops.callbacks import debug_callback, io_callback, pure_callback
from laminax_ir.ops.control_flow import cond
from laminax_ir.ops.loops import scan, while_loop
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray, ShapeDtypeStruct
from laminax_lowering import lower

F32 = ShapedArray((2, 3), np.float32)


def f(x):
    y = pure_callback(np.sin, ShapeDtypeStruct((), np.float32), x)
    io_callback(print, None, x, ordered=True)
    debug_callback(print, ordered=True)
    return [y]


def test_custom_calls():
    module = lower(stage(f, [F32]))
    assert len(module.convention.host_callbacks) == 3
    assert ('"stablehlo.custom_call"(%arg0) {call_target_name = "xla_ffi_python_cpu_callback", api_version = 4 : i32, '
            'backend_config = {index = 0 : ui64}, has_side_effect = false, operand_layouts = [dense<[1, 0]> : tensor<2xindex>], '
            "result_layouts = [dense<> : tensor<0xindex>]} : (tensor<2x3xf32>) -> tensor<f32>") in module.text
    assert '%2 = "stablehlo.custom_call"(%c0, %arg0)' in module.text  # the token
    assert '%3 = "stablehlo.custom_call"(%2)' in module.text
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    with pytest.raises(ValueError, match=r"expected \(\), got \(2, 3\)"):
        module.convention.host_callbacks[0](x)
    token = np.bool_(False)
    assert module.convention.host_callbacks[2](token) == (token,)


def test_platforms():
    closed = stage(f, [F32])
    for platform in ("cuda", "rocm"):
        assert "xla_ffi_python_gpu_callback" in lower(closed, platform=platform).text
    with pytest.raises(NotImplementedError, match="callback is not supported on tpu: callbacks are supported on cpu, cuda, rocm"):
        lower(closed, platform="tpu")


def test_the_token_goes_through_loops_and_branches():
    def note(x):
        debug_callback(print, x, ordered=True)
        return x

    scalar = ShapedArray((), np.float32)
    text = lower(stage(lambda x: [scan(lambda c, _: (note(c) * 2.0, None), x, None, length=3)[0]], [scalar])).text
    assert "(tensor<i32>, tensor<f32>, tensor<i1>) -> (tensor<i32>, tensor<f32>, tensor<i1>)" in text
    text = lower(stage(lambda x: [cond(x > 0.0, note, lambda x: x, x)], [scalar])).text
    assert "(tensor<i32>) -> (tensor<f32>, tensor<i1>)" in text
    text = lower(stage(lambda x: [while_loop(lambda c: c < 3.0, lambda c: note(c) + 1.0, x)], [scalar])).text
    assert "(tensor<f32>, tensor<i1>) -> (tensor<f32>, tensor<i1>)" in text
    text = lower(stage(lambda x: [while_loop(lambda c: note(c) < 3.0, lambda c: c + 1.0, x)], [scalar])).text
    assert "(tensor<i1>, tensor<f32>, tensor<i1>) -> (tensor<i1>, tensor<f32>, tensor<i1>)" in text  # the condition's answer is carried
