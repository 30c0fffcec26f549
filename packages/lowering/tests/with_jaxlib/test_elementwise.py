"""Elementwise operations through XLA against the reference, where their StableHLO is not simply of the same name."""

import ml_dtypes
import numpy as np
import pytest
from stablehlo_runner import check

from laminax_ir.config import enable_x64
from laminax_ir.ops.elementwise import mulhi


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, np.uint64, ml_dtypes.int4, ml_dtypes.uint4])
def test_mulhi(dtype):
    info = ml_dtypes.iinfo(dtype)
    x = np.array([int(info.min), int(info.max), 0, 1, 3, int(info.max) // 3], object).astype(dtype)
    with enable_x64():
        check(lambda x, y: [mulhi(x, y), mulhi(x, 3)], x[:, None].repeat(6, 1), x[None].repeat(6, 0))
