"""Sorting operations compiled and run by XLA, against their NumPy meaning; the results are equal to the last bit."""

import ml_dtypes
import numpy as np
import pytest
from stablehlo_runner import run

from laminax_ir.ops import sorting as ops
from laminax_ir.ops.shape import broadcasted_iota
from laminax_ir.recording.staging import stage
from laminax_ir.reference.evaluate import evaluate
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray, get_aval

NAN, INF = np.nan, np.inf
HARD = np.array([NAN, 1, -INF, -NAN, 0, -0.0, 0, INF, 2.5, -3, -0.0, 1], np.float32)


def check_bits(fun, *args):
    """Unlike NumPy's comparison this tells -0 from 0 and NaN from -NaN."""
    closed = stage(lambda *xs: list(fun(*xs)), [get_aval(np.asarray(x)) for x in args])
    for result, expected in zip(run(closed, *args), evaluate(closed, *args), strict=True):
        assert result.dtype == expected.dtype and result.shape == expected.shape
        assert result.tobytes() == expected.tobytes(), (result, expected)


def with_positions(x, **options):
    return ops.sort((x, broadcasted_iota(np.int32, x.shape, len(x.shape) - 1)), **options)


@pytest.mark.parametrize("dtype", ["float32", "float16", ml_dtypes.bfloat16])
def test_hard_floats(dtype):
    x = HARD.astype(dtype)
    check_bits(with_positions, x)
    check_bits(lambda x: ops.top_k(x, len(HARD)), x)


def test_complex():
    x = np.empty(3 * len(HARD), np.complex64)
    x.real, x.imag = np.repeat(HARD, 3), np.tile(HARD, 3)
    check_bits(with_positions, x)


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int8", "uint8", "bool", "int4", ml_dtypes.float8_e4m3fn])
def test_other_dtypes(dtype):
    x = np.array([3, 1, 2, 3, 0, 7, 1]).astype(dtype)
    check_bits(with_positions, x)
    check_bits(lambda x: ops.top_k(x, 3), x)


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int8", "uint8"])
def test_extreme_integers(dtype):
    info = np.iinfo(dtype)
    x = np.array([info.max, 0, info.min, 1, info.max], dtype)
    check_bits(lambda x: [*ops.top_k(x, 5), *with_positions(x)], x)


def test_several_keys_and_axes():
    rng = np.random.default_rng(0)
    x, y, z = rng.integers(0, 3, (3, 4, 5)).astype(np.float32), rng.integers(0, 2, (3, 4, 5)), np.arange(60).reshape(3, 4, 5)
    for dimension in range(3):
        for num_keys in (1, 2, 3):
            check_bits(lambda x, y, z: ops.sort((x, y, z), dimension, num_keys=num_keys), x, y, z)
        check_bits(lambda x: [ops.sort(x, dimension), *ops.top_k(x, 2, axis=dimension), *ops.top_k(x, 0, axis=dimension)], x)


def test_empty_arrays():
    check_bits(lambda x: [ops.sort(x, 0), ops.sort(x, 1), *ops.top_k(x, 0, axis=0), *ops.top_k(x, 2)], np.zeros((0, 3), np.float32))


@pytest.mark.parametrize("dimension", [0, 1])
def test_random_keys_are_carried_along(dimension):
    order = np.random.default_rng(0).permutation(12).reshape(3, 4)
    words = np.arange(24, dtype=np.uint32).reshape(3, 4, 2)
    keys = ShapedArray((3, 4), dtypes.key_dtype("threefry2x32"))
    closed = stage(lambda x, k: list(ops.sort((x, k), dimension)), [ShapedArray((3, 4), np.int32), keys])
    _, result = run(closed, order, words)
    np.testing.assert_array_equal(result, np.take_along_axis(words, np.argsort(order, dimension)[..., None], dimension))
