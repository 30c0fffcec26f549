"""laminax.ops: reductions over segments, against loops in NumPy."""

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import ops

REDUCTIONS = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min}
IDS = np.array([0, 2, 2, 5, 0, -1, 9, 3], np.int32)


def loop(kind, data, ids, count):
    """Row by row, empty segments left with the neutral value."""
    dtype = data.dtype
    low, high = (-np.inf, np.inf) if dtype.kind == "f" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    neutral = {"sum": 0, "prod": 1, "max": low, "min": high}[kind]
    rows = [data[ids == k] for k in range(count)]
    return np.stack([REDUCTIONS[kind](r, axis=0) if len(r) else np.full(data.shape[1:], neutral, dtype) for r in rows])


@pytest.mark.parametrize("kind", REDUCTIONS)
@pytest.mark.parametrize("bucket_size", [None, 3])
@pytest.mark.parametrize("data", [np.array([3, -1, 2, 7, 1, 4, 9, -5], np.float32), np.arange(-8, 8, dtype=np.int32).reshape(8, 2)])
def test_reductions(kind, bucket_size, data):
    fun = getattr(ops, f"segment_{kind}")
    got = fun(data, IDS, 7, bucket_size=bucket_size)
    np.testing.assert_array_equal(got, loop(kind, data, IDS, 7))
    assert got.dtype == data.dtype
    jitted = laminax.jit(lambda d, i: fun(d, i, num_segments=7, bucket_size=bucket_size))(data, IDS)
    np.testing.assert_array_equal(jitted, got)


def test_the_default_number_of_segments_is_one_more_than_the_greatest():
    assert ops.segment_sum(np.ones(3, np.float32), np.array([0, 4, 4])).shape == (5,)
    with pytest.raises(TypeError, match="segment_sum: num_segments, by default from segment_ids"):
        laminax.jit(ops.segment_sum)(np.ones(3), np.array([0, 4, 4]))


def test_modes_and_hints():
    data, ids = np.arange(4, dtype=np.float32), np.array([0, 1, 2, 7])
    np.testing.assert_array_equal(ops.segment_sum(data, ids, 3, mode="clip"), [0, 1, 5])
    np.testing.assert_array_equal(ops.segment_sum(data, ids, 8, True, True), [0, 1, 2, 0, 0, 0, 0, 3])


def test_gradient_goes_to_the_rows():
    weights = jnp.array([2.0, 3.0, 5.0])
    gradient = laminax.grad(lambda d: jnp.vdot(weights, ops.segment_sum(d, np.array([2, 0, 0, 1, 3]), 3)))(jnp.ones(5))
    np.testing.assert_array_equal(gradient, [5, 2, 2, 3, 0])


@pytest.mark.parametrize("call, error, message", [
    (lambda: ops.segment_sum(np.ones(2), np.ones(2, int), -1), ValueError, "segment_sum: num_segments must be non-negative, got -1"),
    (lambda: ops.segment_max(np.ones(2), np.ones(2), 2), TypeError, r"segment_max: segment_ids must be integers, got f32\[2\]"),
    (lambda: ops.segment_prod(np.ones(2, bool), np.ones(2, int), 2), TypeError, "segment_prod: data must be numbers"),
    (lambda: ops.segment_sum(np.ones(5), np.ones(2, int), 2), ValueError, "shapes for broadcasting"),
    (lambda: ops.segment_sum(np.ones(5), np.ones(2, int), 2, bucket_size=2), ValueError, "one row for each of segment_ids"),
    (lambda: ops.segment_sum(np.ones(2), np.ones(2, int), 2, bucket_size=1.5), TypeError, "integer"),
    (lambda: ops.segment_sum(np.ones(2), np.ones(2, int), 2, bucket_size=0), ValueError, "bucket_size must be positive, got 0"),
    (lambda: ops.segment_sum([1.0], np.ones(1, int), 2), TypeError, "requires ndarray or scalar arguments"),
])
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()
