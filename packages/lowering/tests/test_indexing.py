"""The StableHLO text of indexing operations, against the specification's forms."""

import numpy as np
import pytest

from laminax_ir.ops import indexing as ops
from laminax_ir.ops import slicing
from laminax_ir.ops.indexing import GatherDimensionNumbers, ScatterDimensionNumbers
from laminax_ir.recording.staging import stage
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray
from laminax_lowering import lower

X = ShapedArray((3, 4), np.float32)
I = ShapedArray((5, 1), np.int32)
KEYS = ShapedArray((3,), dtypes.key_dtype("threefry2x32"))
ROWS = GatherDimensionNumbers((1,), (0,), (0,))
BATCHED = GatherDimensionNumbers((1,), (), (1,), (0,), (0,))


def text_of(fun, *avals):
    return lower(stage(lambda *xs: [fun(*xs)], avals)).text


def test_slices():
    text = text_of(lambda x: slicing.slice(x, (0, 1), (3, 4), (2, 1)), X)
    assert ('"stablehlo.slice"(%arg0) {start_indices = array<i64: 0, 1>, limit_indices = array<i64: 3, 4>, '
            'strides = array<i64: 2, 1>}') in text
    text = text_of(lambda x, i: slicing.dynamic_slice(x, (i, i), (1, 2), allow_negative_indices=False), X, ShapedArray((), np.int32))
    assert '"stablehlo.dynamic_slice"(%arg0, %arg1, %arg1) {slice_sizes = array<i64: 1, 2>}' in text
    text = text_of(lambda x, i: slicing.dynamic_update_slice(x, x, (i, i), allow_negative_indices=False), X, ShapedArray((), np.int32))
    assert '"stablehlo.dynamic_update_slice"(%arg0, %arg0, %arg1, %arg1) : ' in text


def test_gather_that_clips_is_one_operation():
    text = text_of(lambda x, i: ops.gather(x, i, ROWS, (1, 4), mode="clip", indices_are_sorted=True), X, I)
    assert ("#stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], operand_batching_dims = [], "
            "start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = true, "
            "slice_sizes = array<i64: 1, 4>") in text
    assert "select" not in text and "clamp" not in text


def test_gather_that_fills_selects():
    text = text_of(lambda x, i: ops.gather(x, i, ROWS, (1, 4), mode="fill"), X, I)
    assert "comparison_direction GE" in text and "comparison_direction LE" in text and '"stablehlo.select"' in text


def test_batching_dims():
    text = text_of(lambda x, i: ops.gather(x, i, BATCHED, (1, 2)), X, ShapedArray((3, 1), np.int32))
    assert "operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1" in text
    text = text_of(lambda x, i: ops.scatter(x, i, x, ScatterDimensionNumbers(*BATCHED)), X, ShapedArray((3, 1), np.int32))
    assert ("input_batching_dims = [0], scatter_indices_batching_dims = [0], "
            "scatter_dims_to_operand_dims = [1], index_vector_dim = 1") in text


@pytest.mark.parametrize("name, body", [("scatter_add", "add"), ("scatter_sub", "subtract"), ("scatter_mul", "multiply"),
                                        ("scatter_min", "minimum"), ("scatter_max", "maximum")])
def test_scatter_combines_in_its_region(name, body):
    text = text_of(lambda x, i, u: getattr(ops, name)(x, i, u, ScatterDimensionNumbers(*ROWS), unique_indices=True), X, I,
                   ShapedArray((5, 4), np.float32))
    assert f'"stablehlo.{body}"' in text and "clamp" not in text
    assert ("#stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], input_batching_dims = [], "
            "scatter_indices_batching_dims = [], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, "
            "indices_are_sorted = false, unique_indices = true") in text


def test_scatter_that_clips_clamps_its_indices():
    text = text_of(lambda x, i, u: ops.scatter_add(x, i, u, ScatterDimensionNumbers(*ROWS), mode="clip"), X, I,
                   ShapedArray((5, 4), np.float32))
    assert '"stablehlo.clamp"' in text and "dense<2> : tensor<5x1xi32>" in text


def test_axes_of_keys_are_part_of_the_window():
    text = text_of(lambda k, i: ops.gather(k, i, GatherDimensionNumbers((), (0,), (0,)), (1,)), KEYS, I)
    assert "offset_dims = [1]" in text and "slice_sizes = array<i64: 1, 2>" in text and "tensor<5x2xui32>" in text
    text = text_of(lambda k, i: slicing.dynamic_slice(k, (i,), (1,), allow_negative_indices=False), KEYS, ShapedArray((), np.int32))
    assert '"stablehlo.dynamic_slice"(%arg0, %arg1, %c0) {slice_sizes = array<i64: 1, 2>}' in text
