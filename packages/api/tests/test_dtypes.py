"""The module of element types."""

import ml_dtypes
import numpy as np
import pytest

import laminax
from laminax import dtypes


@pytest.mark.parametrize("dtype, bits", [("bool", 8), ("int8", 8), ("complex64", 64), ("float64", 64), (ml_dtypes.int4, 4), (dtypes.bfloat16, 16)])
def test_bits_of_an_element(dtype, bits):
    assert dtypes.itemsize_bits(dtype) == bits


def test_dtypes_without_a_common_one():
    with laminax.numpy_dtype_promotion("strict"), pytest.raises(dtypes.TypePromotionError):
        dtypes.result_type(np.int8, np.int16)


def test_float0_is_at_hand():
    assert laminax.float0 is dtypes.float0
