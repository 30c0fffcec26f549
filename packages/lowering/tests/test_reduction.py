"""The text of reductions, as the StableHLO specification writes them."""

import re

import numpy as np
import pytest

from laminax_ir.ops import cumulative, elementwise, reduction
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray
from laminax_lowering import lower

f32 = np.float32


def text_of(fun, *avals, platform="cpu"):
    return lower(stage(lambda *xs: [fun(*xs)], avals), platform=platform).text


@pytest.mark.parametrize("name, operation, init", [
    ("reduce_sum", "add", "0.0"), ("reduce_prod", "multiply", "1.0"), ("reduce_max", "maximum", "0xFF800000"),
    ("reduce_min", "minimum", "0x7F800000"),
])
def test_named_reduction(name, operation, init):
    text = text_of(lambda x: getattr(reduction, name)(x, (0, 2)), ShapedArray((2, 3, 4), f32))
    assert f"dense<{init}> : tensor<f32>" in text
    assert re.search(rf'"stablehlo.reduce"\(%arg0, %\w+\) \({{\n\^bb0\(%\w+: tensor<f32>, %\w+: '
                     rf'tensor<f32>\):\n%\w+ = "stablehlo.{operation}"', text)
    assert "{dimensions = array<i64: 0, 2>} : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<3xf32>" in text


def test_positions_reduce_pairs():
    text = text_of(lambda x: reduction.argmax(x, 1, np.int32), ShapedArray((2, 3), f32))
    assert "(tensor<2x3xf32>, tensor<2x3xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)" in text


def test_constants_of_a_computation_are_inside_its_region():
    text = text_of(lambda x: reduction.reduce(x, f32(0), lambda a, b: elementwise.add(a, elementwise.mul(b, 3.0)), (0,)),
                   ShapedArray((4,), f32))
    region = text[text.index("^bb0"):text.index("stablehlo.return")]
    assert "dense<3.0>" in region and "dense<3.0>" not in text.replace(region, "")


@pytest.mark.parametrize("platform", ["cpu", "cuda", "rocm", "tpu"])
@pytest.mark.parametrize("reverse, padding", [(False, "[4, 0]"), (True, "[0, 4]")])
def test_cumulative_sum_is_a_window_of_all_before(platform, reverse, padding):
    text = text_of(lambda x: cumulative.cumsum(x, 0, reverse), ShapedArray((5,), f32), platform=platform)
    assert "window_dimensions = array<i64: 5>" in text and f"padding = dense<[{padding}]> : tensor<1x2xi64>" in text
