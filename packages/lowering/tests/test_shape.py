"""The StableHLO text of shape operations, against the specification's forms."""

import numpy as np
import pytest

from laminax_ir.ops import shape as ops
from laminax_ir.recording.staging import stage
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray
from laminax_lowering import lower

F32 = ShapedArray((2, 1, 3), np.float32)
KEYS = ShapedArray((2, 1, 3), dtypes.key_dtype("threefry2x32"))


def text_of(fun, *avals):
    return lower(stage(lambda *xs: [fun(*xs)], avals)).text


@pytest.mark.parametrize("fun, line", [
    (lambda x: ops.broadcast_in_dim(x, (5, 2, 4, 3), (1, 2, 3)),
     '"stablehlo.broadcast_in_dim"(%arg0) {broadcast_dimensions = array<i64: 1, 2, 3>} : (tensor<2x1x3xf32>) -> tensor<5x2x4x3xf32>'),
    (lambda x: ops.reshape(x, (6,)), '"stablehlo.reshape"(%arg0) : (tensor<2x1x3xf32>) -> tensor<6xf32>'),
    (lambda x: ops.transpose(x, (2, 0, 1)),
     '"stablehlo.transpose"(%arg0) {permutation = array<i64: 2, 0, 1>} : (tensor<2x1x3xf32>) -> tensor<3x2x1xf32>'),
    (lambda x: ops.squeeze(x, (1,)), '"stablehlo.reshape"(%arg0) : (tensor<2x1x3xf32>) -> tensor<2x3xf32>'),
    (lambda x: ops.concatenate([x, x], 2),
     '"stablehlo.concatenate"(%arg0, %arg0) {dimension = 2 : i64} : (tensor<2x1x3xf32>, tensor<2x1x3xf32>) -> tensor<2x1x6xf32>'),
    (lambda x: ops.pad(x, 0., ((1, 2, 3), (0, -1, 0), (0, 0, 1))),
     "{edge_padding_low = array<i64: 1, 0, 0>, edge_padding_high = array<i64: 2, -1, 0>, interior_padding = array<i64: 3, 0, 1>}"),
    (lambda x: ops.rev(x, (0, 2)), '"stablehlo.reverse"(%arg0) {dimensions = array<i64: 0, 2>}'),
    (lambda x: ops.split(x, (1, 2), 2)[1],
     '"stablehlo.slice"(%arg0) {start_indices = array<i64: 0, 0, 1>, limit_indices = array<i64: 2, 1, 3>, strides = array<i64: 1, 1, 1>}'),
    (lambda x: ops.tile(x, (2, 1, 1)), '{broadcast_dimensions = array<i64: 1, 3, 5>} : (tensor<2x1x3xf32>) -> tensor<2x2x1x1x1x3xf32>'),
    (lambda x: ops.broadcasted_iota(np.int32, (2, 3), 1), '"stablehlo.iota"() {iota_dimension = 1 : i64} : () -> tensor<2x3xi32>'),
    (lambda x: ops.full((2, 3), 1.5), '"stablehlo.constant"() {value = dense<1.5> : tensor<2x3xf32>} : () -> tensor<2x3xf32>'),
])
def test_text(fun, line):
    assert line in text_of(fun, F32)


@pytest.mark.parametrize("fun, line", [
    (lambda x: ops.broadcast_in_dim(x, (5, 2, 4, 3), (1, 2, 3)),
     "array<i64: 1, 2, 3, 4>} : (tensor<2x1x3x2xui32>) -> tensor<5x2x4x3x2xui32>"),
    (lambda x: ops.reshape(x, (6,)), '"stablehlo.reshape"(%arg0) : (tensor<2x1x3x2xui32>) -> tensor<6x2xui32>'),
    (lambda x: ops.transpose(x, (2, 0, 1)), "{permutation = array<i64: 2, 0, 1, 3>} : (tensor<2x1x3x2xui32>) -> tensor<3x2x1x2xui32>"),
    (lambda x: ops.split(x, (1, 2), 2)[1], "limit_indices = array<i64: 2, 1, 3, 2>"),
    (lambda x: ops.tile(x, (2, 1, 1)),
     "{broadcast_dimensions = array<i64: 1, 3, 5, 6>} : (tensor<2x1x3x2xui32>) -> tensor<2x2x1x1x1x3x2xui32>"),
])
def test_axes_of_keys_stay_behind(fun, line):
    assert line in text_of(fun, KEYS)
