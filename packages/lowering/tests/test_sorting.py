"""The StableHLO text of sorting operations, against the specification's forms."""

import numpy as np

from laminax_ir.ops import sorting as ops
from laminax_ir.recording.staging import stage
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray
from laminax_lowering import lower

X = ShapedArray((3, 4), np.float32)


def text_of(fun, *avals):
    return lower(stage(lambda *xs: list(fun(*xs)), avals)).text


def test_sort_compares_in_total_order():
    text = text_of(lambda x: [ops.sort(x)], X)
    assert "{dimension = 1 : i64, is_stable = true} : (tensor<3x4xf32>) -> tensor<3x4xf32>" in text
    assert "comparison_type TOTALORDER" in text


def test_comparator_takes_all_operands_and_its_constants_are_inside():
    text = text_of(lambda x, i: ops.sort((x, i), 0, is_stable=False, num_keys=2), X, ShapedArray((3, 4), np.int32))
    region = text[text.index('"stablehlo.sort"'):text.index('"stablehlo.return"')]
    assert region.count("tensor<f32>,") >= 2 and ": tensor<i32>" in region
    assert "dense<0.0> : tensor<f32>" in region and "dense<0x7FC00000> : tensor<f32>" in region
    assert "comparison_direction EQ" in region and '"stablehlo.or"' in region
    assert "is_stable = false" in text


def test_top_k_is_chlos_along_the_last_axis():
    text = text_of(lambda x: ops.top_k(x, 2), X)
    assert '"chlo.top_k"(%arg0) {k = 2 : i64} : (tensor<3x4xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>)' in text
    text = text_of(lambda x: ops.top_k(x, 2, axis=0), X)
    assert "{k = 2 : i64} : (tensor<4x3xf32>) -> (tensor<4x2xf32>, tensor<4x2xi32>)" in text
    assert text.count('"stablehlo.transpose"') == 3


def test_random_keys_follow_by_position():
    text = text_of(lambda x, k: ops.sort((x, k)), X, ShapedArray((3, 4), dtypes.key_dtype("threefry2x32")))
    assert '"stablehlo.iota"() {iota_dimension = 1 : i64} : () -> tensor<3x4xi32>' in text
    assert "offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0]" in text
