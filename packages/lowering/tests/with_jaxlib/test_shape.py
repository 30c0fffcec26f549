"""Shape operations compiled and run by XLA, against their NumPy meaning; the results are equal to the last bit."""

import ml_dtypes
import numpy as np
import pytest
from stablehlo_runner import check

from laminax_ir.ops import shape as ops

DTYPES = ["float32", "float16", ml_dtypes.bfloat16, "complex64", "int32", "uint8", "bool", "int4", ml_dtypes.float8_e4m3fn]
SHAPES = [(2, 1, 3), (1, 1, 1), (0, 1, 3), (2, 1, 0)]


def array(shape, dtype):
    return (np.arange(int(np.prod(shape))) % 7).astype(np.dtype(dtype)).reshape(shape)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(dtype):
    check_all(array((2, 1, 3), dtype))


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes(shape):
    check_all(array(shape, np.float32))


def check_all(x):
    a, _, b = x.shape
    fill = np.ones((), x.dtype)[()]

    def fun(x, v):
        return [
            ops.broadcast_in_dim(x, (5, a, 4, b), (1, 2, 3)), ops.broadcast(x, (2, 0)), ops.reshape(x, (a * b,)),
            ops.reshape(x, (b, a), (2, 0, 1)), ops.transpose(x, (2, 0, 1)), ops.squeeze(x, (1,)), ops.expand_dims(x, (0, -1)),
            ops.concatenate([x, x, x], 1), ops.pad(x, v, ((1, 2, 3), (-1, 2, 0), (0, 1, 1))), ops.rev(x, (0, 2)),
            *ops.split(x, (0, a), 0), ops.tile(x, (2, 3, 1)), ops.collapse(x, 1), ops.full_like(x, 1), ops.full((2, 0), v),
        ]
    check(fun, x, fill)


def test_scalars():
    check(lambda x: [ops.reshape(x, (1, 1)), ops.broadcast_in_dim(x, (2, 3), ()), ops.transpose(x, ()), ops.pad(x, x, ()),
                     ops.tile(x, ()), ops.rev(x, ()), ops.expand_dims(x, (0,))], np.float32(3))


@pytest.mark.parametrize("dtype", ["float32", "int8", "uint32", "complex64", ml_dtypes.bfloat16])
def test_iota(dtype):
    check(lambda: [ops.iota(dtype, 5), ops.broadcasted_iota(dtype, (2, 3), 0), ops.broadcasted_iota(dtype, (2, 0), 1)])
