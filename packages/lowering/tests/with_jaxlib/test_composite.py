"""Composites in StableHLO: the text, and what XLA makes of a name that it does not know."""

import numpy as np
import pytest
from stablehlo_runner import check, verify_text

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.composite import composite
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray
from laminax_lowering import lower

F32 = ShapedArray((2, 3), np.float32)


def text(**attributes):
    fun = composite(lambda x, **_: op.sin(x), "my.sine", version=3)
    return lower(stage(lambda x: [fun(x, **attributes)], [F32])).text


def test_xla_computes_the_decomposition():
    fun = composite(lambda x, y, *, k: (op.mul(op.add(x, y), np.float32(k)), x), "my.two")
    check(lambda x: [*fun(x, x, k=2), *fun(x, np.float32(1), k=2.5)], np.arange(6, dtype=np.float32).reshape(2, 3))


@pytest.mark.parametrize("value, written", [
    (3, "3 : i64"), (2.5, "2.5 : f64"), (True, "true"), ("hi", '"hi"'), (np.float32(1.5), "1.5 : f32"), (np.int8(3), "3 : i8"),
    (np.bool_(True), "true"), (np.array([1, 2], np.int32), "dense<[1, 2]> : tensor<2xi32>"), ([1, "a"], '[1 : i64, "a"]'),
    ({"b": 1, "a": 2.0}, '{"a" = 2.0 : f64, "b" = 1 : i64}'), (1j, "dense<(0.0, 1.0)> : tensor<complex<f64>>"),
    (np.dtype(np.float32), "f32"),
])
def test_attributes(value, written):
    module = text(note=value)
    assert ('"stablehlo.composite"(%arg0) {name = "my.sine", composite_attributes = {"note" = ' + written
            + "}, decomposition = @my.sine, version = 3 : i32}") in module
    assert "func.func private @my.sine" in module
    verify_text(module)


def test_several_platforms():
    fun = composite(lambda x: op.sin(x), "my.sine")
    module = lower(stage(lambda x: [fun(x)], [F32]), platform=("cpu", "cuda")).text
    verify_text(module)
