"""The StableHLO text of checkpointed calls: what is computed again starts behind a barrier."""

from __future__ import annotations

import numpy as np

from laminax_ir.ops.calls import bind_checkpoint, name_p
from laminax_ir.ops.elementwise import cos, sin
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray
from laminax_lowering import lower

F32 = ShapedArray((3,), np.float32)


def text_of(**params) -> str:
    inner = stage(lambda x, y: [sin(cos(x)), y], [F32, F32])
    closed = stage(lambda x, y: bind_checkpoint(inner, x, y, name="layer", policy=None, **params), [F32, F32])
    return lower(closed).text


def test_barrier():
    text = text_of(prevent_cse=True, differentiated=True)
    assert '%1:2 = "stablehlo.optimization_barrier"(%arg0, %arg1) : (tensor<3xf32>, tensor<3xf32>)' in text
    assert "func.call @layer(%1#0, %1#1)" in text
    assert '"stablehlo.optimization_barrier"(%arg1) : (tensor<3xf32>)' in text_of(prevent_cse=(False, True), differentiated=True)
    for params in ({"prevent_cse": False, "differentiated": True}, {"prevent_cse": (False, False), "differentiated": True},
                   {"prevent_cse": True}):
        assert "optimization_barrier" not in text_of(**params)


def test_a_large_recomputation_stays_a_call_on_the_cpu():
    def body(x):
        for _ in range(10):
            x = sin(x)
        return [x]

    inner = stage(body, [F32])
    closed = stage(lambda x: bind_checkpoint(inner, x, name="layer", policy=None, prevent_cse=True, differentiated=True), [F32])
    assert 'inlineable = "false"' in lower(closed).text
    assert "inlineable" not in lower(closed, platform="cuda").text
    assert "inlineable" not in text_of(prevent_cse=True, differentiated=True)


def test_names_leave_no_trace():
    text = lower(stage(lambda x: [sin(name_p.bind(x, name="y"))], [F32])).text
    assert '"stablehlo.sine"(%arg0)' in text
