"""Indexing operations compiled and run by XLA, against their NumPy meaning; the results are equal to the last bit.

The values are small integers, so that sums and products are exact in any order.
"""

import ml_dtypes
import numpy as np
import pytest
from stablehlo_runner import check

from laminax_ir.ops import elementwise, slicing
from laminax_ir.ops import indexing as ops
from laminax_ir.ops.indexing import GatherDimensionNumbers, ScatterDimensionNumbers
from laminax_ir.options import config

X = (np.arange(12, dtype=np.float32) % 5 - 2).reshape(3, 4)
ROWS = GatherDimensionNumbers((1,), (0,), (0,))
CASES = {  # dimension numbers, window, indices: in bounds, out of bounds on both sides
    "rows": (ROWS, (1, 4), np.int32([[2], [0], [5], [-1]])),
    "columns": (GatherDimensionNumbers((0,), (1,), (1,)), (2, 1), np.int32([[[3], [9]], [[0], [-2]]])),
    "blocks": (GatherDimensionNumbers((0, 2), (), (1, 0)), (2, 3), np.int32([[0, 1], [1, 0], [3, 0], [-1, 1]])),
    "points": (GatherDimensionNumbers((), (0, 1), (0, 1)), (1, 1), np.int32([[[0, 1], [2, 3]], [[1, 1], [4, 0]]])),
    "paired": (GatherDimensionNumbers((1,), (), (1,), (0,), (0,)), (1, 2), np.int32([[0], [1], [9]])),
    "everything": (GatherDimensionNumbers((1, 2), (), ()), (3, 4), np.zeros((2, 0), np.int32)),
    "nothing": (ROWS, (1, 4), np.zeros((0, 1), np.int32)),
    "empty windows": (GatherDimensionNumbers((1, 2), (), (0,)), (0, 4), np.int32([[3], [4]])),
}
KINDS = ["scatter", "scatter_add", "scatter_sub", "scatter_mul", "scatter_min", "scatter_max"]


@pytest.mark.parametrize("start", [(0, 0), (2, 3), (-1, -2), (9, -9)])
def test_slices(start):
    def fun(x, i, j):
        return [slicing.slice(x, (1, 0), (3, 4), (1, 3)), slicing.slice(x, (1, 1), (1, 4)), slicing.dynamic_slice(x, (i, j), (2, 3)),
                slicing.dynamic_slice(x, (i, j), (2, 3), allow_negative_indices=False), slicing.dynamic_slice(x, (i, j), (0, 4)),
                slicing.dynamic_update_slice(x, slicing.slice(x, (0, 0), (2, 1)), (i, j)), ops.index_take(x, (ops.full((2,), i),), (1,))]
    check(fun, X, *map(np.int32, start))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "uint32"])
def test_index_dtypes(dtype):
    top = np.iinfo(dtype).max
    indices = np.array([[1], [top], [2]], dtype)
    x = (np.arange(300 * 2) % 7).astype(np.float32).reshape(300, 2)
    dims, updates = ScatterDimensionNumbers(*ROWS), np.ones((3, 2), np.float32)
    check(lambda x, i, u, k: [*[ops.gather(x, i, ROWS, (1, 2), mode=m) for m in ("clip", "fill")],
                              *[ops.scatter_add(x, i, u, dims, mode=m) for m in ("clip", "drop")],
                              slicing.dynamic_slice(x, (k, 0), (2, 2))], x, indices, updates, np.array(3, dtype))


def test_wide_indices():
    with config.enable_x64(True):
        indices = np.array([[1], [2**40], [-2**40]])
        check(lambda x, i: [ops.gather(x, i, ROWS, (1, 4), mode=m) for m in ("clip", "fill")], X, indices)


@pytest.mark.parametrize("dtype", ["float32", "float16", ml_dtypes.bfloat16, "complex64", "int32", "uint8", "bool", "int4"])
def test_gather_dtypes(dtype):
    dims, window, indices = CASES["rows"]
    check(lambda x, i: [ops.gather(x, i, dims, window, mode=m) for m in ("clip", "fill")], np.abs(X).astype(dtype), indices)


@pytest.mark.parametrize("name", CASES)
def test_gather(name):
    dims, window, indices = CASES[name]
    check(lambda x, i: [ops.gather(x, i, dims, window, mode=m) for m in ("clip", "fill")]
          + [ops.gather(x, i, dims, window, mode="fill", fill_value=7)], X, indices)


@pytest.mark.parametrize("name", CASES)
def test_scatter(name):
    dims, window, indices = CASES[name]
    updates = (np.arange(np.asarray(ops.gather(X, indices, dims, window)).size) % 3 + 1.0).astype(np.float32)
    updates = updates.reshape(np.asarray(ops.gather(X, indices, dims, window)).shape)
    dims = ScatterDimensionNumbers(*dims)

    def fun(x, i, u):
        results = [getattr(ops, kind)(x, i, u, dims, mode=m) for kind in KINDS[1:] for m in ("clip", "drop")]
        # Equal updates: of several to one element any may win.
        return [*results, *[ops.scatter(x, i, elementwise.mul(u, 0.), dims, mode=m) for m in ("clip", "drop")],
                ops.scatter_apply(x, i, lambda v: elementwise.add(elementwise.mul(v, 2.), 1.), dims, update_shape=u.shape)]
    check(fun, X, indices, updates)


@pytest.mark.parametrize("dtype", ["float32", "float16", ml_dtypes.bfloat16, "int32", "uint8", "int4"])
def test_scatter_dtypes(dtype):
    indices = np.int32([[2], [0], [2], [7]])
    check(lambda x, i, u: [getattr(ops, kind)(x, i, u, ScatterDimensionNumbers(*ROWS)) for kind in KINDS[1:]],
          np.abs(X).astype(dtype), indices, np.ones((4, 4), dtype))


def test_complex_scatter_add():
    check(lambda x, i, u: [ops.scatter_add(x, i, u, ScatterDimensionNumbers(*ROWS)),
                           ops.scatter_mul(x, i, u, ScatterDimensionNumbers(*ROWS))],
          (X + 1j * X).astype(np.complex64), np.int32([[1], [1]]), np.full((2, 4), 1j, np.complex64))


def test_rank_zero():
    dims = ScatterDimensionNumbers((), (), ())
    check(lambda x, i, u: [ops.gather(x, i, GatherDimensionNumbers((), (), ()), ()), ops.scatter_add(x, i, u, dims),
                           slicing.dynamic_slice(x, (), ()), slicing.slice(x, (), ())],
          np.float32(3), np.zeros((2, 0), np.int32), np.float32([1, 2]))
