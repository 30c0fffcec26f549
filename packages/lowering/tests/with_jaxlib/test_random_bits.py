"""Random bits compiled and run by XLA, against their NumPy meaning: equal to the last bit."""

import numpy as np
import pytest
from stablehlo_runner import run

from laminax_ir.key_arrays.keys import PRNGKeyArray
from laminax_ir.ops import random_bits as ops
from laminax_ir.options import config
from laminax_ir.recording.staging import stage
from laminax_ir.reference.evaluate import evaluate
from laminax_ir.types.avals import ShapedArray, get_aval

IMPLS = ("threefry2x32", "rbg", "unsafe_rbg", "philox2x32", "philox4x32", "threefry4x32")


def words(x):
    return np.asarray(x.base if isinstance(x, PRNGKeyArray) else x)


def check_equal(fun, *args):
    closed = stage(lambda *xs: list(fun(*xs)), [get_aval(x) for x in args])
    for result, expected in zip(run(closed, *map(words, args)), evaluate(closed, *args), strict=True):
        expected = words(expected)
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("impl, keys_shape, partitionable", [
    ("threefry2x32", (), True), ("threefry2x32", (2, 3), True), ("threefry2x32", (2, 3), False), ("rbg", (2, 3), True),
    ("unsafe_rbg", (2, 3), True)])
def test_key_operations(impl, keys_shape, partitionable):
    with config.threefry_partitionable(partitionable), config.enable_x64(True):
        keys = ops.random_split(ops.random_seed(0, impl), keys_shape)
        check_equal(lambda k: [ops.random_split(k, (2,)), ops.random_fold_in(k, np.uint32(3)), ops.random_bits(k, 8, (2, 3)),
                               ops.random_bits(k, 16, ()), ops.random_bits(k, 32, (5,)), ops.random_bits(k, 64, (5,)),
                               ops.random_unwrap(k), ops.random_clone(k)], keys)


@pytest.mark.parametrize("impl", IMPLS)
def test_seeds(impl):
    check_equal(lambda s: [ops.random_seed(s, impl)], np.array([1, -1, 2**31 - 1], np.int32))
    with config.enable_x64(True):
        check_equal(lambda s: [ops.random_seed(s, impl)], np.array([2**40 + 5, -1]))


def test_hash_broadcasts():
    x = np.arange(6, dtype=np.uint32).reshape(2, 3)
    check_equal(lambda a, b: ops.threefry2x32(np.uint32(3), b, a, a), x, x[:, :1])


@pytest.mark.parametrize("state", [np.array([1, 0, 2**32 - 1, 2**32 - 1], np.uint32), np.array([7, 2**63 + 5], np.uint64)])
def test_generator(state):
    cases = [((5,), "uint8"), ((4, 2), "uint32"), ((3, 3), "uint16"), ((1, 7, 3), "uint32"), ((4, 2), "uint64"), ((0,), "uint32")]
    with config.enable_x64(True):
        check_equal(lambda s: [x for shape, dtype in cases for algorithm in list(ops.RandomAlgorithm)[1:]
                               for x in ops.rng_bit_generator(s, shape, dtype, algorithm)], state)
        check_equal(lambda s: ops.rng_bit_generator(s, (7,)), state)


def test_rng_uniform():
    closed = stage(lambda a, b: [ops.rng_uniform(a, b, (40, 100)), ops.rng_uniform(np.int32(3), np.int32(5), (50,))],
                   [ShapedArray((), np.float32)] * 2)
    floats, integers = run(closed, np.float32(-1), np.float32(3))
    assert np.all((floats >= -1) & (floats < 3)) and abs(np.mean(floats) - 1) < 0.2 and set(integers) == {3, 4}
