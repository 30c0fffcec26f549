"""Approximate selection, which is exact here: NumPy's sort is the oracle."""

import ml_dtypes
import numpy as np
import pytest

from laminax_ir.ops.sorting import approx_max_k, approx_min_k
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_the_greatest_and_the_least(axis, dtype):
    x = np.random.default_rng(0).permutation(60).reshape(6, 10).astype(dtype)
    ascending = np.sort(x.astype(np.float32), axis)
    for find, ordered in ((approx_max_k, np.flip(ascending, axis)), (approx_min_k, ascending)):
        values, indices = find(x, 3, axis, recall_target=0.9)
        assert values.dtype == dtype and indices.dtype == np.int32
        np.testing.assert_array_equal(values.astype(np.float32), np.take(ordered, np.arange(3), axis))
        np.testing.assert_array_equal(np.take_along_axis(x, indices, axis), values)


@pytest.mark.parametrize("shape, options, size", [
    # sizes as XLA's algorithm has them, worked out from its description: tiles halved while enough bins are left
    ((4, 40), {}, 40), ((4, 100000), {}, 256), ((4, 100000), {"recall_target": 0.5, "reduction_input_size_override": 10**6}, 128),
    ((20000,), {"k": 10}, 2048), ((4, 300), {"recall_target": 1.0}, 300)])
def test_more_than_k_without_aggregation(shape, options, size):
    options = {"k": 3, **options}
    find = lambda x: approx_max_k(x, aggregate_to_topk=False, **options)
    values, indices = stage(find, [ShapedArray(shape, np.float32)]).out_avals
    assert values is ShapedArray((*shape[:-1], size), np.float32) and indices is ShapedArray((*shape[:-1], size), np.int32)


def test_without_aggregation_the_k_greatest_are_there():
    x = np.random.default_rng(0).normal(size=3000).astype(np.float32)
    values, indices = approx_max_k(x, 5, aggregate_to_topk=False)
    assert 5 <= len(values) < 3000 and set(np.sort(x)[-5:]) <= set(values)
    np.testing.assert_array_equal(x[indices], values)


X = np.zeros((4, 5), np.float32)


@pytest.mark.parametrize("call, message", [
    (lambda: approx_max_k(X, 6), "approx_max_k: k must be at least 1 and at most the size of the axis, got k=6"),
    (lambda: approx_min_k(X, 0), "approx_min_k: k must be"), (lambda: approx_max_k(X, 1, 2), "axis 2"),
    (lambda: approx_max_k(X, 1, recall_target=0.0), "recall_target must be above 0"),
    (lambda: approx_max_k(X, 1, reduction_input_size_override=3), "at least the size of the axis, 5, got 3"),
    (lambda: approx_max_k(X.astype(np.int32), 1), "must be floating, got i32"), (lambda: approx_max_k(np.float32(1), 1), "out of bounds"),
])
def test_malformed_calls(call, message):
    with pytest.raises(ValueError, match=message):
        call()
