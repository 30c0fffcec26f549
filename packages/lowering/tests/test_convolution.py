"""The text of convolutions and windowed reductions, as the StableHLO specification writes them."""

import numpy as np
import pytest

from laminax_ir.ops import elementwise, windows
from laminax_ir.ops.convolution import conv_general_dilated
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray
from laminax_lowering import lower

f32 = np.float32


def text_of(fun, *avals, platform="cpu"):
    return lower(stage(lambda *xs: [fun(*xs)], avals), platform=platform).text


@pytest.mark.parametrize("platform", ["cpu", "cuda", "rocm", "tpu"])
def test_convolution(platform):
    text = text_of(lambda x, k: conv_general_dilated(x, k, (2, 1), [(1, 2), (0, -1)], (1, 1), (1, 2), ("NHWC", "HWIO", "NCHW"), 2,
                                                     precision="high"),
                   ShapedArray((1, 8, 9, 4), f32), ShapedArray((3, 2, 2, 6), f32), platform=platform)
    for part in ("dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, f, 0, 1]>", "window_strides = array<i64: 2, 1>",
                 "rhs_dilation = array<i64: 1, 2>", "padding = dense<[[1, 2], [0, -1]]> : tensor<2x2xi64>",
                 "feature_group_count = 2 : i64", "batch_group_count = 1 : i64",
                 "precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision HIGH>]",
                 "(tensor<1x8x9x4xf32>, tensor<3x2x2x6xf32>) -> tensor<1x6x5x6xf32>"):
        assert part in text


def test_complex_convolution_is_four_real_ones():
    text = text_of(lambda x, k: conv_general_dilated(x, k, (1,), "VALID"), ShapedArray((1, 2, 5), np.complex64),
                   ShapedArray((3, 2, 2), np.complex64))
    assert text.count('"stablehlo.convolution"') == 4


@pytest.mark.parametrize("platform", ["cpu", "cuda", "rocm", "tpu"])
def test_windowed_maximum(platform):
    text = text_of(lambda x: windows.reduce_window(x, -np.inf, elementwise.max, (2, 2), (2, 1), [(0, 1), (0, 0)]),
                   ShapedArray((3, 4), f32), platform=platform)
    assert ("{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 1>, base_dilations = array<i64: 1, 1>, "
            "window_dilations = array<i64: 1, 1>, padding = dense<[[0, 1], [0, 0]]> : tensor<2x2xi64>} : "
            "(tensor<3x4xf32>, tensor<f32>) -> tensor<2x3xf32>") in text
    assert "dense<0xFF800000> : tensor<f32>" in text and "stablehlo.maximum" in text


def test_select_and_scatter_has_two_regions():
    text = text_of(lambda s, x: windows.select_and_scatter_add(s, x, elementwise.ge_p, (2,), (2,), [(0, 0)]),
                   ShapedArray((2,), f32), ShapedArray((4,), f32))
    assert text.count("^bb0") == 2 and "comparison_direction GE" in text
    assert "(tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>" in text
