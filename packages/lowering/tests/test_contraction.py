"""The text of contractions, as the StableHLO specification writes them."""

import numpy as np
import pytest

from laminax_ir.ops.contraction import dot, dot_general, ragged_dot
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray
from laminax_lowering import lower

f32 = np.float32


def text_of(fun, *avals, platform="cpu"):
    return lower(stage(lambda *xs: [fun(*xs)], avals), platform=platform).text


def test_dimension_numbers():
    text = text_of(lambda x, y: dot_general(x, y, (((2,), (1,)), ((0,), (0,)))), ShapedArray((2, 3, 4), f32), ShapedArray((2, 4, 5), f32))
    assert ('"stablehlo.dot_general"(%arg0, %arg1) {dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], '
            "rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>} : "
            "(tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>") in text


def test_precision():
    x = ShapedArray((3, 3), f32)
    assert "precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision DEFAULT>]" in \
        text_of(lambda x: dot(x, x, precision=("high", "default")), x)
    assert "precision_config" not in text_of(lambda x: dot(x, x), x)


def test_dot_algorithms():
    x, half = ShapedArray((3, 3), f32), ShapedArray((3, 3), np.float16)
    text = text_of(lambda x: dot(x, x, precision="BF16_BF16_F32_X3"), x)
    assert ("algorithm = #stablehlo.dot_algorithm<lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, "
            "lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 3, allow_imprecise_accumulation = false>") in text
    assert "(tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>" in text and "stablehlo.convert" not in text
    text = text_of(lambda x: dot(x, x, precision="F16_F16_F32"), half, platform="cuda")
    assert "(tensor<3x3xf16>, tensor<3x3xf16>) -> tensor<3x3xf32>" in text and "(tensor<3x3xf32>) -> tensor<3x3xf16>" in text
    assert "lhs_precision_type = tf32" in text_of(lambda x: dot(x, x, precision="TF32_TF32_F32"), x, platform="cuda")
    assert "algorithm =" not in text_of(lambda x: dot(x, x, precision="DEFAULT"), x)
    with pytest.raises(ValueError, match="TF32_TF32_F32 is not supported on cpu; expected one of DEFAULT, F16_F16_F16"):
        text_of(lambda x: dot(x, x, precision="TF32_TF32_F32"), x)


def test_accumulation_dtype_is_the_result_dtype():
    text = text_of(lambda x: dot(x, x, preferred_element_type=np.int32), ShapedArray((3, 3), np.int8))
    assert "(tensor<3x3xi8>, tensor<3x3xi8>) -> tensor<3x3xi32>" in text and "stablehlo.convert" not in text


def test_mixed_operands_are_converted():
    text = text_of(dot, ShapedArray((3,), "bfloat16"), ShapedArray((3,), f32))
    assert '"stablehlo.convert"(%arg0) : (tensor<3xbf16>) -> tensor<3xf32>' in text


def test_mixed_operands_lose_no_digits_that_the_result_would_show():
    text = text_of(lambda x, y: dot(x, y, preferred_element_type=f32), ShapedArray((3,), "bfloat16"), ShapedArray((3,), np.float16))
    assert "tensor<3xbf16>) -> tensor<3xf32>" in text and "tensor<3xf16>) -> tensor<3xf32>" in text
    text = text_of(lambda x, y: dot(x, y, preferred_element_type=f32), ShapedArray((3,), "float8_e4m3fn"),
                   ShapedArray((3,), "float8_e5m2"))
    assert "(tensor<3xf8E4M3FN>, tensor<3xf8E5M2>) -> tensor<f32>" in text and "stablehlo.convert" not in text


@pytest.mark.parametrize("platform", ["cpu", "cuda", "rocm", "tpu"])
def test_ragged_products_lower_everywhere(platform):
    text = text_of(ragged_dot, ShapedArray((4, 2), f32), ShapedArray((3, 2, 5), f32), ShapedArray((3,), np.int32), platform=platform)
    assert "(tensor<3x4x2xf32>, tensor<3x2x5xf32>) -> tensor<4x5xf32>" in text
